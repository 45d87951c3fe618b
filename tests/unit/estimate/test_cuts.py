"""What is cut for a model is cut between words and marked; no value, and no character as people see it, is cut."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.agent.tools.process import _Output
from bot.compaction.fallback import excerpt
from bot.compaction.summary.details import demanded
from bot.estimate.bounds import head_and_tail
from bot.estimate.cuts import (
    beginning,
    cut_after,
    cut_before,
    ending,
    head_and_end_of,
    head_of,
    is_boundary,
    may_cut,
    middle_of,
)
from bot.files.reading import read
from tests.unit.entries import said

VALUES = (
    "ORD-55123", "1,234.50", "12 345", "+49-170-1234567", "2026-11-22", "ada@example.org", "/srv/data/final_v2.csv",
    "https://example.org/a/b?c=d#e", "€55,123.99", "0x7ffe12ab", "sk_live_55123", "C:\\Users\\Ada", "10:45", "№55123",
    "٥٥١٢٣", "５５１２３", "ＯＲＤ－５５", "๕๕๑๒๓", "一千二百三十", "C:/文件/报告/最终版.docx", "55123元", "don't",
)  # fmt: skip
TALK = ("ORDER is ", "订单号是", "價格為", "注文番号は", "หมายเลขคำสั่งซื้อคือ ", "ເລກທີ່ຄື ", "Заказ ", "🙂🙂", "주문은 ", "")
value, talk = st.sampled_from(VALUES), st.sampled_from(TALK)


@given(talk, value, talk, st.integers(1, 60))
def test_no_value_is_cut_wherever_it_stands(before: str, held: str, after: str, most: int) -> None:
    text = f"{before}{held} {after} and more follows for a while after that"
    start, end = len(before), len(before) + len(held)
    for place in (cut_before(text, most), cut_after(text, most)):
        assert not start < place < end, text[:place]
    shown = beginning(text, most)
    assert shown == text or shown.endswith("…")
    assert not start < len(shown.removesuffix("…").rstrip()) < end, shown


@given(st.text(st.sampled_from("ab 1-.，。中文字กเาำ🙂👨\u200d👩🇩🇪e\u0301"), max_size=80), st.integers(1, 60))
def test_every_cut_is_a_boundary_of_characters_and_what_is_shown_stands_in_the_text(text: str, most: int) -> None:
    before, after = cut_before(text, most), cut_after(text, min(most, len(text)))
    assert 0 <= before <= max(0, min(most, len(text)))
    assert min(most, len(text)) <= after <= len(text)
    assert is_boundary(text, before, 0)
    assert is_boundary(text, after, 0)
    assert text.startswith(head_of(text, most))
    assert text.endswith(ending(text, most))
    shown = beginning(text, most)
    assert shown == text or (shown.endswith("…") and text.startswith(shown.removesuffix("…").rstrip()))
    if len(text) > 1:
        assert 0 < middle_of(text) < len(text)


@pytest.mark.parametrize(
    ("text", "most", "shown"),
    [
        ("ORDER is ORD-55123, please.", 16, "ORDER is …"),
        ("订单号是ORD-55123，请尽快发货给张三先生", 10, "订单号是…"),
        ("今天天气很好我们去公园散步吧大家都来", 10, "今天天气很好我们…"),
        ("กี่กี่กี่กี่กี่กี่", 10, "กี่กี่…"),
        ("👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧", 8, "👨‍👩‍👧…"),
        ("It costs 12 345 678 euros altogether", 16, "It costs …"),
        ("ORD-55123-AB is what I want", 5, "ORD-55123-AB …"),
        ("short", 5, "short"),
    ],
)
def test_a_cut_is_marked_and_stands_between_words(text: str, most: int, shown: str) -> None:
    assert beginning(text, most) == shown


def test_what_is_too_long_for_a_value_is_cut_and_work_stays_bounded() -> None:
    blob = "x" * 1_000_000
    assert re.fullmatch("x{256}…", beginning(blob, 60))
    assert cut_before(blob, 500_000) == 500_000
    assert len(head_and_end_of(f"ORD-55123 {blob} ORD-66234", 1_000)) < 1_300


def test_digits_stay_with_what_counts_them() -> None:
    assert not may_cut("共55123元", 1)
    assert not may_cut("共55123元", 6)
    assert may_cut("共计 55123", 2)


# --- where models read pieces ---

ORDERS = [f"ORD-{number}" for number in range(1_000_001, 1_002_000)]


def whole(text: str) -> bool:
    """Whether every order in it is one that was given."""
    return set(re.findall(r"ORD-\d*|(?<![-\d])\d{3,}", text)) <= set(ORDERS)


@pytest.mark.parametrize("room", [150, 151, 152, 153, 157])
def test_a_file_that_is_read_in_pieces_is_cut_between_its_values(tmp_path: Path, room: int) -> None:
    (tmp_path / "orders.txt").write_text(" ".join(ORDERS[:60]))
    offset, pieces = 0, list[str]()
    while True:
        piece = str(read(tmp_path, tmp_path / "orders.txt", offset, room=room, tokens=1_000))
        shown, _, more = piece.partition("\n[More follows: read on from offset ")
        pieces.append(shown)
        assert whole(shown)
        if not more:
            break
        offset = int(more.removesuffix(".]"))
    assert "".join(pieces) == " ".join(ORDERS[:60])


@pytest.mark.parametrize("most", [400, 402, 404, 407])
def test_of_a_long_output_of_a_command_no_value_is_shown_in_part(most: int) -> None:
    output = _Output(most)
    for order in ORDERS:
        output.add(f"{order} ".encode())
    text = output.text
    left_out = re.search(r"\n\[… ([\d,]+) bytes are left out here\]\n", text)
    assert left_out
    head, tail = text[: left_out.start()], text[left_out.end() :]
    assert whole(head)
    assert whole(tail)
    assert len(head) + len(tail) + int(left_out[1].replace(",", "")) == len(" ".join(ORDERS)) + 1


@pytest.mark.parametrize("tokens", [50, 51, 53, 57])
def test_the_beginning_and_the_end_of_a_long_result_hold_whole_values(tokens: int) -> None:
    head, tail = head_and_tail(" ".join(ORDERS), tokens)
    assert head
    assert tail
    assert whole(head)
    assert whole(tail)


@pytest.mark.parametrize("reach", range(19_990, 20_010))
def test_no_exact_detail_is_a_piece_of_one(reach: int) -> None:
    """A long message is searched at its beginning and its end."""
    text = f"{'x ' * (reach // 2 // 2)}{ORDERS[0]} {'y ' * 20_000}{ORDERS[1]} {'x ' * (reach // 2 // 2)}"
    assert whole(" ".join(demanded([said(1, text)], rules=[r"ORD-\S*"])))


@pytest.mark.parametrize("lead", range(385, 400))
def test_an_excerpt_marks_where_it_ends_and_cuts_no_value(lead: int) -> None:
    entry = said(1, f"{'a ' * (lead // 2)}{'b' * (lead % 2)} {ORDERS[0]} and so on. " * 9)
    shown = excerpt(entry, [entry]).replaced[1][0]["text"].partition("It begins:")[2]
    assert shown.endswith(" …")
    assert whole(shown)
