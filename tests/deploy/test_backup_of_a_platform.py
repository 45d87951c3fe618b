"""The commands on a program that talks on Telegram: backed up while it runs, lost, and restored elsewhere."""

from __future__ import annotations

from pathlib import Path

from tests.servers.messages.server import MessagesServer
from tests.servers.telegram.server import BotApiServer
from tests.wire.program import KEY, Programs
from tests.wire.talk import Talk


async def test_a_lost_program_is_restored_and_neither_repeats_itself_nor_misses_what_telegram_keeps(
    tmp_path: Path,
) -> None:
    async with MessagesServer(window=3_000, key=KEY) as model, BotApiServer() as telegram:
        lost, found = (Programs(tmp_path / name, model, telegram) for name in ("lost", "found"))
        try:
            ada = Talk(telegram, model, 1001)
            await _is_lost(lost, ada, tmp_path / "b.tar.gz")
            ada.says("What is the colour?")  # while nothing runs: Telegram keeps it

            back = await found.start("restore", str(tmp_path / "b.tar.gz"))
            assert await back.ends() == 0, back.describe()
            assert "1 conversations with" in back.err[-1]

            served = await found.serve()
            await ada.reads("The colour is blue.")
            assert await ada.asks("What is the colour?") == "The colour is blue."
            answers = [text for text in ada.texts if text.startswith(("Noted", "The colour"))]
            assert len(answers) == 4, "what was answered after the backup is not answered again"
            assert await served.stop() == 0
        finally:
            await lost.close()
            await found.close()


async def _is_lost(programs: Programs, ada: Talk, target: Path) -> None:
    """It is told of a colour, backed up, told of another one, and gone."""
    served = await programs.serve()
    await ada.asks("The colour is blue.")
    kept = await programs.start("backup", str(target))
    assert await kept.ends() == 0, kept.describe()
    assert any(".env with its keys) are not in it" in line for line in kept.err), kept.describe()
    assert any(f"`palimpsest restore {target}` puts it back" in line for line in kept.err), kept.describe()
    assert target.stat().st_mode & 0o077 == 0, "it holds what people said"
    await ada.asks("The colour is green.")
    await served.kill()
