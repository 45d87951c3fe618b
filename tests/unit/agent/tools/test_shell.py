"""The shell: for admins, within limits, gone when it ends; with bubblewrap it sees the system and its own folder."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from bot.agent.tools import shell_confinement
from bot.agent.tools.process import Limits
from bot.agent.tools.shell import FOR_ADMINS, NO_WALLS, Shell, shell
from bot.agent.tools.tool import Occasion, ToolError
from bot.agent.tools.toolbox import Toolbox
from bot.files.own_folder import OWNED_FOLDERS
from tests.parser import HERE
from tests.until import until

SECRET = "sk-ant-a-secret-of-ours-0123456789"
BUBBLEWRAP = shutil.which("bwrap")
confined_only = pytest.mark.skipif(
    not (BUBBLEWRAP and shell_confinement.works(BUBBLEWRAP)),
    reason="bubblewrap is not there, or is not allowed to work",
)
needs_proc = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found in /proc")
WALLS = [pytest.param("on", marks=confined_only), "unconfined"]


@pytest.fixture(params=WALLS)
def walls(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    other = tmp_path / "data" / "agents" / "telegram-2"
    other.mkdir(parents=True)
    (other / "secret.txt").write_text("of somebody else")
    (tmp_path / "data" / "palimpsest.db").write_text("the book")
    own = tmp_path / "data" / "agents" / "telegram-1"
    own.mkdir()
    (own / "notes.txt").write_text("remember the milk\n")
    return own


@pytest.fixture(autouse=True)
def _secrets_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    monkeypatch.setenv("DATABASE_URL", f"postgresql://me:{SECRET}@host/db")


def made(walls: Any, folder: Path, **more: Any) -> Shell:
    return shell(walls, network=False, secret=(folder.parents[1],), **more)


async def runs(
    walls: str, folder: Path, command: str, *, by_admin: bool = True, limits: Limits | None = None, **more: Any
) -> str:
    tool = made(walls, folder, **({"limits": limits} if limits else {}))
    return await tool.run({"command": command, **more}, Occasion(folder, HERE, 8_000, by_admin))


def alive(marker: str) -> list[str]:
    """Processes that have this in their command line."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            line = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if marker in line and int(place.name) != os.getpid():
            found.append(line)
    return found


async def test_a_command_runs_in_the_folder_and_says_how_it_ended(walls: str, folder: Path) -> None:
    said = await runs(walls, folder, "cat notes.txt; echo made > new.txt; echo wrong >&2; exit 3")
    assert said.startswith("remember the milk\nwrong\n[exit code 3, after ")
    assert (folder / "new.txt").read_text() == "made\n"


async def test_it_is_for_admins_alone_and_the_definition_does_not_depend_on_who_asks(walls: str, folder: Path) -> None:
    with pytest.raises(ToolError, match="admins"):
        await runs(walls, folder, "touch made.txt", by_admin=False)
    assert not (folder / "made.txt").exists()
    box = Toolbox(folder, HERE, [made(walls, folder)])
    before = box.definitions
    block = (await box.run({"type": "tool_use", "id": "1", "name": "shell", "input": {"command": "ls"}})).block
    assert block["content"] == FOR_ADMINS
    assert box.definitions == before


async def test_a_shell_that_a_crash_cut_off_is_not_run_again(folder: Path) -> None:
    call = {"type": "tool_use", "id": "1", "name": "shell", "input": {"command": "ls"}}
    assert not Toolbox(folder, HERE, [made("unconfined", folder)]).may_run_again(call)


@pytest.mark.parametrize(
    "given",
    [{}, {"command": ""}, {"command": 7}, {"command": "a\0b"}, {"command": "x" * 30_000}]
    + [{"command": "ls", "timeout": wrong} for wrong in (0, -1, 1.5, True, "5", 100_000)],
)
async def test_what_is_no_command_is_refused(folder: Path, given: dict[str, Any]) -> None:
    with pytest.raises(ToolError):
        await made("unconfined", folder).run(given, Occasion(folder, HERE, 8_000, by_admin=True))


async def test_nothing_of_our_environment_is_passed_on(walls: str, folder: Path) -> None:
    said = await runs(walls, folder, "env; cat /proc/self/environ 2>/dev/null | tr '\\0' '\\n'")
    names = {line.partition("=")[0] for line in said.splitlines() if "=" in line}
    assert names <= {"PATH", "HOME", "LANG", "TERM", "PWD", "SHLVL", "_", "OLDPWD", "PALIMPSEST_CALL"}
    assert SECRET not in said


@needs_proc
async def test_what_runs_in_the_background_ends_with_the_command(walls: str, folder: Path) -> None:
    began = time.monotonic()
    await runs(walls, folder, "sleep 4111 & (setsid sleep 4112 &) ; nohup sleep 4113 >/dev/null 2>&1 & echo done")
    assert time.monotonic() - began < 5
    assert alive("sleep 411") == []


@needs_proc
async def test_a_command_that_takes_too_long_is_stopped_with_all_that_it_started(walls: str, folder: Path) -> None:
    said = await runs(walls, folder, "echo begun; sleep 4121 & sleep 4122", timeout=1)
    assert said.startswith("begun\n[stopped: it took longer than 1 s")
    assert alive("sleep 412") == []


@needs_proc
async def test_an_abort_stops_it_with_all_that_it_started(walls: str, folder: Path) -> None:
    task = asyncio.create_task(runs(walls, folder, "touch begun; sleep 4131 & sleep 4132"))
    await until(lambda: bool((folder / "begun").exists() and alive("sleep 4132")), lambda: "it never began")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert alive("sleep 413") == []


KILLED = """
import asyncio, pathlib, sys
from bot.agent.tools.shell import shell
from bot.agent.tools.tool import Occasion
from tests.parser import HERE
tool = shell(sys.argv[1], network=False, secret=())
asked = {"command": "sleep 4151; touch after", "timeout": 1}
asyncio.run(tool.run(asked, Occasion(pathlib.Path(sys.argv[2]), HERE, 8_000, True)))
"""


@needs_proc
async def test_a_kill_of_the_program_ends_the_command_too(walls: str, folder: Path) -> None:
    """Within walls at once; without them, a little after its time is up."""
    program = subprocess.Popen([sys.executable, "-c", KILLED, walls, str(folder)], cwd=Path(__file__).parents[4])
    await until(lambda: bool(alive("sleep 4151")), lambda: "it never began")
    program.kill()
    program.wait()
    await until(lambda: not alive("sleep 4151"), lambda: alive("sleep 4151"))
    assert not (folder / "after").exists()


async def test_a_flood_is_stopped_and_its_beginning_and_end_are_kept(walls: str, folder: Path) -> None:
    limits = Limits(output=10_000, flood=3_000_000)
    said = await runs(walls, folder, "echo first; yes", limits=limits)
    assert said.startswith("first\ny\n")
    assert "[stopped: it wrote more than 3,000,000 bytes" in said
    assert "bytes are left out here]" in said
    assert len(said) < 11_000


@needs_proc
async def test_a_command_that_starts_too_many_processes_is_stopped(walls: str, folder: Path) -> None:
    limits = Limits(processes=30)  # no bomb that doubles: root, as which tests may run, has no limit of the kernel's
    command = "for i in $(seq 100); do sleep 4141 & sleep 0.01; done; sleep 4142"
    said = await runs(walls, folder, command, timeout=20, limits=limits)
    assert "[stopped: it started more than 30 processes" in said
    assert alive("sleep 414") == []


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS holds no process to a limit of memory")
async def test_memory_is_limited(walls: str, folder: Path) -> None:
    # What `tail` is to show it has to keep.
    command = "head -c 400000000 /dev/zero | tail -c 400000000 | wc -c; echo tail: ${PIPESTATUS[1]}"
    said = await runs(walls, folder, command, limits=Limits(memory=200_000_000))
    assert "400000000" not in said
    assert "tail: 1\n[exit code 0" in said, "it fails in a moment, and is not stopped for the time that it takes"


async def test_the_size_of_a_file_is_limited(walls: str, folder: Path) -> None:
    await runs(walls, folder, "head -c 5000000 /dev/zero > large.bin", limits=Limits(file=1_000_000))
    assert 900_000 < (folder / "large.bin").stat().st_size <= 1_000_000


async def test_it_has_no_input_to_wait_for(walls: str, folder: Path) -> None:
    assert (await runs(walls, folder, 'read line; echo "[$line]"; cat')).startswith("[]\n[exit code 0")


async def test_output_that_is_no_text_is_read_as_well_as_it_can_be(walls: str, folder: Path) -> None:
    assert "a�b" in await runs(walls, folder, "printf 'a\\377b'")


async def test_a_link_that_pretends_to_be_the_programs_own_file_goes(walls: str, folder: Path) -> None:
    names = "compaction_29990101.md .terminal.lock input_history"
    await runs(walls, folder, f"for name in {names}; do ln -sf ../telegram-2/secret.txt $name; done; ls -la")
    assert [item for item in folder.iterdir() if item.is_symlink()] == []
    assert (folder.parent / "telegram-2" / "secret.txt").read_text() == "of somebody else"


# --- the walls ---


async def test_without_bubblewrap_it_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(folder))
    with pytest.raises(ToolError) as refused:
        await runs("on", folder, "touch made.txt")
    assert str(refused.value) == NO_WALLS
    assert not (folder / "made.txt").exists()


async def test_a_bubblewrap_that_does_not_work_is_as_good_as_none(folder: Path, tmp_path: Path) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'No permissions to create a new namespace' >&2\nexit 1\n")
    broken.chmod(0o755)
    tool = Shell({}, "on", bubblewrap=str(broken))
    with pytest.raises(ToolError, match="bubblewrap"):
        await tool.run({"command": "touch made.txt"}, Occasion(folder, HERE, 8_000, by_admin=True))
    assert not (folder / "made.txt").exists()


def test_the_walls_are_these(folder: Path) -> None:
    shell_confinement.prepare(folder)
    (folder / "compaction_20261121.md").write_text("a trace")
    line = shell_confinement.confined("bwrap", folder, ["true"], network=False, secret=())
    assert line[0] == "bwrap"
    assert {"--unshare-all", "--die-with-parent", "--new-session", "--clearenv"} <= set(line)
    assert line[line.index("--cap-drop") + 1] == "ALL"
    assert "--share-net" not in line
    writable = [line[at + 1] for at, argument in enumerate(line) if argument in ("--bind", "--dev-bind")]
    assert writable == [str(folder.resolve())]
    readable = [line[at + 1] for at, argument in enumerate(line) if argument.startswith("--ro-bind")]
    assert "/" not in readable
    assert "/etc" not in readable
    assert {str(folder.resolve() / name) for name in (*OWNED_FOLDERS, "compaction_20261121.md")} <= set(readable)
    assert line[-1] == "true"


def test_the_network_is_there_only_when_it_is_wanted(folder: Path) -> None:
    shell_confinement.prepare(folder)
    line = shell_confinement.confined("bwrap", folder, ["true"], network=True, secret=())
    assert line.index("--share-net") == line.index("--unshare-all") + 1
    assert "/etc/resolv.conf" in line


def test_a_data_folder_among_the_systems_own_is_hidden(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shell_confinement.prepare(folder)
    monkeypatch.setattr(shell_confinement, "_SYSTEM", (str(folder.parents[2]),))
    secret = (folder.parents[1], folder.parents[1] / "palimpsest.db", Path("/home/somewhere-else"))
    line = shell_confinement.confined("bwrap", folder, ["true"], network=False, secret=secret)
    at = line.index("--tmpfs", line.index("/dev/shm"))
    assert line[at + 1] == str(folder.parents[1].resolve())
    assert at < line.index("--bind")
    assert line[line.index(str(folder.parents[1].resolve() / "palimpsest.db")) - 1] == "/dev/null"


ESCAPES = [
    "cd ..; cat telegram-2/secret.txt ../palimpsest.db",
    "cat {other}/secret.txt",
    "cat {data}/palimpsest.db",
    "ls -R {data}",
    "ln -s {other} link; cat link/secret.txt",
    "cp -r {other} stolen; cat stolen/*",
    "cat /proc/{pid}/environ | tr '\\0' '\\n'",
    "cat /proc/*/environ | tr '\\0' '\\n'",
    "cat /proc/1/root{other}/secret.txt",
    "ls /proc/{pid}/cwd/",
    "cat /etc/passwd /etc/shadow",
    "cat ~/.ssh/* /root/.ssh/* /home/*/.bashrc",
    "cat {cwd}/.env",
    "mount -t tmpfs none /tmp; mount --bind / /folder",
    "unshare -Ur cat {other}/secret.txt",
    "kill -9 {pid}",
    "echo evil > /usr/bin/evil; touch /evil /etc/evil && echo 'root:x written'",
    "echo evil > files/x; echo evil > results/x; rm -rf files results .views",
]


@confined_only
@pytest.mark.parametrize("command", ESCAPES)
async def test_there_is_no_way_out(folder: Path, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".env").write_text(f"ANTHROPIC_API_KEY={SECRET}")
    monkeypatch.chdir(tmp_path)
    (folder / "files").mkdir()
    (folder / "files" / "cat.png").write_text("of a person")
    places = {"other": folder.parent / "telegram-2", "data": folder.parents[1], "pid": os.getpid(), "cwd": tmp_path}
    said = await runs("on", folder, command.format(**places))
    for secret in ("of somebody else", "the book", SECRET, "root:x", "root:*", "telegram-2/\n"):
        assert secret not in said
    assert (folder / "files" / "cat.png").read_text() == "of a person"
    assert [*(folder / "files").iterdir()] == [folder / "files" / "cat.png"]
    assert not Path("/evil").exists()
    assert not Path("/usr/bin/evil").exists()


@confined_only
async def test_there_is_no_network(folder: Path) -> None:
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    said = await runs("on", folder, f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo reached; cat /proc/net/dev")
    server.close()
    assert "reached" not in said
    assert "eth0" not in said
