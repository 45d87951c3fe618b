"""An agents host that somebody kills. Called with the folder of the data, the URL of the model, and more settings as
JSON; it says a line when it works."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.house import Room, open_house, settings_for


async def main(data_dir: Path, model_url: str, more: dict[str, Any]) -> None:
    """Until it is killed."""
    server: Any = SimpleNamespace(url=model_url)
    async with open_house(settings_for(server, data_dir, **more), Room(), ("agents",)):
        sys.stdout.write("works\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])))
