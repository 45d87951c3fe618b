"""Settings that cannot be meant stop the program, and what does nothing is said: by name, with what to write."""

from __future__ import annotations

import resource
from collections.abc import Mapping
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bot.app.cli.main import app
from bot.errors import ConfigurationError
from bot.runtime.settings_check import checked_settings
from tests.wire.program import Programs

SECRET = "swordfish1"
TOKEN = "4200:AAF0123456789abcdefghijklmnopqrstuv"

REFUSED: list[tuple[str, str, list[str]]] = [
    # what is set, .env, what is said
    ("AGENTS__STRATGY=memory", "", ["AGENTS__STRATGY", "Did you mean AGENTS__STRATEGY?"]),
    ("MEMORY__VISIBLE=off", "", ["MEMORY__VISIBLE", "Did you mean MEMORY__VISIBILITY?"]),
    ("TOOLS__FOO=1", "", ["TOOLS__FOO", ".env.example"]),
    ("", f"PAGE__PASWORD={SECRET}", ["PAGE__PASWORD in .env", "Did you mean PAGE__PASSWORD?"]),
    ("AGENTS__WARNING__SHARE=0.5", "", ["AGENTS__WARNING__SHARE is no setting"]),
    ("AGENTS__STRATEGY=rest", "", ["AGENTS__STRATEGY", "'rest'", "reset"]),
    ("AGENTS__STRATEGY=my_module:Mine", "", ["AGENTS__STRATEGY", "my_module:Mine cannot be imported"]),
    ("STRATEGY__REST__KEEP=1", "", ["STRATEGY__REST", "reset"]),
    ("STRATEGY__RESET__KEEP=1", "", ["STRATEGY__RESET__KEEP", "keep_exchange_share"]),
    ("STRATEGY__RESET__KEEP_EXCHANGE_SHARE=all", "", ["STRATEGY__RESET__KEEP_EXCHANGE_SHARE", "'all'", "number"]),
    ("STRATEGY__MEMORY__TARGET_SHARE=2", "", ["STRATEGY__MEMORY__TARGET_SHARE", "at most 1"]),
    ("STRATEGY__TIERED__SOFT=0.8", "", ["STRATEGY__TIERED__SOFT", "must rise"]),
    ("STRATEGY__RESET__WARNING=0.95", "", ["STRATEGY__RESET__CRITICAL", "0.9", "0.95"]),
    ("STRATEGY__RESET=1", "", ["STRATEGY__RESET=1", "STRATEGY__RESET__OPTION=VALUE"]),
    ("STRATEGY=memory", "", ["STRATEGY is not a setting", "AGENTS__STRATEGY=NAME"]),
    ("AGENTS__CRITICAL=0.5", "", ["AGENTS__CRITICAL=0.5 is below AGENTS__WARNING=0.75", "from 0.75 to 1"]),
    ("AGENTS__WARNING=0.95", "", ["AGENTS__CRITICAL=0.9 is below AGENTS__WARNING=0.95", "from 0.95 to 1"]),
    ("AGENTS__WARNING=half", "", ["AGENTS__WARNING=half", "a number, e.g. 0.75"]),
    ("AGENTS__WARNING=nan", "", ["AGENTS__WARNING=nan", "a number"]),
    ("AGENTS__AT_ONCE=0", "", ["AGENTS__AT_ONCE=0", "above 0"]),
    ("AGENTS__COMPACT_AHEAD=ja", "", ["AGENTS__COMPACT_AHEAD=ja", "true or false"]),
    ("AGENTS__WHEN_BUSY=queue", "", ["AGENTS__WHEN_BUSY=queue", "'collect', 'steer' or 'interrupt'"]),
    ("PRICES=/nowhere/prices.toml", "", ["PRICES=/nowhere/prices.toml cannot be read", "unset PRICES"]),
    ("BUDGET__DAY=five", "", ["BUDGET__DAY=five is no amount", "2.50"]),
    ("FILES__MOST_BYTES=20MB", "", ["FILES__MOST_BYTES=20MB", "a whole number"]),
    ("COMPACTION__MUST_KEEP=ORD-[0-9]+", "", ["COMPACTION__MUST_KEEP=ORD-[0-9]+", "JSON"]),
    ('COMPACTION__MUST_KEEP=["("]', "", ["COMPACTION__MUST_KEEP", "not a regular expression"]),
    ("TOOLS=on", "", ["TOOLS is no setting", "TOOLS__…"]),
    ("ALLOW=12345", "", ["ALLOW=12345", "telegram:12345", "discord:12345"]),
    ("ALLOW=@ada", "", ["ALLOW=@ada", "telegram:12345"]),
    ("ALLOW=telegram:1;telegram:2", "", ["ALLOW has telegram:1;telegram:2", "telegram:12345"]),
    ("ALLOW=telegram:1 discord:2", "", ["ALLOW has telegram:1 discord:2", "telegram:12345,discord:67890"]),
    ("ADMINS=telegram:@ada", "", ["ADMINS has telegram:@ada", "the number of the person"]),
    ("ADMINS=telegrm:12345", "", ["ADMINS has telegrm:12345", "telegram:12345"]),
    (f"ACCESS=allowlist TELEGRAM_TOKEN={TOKEN}", "", ["ACCESS=allowlist", "nobody is answered", "ALLOW"]),
    ("ACCESS=everybody", "", ["ACCESS=everybody", "'pairing', 'allowlist' or 'open'"]),
    ("TELEGRAM_TOKEN=hello", "", ["TELEGRAM_TOKEN is no token", "@BotFather"]),
    (f"DISCORD_TOKEN={SECRET}", "", ["DISCORD_TOKEN is no token", "discord.com/developers"]),
    (f"ANTHROPIC_API_KEY={SECRET}\u2026", "", ["ANTHROPIC_API_KEY", "Copy it again"]),
    (f"TELEGRAM_WEBHOOK_SECRET={SECRET}!", "", ["TELEGRAM_WEBHOOK_SECRET may hold only"]),
    ("TELEGRAM_API_BASE=127.0.0.1:8081", "", ["TELEGRAM_API_BASE=127.0.0.1:8081", "http://127.0.0.1:8081"]),
    ("DISCORD_API_BASE=localhost/api/v10", "", ["DISCORD_API_BASE=localhost/api/v10", "http://"]),
    ("DISCORD_GATEWAY=http://127.0.0.1", "", ["DISCORD_GATEWAY=http://127.0.0.1", "ws://"]),
    (f"EMBEDDINGS__URL=me:{SECRET}@host", "", ["EMBEDDINGS__URL", "http://127.0.0.1:11434"]),
    (f"ANTHROPIC_BASE_URL=htp://me:{SECRET}@host", "", ["ANTHROPIC_BASE_URL=htp://host", "https://"]),
    ("ANTHROPIC_BASE_URL=http://host:99999", "", ["ANTHROPIC_BASE_URL=http://host:99999", "port"]),
    (f"TELEGRAM_WEBHOOK_URL=http://x.org TELEGRAM_TOKEN={TOKEN}", "", ["TELEGRAM_WEBHOOK_URL=http://x.org", "https"]),
    (f"TELEGRAM_WEBHOOK_URL=https://x.org:81 TELEGRAM_TOKEN={TOKEN}", "", ["TELEGRAM_WEBHOOK_URL", "443"]),
    (f"DATABASE_URL=mysql://me:{SECRET}@host/db", "", ["DATABASE_URL", "postgresql://user:password@host/database"]),
    (f"REDIS_URL=http://:{SECRET}@host", "", ["REDIS_URL", "redis://"]),
    (f"REDIS_URL=redis://:{SECRET}@host/first", "", ["REDIS_URL", "6379/0"]),
    (f"REDIS_URL=redis://:{SECRET}@host:port", "", ["REDIS_URL", "6379/0"]),
    ('AGENTS={"stratgy":"memory"}', "", ["AGENTS__STRATGY", "Did you mean AGENTS__STRATEGY?"]),
    ("HTTP_BIND=http://127.0.0.1:8080", "", ["HTTP_BIND=http://127.0.0.1:8080", "127.0.0.1:8080"]),
    ("HTTP_BIND=8080", "", ["HTTP_BIND=8080", "127.0.0.1:8080"]),
    ("PAGE__PASSWORD=hunter2", "", ["PAGE__PASSWORD", "12 characters"]),
    ("PAGE__HOSTS=https://bot.example.org", "", ["PAGE__HOSTS=https://bot.example.org", "bot.example.org"]),
    ("PAGE__PROXIES=proxy", "", ["PAGE__PROXIES=proxy", "10.0.0.0/24"]),
    ("SHUTDOWN_SECONDS=20s", "", ["SHUTDOWN_SECONDS=20s", "a number, e.g. 20"]),
    ("SHUTDOWN_SECONDS=inf", "", ["SHUTDOWN_SECONDS=inf", "a number"]),
    ("LOG_LEVEL=loud", "", ["LOG_LEVEL=LOUD", "'INFO'"]),
    ("MCP_CONFIG=/nope", "", ["MCP_CONFIG=/nope", "no such file"]),
    ("MCP_CONFIG=/", "", ["MCP_CONFIG=/", "not a file"]),
    ("", f"MODEL=a\n\n{SECRET}\n", [".env", "line 3", "NAME=VALUE"]),
    ("", f"ANTHROPIC_API_KEY: {SECRET}\n", [".env", "line 1", "NAME=VALUE"]),
    ("", f'ANTHROPIC_API_KEY="{SECRET}\n', [".env", "line 1", "both quotation marks"]),
]  # fmt: skip

SAID: list[tuple[str, str, list[str]]] = [
    (f"TELEGRAM_TOKN={SECRET}", "", ["TELEGRAM_TOKN", "Did you mean TELEGRAM_TOKEN?"]),
    ("DISCORD_FAVOURITE_COLOUR=red", "", ["DISCORD_FAVOURITE_COLOUR", ".env.example"]),
    ("AGENT__WARNING=0.5", "", ["AGENT__WARNING", "Did you mean AGENTS__WARNING?"]),
    ("STRATGY__RESET__KEEP_EXCHANGE_SHARE=1", "", ["Did you mean STRATEGY__RESET__KEEP_EXCHANGE_SHARE?"]),
    ("", f"COHERE_API_KEY={SECRET}", ["COHERE_API_KEY in .env", ".env.example"]),
    ("", "MODEL=a\nMODEL=b", [".env sets MODEL in lines 1 and 2", "last"]),
    ("MODEL='claude-sonnet-5'", "", ["MODEL begins and ends with a quotation mark", "without"]),
    ("AGENTS__WARNING=75", "", ["AGENTS__WARNING=75", "write 0.75 for 75 %"]),
    ("AGENTS__CRITICAL=90", "", ["AGENTS__CRITICAL=90", "write 0.9 for 90 %"]),
    ("AGENTS__EMERGENCY_CONTEXT_LIMIT=200", "", ["AGENTS__EMERGENCY_CONTEXT_LIMIT=200", "in tokens"]),
    ("ALLOW=telegram:-100123", "", ["ALLOW has telegram:-100123", "telegram:12345"]),
    ("BUDGET__PERSON_DAY=5 BUDGET__DAY=2", "", ["BUDGET__PERSON_DAY ($5.00) is above BUDGET__DAY ($2.00)", "at most"]),
    ("BUDGET__CHEAPER_MODEL=small", "", ["BUDGET__CHEAPER_MODEL=small is ignored", "provider/small"]),
    ("BUDGET__CHAT_DAY=0", "", ["BUDGET__CHAT_DAY=0", "unset it"]),
    ("ALLOW=terminal:me", "", ["ALLOW has terminal:me", "Take it away"]),
    ("ALLOW=irc:ada", "", ["ALLOW has irc:ada", "no connector irc"]),
    ("TELEGRAM_API_BASE=http://127.0.0.1:1", "", ["TELEGRAM_API_BASE does nothing", "Set TELEGRAM_TOKEN"]),
    ("DISCORD_GATEWAY=ws://127.0.0.1:1", "", ["DISCORD_GATEWAY does nothing", "Set DISCORD_TOKEN"]),
    (f"TELEGRAM_WEBHOOK_SECRET=abc TELEGRAM_TOKEN={TOKEN}", "", ["TELEGRAM_WEBHOOK_SECRET does nothing"]),
    ("DISCORD_API_BASE=http://x.org/api DISCORD_TOKEN=a.b.c", "", ["DISCORD_API_BASE=http://x.org/api", "/api/v10"]),
    ("ANTHROPIC_BASE_URL=http://127.0.0.1:1/v1", "", ["ANTHROPIC_BASE_URL=http://127.0.0.1:1/v1", "/v1/messages"]),
    (f"ANTHROPIC_API_KEY=sk-proj-{SECRET}", "", ["ANTHROPIC_API_KEY", "sk-ant-", "OPENAI_API_KEY"]),
    ("DATABASE_POOLER=session DATABASE_CONNECTIONS=8", "", ["DATABASE_POOLER and DATABASE_CONNECTIONS do nothing"]),
    ("COMPACTION_MODEL=small", "", ["COMPACTION_MODEL=small is ignored", "ANTHROPIC_API_KEY"]),
    ("TOOLS__SHELL_NETWORK=true", "", ["TOOLS__SHELL_NETWORK=true does nothing", "TOOLS__SHELL=on"]),
    ("TOOLS__WEB=search", "", ["TOOLS__WEB=search does nothing", "ANTHROPIC_API_KEY"]),
]  # fmt: skip

TAKEN: list[tuple[str, str]] = [
    ("REDIS_PORT=tcp://10.0.0.1:6379 TELEGRAM_SERVICE_HOST=10.0.0.1 TELEGRAM_PORT_80_TCP_ADDR=10.0.0.1", ""),
    ("TELEGRAM_PORT=tcp://10.0.0.1:80 DISCORD_SERVICE_PORT_HTTP=80 MODE=production GROUP=staff", ""),
    ("HTTP_PROXY=http://x LOGNAME=me POSTGRES_PASSWORD=x AGENTS_HOME=/x MEMORY_LIMIT=1 PAGER=less", ""),
    ("TELEGRAM_TOKN= AGENTS__STRATGY=", ""),
    ("", "POSTGRES_PASSWORD=x\nHTTP_PORT=8080\n"),
    ("", "\ufeffLOG_LEVEL=debug\r\nexport MODEL = a # the small one\r\n"),
    ("ALLOW=Telegram:1,discord: 2 ,,", ""),
    ("AGENTS__WARNING=0", ""),
    ('AGENTS={"strategy":"memory"}', ""),
    ("REDIS_URL=rediss://:a%2Fb@host:6380/3?ssl_cert_reqs=none", ""),
    ("REDIS_URL=unix:///run/redis.sock?db=2", ""),
    ("REDIS_URL=redis+sentinel://a:26379,b:26379/mymaster/0", ""),
    ("DATABASE_URL=postgresql+asyncpg://me:x@host:5432/talk", ""),
    ("AGENTS__WARNING=1 AGENTS__CRITICAL=0.5", ""),
    ("STRATEGY__MEMORY__RECENT_SHARE=0.2 AGENTS__STRATEGY=memory", ""),
]


@pytest.fixture(autouse=True)
def _nothing_is_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DATA_DIR", str(tmp_path / "data"))


def _set(monkeypatch: pytest.MonkeyPatch, environment: str, file: str) -> None:
    for name, value in _pairs(environment).items():
        monkeypatch.setenv(name, value)
    if file:
        Path(".env").write_bytes(file.encode())


def _pairs(environment: str) -> Mapping[str, str]:
    """``A=1 B=2``; a space is one in a value where no name follows it."""
    pairs: dict[str, str] = {}
    for word in environment.split(" "):
        name, sign, value = word.partition("=")
        if sign and name.isupper():
            pairs[name] = value
        elif pairs:
            pairs[list(pairs)[-1]] += f" {word}"
    return pairs


@pytest.mark.parametrize(
    ("command", "environment", "file", "words"),
    [
        pytest.param(command, *case, id=f"{command} {case[0] or case[1]}")
        for case in REFUSED
        for command in ("run", "chat")
        if command == "run" or "TELEGRAM_WEBHOOK_URL" not in case[0]  # a chat has no platforms
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_line_that_says_what_to_write(
    monkeypatch: pytest.MonkeyPatch, command: str, environment: str, file: str, words: list[str]
) -> None:
    _set(monkeypatch, environment, file)
    result = CliRunner().invoke(app, [command], input="")
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (1, "", 1), result.stderr
    assert result.stderr.startswith("palimpsest: ")
    assert [word for word in words if word not in result.stderr] == [], result.stderr
    assert SECRET not in result.stderr
    assert not Path("data").exists()


@pytest.mark.parametrize(("environment", "file", "words"), SAID, ids=[a or b for a, b, _ in SAID])
def test_what_does_nothing_is_said_once_with_what_to_write_and_stops_nothing(
    monkeypatch: pytest.MonkeyPatch, environment: str, file: str, words: list[str]
) -> None:
    _set(monkeypatch, environment, file)
    _, notes = checked_settings()
    (note,) = [note for note in notes if words[0] in note]
    assert [word for word in words if word not in note] == []
    assert SECRET not in str(notes)


@pytest.mark.parametrize(("environment", "file"), TAKEN)
def test_what_is_meant_so_and_what_is_a_strangers_is_taken_without_a_word(
    monkeypatch: pytest.MonkeyPatch, environment: str, file: str
) -> None:
    _set(monkeypatch, environment, file)
    assert checked_settings()[1] == ()


def test_what_a_stranger_put_into_the_environment_never_stops_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TELEGRAM_TOKN", "DISCORD_WEBHOOK_URL", "DATABASE_URI", "ANTHROPIC_MODEL", "REDIS_URI", "ALLOWED"):
        monkeypatch.setenv(name, "x")
    assert len(checked_settings()[1]) == 6


def test_a_name_in_the_env_file_that_mcp_servers_are_given_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    Path(".env").write_text(f"WEATHER_KEY={SECRET}\nOTHER_KEY={SECRET}\n")
    Path("data").mkdir()
    Path("data/mcp.json").write_text('{"mcpServers": {"a": {"command": "b", "env": {"KEY": "${WEATHER_KEY:-}"}}}}')
    (note,) = checked_settings()[1]
    assert "OTHER_KEY" in note


def test_a_file_of_settings_that_is_no_file_or_no_text_is_refused() -> None:
    Path(".env").mkdir()
    with pytest.raises(ConfigurationError, match=r"\.env is a folder"):
        checked_settings()
    Path(".env").rmdir()
    Path(".env").write_bytes("MODEL=a".encode("utf-16"))
    with pytest.raises(ConfigurationError, match=r"\.env is not UTF-8"):
        checked_settings()


def test_settings_of_a_role_that_another_process_plays_are_its_own_business(monkeypatch: pytest.MonkeyPatch) -> None:
    _set(monkeypatch, "TELEGRAM_API_BASE=http://127.0.0.1:1 MCP_CONFIG=/nope", "")
    assert checked_settings(("worker",))[1] == ()
    assert "TELEGRAM_API_BASE" in str(checked_settings(("gateway",))[1])
    with pytest.raises(ConfigurationError, match="MCP_CONFIG"):
        checked_settings(("agents",))


def test_what_stands_around_a_value_is_no_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TELEGRAM_TOKEN", f"{TOKEN}\n")
    monkeypatch.setenv("PAGE__PASSWORD", "a long password\r\n")
    monkeypatch.setenv("DISCORD_TOKEN", "a.b.c ")
    monkeypatch.setenv("DISCORD_API_BASE", " http://127.0.0.1:1/api/v10/")
    monkeypatch.setenv("AGENTS__STRATEGY", " memory\n")
    settings, notes = checked_settings()
    assert notes == ()
    assert settings.secrets == (TOKEN, "a.b.c", "a long password")
    assert (settings.discord_api_base, settings.agents.strategy) == ("http://127.0.0.1:1/api/v10", "memory")


def test_a_folder_may_be_named_from_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.setenv("DATA_DIR", "~/talk")
    assert checked_settings()[0].data_dir == Path("/home/ada/talk")


PROCESSES = [
    "TELEGRAM_TOKEN=hello",
    "AGENTS__STRATGY=memory",
    "ALLOW=12345",
    "MCP_CONFIG=/nope",
    "AGENTS__CRITICAL=0.5",
]


@pytest.mark.parametrize("command", ["run", "chat"])
async def test_the_program_ends_at_once_whatever_comes_over_its_pipe(programs: Programs, command: str) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for wrong in PROCESSES:
        name, _, value = wrong.partition("=")
        program = await programs.start(command, **{name: value})
        assert await program.ends() == 1, program.describe()
        assert len(program.err) == 1
        assert name in program.err[0]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert spent / len(PROCESSES) < 3, "seconds of a processor, since the clock also counts what others do"
    assert not programs.data.exists()


async def test_what_does_nothing_is_said_by_the_chat_on_standard_error_and_by_the_server_in_its_log(
    programs: Programs,
) -> None:
    chat = await programs.chat("Hello.", TELEGRAM_TOKN="x")
    assert len(chat.logged("Did you mean TELEGRAM_TOKEN?")) == 1
    served = await programs.serve("agents", TELEGRAM_TOKN="x")
    (line,) = served.logged("Did you mean TELEGRAM_TOKEN?")
    assert '"event": "setting_doubtful"' in line
