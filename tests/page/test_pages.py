"""Each page over a conversation that was compacted by a running program."""

from __future__ import annotations

import pytest

from tests.conftest import OpenHouse
from tests.house import Room
from tests.page.conftest import Read, visiting


async def test_dump(house: OpenHouse, room: Room) -> None:
    async with house() as running:
        await room.asks("Remember: the launch code is ZEBRA-4417 <script>alert(1)</script>")
        for number in range(9):
            await room.asks(f"This is line {number} and it talks about the weather in a town, which is mild, **bold**.")
        await room.commands("/compact keep the code")
        await room.until(lambda: "Compacted:" in room.notices()[-1])
        await room.asks("And now?")
        async with visiting(running) as client:
            import re

            for n, path in enumerate(
                [
                    "/",
                    "/conversations/room-1",
                    "/conversations/room-1?side=model",
                    "/conversations/room-1?side=all",
                    "/compactions",
                    "/search?q=weather",
                    "/parked",
                ]
            ):
                r = await client.get(path)
                print(path, r.status_code, len(r.text))
                open(f"/tmp/page_{n}.html", "w").write(r.text)
                assert r.status_code == 200, r.text
                if path == "/compactions":
                    run = re.search(r'href="(/compactions/[0-9a-f]+)"', r.text)[1]
                    r = await client.get(run)
                    open(f"/tmp/page_run.html", "w").write(r.text)
                    assert r.status_code == 200, r.text
