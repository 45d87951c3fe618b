"""What is found in single entries and what becomes of it: kinds, reasons, records, bounds. FEATURES A7, A8."""

from __future__ import annotations

import json
import time
from itertools import chain
from typing import Any

import pytest

from bot.compaction.facts import candidates as module
from bot.compaction.facts.candidates import candidates_in, candidates_of
from bot.compaction.facts.choice import checkpoint_of
from bot.compaction.facts.fact import Candidate, Fact, FactKind, FactStatus, Reason, Speaker
from bot.compaction.facts.life import CAPS, Refreshed, merged
from bot.history import Entry, EntryKind
from bot.messages import Block, text_block
from tests.unit.entries import replied, said


def used(seq: int, name: str, given: dict[str, Any], returned: str, *, failed: bool = False) -> list[Entry]:
    """A tool call and its result."""
    call: Block = {"type": "tool_use", "id": f"call_{seq}", "name": name, "input": given}
    result: Block = {"type": "tool_result", "tool_use_id": f"call_{seq}", "content": returned, "is_error": failed}
    return [
        Entry(seq, "assistant", (call,), EntryKind.REPLY),
        Entry(seq + 1, "user", (result,), EntryKind.RESULT),
    ]


def found(*entries: Entry) -> Refreshed:
    return merged(candidates_of(entries))


def reasons(result: Refreshed) -> list[tuple[bool, Reason]]:
    return [(candidate.is_accepted, candidate.reason) for candidate in result.candidates]


def texts(result: Refreshed, kind: FactKind) -> list[str]:
    return [fact.text for fact in result.facts if fact.kind is kind]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Please book a table at Luna for tonight.", FactKind.GOAL),
        ("Забронируй, пожалуйста, столик в Пскове.", FactKind.GOAL),
        ("请帮我订一张去南京的票。", FactKind.GOAL),
        ("Never deploy on Fridays.", FactKind.CONSTRAINT),
        ("We decided to go with Postgres because of the extensions.", FactKind.CONSTRAINT),
        ("Нельзя тратить больше 500 евро.", FactKind.CONSTRAINT),
        ("绝对不要在周五部署。", FactKind.CONSTRAINT),
        ("The invoice has the number RX-2210.", FactKind.STATEMENT),
        ("Счёт лежит под номером СЧ-7710.", FactKind.STATEMENT),
    ],
)
def test_what_a_person_says_is_a_goal_a_rule_or_a_statement_in_their_own_words(text: str, kind: FactKind) -> None:
    assert [(fact.kind, fact.text, fact.seqs) for fact in found(said(1, text)).facts] == [(kind, text, (1,))]


def test_a_sentence_that_is_too_long_is_cut_between_words_and_marked_and_nothing_of_it_is_out_of_reach() -> None:
    words = [f"word{at}" for at in range(200)]
    texts = [fact.text for fact in found(said(1, " ".join(words))).facts]
    assert all(len(text) <= 320 for text in texts)
    assert " ".join(text.removesuffix(" …") for text in texts).split() == words
    assert all(text.endswith(" …") for text in texts[:-1])


@pytest.mark.parametrize("text", ["Thanks!", "ok", "Hello 👋", "Спасибо!", "好的。"])
def test_small_talk_is_of_low_value(text: str) -> None:
    result = found(said(1, text))
    assert not [fact for fact in result.facts if fact.weight > 1]
    assert all(reason in (Reason.LOW_VALUE, Reason.NEW) for _, reason in reasons(result))


def test_what_is_said_again_is_a_duplicate_that_the_fact_notes() -> None:
    result = found(said(1, "My budget is 1200 euros."), replied(2, "Noted."), said(3, "My budget is 1200 euros!"))
    assert [fact.seqs for fact in result.facts if "1200" in fact.text] == [(1, 3)]
    assert result.candidates[-1].reason is Reason.DUPLICATE


def test_what_somebody_said_is_never_changed_by_what_is_said_later() -> None:
    result = found(said(1, "The deadline is 3 March."), said(3, "Actually, the deadline is 10 March."))
    assert [fact.text for fact in result.facts] == ["The deadline is 3 March.", "Actually, the deadline is 10 March."]
    assert reasons(result) == [(True, Reason.NEW)] * 2


def test_a_record_that_is_read_again_is_an_update_of_the_one_from_before() -> None:
    rows = ('{"order_id": "O-1", "state": "open"}', '{"order_id": "O-1", "state": "paid"}')
    result = found(*used(1, "get_order", {"order_id": "O-1"}, rows[0]), *used(3, "get_order", {}, rows[1]))
    assert reasons(result) == [
        (True, Reason.NEW),
        (False, Reason.SUPERSEDED),
        (True, Reason.UPDATE),
    ]
    assert [fact.text for fact in result.facts if fact.kind is FactKind.GIVEN] == ["order_id=O-1"]


def test_a_stack_trace_in_a_message_is_noise() -> None:
    result = found(said(1, "Traceback (most recent call last):\nValueError: no such port"))
    assert {reason for _, reason in reasons(result)} == {Reason.ERROR_NOISE}
    assert not result.facts


def test_a_failure_that_a_later_call_made_good_goes() -> None:
    failed = used(1, "send_mail", {"to": "a@b.example"}, "Error: connection refused", failed=True)
    result = found(*failed, *used(3, "send_mail", {"to": "a@b.example"}, "sent"))
    assert [(fact.kind, fact.status) for fact in result.facts] == [
        (FactKind.GIVEN, FactStatus.ACTIVE),
        (FactKind.ACTION, FactStatus.ACTIVE),
    ]
    assert reasons(result)[1] == (False, Reason.RETRIED)


def test_a_failure_that_nobody_made_good_is_told_in_one_line() -> None:
    trace = 'Traceback (most recent call last):\n  File "x.py", line 3\nOSError: disk is full'
    _, fact = found(*used(1, "write_file", {"path": "/srv/a.txt"}, trace, failed=True)).facts
    assert fact.status is FactStatus.FAILED
    assert set(fact.text.split("\t")) == {"tool=write_file", "path=/srv/a.txt", "error=OSError: disk is full"}


def test_a_deed_that_the_rows_of_its_result_tell_weighs_nothing_and_one_that_was_given_nothing_is_told() -> None:
    listing = "\n".join(f"/srv/app/module_{at}.py is {at}00 lines long, and nothing in it is tested" for at in range(9))
    result = found(*used(1, "shell", {"command": "./count.sh /srv/app"}, listing))
    assert "tool=" not in checkpoint_of(result.facts, 5_000)
    assert texts(result, FactKind.VALUE)[0].startswith("result@=./count.sh /srv/app\tline=/srv/app/module_0.py is ")
    assert "- tool=submit" in checkpoint_of(found(*used(1, "submit", {}, "")).facts, 5_000)


def test_a_failure_is_made_good_also_by_a_deed_that_the_rows_of_its_result_tell() -> None:
    wrong, right = {"room": "attic", "mode": "heatX"}, {"room": "attic", "mode": "heat"}
    result = found(
        *used(1, "set_mode", wrong, "Error: no such mode", failed=True), *used(3, "set_mode", right, json.dumps(right))
    )
    text = checkpoint_of(result.facts, 5_000)
    assert "room=attic\tmode=heat" in text
    assert "tool=" not in text


def test_an_action_is_told_with_its_arguments_and_a_look_with_what_it_found() -> None:
    result = found(
        *used(1, "create_ticket", {"title": "Broken lamp"}, '{"ticket_id": "T-77", "state": "open"}'),
        *used(3, "get_ticket", {"ticket_id": "T-12"}, '{"ticket_id": "T-12", "state": "closed"}'),
    )
    assert texts(result, FactKind.ACTION) == ["tool=create_ticket\tticket_id=T-77\ttitle=Broken lamp"]
    assert [text.split("\t")[0] for text in texts(result, FactKind.VALUE)] == ["ticket_id=T-77", "ticket_id=T-12"]


def test_a_record_that_is_read_again_replaces_the_one_from_before_and_what_was_told_of_it() -> None:
    first, second = ({"record_id": "R1", "gate code": code} for code in ("QX-5512", "QX-8840"))
    result = found(
        *used(1, "get_record", {"query": "gate"}, json.dumps(first)),
        replied(3, "I looked, and the gate code is QX-5512, as you thought."),
        said(4, "Look again."),
        *used(5, "get_record", {"query": "gate"}, json.dumps(second)),
    )
    assert not [fact for fact in result.facts if "QX-5512" in fact.text]
    assert [fact for fact in result.facts if "QX-8840" in fact.text]


def test_what_a_look_told_in_plain_words_is_told_as_the_last_look_had_it() -> None:
    looks = (
        used(at, "get_balance", {"account": "North"}, f"It holds {sum_} euros.") for at, sum_ in ((1, 500), (3, 650))
    )
    records = texts(found(*(entry for look in looks for entry in look)), FactKind.VALUE)
    assert [record.partition("result=")[2] for record in records] == ["It holds 650 euros."]


def test_what_two_looks_returned_stands_although_their_arguments_begin_alike() -> None:
    result = found(
        *used(1, "get_weather", {"city": "Rome", "date": "05-01"}, "14 degrees"),
        *used(3, "get_weather", {"city": "Rome", "date": "05-02"}, "19 degrees"),
        *used(5, "get_wind", {"city": "Rome", "date": "05-02"}, "19 degrees"),
    )
    assert texts(result, FactKind.VALUE) == [
        "tool=get_weather\tcity=Rome\tdate=05-01\tresult=14 degrees",
        "tool=get_weather\tcity=Rome\tdate=05-02\tresult=19 degrees",
        "tool=get_wind\tcity=Rome\tdate=05-02\tresult=19 degrees",
    ]


def test_a_short_text_that_a_look_returned_is_told_whole() -> None:
    result = found(*used(1, "get_note", {"day": "Monday"}, "approved by legal\npending at finance"))
    assert texts(result, FactKind.VALUE) == ["tool=get_note\tday=Monday\tresult=approved by legal pending at finance"]


def test_what_a_long_call_returned_is_not_outdated_by_another_one_that_begins_as_it_does() -> None:
    begin = " && ".join(f"export SETTING_{at}=/srv/app/{at}" for at in range(12))
    whats = ("goods", "refunds")
    listings = {what: "\n".join(f"{what} W{at}00{at} is on its way" for at in range(20)) for what in whats}
    calls = (
        used(at, "run", {"command": f"{begin} && ./list {what}"}, listing)
        for at, (what, listing) in zip((1, 3), listings.items(), strict=True)
    )
    records = "\n".join(texts(found(*chain.from_iterable(calls)), FactKind.VALUE))
    assert all(line in records for listing in listings.values() for line in listing.splitlines())


def test_a_call_that_failed_with_another_id_says_nothing_of_what_people_told() -> None:
    failed = [
        call
        for at, id_ in ((3, "1234567"), (7, "7654321"))
        for call in used(at, "get_customer", {"customer_id": id_}, "Error: no such customer", failed=True)
    ]
    result = found(*failed[:2], said(6, "My customer ID is 1234567."), replied(6, "You are 1234567."), *failed[2:])
    told = [(fact.text, fact.status) for fact in result.facts if fact.kind is not FactKind.ACTION]
    assert ("My customer ID is 1234567.", FactStatus.ACTIVE) in told
    assert ("You are 1234567.", FactStatus.ACTIVE) in told


def test_rows_of_a_list_in_a_record_are_records_with_the_id_of_what_they_belong_to() -> None:
    order = {"order_id": "O-9", "cabin": "coach", "items": [{"sku": "K1", "count": 2}, {"sku": "K2", "count": 1}]}
    records = texts(found(*used(1, "get_order", {"order_id": "O-9"}, json.dumps(order))), FactKind.VALUE)
    assert [record.replace("\t", " ") for record in records] == [
        "order_id=O-9 cabin=coach",
        "items@=O-9 sku=K1 count=2",
        "items@=O-9 sku=K2 count=1",
    ]


def test_what_looks_like_a_path_and_is_a_date_is_no_place() -> None:
    result = found(*used(1, "find_files", {}, "/var/log/app.log\n/2024/07/19"))
    assert texts(result, FactKind.PATH) == ["/var/log/app.log"]
    assert Reason.DATE_LIKE in {reason for _, reason in reasons(result)}


@pytest.mark.parametrize(
    "date",
    [
        "2024/7/19", "./2024/7/19", "/2024/07/19", "../2024/7/19/", "~/2024/7/19", "2024\\7\\19", "19/7/2024",
        "./2024-07-19", "/19.07.2024", "2024/07/19T10:00:00Z", "./2024/7",
    ],
)  # fmt: skip
def test_each_form_of_a_date_that_looks_like_a_path_is_rejected_once_whoever_names_it(date: str) -> None:
    read = used(2, "read_file", {}, f"written {date} to /var/log/app.log")
    result = found(said(1, f"The log ({date}) is at /var/log/app.log."), *read)
    assert texts(result, FactKind.PATH) == ["/var/log/app.log"]
    rejected = [item for item in result.candidates if item.reason is Reason.DATE_LIKE]
    assert [(item.text, item.is_accepted, item.seq) for item in rejected] == [
        (date, False, 1),
        (date, False, 3),
    ]


def test_a_path_that_holds_a_date_is_a_place_and_a_share_is_no_date() -> None:
    result = found(said(1, "Look at /var/log/2024/07/19/app.log, 24/7, and https://x.org/2024/7/19/post."))
    assert not [item for item in result.candidates if item.reason is Reason.DATE_LIKE]
    assert "/var/log/2024/07/19/app.log" in texts(result, FactKind.PATH)


PICTURE: Block = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
DOCUMENT: Block = {"type": "document", "title": "lease.pdf", "source": {}}


@pytest.mark.parametrize(
    ("blocks", "note"),
    [
        ((PICTURE,), "[sent a picture]"),
        ((PICTURE, PICTURE, text_block("Which chair is higher?")), "[sent 2 pictures] Which chair is higher?"),
        ((DOCUMENT, text_block("请总结。")), "[sent a document: lease.pdf] 请总结。"),
    ],
)
def test_a_picture_or_document_that_goes_leaves_a_note(blocks: tuple[Block, ...], note: str) -> None:
    assert note in [fact.text for fact in found(Entry(1, "user", blocks, EntryKind.SAID)).facts]


def test_the_note_of_a_picture_takes_no_task_back() -> None:
    result = found(
        said(1, "Book a hotel in Rome."),
        Entry(2, "user", (PICTURE, text_block("Is the hotel in Rome cancelled?")), EntryKind.SAID),
    )
    assert "Book a hotel in Rome." in [fact.text for fact in result.facts if fact.status == "active"]


def test_growth_is_capped_and_the_least_useful_goes() -> None:
    many = [
        Candidate(FactKind.PATH, f"/srv/data/{at}", at, weight=float(at)) for at in range(1, CAPS[FactKind.PATH] + 3)
    ]
    result = merged(many)
    assert len(result.facts) == CAPS[FactKind.PATH]
    assert [candidate.reason for candidate in result.candidates[:3]] == [Reason.OVER_CAP, Reason.OVER_CAP, Reason.NEW]


def test_known_facts_come_first_in_the_order_in_which_they_were_said() -> None:
    known = Fact(FactKind.STATEMENT, "The deadline is 3 March.", (1,))
    result = merged(candidates_of([said(9, "The deadline moved to 10 March.")]), known=[known])
    assert [fact.text for fact in result.facts] == ["The deadline is 3 March.", "The deadline moved to 10 March."]


def test_a_pinned_fact_is_never_over_the_cap() -> None:
    pinned = Fact(FactKind.PATH, "/srv/pinned", (1,), pinned=True, weight=0.0)
    many = [Candidate(FactKind.PATH, f"/srv/data/{at}", at, weight=5.0) for at in range(2, 200)]
    assert pinned.text in [fact.text for fact in merged(many, known=[pinned]).facts]


def test_the_candidates_of_an_entry_depend_on_it_and_its_calls_alone() -> None:
    call, result = used(1, "get_order", {"order_id": "O-1"}, '{"order_id": "O-1", "state": "paid"}')
    calls = {"call_1": call.blocks[0]}
    assert candidates_in(result, calls) == candidates_in(result, dict(calls)) == candidates_of([call, result])


def test_of_a_very_long_page_what_was_only_looked_at_first_is_not_read_and_what_was_done_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    row = json.dumps([{"order_id": f"W{at}X"} for at in range(40)])
    entries = [
        *used(1, "list_orders", {"of": "Ines"}, row),
        *used(3, "cancel_order", {"order_id": "W7X"}, "Cancelled."),
        *used(5, "list_parcels", {"of": "Omar"}, row.replace("order", "parcel")),
    ]
    everything = found(*entries)
    monkeypatch.setattr(module, "_MOST_RETURNED", len(row))
    late = found(*entries)
    assert texts(late, FactKind.VALUE) == [f"parcel_id=W{at}X" for at in range(40)]
    for kind in (FactKind.ACTION, FactKind.GIVEN):
        assert texts(late, kind) == texts(everything, kind)
    assert len(texts(everything, FactKind.VALUE)) == 80


def test_a_result_without_its_call_is_a_record_too() -> None:
    _, result = used(1, "get_order", {}, '{"order_id": "O-1", "state": "paid"}')
    assert [fact.speaker for fact in found(result).facts] == [Speaker.TOOL] * len(found(result).facts)
    assert "O-1" in str(found(result).facts)


@pytest.mark.parametrize(
    "blocks",
    [
        (),
        ({"type": "thinking", "thinking": "hm", "signature": "s"},),
        ({"type": "tool_result", "tool_use_id": "x"},),
        ({"type": "tool_result", "tool_use_id": "x", "content": [{"type": "image", "source": {}}]},),
        (text_block("🙂🙂🙂"),),
        (text_block("\ud83d"),),
    ],
)
def test_what_has_no_words_has_no_facts(blocks: tuple[Block, ...]) -> None:
    kinds = {fact.kind for fact in found(Entry(1, "user", blocks, EntryKind.SAID)).facts if fact.weight > 1}
    assert kinds <= {FactKind.ACTION}


HOSTILE = {
    "letters": "a" * 1_000_000,
    "digits": "1" * 1_000_000,
    "spaces": " " * 1_000_000,
    "dots": "a." * 500_000,
    "dashes": "a-1" * 330_000,
    "slashes": "/a" * 500_000,
    "quotes": '"' * 1_000_000,
    "fences": "```" * 330_000,
    "brackets": "[" * 1_000_000,
    "capitals": "Ab " * 330_000,
    "ideographs": "不要" * 500_000,
    "phones": "+49 30 " * 140_000,
    "lines": "must be 3 euros.\n" * 60_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_megabyte_of_anything_takes_little_time(text: str) -> None:
    began = time.process_time()
    found(said(1, text), *used(2, "read_file", {"path": "/a"}, text))
    assert time.process_time() - began < 2


def test_the_same_entries_always_give_the_same_facts() -> None:
    entries = [
        said(1, "Never call before 9:00."),
        *used(2, "get_x", {"x_id": "X1"}, '{"x_id": "X1", "a": 1, "b": [1]}'),
    ]
    assert found(*entries) == found(*entries)
