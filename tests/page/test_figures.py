"""The saw-tooth, what is wrong right now, and where the time of turns goes: pure, and right at the edges."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from bot.history import Usage
from bot.messages import AgentId
from bot.page.diff import difference
from bot.page.figures import figures, spent
from bot.page.format import ago, bytes_, duration, percent, plural, short, visible
from bot.page.levels import Levels
from bot.page.overview import late_sign, problems
from bot.page.plot import HEIGHT, MOST_POINTS, WIDTH, points_of, sawtooth
from bot.page.slowness import slowness
from bot.page.slowness import spent as spent_of
from bot.runtime.prices import cost
from bot.runtime.turn_seconds import TurnSeconds
from bot.store.operators.overview import Day, Helpless, OpenRun, Queue, Waits
from bot.store.operators.pages import Drop, Fill, Turn
from bot.store.runs import RunState
from bot.store.turns import TurnState

NOW = 1_800_000_000.0
LEVELS = Levels(0.75, 0.9)
QUIET = Waits(Queue(0, None), Queue(0, None), Queue(0, None), Queue(0, None), 0)
EMPTY_DAY = Day({}, {}, [], {}, Usage())


def drawn(fills: list[Fill], drops: list[Drop], *, limit: int = 1_000, name: str = "room-1") -> ET.Element:
    points = points_of(fills, drops)
    since = points[0].at if points else NOW
    svg = sawtooth(points, limit=limit, levels=LEVELS, since=since, until=NOW, name=name)
    return ET.fromstring(str(svg))


def drop(at: float, before: int, after: int | None, run: str = "ab") -> Drop:
    return Drop(run, at, "auto", "done" if after is not None else "failed", before, after, 1_000)


def rings(svg: ET.Element) -> list[str]:
    return [kind for ring in svg.iter("circle") if (kind := str(ring.get("class"))).startswith("cut")]


def steps(svg: ET.Element, kind: str) -> list[tuple[float, float]]:
    """Where a line runs from: its corners, each with the height that it has from there on."""
    path = str(next(path for path in svg.iter("path") if path.get("class") == kind).get("d"))
    heights = [float(height) for height in re.findall(r"M0 ([\d.]+)|V([\d.]+)", path) for height in height if height]
    return list(zip([0.0, *map(float, re.findall(r"H([\d.]+)V", path))], heights, strict=True))


def test_the_limit_and_the_levels_are_drawn_as_they_were_and_not_as_they_are_now() -> None:
    fills = [Fill(NOW - 100, 50, 400), Fill(NOW - 75, 60, 400), Fill(NOW - 50, 500, 1_000), Fill(NOW - 25, 350, 1_000)]
    svg = drawn(fills, [drop(NOW - 40, 920, 200)], limit=800)
    line = next(path for path in svg.iter("path") if path.get("class") == "line")
    tokens = [float(place.split(" ")[1]) for place in str(line.get("d")).lstrip("M").split(" L")]
    (first, was), (then, rose), (last, is_) = steps(svg, "limit")
    assert (first, then, last) == (0.0, WIDTH / 2, WIDTH * 3 / 4)
    assert rose < is_ < was, "higher is nearer to the top"
    assert was < tokens[0], "400 tokens are more than 50"
    assert tokens[2] < was, "what came after is over the limit of before"
    bottom = HEIGHT - 26
    (_, warned), *_ = steps(svg, "at-warning")
    assert (bottom - warned) / (bottom - was) == pytest.approx(0.75, abs=0.01)


def test_each_point_tells_its_value_with_its_unit_and_the_limit_of_then() -> None:
    svg = drawn([Fill(NOW - 100, 50, 400), Fill(NOW - 50, 300, 1_000)], [drop(NOW - 40, 920, 200)])
    told_of = [told for _, _, told in json.loads(str(svg.get("data-points")))]
    assert [told.partition(": ")[2] for told in told_of] == [
        "50 of 400 tokens (12%)".replace("%", "\u202f%"),
        "300 of 1,000 tokens (30%)".replace("%", "\u202f%"),
        "200 of 1,000 tokens (20%), from 920 by a compaction (before an answer, done)".replace("%", "\u202f%"),
    ]
    assert any(str(word.text).endswith(" tokens") for word in svg.iter("text")), "the axis has a unit"


def test_a_compaction_falls_from_what_it_was_to_what_it_became_in_one_moment() -> None:
    svg = drawn([Fill(NOW - 100, 900, 1_000), Fill(NOW - 10, 250, 1_000)], [drop(NOW - 50, 920, 200)])
    line = next(path for path in svg.iter("path") if path.get("class") == "line")
    places = [tuple(map(float, place.lstrip("ML").split(" "))) for place in str(line.get("d")).split(" L")]
    assert places[1][0] == places[2][0], "it falls straight down"
    assert places[1][1] < places[2][1]
    assert rings(svg) == ["cut"]
    assert [link.get("href") for link in svg.iter("a")] == ["/compactions/ab"]


def test_a_compaction_that_changed_nothing_is_another_ring_on_the_line() -> None:
    svg = drawn([Fill(NOW - 100, 900, 1_000)], [drop(NOW - 50, 920, None)])
    assert rings(svg) == ["cut-failed"]
    assert "unchanged" in str(next(svg.iter("a")).get("aria-label"))


@pytest.mark.parametrize("limit", [1, 7, 1_000, 10_000_000])
def test_everything_is_drawn_within_the_picture_also_what_is_over_the_limit(limit: int) -> None:
    dice = random.Random(limit)
    fills = [Fill(NOW - 5_000 + at, dice.randint(0, 3 * limit), limit) for at in range(4_000)]
    drops = [drop(NOW - 5_000 + at * 10, 2 * limit, 0) for at in range(400)]
    svg = drawn(fills, drops, limit=limit)
    line = next(path for path in svg.iter("path") if path.get("class") == "line")
    for place in str(line.get("d")).split(" L"):
        x, y = map(float, place.lstrip("ML").split(" "))
        assert 0 <= x <= WIDTH
        assert 0 <= y <= HEIGHT
    assert str(line.get("d")).count("L") < 2 * MOST_POINTS, "a picture has so many points and no more"


def test_a_name_in_a_picture_is_text() -> None:
    svg = drawn([Fill(NOW - 1, 5, 10)], [], name='<script>&"\u202e')
    title = svg.find("title")
    assert title is not None
    assert "<script>" in str(title.text)
    assert not list(svg.iter("script"))


def test_one_turn_alone_is_a_picture_too() -> None:
    assert list(drawn([Fill(NOW, 5, 10)], []).iter("path"))


def test_a_model_in_whose_place_another_one_answers_is_named_with_its_time() -> None:
    [problem] = problems(QUIET, [], [], EMPTY_DAY, NOW, worker="there", down={"Spare": NOW - 125})
    assert problem.sentence == "Spare is down, for 2 min 5 s by now: another model answers in its place."


def test_whose_the_answers_are_is_shown_where_they_are_not_all_of_the_one_that_is_wanted() -> None:
    some = Usage(input=1_000_000)
    day = replace(EMPTY_DAY, models={"claude-sonnet-5": 3, "": 2, "llama": 5}, answered_by={"": some, "llama": some})
    [figure] = [one for one in figures(day, [], "claude-sonnet-5") if one.label == "Answers by model"]
    assert (figure.value, *figure.notes) == ("50\u202f% claude-sonnet-5", "50\u202f% llama")
    day = replace(EMPTY_DAY, models={"claude-sonnet-5": 3, "": 2})
    assert not [one for one in figures(day, [], "claude-sonnet-5") if one.label == "Answers by model"]


def test_what_answers_cost_is_reckoned_by_who_gave_them() -> None:
    some = Usage(input=1_000_000)
    day = replace(EMPTY_DAY, answered=some, answered_by={"claude-haiku-4-5": some})
    assert spent(day, "claude-sonnet-5") == cost("claude-haiku-4-5", some) != cost("claude-sonnet-5", some)


def test_a_quiet_program_has_no_problems() -> None:
    assert problems(QUIET, [], [], EMPTY_DAY, NOW, worker="there") == []


def test_what_waits_too_long_is_said_with_who_should_do_it_the_worst_first() -> None:
    waits = Waits(Queue(5, NOW - 63), Queue(1, NOW - 1), Queue(3, NOW - 500), Queue(1, NOW - 40), 5)
    left = OpenRun("r", "a", "auto", RunState.PLANNED, 1, NOW - 50, NOW - 40, None)  # type: ignore[arg-type]
    day = Day({"failed": 2}, {("auto", RunState.FAILED): 1}, [], {}, Usage(), AgentId("telegram:5"))
    found = problems(waits, [left], [Helpless("a", "r", "The system prompt is too large.")], day, NOW, worker="missing")  # type: ignore[arg-type]
    assert [problem.level for problem in found] == ["critical"] * 4 + ["warning"] * 5
    told = "\n".join(problem.sentence for problem in found)
    assert (
        "5 messages wait, the first since 1 min 3 s, for an agent: is a process with the role agents running?" in told
    )
    assert "1 reply waits, the first since 40 s, to be delivered" in told
    assert "1 compaction waits for a worker, the first since 40 s: is a process with the role worker running?" in told
    assert "a is critical, and its last compaction changed nothing: The system prompt is too large." in told
    assert "5 messages are put aside." in told
    assert "3 messages are being answered, the first came 8 min 20 s ago: is the model away?" in told
    assert "No worker is there" in told
    assert next(one.href for one in found if "answers failed" in one.sentence) == "/conversations/telegram%3A5#turns"
    assert "for a file" not in told, "that has waited for a second"


@pytest.mark.parametrize(
    ("failures", "fail_still", "level", "sentence"),
    [
        ({"key": 3, "away": 1}, True, "critical",
         "4 answers failed in the last 24 hours, and none was answered since: 3 × wrong key, 1 × provider away."),
        ({"key": 4}, False, "warning", "4 answers failed in the last 24 hours: 4 × wrong key."),
        ({"": 1, "too_large": 1, "stuck": 2}, False, "warning",
         "4 answers failed in the last 24 hours: 2 × no end of it, 1 × another reason, 1 × context too large."),
    ],
)  # fmt: skip
def test_answers_that_failed_are_told_with_their_causes_and_how_often(
    failures: dict[str, int], fail_still: bool, level: str, sentence: str
) -> None:
    day = Day({"failed": 4}, {}, [], {}, Usage(), AgentId("room:1"), failures, fail_still)
    (found,) = problems(QUIET, [], [], day, NOW, worker="there")
    assert (found.level, found.sentence) == (level, sentence)


def test_a_redis_that_is_away_is_said_and_a_worker_is_not_called_missing_for_it() -> None:
    (found,) = problems(QUIET, [], [], EMPTY_DAY, NOW, worker="not known")
    assert (found.level, found.sentence.partition(":")[0]) == ("critical", "Redis does not answer")


def test_an_open_overview_is_drawn_anew_when_something_becomes_late_and_then_each_minute() -> None:
    left = OpenRun("r", "a", "auto", RunState.PLANNED, 1, NOW, NOW, None)  # type: ignore[arg-type]
    soon, warned, critical = (late_sign(QUIET, [left], NOW + after) for after in (5, 15, 35))
    assert soon == "" == late_sign(QUIET, [], NOW + 600)
    assert len({soon, warned, critical}) == 3
    assert late_sign(QUIET, [left], NOW + 95) != critical
    waits = replace(QUIET, waiting=Queue(1, NOW))
    assert late_sign(waits, [], NOW + 5) == "" != late_sign(waits, [], NOW + 35)


def test_a_cost_is_not_known_when_the_price_of_a_part_is_not() -> None:
    some = Usage(input=1_000_000)
    assert spent(EMPTY_DAY, "claude-sonnet-5") == 0
    assert spent(Day({}, {}, [], {}, some), "claude-sonnet-5") == pytest.approx(2.0)
    assert spent(Day({}, {}, [], {"llama": some}, some), "claude-sonnet-5") is None


def turn(timing: dict[str, float] | None) -> Turn:
    return Turn("t", TurnState.DONE, NOW - 9, NOW, 0, 1, 5, 10, None, TurnSeconds.from_json(timing) if timing else None)


def test_the_parts_of_a_turn_add_up_to_all_of_it() -> None:
    parts = spent_of(turn({"queued": 1.0, "compaction": 2.0, "model": 5.0, "tools": 1.0, "total": 10.0}))
    assert [part.seconds for part in parts] == [1.0, 2.0, 5.0, 1.0, 1.0]
    assert sum(part.width for part in parts) == pytest.approx(100)
    assert spent_of(turn(None)) == []
    odd = spent_of(turn({"queued": 9.0, "compaction": 9.0, "model": 9.0, "tools": 0.0, "total": 10.0}))
    assert odd[-1].begin + odd[-1].width <= 100


def test_what_makes_a_chat_slow_is_what_most_of_its_time_goes_to() -> None:
    slow = {"queued": 0.1, "compaction": 0.0, "model": 1.0, "tools": 8.0, "total": 10.0}
    found = slowness([turn(slow), turn(None), turn(slow)])
    assert found
    assert (found.turns, found.most) == (2, "tools")
    assert found.share == pytest.approx(0.8)
    assert slowness([turn(None)]) is None


def test_a_share_just_below_a_level_is_not_shown_as_that_level() -> None:
    shown = [percent(share).replace("\u202f", " ") for share in (0.7499, 0.75, 0.29, 0.8999, 0.9)]
    assert shown == ["74 %", "75 %", "29 %", "89 %", "90 %"]


def test_two_summaries_differ_by_their_sentences() -> None:
    long = "The first sentence stays as it is in both of them. " * 4
    lines = difference(f"{long}The code is A.", f"{long}The code is B.")
    assert [line.text for line in lines if line.kind in ("added", "gone")] == ["-The code is A.", "+The code is B."]
    assert difference("same", "same") == []
    assert [line.kind for line in difference("--- a", "+++ b")] == ["place", "gone", "added"]


def test_numbers_and_times_are_short_and_say_their_unit() -> None:
    assert [duration(seconds) for seconds in (None, 0, 0.25, 4.25, 59, 61, 3_700, 90_000)] == [
        "–", "0 ms", "250 ms", "4.2 s", "59 s", "1 min 1 s", "1 h 1 min", "1 d 1 h",
    ]  # fmt: skip
    assert [short(number) for number in (0, 999, 1_000, 12_345, 2_500_000)] == ["0", "999", "1k", "12.3k", "2.5M"]
    assert [ago(NOW - seconds, NOW) for seconds in (-5, 1, 30, 90, 7_200)] == [
        "just now", "just now", "30 s ago", "1 min ago", "2 h ago",
    ]  # fmt: skip
    assert plural(1, "reply", "replies") == "1 reply"
    assert plural(1_200, "message") == "1,200 messages"
    assert [bytes_(number) for number in (5, 12_000, 1_500_000)] == ["5 B", "12 kB", "1.5 MB"]


def test_what_a_terminal_or_a_reader_would_obey_becomes_a_sign() -> None:
    assert visible("\x1b[31mred\x00\u202eabc\u202c\x85") == "␛[31mred␀◇abc\ufffd"
    assert visible("line\n\ttab 漢字 🦊 فاطمة") == "line\n\ttab 漢字 🦊 فاطمة"
