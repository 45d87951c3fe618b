from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import signal
import socket
from pathlib import Path

import psutil
import pytest
import structlog
from redis.asyncio import Redis

from bot.app.embedded import EmbeddedError, watcher
from bot.app.embedded.detached import Detached, wait_until
from bot.app.embedded.valkey import EmbeddedValkey
from tests.embedded.conftest import StartMember


def process_of(valkey: EmbeddedValkey) -> Detached:
    return Detached(valkey.folder, "valkey")


async def kill(valkey: EmbeddedValkey) -> None:
    server = process_of(valkey)
    assert server.pid is not None
    os.kill(server.pid, signal.SIGKILL)
    assert await asyncio.to_thread(server.wait_until_gone, 5)


async def read(valkey: EmbeddedValkey, key: str) -> str | None:
    async with Redis.from_url(valkey.url, decode_responses=True) as redis:
        value: str | None = await redis.get(key)
        return value


async def write(valkey: EmbeddedValkey, key: str, value: str) -> None:
    """Writes it, and waits until it is on the disk."""
    async with Redis.from_url(valkey.url) as redis:
        await redis.set(key, value)
        await redis.execute_command("WAITAOF", 1, 0, 5000)


async def test_it_answers_on_its_url_and_evicts_nothing(data_dir: Path) -> None:
    valkey = EmbeddedValkey(data_dir)
    await valkey.start()
    async with Redis.from_url(valkey.url, decode_responses=True) as redis:
        assert await redis.ping()
        assert await redis.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
        assert await redis.config_get("appendonly") == {"appendonly": "yes"}
    await valkey.stop()


async def test_the_second_joins_and_the_last_one_out_stops_it(data_dir: Path) -> None:
    first, second = EmbeddedValkey(data_dir), EmbeddedValkey(data_dir)
    assert await first.start() == await second.start() == first.url
    assert (first.alone, second.alone) == (True, False)
    await write(first, "said by", "the first")
    await first.stop()
    assert await read(second, "said by") == "the first"
    await second.stop()
    assert not process_of(second).alive
    assert not second.socket_path.exists()


async def test_ten_that_start_at_once_share_one_valkey(data_dir: Path) -> None:
    members = [EmbeddedValkey(data_dir) for _ in range(10)]
    await asyncio.gather(*(member.start() for member in members))
    assert sum(member.alone for member in members) == 1
    async with Redis.from_url(members[0].url, decode_responses=True) as redis:
        assert (await redis.info("server"))["process_id"] == process_of(members[0]).pid
    await asyncio.gather(*(member.stop() for member in members))
    assert not process_of(members[0]).alive


async def test_what_was_written_is_there_after_a_stop(data_dir: Path) -> None:
    valkey = EmbeddedValkey(data_dir)
    await valkey.start()
    await write(valkey, "kept", "yes")
    await valkey.stop()
    await valkey.start()
    assert await read(valkey, "kept") == "yes"
    await valkey.stop()


async def test_stopping_twice_or_before_the_start_does_nothing(data_dir: Path) -> None:
    valkey = EmbeddedValkey(data_dir)
    await valkey.stop()
    await valkey.start()
    await valkey.stop()
    await valkey.stop()


async def test_a_killed_valkey_is_brought_back_once_when_all_members_ask(data_dir: Path) -> None:
    members = [EmbeddedValkey(data_dir) for _ in range(5)]
    for member in members:
        await member.start()
    await write(members[0], "kept", "yes")
    await kill(members[0])
    await asyncio.gather(*(member.ensure() for member in members))
    assert await read(members[4], "kept") == "yes"
    await asyncio.gather(*(member.stop() for member in members))
    assert not process_of(members[0]).alive


async def test_ensure_leaves_a_healthy_valkey_alone(data_dir: Path) -> None:
    valkey = EmbeddedValkey(data_dir)
    await valkey.start()
    before = process_of(valkey).pid
    assert await valkey.ensure() == valkey.url
    assert process_of(valkey).pid == before
    await valkey.stop()


async def test_after_a_member_was_killed_the_next_one_is_alone_and_joins_its_valkey(
    data_dir: Path, start_member: StartMember
) -> None:
    member = start_member("valkey")
    valkey = EmbeddedValkey(data_dir)
    before = process_of(valkey).pid
    member.kill()
    member.wait()
    await valkey.start()
    assert valkey.alone
    assert process_of(valkey).pid == before
    await valkey.stop()
    assert not process_of(valkey).alive


async def test_a_member_in_another_process_keeps_it_running(data_dir: Path, start_member: StartMember) -> None:
    start_member("valkey")
    valkey = EmbeddedValkey(data_dir)
    await valkey.start()
    assert not valkey.alone
    await valkey.stop()
    assert process_of(valkey).alive


async def test_ctrl_c_in_the_terminal_of_its_starter_does_not_reach_it(
    data_dir: Path, start_member: StartMember
) -> None:
    member = start_member("valkey")
    os.killpg(member.pid, signal.SIGINT)
    assert member.stdout is not None
    assert await asyncio.to_thread(member.stdout.readline) == "interrupted\n"
    valkey = EmbeddedValkey(data_dir)
    assert process_of(valkey).alive
    pid = process_of(valkey).pid
    assert pid is not None
    assert os.getsid(pid) != os.getsid(member.pid)


async def test_a_stale_socket_and_a_stale_pid_are_no_obstacle(data_dir: Path) -> None:
    valkey = EmbeddedValkey(data_dir)
    valkey.socket_path.parent.mkdir(mode=0o700, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(valkey.socket_path))
    valkey.folder.mkdir()
    (valkey.folder / "valkey.lock").write_text(f"{os.getpid()}\n")
    await valkey.start()
    assert process_of(valkey).pid != os.getpid()
    await valkey.stop()


async def test_a_half_written_end_of_its_file_costs_only_that_end(data_dir: Path) -> None:
    valkey = EmbeddedValkey(data_dir)
    await valkey.start()
    await write(valkey, "kept", "yes")
    await write(valkey, "torn", "x" * 1000)
    await kill(valkey)
    [file] = (valkey.folder / "appendonlydir").glob("*.incr.aof")
    os.truncate(file, file.stat().st_size - 500)
    await valkey.ensure()
    assert (await read(valkey, "kept"), await read(valkey, "torn")) == ("yes", None)
    await valkey.stop()


async def test_a_file_that_it_refuses_is_moved_aside_and_it_starts_empty(data_dir: Path) -> None:
    valkey = EmbeddedValkey(data_dir)
    for attempt in (1, 2):
        await valkey.start()
        await write(valkey, "kept", "yes")
        await kill(valkey)
        [file] = (valkey.folder / "appendonlydir").glob("*.incr.aof")
        file.write_bytes(b"this was never an append-only file\n" * 50)
        with structlog.testing.capture_logs() as logs:
            await valkey.ensure()
        assert [entry["event"] for entry in logs] == ["valkey_started_empty"]
        assert (valkey.folder / f"broken-{attempt}").is_dir()
        assert await read(valkey, "kept") is None
        await valkey.stop()


async def test_a_start_that_fails_for_another_reason_says_it_and_keeps_the_file(data_dir: Path) -> None:
    valkey = EmbeddedValkey(data_dir)
    await valkey.start()
    await write(valkey, "kept", "yes")
    await valkey.stop()
    valkey.socket_path.mkdir()  # a folder where the socket should be: no file of Valkey's is to blame
    try:
        with pytest.raises(EmbeddedError, match="Valkey"):
            await valkey.start()
    finally:
        valkey.socket_path.rmdir()
    assert not process_of(valkey).alive
    await valkey.start()
    assert valkey.alone
    assert await read(valkey, "kept") == "yes"
    await valkey.stop()


async def test_a_full_disk_is_told_in_one_sentence(data_dir: Path) -> None:
    (data_dir / "valkey").write_text("a file where the folder should be: the system refuses in the same way")
    with pytest.raises(EmbeddedError, match=r"Valkey cannot run in .*valkey: "):
        await EmbeddedValkey(data_dir).start()


@pytest.mark.parametrize("name", ["x" * 200, "with spaces and 'quotes'", "unïcode-ßtraße-数据"])
async def test_any_path_will_do_for_a_data_dir(data_dir: Path, name: str) -> None:
    valkey = EmbeddedValkey(data_dir / name)
    await valkey.start()
    assert len(os.fsencode(valkey.socket_path)) < 100
    await write(valkey, "kept", "yes")
    assert (data_dir / name / "valkey" / "appendonlydir").is_dir()
    await valkey.stop()
    assert not process_of(valkey).alive


async def test_a_relative_path_and_a_link_lead_to_the_same_valkey(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (data_dir / "real").mkdir()
    (data_dir / "link").symlink_to(data_dir / "real")
    monkeypatch.chdir(data_dir)
    assert EmbeddedValkey(Path("link")).url == EmbeddedValkey(data_dir / "real").url


async def test_two_data_dirs_have_two_valkeys(data_dir: Path) -> None:
    here, there = EmbeddedValkey(data_dir / "here"), EmbeddedValkey(data_dir / "there")
    await here.start()
    await there.start()
    await write(here, "said", "here")
    assert await read(there, "said") is None
    await here.stop()
    await there.stop()


async def test_a_data_dir_that_was_deleted_takes_its_valkey_along(data_dir: Path) -> None:
    home = data_dir / "home"
    orphan = EmbeddedValkey(home)
    await orphan.start()
    await write(orphan, "kept", "yes")
    await asyncio.to_thread(shutil.rmtree, home)
    valkey = EmbeddedValkey(home)
    await valkey.start()
    assert await read(valkey, "kept") is None
    await valkey.stop()
    assert await asyncio.to_thread(wait_until, lambda: not valkey.socket_path.exists(), 5)
    await orphan.stop()


async def test_a_cancelled_start_leaves_nothing_running(data_dir: Path) -> None:
    valkey = EmbeddedValkey(data_dir)
    starting = asyncio.create_task(valkey.start())
    await asyncio.to_thread(wait_until, lambda: valkey.folder.is_dir() and process_of(valkey).alive, 5)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert not process_of(valkey).alive
    assert (await valkey.start(), valkey.alone) == (valkey.url, True)
    await valkey.stop()


async def test_the_folder_of_its_socket_is_ours_alone(data_dir: Path) -> None:
    valkey = EmbeddedValkey(data_dir)
    await valkey.start()
    found = valkey.socket_path.parent.stat()
    assert (found.st_mode & 0o777, found.st_uid) == (0o700, os.getuid())
    await valkey.stop()


def quick(data_dir: Path) -> EmbeddedValkey:
    """One whose watcher looks often, and does not wait for long."""
    return EmbeddedValkey(data_dir, look_seconds=0.05, deserted_seconds=0.5)


async def test_it_ends_when_all_its_members_were_killed(data_dir: Path, start_member: StartMember) -> None:
    member = start_member("quick-valkey")
    valkey = EmbeddedValkey(data_dir)
    server, watching = process_of(valkey), Detached(valkey.folder, "watcher")
    member.kill()
    assert await asyncio.to_thread(server.wait_until_gone, 10)
    assert await asyncio.to_thread(watching.wait_until_gone, 10)
    await valkey.start()
    async with Redis.from_url(valkey.url) as redis:
        assert await redis.ping()
    await valkey.stop()
    assert not process_of(valkey).alive
    assert not watching.alive


async def test_it_ends_when_its_members_were_killed_and_their_folder_removed(
    data_dir: Path, start_member: StartMember
) -> None:
    member = start_member("quick-valkey")
    valkey = EmbeddedValkey(data_dir)
    numbers = [Detached(valkey.folder, name).pid for name in ("valkey", "watcher")]
    assert all(numbers)
    member.kill()
    shutil.rmtree(valkey.folder)
    assert await asyncio.to_thread(wait_until, lambda: not any(psutil.pid_exists(one or 0) for one in numbers), 10)


async def test_it_stays_while_anybody_is_in_and_while_its_folder_is_moved(data_dir: Path) -> None:
    valkey = quick(data_dir)
    await valkey.start()
    async with Redis.from_url(valkey.url) as redis:
        number = (await redis.info("server"))["process_id"]
        await asyncio.sleep(1)
        (data_dir / "valkey").rename(data_dir / "elsewhere")
        await asyncio.sleep(1)
        assert (await redis.info("server"))["process_id"] == number
    (data_dir / "elsewhere").rename(data_dir / "valkey")
    await valkey.stop()
    assert not process_of(valkey).alive


async def test_whoever_comes_again_before_it_ends_finds_it(data_dir: Path, start_member: StartMember) -> None:
    for _ in range(3):
        member = start_member("quick-valkey")
        number = process_of(EmbeddedValkey(data_dir)).pid
        member.kill()
        member.wait()
        valkey = EmbeddedValkey(data_dir)
        assert await valkey.start() == valkey.url
        assert process_of(valkey).pid == number
        await asyncio.sleep(0.8)  # longer than the watcher waits where nobody is in
        assert await valkey.find() == valkey.url
        await valkey.stop()


async def test_a_watcher_that_was_killed_is_replaced_with_the_next_member(data_dir: Path) -> None:
    first, second = quick(data_dir), quick(data_dir)
    await first.start()
    watching = Detached(first.folder, "watcher")
    assert watching.pid
    os.kill(watching.pid, signal.SIGKILL)
    assert await asyncio.to_thread(watching.wait_until_gone, 5)
    await second.start()
    assert watching.alive
    await first.stop()
    await second.stop()
    assert not watching.alive


async def test_the_watcher_ends_no_process_that_only_has_the_same_number(data_dir: Path) -> None:
    folder = data_dir / "valkey"
    folder.mkdir()
    for name in ("door.lock", "members.lock", "valkey.lock"):
        (folder / name).touch()
    stranger = await asyncio.create_subprocess_exec("sleep", "60", cwd=data_dir)
    with (folder / "valkey.lock").open("r+") as held, watcher._opened(folder) as files:
        held.write(str(stranger.pid))
        held.flush()
        fcntl.flock(held, fcntl.LOCK_EX)  # as if its server lived, in another container
        await asyncio.to_thread(watcher.Watcher(*files).run, 0.01, 0.05)
    assert stranger.returncode is None
    stranger.kill()
    await stranger.wait()
