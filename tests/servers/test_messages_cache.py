"""The model server's prompt cache: what it finds, what it forgets, and what it charges for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.servers.messages.cache import Charge, Prompt, PromptCache, minimum_of

MARK: Any = {"type": "ephemeral"}
HOUR: Any = {"type": "ephemeral", "ttl": "1h"}
LOOK: Any = {"name": "look", "description": "Looks around. " * 20, "input_schema": {"type": "object"}}
PICTURE: Any = {"type": "image", "source": {"type": "url", "url": "https://x.example/p.png"}}


class Account:
    """A cache and its clock."""

    def __init__(self) -> None:
        self.now = 0.0
        self.cache = PromptCache(lambda: self.now)

    def charge(self, messages: Sequence[Any], **more: Any) -> Charge:
        return self.cache.charge(Prompt.of({"model": "claude-test", "messages": messages, **more}))


@pytest.fixture
def account() -> Account:
    return Account()


def text(words: str, mark: Any = None) -> dict[str, Any]:
    return {"type": "text", "text": words, **({"cache_control": mark} if mark else {})}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": [text(one) if isinstance(one, str) else one for one in blocks]}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {**user(*blocks), "role": "assistant"}


HELLO = [user("hello " * 50)]
LONGER = [*HELLO, assistant("Hello."), user("again")]


def test_what_is_read_is_what_an_earlier_request_marked(account: Account) -> None:
    first = account.charge(HELLO, cache_control=MARK)
    second = account.charge(LONGER, cache_control=MARK)
    assert (first.read, first.plain) == (0, 0)
    assert second.read == first.written_5m == first.total
    assert second.written_5m == second.total - first.total


def test_what_was_not_marked_is_not_found(account: Account) -> None:
    account.charge(HELLO)
    assert account.charge(LONGER, cache_control=MARK).read == 0
    assert account.charge(LONGER) == Charge(plain=account.charge(LONGER, cache_control=MARK).total)


def test_an_entry_lives_five_minutes_after_its_last_use(account: Account) -> None:
    whole = account.charge(HELLO, cache_control=MARK).total
    account.now += 299
    assert account.charge(HELLO, cache_control=MARK).read == whole
    account.now += 299
    assert account.charge(HELLO, cache_control=MARK).read == whole
    account.now += 300
    assert account.charge(HELLO, cache_control=MARK) == Charge(written_5m=whole)


def test_an_entry_for_an_hour_lives_an_hour_and_is_charged_as_one(account: Account) -> None:
    whole = account.charge(HELLO, cache_control=HOUR)
    assert whole == Charge(written_1h=whole.total)
    account.now += 3_599
    assert account.charge(HELLO, cache_control=HOUR).read == whole.total
    account.now += 3_600
    assert account.charge(HELLO, cache_control=HOUR).written_1h == whole.total


def test_what_is_kept_for_an_hour_is_told_apart_from_what_stands_behind_it(account: Account) -> None:
    system = [text("be kind " * 50, HOUR)]
    charge = account.charge(HELLO, system=system, cache_control=MARK)
    assert charge.written_1h == 122
    assert charge.written_5m == charge.total - 122


@pytest.mark.parametrize(("blocks", "found"), [(17, True), (18, False)])
def test_it_looks_back_over_twenty_blocks_the_marked_one_included(account: Account, blocks: int, found: bool) -> None:
    account.charge(HELLO, cache_control=MARK)
    later = [*HELLO, assistant("Hello."), user("and", *map(str, range(blocks)))]
    assert bool(account.charge(later, cache_control=MARK).read) is found


def test_another_mark_finds_what_is_further_back(account: Account) -> None:
    account.charge(HELLO, cache_control=MARK)
    later = [user(text("hello " * 50, MARK)), assistant("Hello."), user(*map(str, range(40)))]
    assert account.charge(later, cache_control=MARK).read == account.charge(HELLO, cache_control=MARK).total


def test_a_mark_is_no_part_of_a_prompt(account: Account) -> None:
    account.charge([user(text("hello " * 50, MARK))])
    assert account.charge(HELLO, cache_control=MARK).read > 0


def test_arguments_in_another_order_are_another_prompt(account: Account) -> None:
    def page(arguments: Any) -> list[Any]:
        call = {"type": "tool_use", "id": "a", "name": "look", "input": arguments}
        return [*HELLO, assistant(call), user({"type": "tool_result", "tool_use_id": "a", "content": "a fox"})]

    whole = account.charge(page({"b": 1, "a": 2}), cache_control=MARK).total
    assert account.charge(page({"a": 2, "b": 1}), cache_control=MARK).read == 0
    assert account.charge(page({"b": 1, "a": 2}), cache_control=MARK).read == whole


def test_two_messages_of_one_role_are_one(account: Account) -> None:
    account.charge(HELLO, cache_control=MARK)
    assert account.charge([user(*HELLO[0]["content"], "more")], cache_control=MARK).read > 0
    assert account.charge([*HELLO, user("more")], cache_control=MARK).written_5m == 0


def test_the_head_is_still_read_when_all_messages_are_others(account: Account) -> None:
    head: Any = {"tools": [LOOK], "system": [text("be kind " * 50, MARK)]}
    account.charge(HELLO, **head, cache_control=MARK)
    again = account.charge([user("something else")], **head, cache_control=MARK)
    assert again.read == again.total - account.charge([user("something else")]).total


@pytest.mark.parametrize(
    "changed",
    [{"tool_choice": {"type": "none"}}, {"thinking": {"type": "enabled", "budget_tokens": 1024}}],
    ids=["tool_choice", "thinking"],
)
def test_how_tools_are_chosen_and_thinking_change_the_messages_but_not_the_head(
    account: Account, changed: dict[str, Any]
) -> None:
    head: Any = {"tools": [LOOK], "system": [text("be kind " * 50, MARK)]}
    whole = account.charge(HELLO, **head, cache_control=MARK).total
    again = account.charge(HELLO, **head, **changed, cache_control=MARK)
    assert again.read == whole - account.charge(HELLO).total


def test_the_first_picture_changes_all_messages_and_the_second_none(account: Account) -> None:
    account.charge(HELLO, cache_control=MARK)
    seen = [*HELLO, assistant("Hello."), user(PICTURE)]
    assert account.charge(seen, cache_control=MARK).read == 0
    assert account.charge([*seen, assistant("I see."), user(PICTURE)], cache_control=MARK).read > 0


def test_another_tool_changes_everything(account: Account) -> None:
    account.charge(HELLO, tools=[LOOK], cache_control=MARK)
    assert account.charge(HELLO, tools=[LOOK, {**LOOK, "name": "peek"}], cache_control=MARK).read == 0


def test_what_is_shorter_than_the_models_minimum_is_not_cached(account: Account) -> None:
    short, long = [user("hello " * 500)], [user("hello " * 600)]
    for messages, cached in ((short, False), (long, True)):
        prompt = Prompt.of({"model": "claude-sonnet-5", "messages": messages, "cache_control": MARK})
        account.cache.charge(prompt)
        assert bool(account.cache.charge(prompt).read) is cached
    assert [minimum_of(name) for name in ("claude-opus-5", "claude-haiku-4-5-20251001", "else")] == [512, 4096, 0]


def test_the_mark_at_the_top_level_stands_before_thoughts(account: Account) -> None:
    thought = {"type": "thinking", "thinking": "hm " * 50, "signature": "x"}
    charge = account.charge([*HELLO, assistant(thought)], cache_control=MARK)
    assert charge.plain == charge.total - account.charge(HELLO).total


def test_all_is_forgotten_when_it_is_cleared(account: Account) -> None:
    account.charge(HELLO, cache_control=MARK)
    account.cache.clear()
    assert account.charge(HELLO, cache_control=MARK).read == 0
