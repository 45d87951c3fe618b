"""What an operator gets wrong is said in one line, and the exit code tells which kind it was."""

from __future__ import annotations

import json
import socket

from tests.wire.program import Program, Programs


async def _end_all(programs: list[Program], within: float = 60) -> None:
    for program in programs:
        await program.ends(within)


async def test_a_usage_error_ends_with_2(programs: Programs) -> None:
    commands = [
        [],
        ["frobnicate"],
        ["chat", "--agent", "Not A Name"],
        ["chat", "--agent", "../up"],
        ["chat", "--nonsense"],
        ["run", "--role", "nobody"],
        ["chat", "--limit", "0"],
        ["run", "--option", "keep=2"],
    ]
    started = [await programs.start(*command) for command in commands]
    await _end_all(started)
    for command, program in zip(commands, started, strict=True):
        assert program.process.returncode == 2, (command, program.describe())
    assert not programs.data.exists()


async def test_a_configuration_error_ends_with_1_and_one_line_that_names_the_setting(programs: Programs) -> None:
    programs.folder.mkdir(exist_ok=True)
    (programs.folder / "file").write_text("")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        cases: list[tuple[str, str, str]] = [
            ("chat", "AGENTS__WARNING", "much"),
            ("chat", "AGENTS__STRATEGY", "nought"),
            ("chat", "ACCESS", "everybody"),
            ("chat", "DATA_DIR", str(programs.folder / "file")),
            ("chat", "DATABASE_URL", "mysql://nowhere/nothing"),
            ("run", "HTTP_BIND", address),
            ("run", "HTTP_BIND", "127.0.0.1"),
            ("run", "HTTP_BIND", "127.0.0.1:80x"),
            ("run", "DATA_DIR", str(programs.folder / "file" / "below")),
            ("run", "ANTHROPIC_BASE_URL", "nonsense"),
            ("chat", "COMPACTION__MUST_KEEP", "ORD-[0-9]+"),
            ("run", "TELEGRAM_TOKEN", "nonsense"),
            ("run", "REDIS_URL", "http://127.0.0.1:1"),
        ]
        started = []
        for number, (command, name, value) in enumerate(cases):
            agent = ["--agent", f"me-{number}"] if command == "chat" else []
            started.append(await programs.start(command, *agent, **{name: value}))
            await started[-1].says("Hello.")
        await _end_all(started)
    for (command, name, value), program in zip(cases, started, strict=True):
        told = [line for line in program.err if not line.startswith("{")]
        assert program.process.returncode == 1, (command, name, value, program.describe())
        assert len(told) == 1, (name, told)
        assert told[0].startswith("palimpsest: "), told
        assert name in told[0], told
        assert program.out == []


async def test_a_second_program_says_that_one_is_already_running_here_before_it_speaks_of_its_address(
    programs: Programs,
) -> None:
    first = await programs.serve()
    address = json.loads(first.logged("http_listens")[0])["address"]
    second = await programs.start("run", HTTP_BIND=address)
    assert await second.ends(60) == 1, second.describe()
    (told,) = [line for line in second.err if not line.startswith("{")]
    assert told.startswith(
        f"palimpsest: Already running here: another `palimpsest run` works on DATA_DIR={programs.data}"
    )
    assert told.index("Already running here") < told.index(f"HTTP_BIND={address} cannot be listened on")
    assert first.process.returncode is None
    assert await first.stop() == 0

    with socket.create_server(("127.0.0.1", int(address.rpartition(":")[2]))):
        third = await programs.start("run", HTTP_BIND=address)
        assert await third.ends(60) == 1, third.describe()
    assert not third.logged("lready running")
    assert third.logged("cannot be listened on")
