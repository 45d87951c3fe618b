"""A host with agents and a worker that somebody kills. Called with the folder of the data, the URL of the model, and
more settings as JSON. It loads what it needs, begins with the first line that it reads, and says one when it works."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.house import Room, open_house, settings_for


async def main(data_dir: Path, model_url: str, more: dict[str, Any]) -> None:
    """Until it is killed, or nobody is left who could begin it."""
    server: Any = SimpleNamespace(url=model_url)
    settings = settings_for(server, data_dir, **more)
    said = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(said), sys.stdin)
    if not await said.readline():
        return
    async with open_house(settings, Room(), ("agents", "worker")):
        sys.stdout.write("works\n")
        sys.stdout.flush()
        await said.read()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])))
