"""Places: which paths are known from what people say and tools list, how they are read, and that none is cut or
invented, in any language."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.compaction.facts.fact import Fact, FactKind, FactStatus, Reason
from bot.compaction.facts.life import found_in, refreshed
from bot.compaction.memory_gate.gate import known_path
from bot.compaction.places import is_place, listed_places, said_places
from bot.history import Entry, EntryKind
from bot.messages import text_block

LOVELACE = "C:\\Users\\Ada Lovelace\\Desktop"
HOME = "/data/ada/Desktop"


@pytest.mark.parametrize(
    ("text", "places"),
    [
        (f"My desktop is at {LOVELACE}.", [LOVELACE]),
        (f'It is "{LOVELACE}" now', [LOVELACE]),
        ("It is in C:\\Temp. Then see docs\\a", ["C:\\Temp"]),
        ("Use C:\\a, D:\\b", ["C:\\a", "D:\\b"]),
        ("Open C:\\Program Files (x86)\\App\\a.exe please", ["C:\\Program Files (x86)\\App\\a.exe"]),
        ("\\\\server\\share\\My Files\\a", ["\\\\server\\share\\My Files\\a"]),
        ("It is `/data/my desk`", ["/data/my desk"]),
        ("see '/Users/Ada Lovelace/Desktop'", ["/Users/Ada Lovelace/Desktop"]),
        ("/Users/Ada Lovelace/Desktop", ["/Users/Ada Lovelace/Desktop"]),
        ("look: /data/my\\ desk/x.txt", ["/data/my desk/x.txt"]),
        ("Мой рабочий стол в «/data/мой стол», да", ["/data/мой стол"]),
        ("文件在「D:\\我的 文档」里", ["D:\\我的 文档"]),
        ("see https://example.org/a/b.", ["https://example.org/a/b"]),
        ("at /Users/Ada Lovelace/Desktop", []),
        ("at D:\\My Desk", []),
        ("내 데스크탑은 /data/ada/Desktop에 있어요", []),
        ("/home/ada/Desktop does not exist", []),
        ("on 2024/7/19", []),
    ],
)
def test_what_people_name_is_read_whole_or_not_at_all(text: str, places: list[str]) -> None:
    assert list(said_places(text)) == places
    assert all(map(is_place, places))


@pytest.mark.parametrize(
    ("line", "place"),
    [
        (HOME, HOME),
        (f"{HOME}:", HOME),
        (f"'{HOME}/a b.txt'", f"{HOME}/a b.txt"),
        ("/Users/Ada Lovelace/Desktop", "/Users/Ada Lovelace/Desktop"),
        (LOVELACE, LOVELACE),
        (f" Directory of {LOVELACE}", LOVELACE),
        (f"    Verzeichnis: {LOVELACE}", LOVELACE),
        (f" Содержимое папки {LOVELACE}", LOVELACE),
        (f"4.0K\t{HOME}", HOME),
        (f"DESKTOP={HOME}", HOME),
        (f"-rw-r--r-- 1 ada ada 5 Jan  1 10:00 {HOME}/a.txt", f"{HOME}/a.txt"),
        (f"ls: cannot access '{HOME}': No such file or directory", None),
        (f"ls: Zugriff auf '{HOME}' nicht möglich: Datei oder Verzeichnis nicht gefunden", None),
        (f"오류: {HOME} 경로를 찾을 수 없습니다", None),
        (f"{HOME} 경로를 찾을 수 없습니다", None),
        (f"Nicht gefunden: {HOME}", None),
        (f"{HOME} was not found", None),
        ("/home/ada/x could not open /home/ada/Desktop", None),
        (f"Get-ChildItem: Cannot find path '{LOVELACE}' because it does not exist.", None),
    ],
)
def test_a_tool_lists_a_place_in_a_line_of_its_own_and_says_in_a_sentence_anything(
    line: str, place: str | None
) -> None:
    assert list(listed_places(line)) == ([place] if place else [])


def test_any_text_is_looked_at_quickly() -> None:
    for bad in ("C:\\" + "a " * 9_000, "/a b" * 9_000, "\\\\a" * 9_000, "/" * 20_000, "~/" * 9_000, "'/a" * 9_000):
        assert len(list(said_places(bad))) <= len(bad)
        assert list(listed_places(bad)) == []


Told = tuple[EntryKind, str]


def person(text: str) -> Told:
    return EntryKind.SAID, text


def life(*told: Told | tuple[str, str]) -> list[Fact]:
    """Facts after each of these turns: what a person or the assistant says, or a command with what it wrote."""
    known: list[Fact] = []
    for number, (what, text) in enumerate(told, 1):
        if isinstance(what, EntryKind):
            role = "assistant" if what is EntryKind.REPLY else "user"
            entries = [Entry(10 * number, role, (text_block(text),), what)]  # type: ignore[arg-type]
        else:
            call = {"type": "tool_use", "id": f"c{number}", "name": "shell", "input": {"command": what}}
            result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": text}
            entries = [
                Entry(10 * number, "assistant", (call,), EntryKind.REPLY),
                Entry(10 * number + 1, "user", (result,), EntryKind.RESULT),
            ]
        after = refreshed(known, found_in(entries)).facts
        known = [replace(item, number=item.number or 100 * number + at) for at, item in enumerate(after)]
    return known


def desktop(*told: Told | tuple[str, str]) -> str | None:
    return known_path("Desktop", life(*told))


OK = "\n[exit code 0, after 2.0 s]"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("My desktop is at /data/ada/Desktop", "My photos are at /data/ada/Photos"),
        ("My desktop is at /data/ada/Desktop", "No, my photos are at /data/ada/Photos"),
        ("run python3 ~/Desktop/report.py", "run touch ~/Desktop/new.txt"),
        ("My desktop is at D:\\Ada Lovelace\\Desktop", "My photos are now at E:\\Ada Lovelace\\Photos"),
        ("Мой рабочий стол находится в /data/ada/Desktop", "Мои фотографии находятся в /data/ada/Photos"),
        ("我的桌面在 /data/ada/Desktop", "我的照片在 /data/ada/Photos"),
        ("Mein Desktop liegt unter /data/ada/Desktop", "Meine Fotos liegen unter /data/ada/Photos"),
        ("내 데스크탑은 /data/ada/Desktop 입니다", "내 사진은 /data/ada/Photos 입니다"),
        ("私のデスクトップは /data/ada/Desktop です", "私の写真は /data/ada/Photos です"),
    ],
)
def test_where_one_thing_is_takes_nothing_from_where_another_is(one: str, other: str) -> None:
    facts = life(person(one), person(other))
    told = {fact.text: fact.status for fact in facts if fact.kind is not FactKind.PATH}
    assert told == {one: FactStatus.ACTIVE, other: FactStatus.ACTIVE}


def test_a_folder_that_people_say_is_in_two_places_is_in_none() -> None:
    assert desktop(person("My desktop is at /a/Desktop"), person("My desktop is now at /b/Desktop")) is None
    assert desktop(person("The desktop is at /a/x"), person("No, the desktop is at /b/y")) is None


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (f"My desktop is at {LOVELACE}", LOVELACE),
        (f"My desktop is at {LOVELACE} these days", LOVELACE),
        ("My desktop is at /Users/Ada Lovelace/Desktop.", "/Users/Ada Lovelace/Desktop"),
        ("My desktop is at '/data/my desk'", "/data/my desk"),
        ("/data/ada/Desktop", HOME),
        ("My desktop is at D:\\My Desk", None),
        ("My desktop is not at /data/ada/Desktop", None),
        ("Is my desktop at /data/ada/Desktop?", None),
        ("Мой рабочий стол не в /data/ada/Desktop", None),
        ("我的桌面不在 /data/ada/Desktop", None),
        ("내 데스크탑은 /data/ada/Desktop 에 없어요", None),
        ("Es gibt kein /data/ada/Desktop.", None),
    ],
)
def test_what_a_person_states_is_known_and_what_they_only_name_is_not(text: str, path: str | None) -> None:
    assert desktop(person(text)) == path


def test_what_the_assistant_says_is_no_place() -> None:
    for text in (f"{HOME} does not exist", f"Your desktop is at {HOME}", HOME):
        facts = life((EntryKind.REPLY, text))
        assert not [fact for fact in facts if fact.kind is FactKind.PATH]
        assert known_path("Desktop", facts) is None


def test_what_a_successful_command_lists_is_known_also_where_it_was_named_before() -> None:
    assert desktop(("realpath ~/Desktop", HOME + OK)) == HOME
    assert desktop(("find ~ -name Desktop | head -1", HOME + OK)) == HOME
    assert desktop(person(f"Es gibt {HOME}, glaube ich."), ("ls -d ~/Desktop", HOME + OK)) == HOME


@pytest.mark.parametrize(
    "said",
    [
        "ls: cannot access '/home/ada/Desktop': No such file or directory",
        "ls: Zugriff auf '/home/ada/Desktop' nicht möglich: Datei oder Verzeichnis nicht gefunden",
        "ls: '/home/ada/Desktop'에 접근할 수 없습니다: 그런 파일이나 디렉터리가 없습니다",
    ],
)
def test_a_command_that_only_complains_has_failed_whatever_the_last_exit_code_is(said: str) -> None:
    facts = life(("ls ~/Desktop; sleep 2", said + OK))
    told = [(fact.kind, fact.status) for fact in facts if fact.kind is not FactKind.GIVEN]
    assert told == [(FactKind.ACTION, FactStatus.FAILED)]
    assert known_path("Desktop", facts) is None


def test_what_stands_in_a_file_is_nobodys_word() -> None:
    assert desktop(("cat notes.txt", HOME + OK)) is None
    assert desktop(("find . -name '*.txt' | xargs cat", HOME + OK)) is None
    sent = Entry(1, "user", (text_block(f"[File: files/a.txt, 9 characters]\n{HOME}"),), EntryKind.FILE)
    assert not [item for item in found_in([sent]) if item.kind is FactKind.PATH]


def test_what_was_pasted_or_quoted_names_no_place() -> None:
    assert desktop(person(f"> My desktop is at {HOME}\n\nIs that so?")) is None


def test_a_date_is_no_place() -> None:
    [found] = [item for item in found_in(_listing("/2024/07/19")) if item.kind is FactKind.PATH]
    assert (found.is_accepted, found.reason) == (False, Reason.DATE_LIKE)


def _listing(text: str) -> list[Entry]:
    call = {"type": "tool_use", "id": "c", "name": "shell", "input": {"command": "ls -d /*/*/*"}}
    result = {"type": "tool_result", "tool_use_id": "c", "content": text}
    return [
        Entry(1, "assistant", (call,), EntryKind.REPLY),
        Entry(2, "user", (result,), EntryKind.RESULT),
    ]
