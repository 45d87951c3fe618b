"""An agents host that a word kills, as a defect in a C library would: at once, and without anything being said.

Called with the folder of the data, the URL of the model, and the word.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.house import Room, open_house, settings_for

DIED = 9


async def main(data_dir: Path, model_url: str, word: str) -> None:
    server: Any = SimpleNamespace(url=model_url)
    async with open_house(settings_for(server, data_dir), Room(), ("agents",)) as house:
        ask = house.resources.chain.first.model.ask

        async def kills(head: Any, messages: Any, *rest: Any, **more: Any) -> Any:
            if word in str(messages):
                os._exit(DIED)
            return await ask(head, messages, *rest, **more)

        house.resources.chain.first.model.ask = kills  # type: ignore[method-assign]  # to break it
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
