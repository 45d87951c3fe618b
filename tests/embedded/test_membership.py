from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bot.app.embedded import EmbeddedError
from bot.app.embedded.membership import Membership


def test_the_first_one_in_is_alone_and_the_last_one_out_is_told(tmp_path: Path) -> None:
    first, second = Membership(tmp_path), Membership(tmp_path)
    assert first.enter() is True
    assert second.enter() is False
    assert first.leave() is False
    assert second.leave() is True


def test_leaving_without_having_entered_makes_nobody_the_last_one_out(tmp_path: Path) -> None:
    assert Membership(tmp_path).leave() is False


async def test_the_door_lets_one_through_at_a_time(tmp_path: Path) -> None:
    inside = 0
    most = 0

    def pass_through() -> None:
        nonlocal inside, most
        with Membership(tmp_path).door():
            inside += 1
            most = max(most, inside)
            inside -= 1

    await asyncio.gather(*(asyncio.to_thread(pass_through) for _ in range(8)))
    assert most == 1


def test_a_door_that_stays_shut_is_an_error_that_names_it(tmp_path: Path) -> None:
    with (
        Membership(tmp_path).door(),
        pytest.raises(EmbeddedError, match=r"door\.lock"),
        Membership(tmp_path).door(patience=0.05),
    ):
        pass


def test_a_server_never_locks_up_while_someone_is_in_or_at_the_door(tmp_path: Path) -> None:
    member, server = Membership(tmp_path), Membership(tmp_path)
    with member.door():
        assert not server.lock_up_if_deserted()
        member.enter()
    assert not server.lock_up_if_deserted()


def test_a_deserted_server_keeps_the_door_shut_until_it_ends(tmp_path: Path) -> None:
    member, server = Membership(tmp_path), Membership(tmp_path)
    member.enter()
    member.leave()
    assert server.lock_up_if_deserted()
    with pytest.raises(EmbeddedError), member.door(patience=0.05):
        pass


def test_a_server_whose_folder_is_gone_is_deserted(tmp_path: Path) -> None:
    assert Membership(tmp_path / "gone").lock_up_if_deserted()
