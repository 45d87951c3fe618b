"""`palimpsest setup` in a terminal, with everything that somebody may answer wrongly."""

from __future__ import annotations

import socket
import stat
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest

from tests.ports import free_port
from tests.servers.chat.manners import MANNERS
from tests.servers.discord.server import DiscordServer
from tests.servers.messages.server import MessagesServer
from tests.servers.telegram.server import BotApiServer
from tests.setup.conftest import CODE, CTRL_C, CTRL_D, ENTER, KEY, WRONG_TOKEN, Desk
from tests.setup.test_browser import press
from tests.wire.program import PATIENCE

BY_HAND = """# Mine. Do not touch.

MODEL=claude-sonnet-5  # the good one
ANTHROPIC_API_KEY=sk-of-mine-0000-9f2a

# AGENTS__WARNING=0.6
LOG_LEVEL=WARNING
"""


def lines_of(file: Path) -> list[str]:
    return [line for line in file.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]


def mode_of(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


async def test_from_nothing_to_an_answer_on_telegram_in_one_terminal(
    desks: Callable[[], Desk], model: MessagesServer, telegram: BotApiServer
) -> None:
    ada, desk = telegram.person(1001, "Ada"), desks()
    await desk.begins("setup")
    await desk.answers("Number or name", "anthropic")
    await desk.answers("Key, which is not shown", "sk-ant-wrong-key-0000000")
    await desk.asks("✗ The model's server does not accept our key")
    await desk.answers("Key, which is not shown", KEY)
    await desk.asks("✓ claude-sonnet-5 answers")
    await desk.asks("It takes tools, pictures and PDF files")
    await desk.answers("Model")
    await desk.answers("Talk to it on Telegram, too?", "y")
    await desk.answers("Token, which is not shown", "this-is.no.token")
    await desk.asks("is no token of a bot")
    await desk.answers("Token, which is not shown", WRONG_TOKEN)
    await desk.asks("Telegram does not know the token")
    await desk.answers("Token, which is not shown", telegram.token)
    ada.says("Hello, before the code")
    shown = await desk.asks("Waiting for it")
    assert "another program" not in shown, "it listens itself, and would see that"
    code = CODE.search(shown)
    assert code
    ada.says(f"/start {code[0]}")
    ada.says("Hello, behind the code")
    await desk.asks("✓ Ada (telegram:1001) is an admin now.")
    await desk.answers("Talk to it on Discord, too?", "n")
    await desk.asks("it starts now")
    await desk.asks("It runs in this terminal until Ctrl-C")

    await telegram.wait_for(lambda server: any("Noted" in text for text in server.texts(1001)), timeout=PATIENCE)
    await telegram.wait_for(lambda server: not server.pending, timeout=PATIENCE)
    assert lines_of(desk.file) == [
        f"ANTHROPIC_API_KEY={KEY}",
        "MODEL=claude-sonnet-5",
        f"TELEGRAM_TOKEN={telegram.token}",
        "ADMINS=telegram:1001",
    ]
    assert mode_of(desk.file) == 0o600
    second = desks()
    await second.begins("setup", "telegram")
    await second.answers("Token, which is not shown; Enter keeps 420…6789")
    await second.asks("A running program hears what is said to this bot")
    await second.asks("The program runs already")
    assert await second.ends() == 0

    heard = model.requests[-1].request.all_text
    assert [heard.count(said) for said in ("before the code", "behind the code", code[0])] == [1, 1, 0]
    assert not any(secret in desk.text for secret in (KEY, telegram.token, WRONG_TOKEN))


async def test_one_thing_is_changed_in_a_file_by_hand_with_a_server_that_was_found_here_and_once_more(
    desks: Callable[[], Desk], model: MessagesServer, environment: dict[str, str]
) -> None:
    model.key, model.manner = None, MANNERS["ollama"]
    environment["OLLAMA_HOST"] = model.chat_url
    del environment["ANTHROPIC_BASE_URL"]
    first = desks()
    first.file.write_text(BY_HAND, encoding="utf-8")
    first.file.chmod(0o644)
    await first.begins("setup", "model")
    assert "sk-…9f2a" in await first.asks("Which model answers?")
    assert model.manner.model in await first.asks("Number or name")
    first.type("1" + ENTER)
    await first.answers("Model; Tab lists them")
    await first.asks("That is all. `palimpsest` starts it.")
    assert await first.ends() == 0
    once = first.file.read_text(encoding="utf-8")
    assert once == BY_HAND.replace("MODEL=claude-sonnet-5 ", f"MODEL=ollama/{model.manner.model} ")
    assert mode_of(first.file) == 0o600

    second = desks()
    await second.begins("setup", "model")
    await second.answers("Number or name", "none")
    await second.answers("ANTHROPIC_API_KEY, MODEL become comments. Do it?", "y")
    await second.asks("`palimpsest` starts it")
    assert await second.ends() == 0
    aside = once.replace("ANTHROPIC_API_KEY=", "# ANTHROPIC_API_KEY=").replace("MODEL=", "# MODEL=")
    assert second.file.read_text(encoding="utf-8") == aside


async def test_without_a_network_a_token_that_somebody_declined_is_not_offered_again(
    desk: Desk, environment: dict[str, str], telegram: BotApiServer
) -> None:
    environment["TELEGRAM_API_BASE"] = f"http://127.0.0.1:{free_port()}"
    await desk.begins("setup", "--no-start")
    await desk.answers("Number or name", "")
    await desk.answers("Talk to it on Telegram, too?", "y")
    await desk.answers("Token, which is not shown", telegram.token)
    await desk.asks("TELEGRAM_API_BASE cannot be reached")
    await desk.answers("Keep it all the same?", "n")
    await desk.answers("Token, which is not shown; Enter skips this")
    await desk.answers("Talk to it on Discord, too?", "n")
    assert await desk.ends() == 0
    assert lines_of(desk.file) == []


async def test_without_a_network_a_token_is_kept_if_somebody_says_so_and_whoever_leaves_has_what_was_answered(
    desk: Desk, environment: dict[str, str], telegram: BotApiServer
) -> None:
    environment["TELEGRAM_API_BASE"] = f"http://127.0.0.1:{free_port()}"
    await desk.begins("setup", "telegram")
    await desk.answers("Token, which is not shown", telegram.token)
    await desk.asks("TELEGRAM_API_BASE cannot be reached")
    await desk.answers("Keep it all the same?", "y")
    await desk.asks("Waiting for it")
    desk.type(CTRL_C)
    await desk.asks("What was answered by now is kept")
    assert await desk.ends() == 130
    assert lines_of(desk.file) == [f"TELEGRAM_TOKEN={telegram.token}"]


async def test_where_telegram_gives_no_answer_each_wait_is_said_and_short(
    desk: Desk, environment: dict[str, str], telegram: BotApiServer
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        environment["TELEGRAM_API_BASE"] = "http://{}:{}".format(*silent.getsockname())
        await desk.begins("setup", "telegram", "--no-start")
        await desk.answers("Token, which is not shown", telegram.token)
        await desk.asks("Trying it …")
        await desk.asks("no answer within 4 s")
        await desk.answers("Keep it all the same?", "y")
        await desk.asks("Trying it once more …")
        await desk.asks("Connecting …")
        await desk.answers("Waiting for it; Enter goes on without")
        await desk.asks("Whoever writes to the bot gets a code")
        assert await desk.ends() == 0


async def test_a_token_that_is_set_and_not_reached_stays_for_whoever_only_looked_and_nothing_was_changed(
    desks: Callable[[], Desk], environment: dict[str, str], telegram: BotApiServer
) -> None:
    environment["TELEGRAM_API_BASE"] = f"http://127.0.0.1:{free_port()}"
    desk, left = desks(), desks()
    before = f"TELEGRAM_TOKEN={telegram.token}\n"
    desk.file.write_text(before, encoding="utf-8")
    await desk.begins("setup", "telegram")
    await desk.answers("Token, which is not shown; Enter keeps 420…6789")
    await desk.answers("Keep it all the same?", "n")
    await desk.answers("Token, which is not shown; Enter skips this")
    assert await desk.ends() == 0
    await left.begins("setup", "telegram")
    await left.asks("Token, which is not shown")
    left.type(CTRL_C)
    await left.asks("Nothing was changed.")
    assert await left.ends() == 130
    assert "is kept in" not in left.text.partition("Token")[2]
    assert left.file.read_text(encoding="utf-8") == before


async def test_whoever_leaves_at_once_has_nothing_and_nothing_is_set_up_is_asked_about_first(
    desk: Desk, environment: dict[str, str]
) -> None:
    for name in [name for name in environment if name.endswith(("_URL", "_HOST"))]:
        del environment[name]
    await desk.begins()
    await desk.asks("Number or name")
    desk.type(CTRL_C)
    await desk.asks("Nothing was kept.")
    assert await desk.ends() == 130
    assert desk.made == []


async def test_a_provider_is_known_by_what_its_models_are_called_and_by_its_key_and_nothing_has_to_be_right(
    desk: Desk,
) -> None:
    await desk.begins("setup")
    await desk.answers("Number or name", KEY)
    await desk.asks("That looks like a key of Anthropic (Claude)")
    await desk.answers("Key, which is not shown; Enter goes back")
    await desk.asks("Back to the list")
    await desk.answers("Number or name", "Claude")
    await desk.answers("Key, which is not shown; Enter goes back", "short")
    await desk.asks("Trying it")
    await desk.asks("does not accept our key")
    await desk.answers("Key, which is not shown; Enter keeps it")
    await desk.answers("Model [claude-sonnet-5]")
    await desk.asks("does not accept our key")
    await desk.answers("Back to the list?")
    await desk.answers("Number or name", "1")
    await desk.answers("Key, which is not shown; Enter goes back", KEY)
    await desk.answers("Model [claude-sonnet-5]")
    await desk.answers("Talk to it on Telegram, too?", "y")
    await desk.answers("Token, which is not shown; Enter skips this", WRONG_TOKEN)
    await desk.asks("does not know the token")
    await desk.answers("Token, which is not shown; Enter skips this")
    await desk.asks("Talk to it on Discord, too?")
    desk.type(CTRL_D)
    await desk.asks("What was answered by now is kept")
    assert await desk.ends() == 130
    assert lines_of(desk.file) == [f"ANTHROPIC_API_KEY={KEY}", "MODEL=claude-sonnet-5"]


async def test_on_discord_whoever_sends_the_code_is_an_admin_and_what_was_said_meanwhile_is_answered(
    desk: Desk, model: MessagesServer, discord: DiscordServer, environment: dict[str, str]
) -> None:
    environment["ANTHROPIC_API_KEY"] = KEY
    with socket.create_server(("127.0.0.1", 0)) as taken:
        del environment["HTTP_BIND"]
        desk.file.write_text(f"HTTP_BIND=127.0.0.1:{taken.getsockname()[1]}\n", encoding="utf-8")
        ada = discord.person(1001, "Ada")
        await desk.begins("setup", "--start", "discord")
        await desk.answers("Token, which is not shown", discord.token)
        shown = await desk.asks("Waiting for it")
        code = CODE.search(shown)
        assert code
        assert "https://discord.com/oauth2/authorize?client_id=" in shown
        await ada.says(code[0])
        await desk.asks("✓ Ada (discord:1001) is an admin now.")
        await ada.says("Hello, behind the code")
        await desk.asks("cannot be listened on")
        await desk.answers("instead? [Y/n]", "")
        await desk.asks("it starts now")
    await discord.wait_for(lambda server: any("Noted" in text for text in server.texts(ada.channel_id)), PATIENCE)
    heard = model.requests[-1].request.all_text
    assert [heard.count(said) for said in ("behind the code", code[0])] == [1, 0]
    bind, *others = lines_of(desk.file)
    assert bind.startswith("HTTP_BIND=127.0.0.1:")
    assert others == [f"DISCORD_TOKEN={discord.token}", "ADMINS=discord:1001"]


async def test_a_key_and_a_token_that_are_set_and_refused_can_be_let_go_of(desk: Desk) -> None:
    desk.file.write_text(f"ANTHROPIC_API_KEY=sk-ant-wrong-0000\nTELEGRAM_TOKEN={WRONG_TOKEN}\n", encoding="utf-8")
    await desk.begins("setup", "--no-start")
    await desk.answers("Number or name", "anthropic")
    await desk.answers("Key, which is not shown; Enter keeps sk-…0000, - lets it go")
    await desk.asks("does not accept our key")
    await desk.answers("Key, which is not shown; Enter keeps sk-…0000, - lets it go", "-")
    await desk.asks("ANTHROPIC_API_KEY is taken out")
    await desk.asks("Back to the list")
    await desk.answers("Number or name")
    await desk.answers("Change it, or who runs it there?", "y")
    await desk.answers("Enter keeps 420…away, - lets it go")
    await desk.asks("does not know the token")
    await desk.answers("Enter keeps 420…away, - lets it go", "-")
    await desk.asks("TELEGRAM_TOKEN is taken out")
    await desk.answers("Talk to it on Discord, too?", "n")
    assert await desk.ends() == 0
    assert desk.file.read_text(encoding="utf-8") == "# ANTHROPIC_API_KEY=\n# TELEGRAM_TOKEN=\n"


async def test_a_token_that_cannot_be_one_is_told_by_its_own_step_alone(desk: Desk, telegram: BotApiServer) -> None:
    desk.file.write_text(f"ANTHROPIC_API_KEY={KEY}\nDISCORD_TOKEN=no-token\n", encoding="utf-8")
    await desk.begins("setup", "--no-start")
    await desk.answers("Number or name")
    await desk.answers("Talk to it on Telegram, too?", "y")
    await desk.answers("Token, which is not shown", telegram.token)
    await desk.answers("Waiting for it")
    await desk.asks("✗ DISCORD_TOKEN is no token of a bot")
    await desk.answers("Change it, or who runs it there? [Y/n]")
    await desk.answers("lets it go", "-")
    await desk.asks("DISCORD_TOKEN is taken out")
    assert await desk.ends() == 0
    assert lines_of(desk.file) == [f"ANTHROPIC_API_KEY={KEY}", f"TELEGRAM_TOKEN={telegram.token}"]


@pytest.mark.parametrize("moment", ["Number or name", "Key, which is not shown", "Token, which is not shown"])
async def test_a_terminal_that_is_closed_ends_it_and_leaves_what_was_answered_by_then(
    desk: Desk, environment: dict[str, str], tmp_path: Path, moment: str
) -> None:
    environment["TMPDIR"] = str(tmp_path / "for-a-while")
    (tmp_path / "for-a-while").mkdir()
    await desk.begins("setup")
    if moment.startswith("Key"):
        await desk.answers("Number or name", "anthropic")
    elif moment.startswith("Token"):
        await desk.answers("Number or name", "anthropic")
        await desk.answers("Key, which is not shown", KEY)
        await desk.answers("Model [claude-sonnet-5]")
        await desk.answers("Talk to it on Telegram, too?", "y")
    await desk.asks(moment)
    desk.hang_up()
    assert await desk.ends() != 0
    kept = [f"ANTHROPIC_API_KEY={KEY}", "MODEL=claude-sonnet-5"] if moment.startswith("Token") else []
    assert (lines_of(desk.file) if desk.file.exists() else []) == kept
    assert [*(tmp_path / "for-a-while").iterdir()] == []
    assert desk.made == ([".env"] if kept else [])


async def test_ctrl_c_beside_the_page_ends_it_and_says_what_is_kept(desk: Desk, folder: Path) -> None:
    await desk.begins("setup", "--browser")
    await desk.asks("Go on in a browser of this machine, at")
    shown = await desk.asks("Ctrl-C ends it.")
    address = shown.strip()
    async with httpx2.AsyncClient(
        base_url=address.partition("/?")[0], follow_redirects=True, timeout=PATIENCE
    ) as browser:
        assert "Set it up" in (await browser.get(address)).text
        await press(browser, "/model/anthropic", key=KEY, model="claude-sonnet-5")
        desk.type(CTRL_C)
        await desk.asks(f"What was answered by now is kept in {folder}")
        assert await desk.ends() == 130
    assert lines_of(desk.file) == [f"ANTHROPIC_API_KEY={KEY}", "MODEL=claude-sonnet-5"]
    assert "Traceback" not in desk.text


async def test_ctrl_c_beside_a_page_that_nobody_opened_leaves_nothing(desk: Desk) -> None:
    await desk.begins("setup", "--browser")
    await desk.asks("Ctrl-C ends it.")
    desk.type(CTRL_C)
    await desk.asks("Nothing was kept.")
    assert await desk.ends() == 130
    assert desk.made == []
