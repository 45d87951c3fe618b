"""What tools' records become: ids of any shape, nested lists, plain text; and their shorter forms. FEATURES A7."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.compaction.facts.candidates import candidates_of
from bot.compaction.facts.choice import pieces_of
from bot.compaction.facts.fact import Fact, FactKind
from bot.compaction.facts.life import merged
from bot.compaction.facts.records import Fields, fields_of, id_names, words_of_name
from bot.history import Entry
from tests.unit.compaction.facts.test_candidates import used


def records(returned: Any, given: dict[str, Any] | None = None, name: str = "get_things") -> list[Fact]:
    text = returned if isinstance(returned, str) else json.dumps(returned, ensure_ascii=False)
    return [
        fact for fact in merged(candidates_of(used(1, name, given or {}, text))).facts if fact.kind is FactKind.VALUE
    ]


def _texts(entries: list[Entry]) -> list[str]:
    return [fact.text for fact in merged(candidates_of(entries)).facts if fact.kind is not FactKind.GIVEN]


def pieces(facts: list[Fact]) -> list[list[Fields]]:
    """What each is told by, and the rest."""
    ids = id_names(fields_of(fact.text) for fact in facts)
    return [[fields_of(piece) for piece in pieces_of(fact, ids)] for fact in facts]


def shortest(facts: list[Fact]) -> list[Fields]:
    return [told[0] for told in pieces(facts)]


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("order_id", ["17", "18", "19"]),
        ("orderId", ["17", "18", "1009"]),
        ("order-id", ["17", "18", "19"]),
        ("номер_заказа", ["48213377", "90011234", "55120983"]),
        ("订单号", ["48213377", "90011234", "55120983"]),
        ("konto", ["4821337712", "9001123412", "5512098312"]),
        ("seat", ["QX-77A", "QX-78B", "QX-79C"]),
        ("who", ["ada@x.example", "omar@x.example", "mei@x.example"]),
        ("zip", ["80279", "10083", "76165"]),
    ],
)
def test_a_column_of_ids_is_in_the_shortest_form_whatever_it_is_called(name: str, cells: list[str]) -> None:
    rows = [{"note": f"Please call before {at} comes by", "state": "open", name: cell} for at, cell in enumerate(cells)]
    assert [row.get(name) for row in shortest(records(rows))] == cells


def test_without_ids_a_record_is_told_by_what_tells_it_from_others() -> None:
    inns = ["Casa Ines", "Prado Grill", "The Quist", "Rahimi's", "Sato"]
    rows = [
        {"town": "Bergen", "has_music": "True", "inn": inn, "stars": at, "when": "18:30"} for at, inn in enumerate(inns)
    ]
    assert shortest(records(rows)) == [{"town": "Bergen", "inn": inn} for inn in inns]
    with_ids = [{**row, "ref": f"QX-{at}7A"} for at, row in enumerate(rows)]
    assert all("inn" not in row for row in shortest(records(with_ids)))


def test_a_record_without_an_id_that_nothing_tells_from_others_is_told_whole() -> None:
    rows = [{"town": "Bergen", "inn": inn, "when": "18:30"} for inn in ("Casa Ines", "Prado Grill")]
    assert shortest(records(rows)) == rows


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("price", [1299.5, 20.0, 7.25]),
        ("views", [7, 130000, 4512]),
        ("created", [1716300000, 1716300750, 1716399999]),
        ("date", ["2024-05-20", "2024-05-21", "2024-05-22"]),
        ("size", ["250ml", "500ml", "1000ml"]),
    ],
)
def test_amounts_times_and_sizes_are_no_ids(name: str, cells: list[Any]) -> None:
    rows = [{"id": f"K{at}", name: cell} for at, cell in enumerate(cells, 10)]
    assert all(list(row) == ["id"] for row in shortest(records(rows)))


NESTED = {
    "customerId": "482133771",
    "contact": {"emails": ["ada@x.example"], "address": {"street": "12 Elm Street", "postalCode": "80279"}},
    "subscriptions": {
        "553311": {
            "planCode": "QX77PL",
            "lines": [
                {
                    "msisdn": "447912345678",
                    "sim": {"iccid": "8944500102198304561", "profiles": [{"profileRef": "771203984455", "on": True}]},
                }
            ],
            "bills": [{"billNo": "90011234", "amount": 12.5, "due": "2024-05-20"}],
        },
        "553312": {"planCode": "QX78PL", "lines": [], "bills": [{"billNo": "90011235", "amount": 7}]},
    },
}  # fmt: skip


def test_what_is_nested_keeps_its_ids_with_those_of_what_it_belongs_to() -> None:
    found = shortest(records(NESTED, {"phone": "1"}))
    assert {"subscriptions@": "482133771", "subscriptions": "553311", "planCode": "QX77PL"} in found
    assert {"lines@": "553311", "msisdn": "447912345678", "iccid": "8944500102198304561"} in found
    assert {"profiles@": "447912345678", "profileRef": "771203984455"} in found
    assert {"bills@": "553312", "billNo": "90011235"} in found


@pytest.mark.parametrize(
    ("returned", "row"),
    [
        ({"variants": {"9612497925": {"size": "M"}, "8124970213": {"size": "L"}}}, "variants=9612497925 size=M"),
        ({"48213377": "Ada", "90011234": "Omar"}, "key=48213377 value=Ada"),
        ({"at": "A1", "cells": [["no", "state"], ["48213377", "open"], ["9001", "paid"]]}, "no=48213377 state=open"),
        ([[{"id": 1, "a": "x"}], [{"id": 2, "a": "y"}]], "id=1 a=x"),
        ({"data": {"page": {"nodes": [{"node": {"of": {"key": f"OPS-{at}"}}} for at in (1, 2)]}}}, "key=OPS-1"),
    ],
)  # fmt: skip
def test_objects_by_their_ids_lists_in_lists_and_tables_of_cells_are_rows(returned: Any, row: str) -> None:
    assert row in [fact.text.replace("\t", " ") for fact in records(returned)]


def test_rows_without_an_id_are_all_kept_and_renewed_together() -> None:
    given = {"city": "Pskov"}
    rows = [[{"day": "May", "hall": "A", "free": free} for free in some] for some in ((3, 4, 5), (6, 7))]
    entries = [*used(1, "get_places", given, json.dumps(rows[0])), *used(3, "get_places", given, json.dumps(rows[1]))]
    assert [fact["free"] for fact in map(fields_of, _texts(entries[:2]))] == ["3", "4", "5"]
    assert [fact["free"] for fact in map(fields_of, _texts(entries))] == ["6", "7"]


def test_a_table_of_three_hundred_rows_keeps_each() -> None:
    rows = [{"order_id": str(4821337 + 7 * at), "note": "leave it at the door"} for at in range(300)]
    text = "order_id,note\n" + "\n".join(",".join(row.values()) for row in rows)
    assert [row["order_id"] for row in shortest(records(text))] == [row["order_id"] for row in rows]


def test_lines_of_plain_text_that_hold_something_exact_are_records_and_others_are_not() -> None:
    log = (
        "The service wrote this, it is long and there is more of it than one would like to read on a Monday.\n"
        "2024-03-01 12:00:01 INFO request_id=awqsdgt4 user=933914 took some time\nnothing happened here\n"
        "src/queue/worker.py:214: retry_after was ignored\nand nothing there either, whatever anybody may say"
    )
    lines = [fields_of(fact.text)["line"] for fact in records(log, {"service": "queue"}, "read_log")]
    assert [line[:12] for line in lines] == ["The service ", "2024-03-01 1", "src/queue/wo"]
    assert all(" ".join(line.split()) in log for line in lines)


def test_what_a_failed_run_says_of_places_is_kept() -> None:
    text = "Command failed\ntests/test_queue.py:31: AssertionError\nsome words\n3 failed, 211 passed"
    found = records(text, {"command": "pytest"}, "bash")
    assert [fields_of(fact.text)["line"] for fact in found] == ["tests/test_queue.py:31: AssertionError"]


def test_a_deed_is_told_with_what_it_was_given_also_where_room_is_short() -> None:
    entries = used(1, "book_table", {"guest": "Ines Prado", "time": "8 pm"}, json.dumps({"id": "R77KQ"}))
    deed = next(fact for fact in merged(candidates_of(entries)).facts if fact.kind is FactKind.ACTION)
    assert shortest([deed]) == [{"tool": "book_table", "id": "R77KQ", "guest": "Ines Prado", "time": "8 pm"}]


def test_a_record_is_what_it_is_told_by_and_the_rest_of_it() -> None:
    rows = [
        {"note": f"Some words about {at} which go on and on, as notes do, for a line", "id": f"W{at}"}
        for at in range(5)
    ]
    facts = records(rows)
    for fact, (brief, rest) in zip(facts, pieces(facts), strict=True):
        assert brief == {"id": fields_of(fact.text)["id"]}
        assert {**brief, **rest} == fields_of(fact.text)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("getUser_name", ["get", "User", "name"]),
        ("номер_заказа", ["номер", "заказа"]),
        ("НомерЗаказа", ["Номер", "Заказа"]),
        ("订单号", ["订单号"]),
        ("line-id", ["line", "id"]),
    ],
)
def test_names_are_taken_apart_in_any_writing(name: str, words: list[str]) -> None:
    assert words_of_name(name) == words
