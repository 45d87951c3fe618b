"""`memory`: facts in place of older messages, without a model. FEATURES A7."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from bot.compaction import STRATEGIES, PlanContext
from bot.compaction.facts.checkpoint import HEADING
from bot.compaction.facts.fact import Fact, FactKind
from bot.compaction.options import with_options
from bot.compaction.strategies.memory import Memory, MemoryOptions
from bot.estimate import Family, Level, message_tokens
from bot.history import Entry, EntryKind, History
from bot.messages import text_of
from tests.unit.entries import full, replied, returned, said

WORDS = "the tide tables say that the harbour master will close the northern gate for repairs"


def counted(entry: Entry) -> Entry:
    return replace(
        entry, tokens=round(message_tokens({"role": entry.role, "content": entry.blocks}, family=Family.NEWER))
    )


def talk(*first: Entry, turns: int = 20) -> History:
    """These entries, and talk after them."""
    at = len(first)
    rest = [
        entry
        for turn in range(turns)
        for entry in (
            said(at + 2 * turn + 1, f"Question {turn}: {WORDS}?"),
            replied(at + 2 * turn + 2, f"Answer {turn}. {WORDS.capitalize()}, as far as we can see on page {turn}."),
        )
    ]
    return History(tuple(map(counted, (*first, *rest))))


def compacted(page: History, share: float = 0.25, facts: tuple[Fact, ...] | None = None) -> History:
    total = page.tally.total
    context = PlanContext(target=int(share * total), facts=facts)
    plan = Memory().plan(page.visible, full(total, total), context)
    assert plan
    assert not plan.summarise
    layer, inserted = plan.layer(max(page.stack, default=0) + 1, page.last_seq + 1, run=None)
    return page.covered(layer, list(map(counted, inserted)))


def checkpoint(page: History) -> str:
    (note,) = [entry for entry in page.visible if entry.layer is not None]
    assert note.kind is EntryKind.NOTE
    return text_of(note.blocks)


def test_the_page_is_a_checkpoint_and_the_latest_messages_and_fits_the_target() -> None:
    page = talk(said(1, "Never deploy on Fridays."), replied(2, "Noted."))
    after = compacted(page)
    assert "Never deploy on Fridays." in checkpoint(after)
    assert after.visible[-1] == page.visible[-1]
    assert after.tally.total <= 0.25 * page.tally.total


@pytest.mark.parametrize("share", [0.1, 0.25, 0.5, 0.8])
def test_it_uses_what_it_may_take(share: float) -> None:
    page = talk(turns=60)
    after = compacted(page, share)
    assert 0.6 * share * page.tally.total <= after.tally.total <= share * page.tally.total


def test_without_a_target_everything_takes_a_share_of_the_limit() -> None:
    page = talk(turns=60)
    plan = Memory().plan(page.visible, full(page.tally.total, 2_000), PlanContext())
    assert plan
    layer, inserted = plan.layer(1, page.last_seq + 1, run=None)
    assert page.covered(layer, list(map(counted, inserted))).tally.total <= 500


def test_facts_that_are_given_stand_in_place_of_what_is_found() -> None:
    given = (Fact(FactKind.CONSTRAINT, "Only ever ship on Tuesdays.", (1,)),)
    text = checkpoint(compacted(talk(said(1, "Never deploy on Fridays."), replied(2, "Noted.")), facts=given))
    assert "Only ever ship on Tuesdays." in text
    assert "Fridays" not in text


def test_the_request_that_waits_and_its_open_tool_exchange_stay_word_for_word() -> None:
    base = talk()
    asked, called = said(base.last_seq + 1, "now the fox?"), replied(base.last_seq + 2, "", "a", "b")
    page = base.appended(counted(asked), counted(called), counted(returned(base.last_seq + 3, "a", "a fox")))
    shown = [entry.seq for entry in compacted(page).visible if entry.layer is None]
    assert shown[-3:] == [asked.seq, called.seq, called.seq + 1]


def test_an_earlier_checkpoint_survives_twice_and_is_updated() -> None:
    page = compacted(talk(said(1, "My locker code is QX-5512. The deadline is 3 March."), replied(2, "Noted.")))
    longer = page.appended(*talk_after(page, "Actually, the deadline has moved to 10 March."))
    second = compacted(longer, 0.6)
    assert [entry.layer for entry in second.visible if entry.layer is not None] == [2]
    assert "QX-5512" in checkpoint(second)
    assert "10 March" in checkpoint(second)
    text = checkpoint(second)
    assert "deadline is 3 March" not in text or text.index("3 March") < text.index("10 March")
    third = compacted(second.appended(*talk_after(second, "Anything else?")), 0.6)
    assert "QX-5512" in checkpoint(third)
    assert checkpoint(third).count(HEADING) == 1


def talk_after(page: History, first: str) -> list[Entry]:
    start = page.last_seq + 1
    entries = [said(start, first), replied(start + 1, "Noted.")]
    entries += [
        entry
        for turn in range(1, 12)
        for entry in (said(start + 2 * turn, f"And {turn}? {WORDS}"), replied(start + 2 * turn + 1, f"Yes, {WORDS}."))
    ]
    return list(map(counted, entries))


def test_the_layer_comes_off_and_gives_back_the_page() -> None:
    page = talk()
    after = compacted(page)
    assert History(after.entries, after.layers[:-1]).visible == page.visible


def test_the_same_page_always_gives_the_same_plan() -> None:
    page = talk(said(1, "My budget is 1200 euros."), replied(2, "Noted."))
    meter = full(page.tally.total, page.tally.total)
    assert Memory().plan(page.visible, meter, PlanContext()) == Memory().plan(page.visible, meter, PlanContext())


def test_nothing_is_done_where_nothing_is_won() -> None:
    tiny = History((counted(said(1, "hi")),))
    assert Memory().plan((), full(10), PlanContext()) is None
    assert Memory().plan(tiny.visible, full(10), PlanContext(target=1)) is None
    after = compacted(talk())
    again = History(tuple(entry for entry in after.visible if entry.layer is not None))
    assert Memory().plan(again.visible, full(again.tally.total), PlanContext(target=1)) is None


def test_one_giant_message_after_a_short_one_does_not_break_it() -> None:
    page = History(
        (counted(said(1, f"Only use {'x' * 40_000}.")), counted(replied(2, "ok")), counted(said(3, "and now?")))
    )
    assert compacted(page).visible[-1].seq == 3


def test_values_of_tool_results_are_kept_under_their_names() -> None:
    order = json.dumps(
        {"order_id": "O-9931", "cabin": "coach", "bags": 3, "owner": {"first_name": "Ana", "dob": "1990-02-11"}}
    )
    page = talk(said(1, "look"), replied(2, "", "a"), returned(3, "a", order), replied(4, "Found it."))
    text = checkpoint(compacted(page))
    assert all(part in text for part in ("order_id=O-9931", "cabin=coach", "bags=3", "Ana", "1990-02-11"))


@pytest.mark.parametrize("name", ["target_share", "recent_share"])
@pytest.mark.parametrize("value", ["-1", "1.5", "nan"])
def test_a_share_that_is_none_is_refused(name: str, value: str) -> None:
    with pytest.raises(ValueError, match=name):
        with_options(STRATEGIES["memory"], {name: value})


def test_the_levels_are_two_shares_of_the_limit() -> None:
    assert [Memory().level(full(total)) for total in (799, 800, 910)] == [Level.OK, Level.WARNING, Level.CRITICAL]
    assert Memory(MemoryOptions(warning=0.5, critical=0.6)).level(full(550)) is Level.WARNING
