"""Which model of a chain is asked: the first that is not known to be down, and one probe after each pause."""

from __future__ import annotations

import pytest

from bot.errors import Cause, ModelError, ModelOverflow, ModelRefused, ModelUnavailable
from bot.model import Link
from bot.model.chain import (
    FIRST_PAUSE,
    LONGEST_PAUSE,
    PAUSE_OF_ALL,
    PROBE_SECONDS,
    SHORT_PATIENCE,
    STEADY_SECONDS,
    Asked,
    Chain,
    Search,
    is_outage,
)
from bot.model.scripted import ScriptedModel

AWAY = ModelUnavailable("away")
KEY = ModelRefused("no such key", cause=Cause.KEY)


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def chain(clock: Clock) -> Chain:
    return Chain([Link(ScriptedModel(), name) for name in ("first", "second")], clock)


def asked(chain: Chain, *, surely: bool = False) -> Asked:
    found = chain.choose(surely=surely)
    assert found
    return found


def name(chain: Chain) -> str:
    found = chain.choose()
    return found.link.name if found else ""


def test_the_first_is_asked_until_it_fails_and_after_its_pause_one_request_tries_it(chain: Chain, clock: Clock) -> None:
    chain.failed(asked(chain), AWAY)
    assert [name(chain) for _ in range(3)] == ["second"] * 3
    clock.now += FIRST_PAUSE
    assert [name(chain) for _ in range(3)] == ["first", "second", "second"], "one probe"
    assert [link.name for link in chain.down] == ["first"]


def test_a_probe_that_is_answered_makes_it_the_first_again(chain: Chain, clock: Clock) -> None:
    chain.failed(asked(chain), AWAY)
    clock.now += FIRST_PAUSE
    chain.answered(asked(chain))
    assert [name(chain) for _ in range(3)] == ["first"] * 3
    assert not chain.down
    assert chain.why(chain.first) is None


def test_pauses_grow_while_it_goes_on_failing(chain: Chain, clock: Clock) -> None:
    pauses = []
    for _ in range(8):
        chain.failed(asked(chain), AWAY)
        began = clock.now
        while name(chain) != "first":
            clock.now += 1
        pauses.append(clock.now - began)
        clock.now += PROBE_SECONDS  # that probe shows nothing; the next one is let go ahead
    assert pauses[:4] == [FIRST_PAUSE, 2 * FIRST_PAUSE, 4 * FIRST_PAUSE, 8 * FIRST_PAUSE]
    assert pauses[-1] == LONGEST_PAUSE


def test_one_that_fails_again_soon_after_it_was_back_is_not_trusted_at_once(chain: Chain, clock: Clock) -> None:
    chain.failed(asked(chain), AWAY)
    clock.now += FIRST_PAUSE
    chain.answered(asked(chain))
    chain.failed(asked(chain), AWAY)
    clock.now += FIRST_PAUSE
    assert name(chain) == "second"
    clock.now += FIRST_PAUSE
    chain.answered(asked(chain))
    clock.now += STEADY_SECONDS
    chain.failed(asked(chain), AWAY)
    clock.now += FIRST_PAUSE
    assert name(chain) == "first", "that is long ago"


def test_one_conversation_whose_words_break_it_does_not_keep_the_others_from_it(chain: Chain, clock: Clock) -> None:
    for _ in range(5):
        chain.failed(asked(chain), AWAY, "the one that breaks it")
        clock.now += FIRST_PAUSE
        assert name(chain) == "first"
        chain.answered(Asked(chain.first))


def test_many_that_fail_at_once_are_one_failure(chain: Chain, clock: Clock) -> None:
    for one in [asked(chain) for _ in range(50)]:
        chain.failed(one, AWAY)
    clock.now += FIRST_PAUSE
    assert name(chain) == "first"


def test_the_providers_own_pause_counts_where_it_is_longer(chain: Chain, clock: Clock) -> None:
    chain.failed(asked(chain), ModelUnavailable("later", wait=100.0))
    clock.now += 99
    assert name(chain) == "second"
    clock.now += 1
    assert name(chain) == "first"


def test_where_all_are_down_nobody_is_asked_but_by_one_at_a_time_and_soon(chain: Chain, clock: Clock) -> None:
    for _ in range(4):
        for _ in chain.links:
            chain.failed(asked(chain, surely=True), AWAY)
        clock.now += PROBE_SECONDS
    for _ in chain.links:
        chain.failed(asked(chain, surely=True), AWAY)
    assert chain.choose() is None
    assert 0 < chain.pause <= PAUSE_OF_ALL
    clock.now += PAUSE_OF_ALL
    assert [name(chain) for _ in range(3)] == ["first", "second", ""]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (AWAY, True),
        (ModelUnavailable("busy", cause=Cause.BUSY), True),
        (KEY, True),
        (ModelRefused("bill", cause=Cause.CREDIT), True),
        (ModelRefused("no such model", cause=Cause.MODEL), True),
        (ModelRefused("bad request"), False),
        (ModelRefused("no picture", of_content=True), False),
        (ModelOverflow("too long"), False),
    ],
)
def test_what_another_model_would_meet_too_is_no_outage(error: ModelError, expected: bool) -> None:
    assert is_outage(error) is expected


def searched(search: Search) -> str:
    link = search.choose()
    return link.name if link else ""


def test_each_link_is_asked_once_without_patience_also_one_that_is_known_to_be_down(chain: Chain) -> None:
    chain.failed(asked(chain), AWAY)
    chain.failed(asked(chain), KEY)
    search = Search(chain)
    names = []
    while True:
        names.append(searched(search))
        if not search.failed(AWAY):
            break
    assert sorted(names) == ["first", "second"]
    assert (str(search.error), search.error.cause) == ("first: away second: away", Cause.AWAY)


def test_who_has_failed_is_not_asked_again_before_the_others(chain: Chain, clock: Clock) -> None:
    search = Search(chain, patience=60.0)
    search.choose()
    search.failed(AWAY)
    clock.now += FIRST_PAUSE
    assert searched(search) == "second"


def test_one_gets_a_short_patience_where_another_could_be_asked(chain: Chain) -> None:
    search = Search(chain)
    search.choose()
    assert search.short_patience == SHORT_PATIENCE
    search.failed(AWAY)
    search.choose()
    assert search.short_patience is None


def test_while_all_are_down_it_is_tried_again_until_the_patience_is_over(chain: Chain, clock: Clock) -> None:
    search, began, tries = Search(chain, patience=60.0), clock.now, 0
    while not search.is_over:
        if not searched(search):
            clock.now += search.pause
            continue
        tries += 1
        clock.now += 1
        if not search.failed(AWAY):
            break
    assert 45 <= clock.now - began <= 62
    assert 10 <= tries <= 30


def test_what_does_not_pass_by_itself_is_not_waited_for(chain: Chain) -> None:
    search = Search(chain, patience=60.0)
    search.choose()
    assert search.failed(KEY)
    search.choose()
    assert not search.failed(KEY)


def test_a_wait_that_is_longer_than_the_patience_ends_it_at_once_and_is_told(clock: Clock) -> None:
    chain = Chain([Link(ScriptedModel(), "only")], clock)
    search = Search(chain, patience=120.0)
    search.choose()
    assert not search.failed(ModelUnavailable("later", cause=Cause.BUSY, wait=3_600.0))
    assert search.wanted_wait == 3_600


def test_a_request_that_is_refused_for_what_it_is_ends_it(chain: Chain) -> None:
    search = Search(chain, patience=60.0)
    search.choose()
    assert not search.failed(ModelRefused("bad request"))
    assert not chain.down
