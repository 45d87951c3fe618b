"""What a tool's text is, in whatever form it comes. FEATURES A7."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from bot.compaction.formats import parts_of

ROWS = [
    {"order_id": "4992383", "customer": "Ada Kovacs", "total": "45.50"},
    {"order_id": "1220922", "customer": "Omar Silva", "total": "9.00"},
    {"order_id": "8991880", "customer": "Mei Tanaka", "total": "120.00"},
]
_LINES = [tuple(row.values()) for row in ROWS]


def _xml() -> str:
    return "".join("<order>" + "".join(f"<{k}>{v}</{k}>" for k, v in row.items()) + "</order>" for row in ROWS)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(ROWS),
        json.dumps(ROWS, indent=2),
        "Here they are:\n```json\n" + json.dumps(ROWS) + "\n```\nThat is all.",
        "order_id,customer,total\n" + "\n".join(",".join(cells) for cells in _LINES),
        "order_id;customer;total\n" + "\n".join(";".join(cells) for cells in _LINES),
        "order_id\tcustomer\ttotal\n" + "\n".join("\t".join(cells) for cells in _LINES),
        "| order_id | customer | total |\n|---|---|---|\n" + "\n".join(f"| {' | '.join(c)} |" for c in _LINES),
        "order_id | customer | total\n---------+----------+------\n" + "\n".join(" | ".join(c) for c in _LINES),
        "order_id  customer    total\n--------  ----------  ------\n"
        + "\n".join(f"{a}   {b}  {c}" for a, b, c in _LINES),
        "3 orders were found.\n" + "\n".join(f"- order_id: {a}, customer: {b}, total: {c}" for a, b, c in _LINES),
        "\n".join(f"{at}. order_id: {a}, customer: {b}, total: {c}" for at, (a, b, c) in enumerate(_LINES, 1)),
        "\n\n".join(f"order_id: {a}\ncustomer: {b}\ntotal: {c}" for a, b, c in _LINES),
        "\n".join(f"- order_id: {a}\n  customer: {b}\n  total: {c}" for a, b, c in _LINES),
        "\n".join(json.dumps(row) for row in ROWS),
        str(ROWS),
    ],
)
def test_rows_are_the_same_in_whatever_form_they_are_written(text: str) -> None:
    found: list[Any] = []
    for part in parts_of(text):
        found += part if isinstance(part, list) else [] if isinstance(part, str) else [part]
    assert found == ROWS


def test_elements_and_attributes_are_fields() -> None:
    assert list(parts_of(f"<orders>{_xml()}</orders>")) == [{"orders": {"order": ROWS}}]
    attributes = "".join(f'<order order_id="{a}" customer="{b}" total="{c}"/>' for a, b, c in _LINES)
    assert list(parts_of(f'<?xml version="1.0"?><orders>{attributes}</orders>')) == [{"orders": {"order": ROWS}}]


def test_json_that_was_cut_off_is_read_up_to_the_cut_and_loosely_behind_it() -> None:
    whole = json.dumps({"orders": ROWS, "next": "QX7"})
    head, *_ = parts_of(whole[: whole.index("Tanaka")])
    assert head == {"orders": [*ROWS[:2], {"order_id": "8991880"}]}
    tail = list(parts_of(f"[shortened]\n{whole[whole.index('1220922') - 13 :]}"))
    assert ROWS[2] in tail


def test_indented_names_are_nested_and_a_number_stays_as_it_was_written() -> None:
    text = "plan: gold\nlines:\n  - number: 0049123\n    features:\n      - roaming\n      - voicemail\n"
    text += "  - number: 0049124"
    lines = [{"number": "0049123", "features": ["roaming", "voicemail"]}, {"number": "0049124"}]
    assert list(parts_of(text)) == [{"plan": "gold", "lines": lines}]
    (found,) = parts_of('{"price": 12.50, "zip": "01234"}')
    assert found == {"price": "12.50", "zip": "01234"}


@pytest.mark.parametrize(
    "text",
    [
        "Nothing was found, sorry. It has: nothing.",
        "def f(x: int) -> None:\n    y = 3\n    return y",
        "drwxr-xr-x 2 ada ada 4096 Mar  1 10:10 src\n-rw-r--r-- 1 ada ada 99 Mar  1 10:10 a.py",
        "src/a.py:12:    return load(path, 3)\nsrc/b.py:99:    load(path)",
        "[INFO] started\n[WARN] slow",
        "[" * 400 + "7" + "]" * 400,
        '{"a": ' * 400 + "7" + "}" * 400,
        "[File: load.py (5 lines)]\n1:import json\n2:\n3:    size: 4\n4:    return load(path)\n5:    name: str",
    ],
)
def test_what_has_no_form_stays_text(text: str) -> None:
    assert list(parts_of(text)) == [text]


def test_numbers_that_are_of_things_and_not_of_lines_are_names() -> None:
    codes = {"404": "not found", "410": "gone", "503": "away"}
    halls = {"11": "red hall", "12": "blue hall", "13": "cellar"}
    for named in (codes, halls):
        assert list(parts_of("\n".join(f"{number}: {name}" for number, name in named.items()))) == [named]


def test_a_hostile_text_takes_linear_time() -> None:
    texts = [
        '{"a": [' + '{"b": 1, "c": "x y"},' * 15_000,
        "{\n" * 100_000,
        "[1 " * 100_000,
        '"' * 300_000,
        "a: " * 100_000,
        "<a>" * 100_000,
        "<a " + 'b="1" ' * 50_000,
        "a b c d, " * 30_000,
        "x=1 " * 70_000,
        "- a:\n" * 50_000,
        ("word " * 5 + "\n") * 10_000,
    ]
    began = time.process_time()
    for text in texts:
        for _ in parts_of(text):
            pass
    assert time.process_time() - began < 10
