"""Sections in a daily file: each word is there once, and all of them can be read from the file alone."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given

from bot.compaction.trace import Body, BrokenTrace, Lines, Section, appended, in_full, lines_of, sections_in
from bot.store.runs import Run
from bot.store.traces.requests import asked_in
from tests.unit import any_section
from tests.unit.any_section import LONG, SECRET, section_of

OLD = "## 2026-11-20 07:22:18 UTC manual done\n\n- **run**: old\n\n### Summary\n\n````\n```\n## x\n````\n\n"
"""As an earlier version wrote one."""


def written(*sections: Section | str) -> str:
    page = Lines()
    return "".join(appended(section, page) for section in sections)


def as_a_file_has_it(section: Section) -> Section:
    """Half a character has no bytes."""
    return tuple(part if isinstance(part, str) else replace(part, text=in_bytes(part.text)) for part in section)


def in_bytes(text: str) -> str:
    return text.encode(errors="replace").decode()


@any_section.some
@given(any_section.runs())
def test_every_request_can_be_read_from_the_file_alone(day: list[Run]) -> None:
    sections = [as_a_file_has_it(section_of(run)) for run in day]
    text = written(OLD, *sections)
    old, *found = sections_in(text)
    assert old[-1] == Body("```\n## x")
    assert found == sections
    assert [asked_in(section) for section in found] == [asked_in(section) for section in sections]
    assert SECRET not in text
    headings = re.findall("^## .*", text, re.MULTILINE)
    assert len(headings) - headings.count("## x") == 1 + len(day), "an outline has no more"


@any_section.some
@given(any_section.runs())
def test_what_a_file_refers_to_is_the_same_whether_it_is_written_at_once_or_bit_by_bit(day: list[Run]) -> None:
    text = ""
    for run in day:
        page = Lines()
        for line in lines_of(text)[:-1]:
            page.add(line)
        text += in_bytes(appended(section_of(run), page))
    assert text == in_bytes(written(*(section_of(run) for run in day)))


@given(any_section.texts)
def test_a_body_ends_where_it_should_whatever_it_holds(text: str) -> None:
    text = in_bytes(text)
    section = ("## x", "", Body(text))
    lines = in_full(section).removesuffix("\n\n").split("\n")[2:]
    moved = lines[0].removesuffix(lines[0].lstrip(" "))
    assert lines[0] == lines[-1]
    assert lines[0].strip(" ").strip("`") == ""
    assert lines[0] not in lines[1:-1]
    assert [line.removeprefix(moved) for line in lines[1:-1]] == text.split("\n")
    assert sections_in(in_full(section)) == [section]


def test_what_stands_there_already_is_named_with_its_lines() -> None:
    first = ("## first", "", Body(LONG[0]), "")
    second = ("## second", "", Body(f"begins otherwise\n{LONG[0]}"), "", Body(LONG[0]), "", Body(LONG[1]))
    text = written(first, second)
    assert text.count(LONG[0]) == text.count(LONG[1]) == 1
    assert re.findall(r"^\*as lines (\d+-\d+) \([0-9a-f]{8}\)\*$", text, re.MULTILINE) == ["4-12", "4-12"]
    assert "\n".join(text.split("\n")[3:12]) == LONG[0]
    assert sections_in(text)[1] == second


def test_a_few_words_are_said_again() -> None:
    text = written(("## first", "", Body("Some words.")), ("## second", "", Body("Some words.")))
    assert text.count("Some words.") == 2


@pytest.mark.parametrize("lines", ["4-12", "1-2", "900-910"])
def test_a_file_that_was_changed_is_not_taken_for_what_it_was(lines: str) -> None:
    text = written(("## first", "", Body(LONG[0])), ("## second", "", Body(LONG[0])))
    changed = text.replace("of many lines", "of few lines") if lines == "4-12" else text.replace("4-12", lines)
    with pytest.raises(BrokenTrace, match="is not what a later one says"):
        sections_in(changed)
    with pytest.raises(BrokenTrace, match="no end"):
        sections_in("## x\n\n```\nand so on\n")
