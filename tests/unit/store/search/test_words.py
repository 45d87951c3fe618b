"""What a text is found by: the same words for every database, in scripts with spaces and without."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.store.search import words
from bot.store.search.words import (
    JOINERS,
    LONGEST_WORD,
    MOST_BYTES,
    MOST_QUERY_WORDS,
    PREFIX,
    SIGNS,
    STEM,
    counted,
    plain,
    query_words,
    times_in,
    times_written,
    words_in,
    written_words,
)


def finds(query: str, text: str) -> bool:
    """Whether the text has every word of the query."""
    words = set(words_in(text))

    def has(form: str) -> bool:
        return any(word.startswith(form[:-1]) for word in words) if form.endswith(PREFIX) else form in words

    wanted = query_words(query)
    return bool(wanted) and all(any(all(map(has, form)) for form in word.forms) for word in wanted)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("DOOR", "the green door"),
        ("doors", "a door"),
        ("door", "two doors"),
        ("running", "he ran, she runs"),
        ("sister", "my sister's cat"),
        ("don't", "I don’t know"),
        ("двери", "зелёная дверь"),
        ("зеленая", "ЗЕЛЁНАЯ дверь"),
        ("кошка", "сказала о кошке"),
        ("Haus", "Die Häuser und die Gärten sind grün."),
        ("maisons", "La maison est dans le jardin."),
        ("gatos", "El gato no está en la casa."),
        ("cafe", "au café"),
        ("café", "the cafe"),
        ("ＡＢＣ", "abc"),
        ("2000", "12,000 and 2,000"),
        ("火星", "去火星的任务"),
        ("代号", "任务的代号是猎鹰"),
        ("猫", "小猫"),
        ("猫", "猫在家"),
        ("とうきょう", "とうきょうへ行く"),
        ("서울", "서울에서"),
        ("ราคา", "บอกราคาหน่อย"),
        ("भाषा", "हिन्दी भाषा"),
        ("ιστορια", "η ιστορία"),
        ("user_id", "set user_id to 7"),
        ("user id", "set user_id to 7"),
        ("user name", "getUserName()"),
        ("getusername", "getUserName()"),
        ("http server", "class HTTPServer"),
        ("main.py", "open src/app/main.py"),
        ("src/app/main.py", "open src/app/main.py now"),
        ("app/main", "open src/app/main.py now"),
        ("2026-03-10", "on 2026-03-10 at noon"),
        ("ABC-123", "see ABC-123."),
        ("abc 123", "see ABC-123."),
        ("ada@example.com", "write to ada@example.com, please"),
        ("10:30", "at 10:30"),
        ("C++", "I like C++."),
        ("__init__", "in __init__.py"),
        ("what is", "what is it"),
        ("c:\\temp\\x.log", "C:\\Temp\\x.log"),
    ],
)
def test_what_finds_what(query: str, text: str) -> None:
    assert finds(query, text)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("door", "outdoors"),
        ("cat", "concatenate"),
        ("C++", "the letter c"),
        ("ABC-123", "ABC-124"),
        ("火星", "火车和星星"),
        ("猫", "狗"),
        ("user_id", "user"),
        ("дверь", "дверца машины"),
        ("", "anything"),
        ("🙂 !!", "🙂 !!"),
    ],
)
def test_what_does_not_find_what(query: str, text: str) -> None:
    assert not finds(query, text)


def test_words_that_every_text_has_do_not_count_beside_others() -> None:
    assert [wanted.word for wanted in query_words("What is the launch code?")] == ["launch", "code"]
    assert [wanted.word for wanted in query_words("где моя кошка")] == ["кошка"]
    assert [wanted.word for wanted in query_words("what is the")] == ["what", "is", "the"]


@pytest.mark.parametrize(
    ("query", "telling"),
    [
        ("Where did I say I met Laura?", ["say", "met", "laura"]),
        ("What did the van come for?", ["van", "come"]),
        ("Met wie was het feest van Laura?", ["feest", "laura"]),
        ("Wo ist der Schlüssel für die Tür?", ["schlüssel", "tür"]),
        ("van keys", ["van", "keys"]),
    ],
)
def test_words_that_every_text_has_are_those_of_the_language_of_the_query(query: str, telling: list[str]) -> None:
    assert [wanted.word for wanted in query_words(query)] == telling


@pytest.mark.parametrize(
    ("query", "said", "times"),
    [
        ("I did", "I see. I did; Indeed, did I?", [3, 2]),
        ("door", "Doors! The DOOR.", [1]),
        ("na", "Na, na na. nana banana na_na snack", [3]),
        ("冲刺的", "冲刺冲刺的", [2, 1]),
        ("ABC-123 c++ user_id", "abc-123, C++ and user_id; abc", [1, 1, 1]),
        ("🙂", "🙂", []),
    ],
)
def test_words_are_counted_in_just_the_form_in_which_they_are_asked_for(
    query: str, said: str, times: list[int]
) -> None:
    assert times_written(written_words(query), plain(said)) == times


def test_a_run_without_spaces_becomes_pairs_and_its_last_character() -> None:
    assert words_in("火星任务") == ["火星", "星任", "任务", "务"]
    assert words_in("使用user_id字段") == ["使用", "用", "user_id", "user", "id", "字段", "段"]


def test_a_compound_is_found_whole_and_by_its_parts() -> None:
    assert words_in("2026-03-10") == ["2026-03-10", "2026", "03", "10"]
    assert words_in("HTTPServer") == ["httpserver", "http", "server"]
    assert set(words_in("getUserName")) == {"getusername", "~getusernam", "get", "user", "name"}


def test_a_hash_is_one_word_without_parts() -> None:
    digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
    assert words_in(digest) == [digest]


def test_a_very_long_word_is_found_by_its_beginning() -> None:
    assert words_in("x" * 10_000) == ["x" * LONGEST_WORD]
    assert finds("x" * 10_000, "x" * 10_000)


def test_the_words_of_one_text_are_bounded() -> None:
    words = words_in(" ".join(f"word{number}x" for number in range(200_000)))
    assert 0.9 * MOST_BYTES < sum(len(word.encode()) + 1 for word in words) <= MOST_BYTES


def test_a_query_has_a_bounded_number_of_words() -> None:
    assert len(query_words("语" * 3 + "".join(chr(0x4E00 + at) for at in range(500)))) == MOST_QUERY_WORDS


def test_a_word_is_named_once() -> None:
    assert words_in("door door DOOR").count("door") == 1
    assert [wanted.word for wanted in query_words("door Door")] == ["door"]


def test_phrases_are_compared_in_one_case_and_with_one_space() -> None:
    assert plain("The  Green\nDOOR Ё") == "the green door е"


@given(st.text())
def test_a_word_holds_nothing_that_a_database_would_read_otherwise(text: str) -> None:
    for word in words_in(text):
        assert word
        assert len(word.removeprefix(STEM)) <= 2 * LONGEST_WORD
        assert all(char.isalnum() or ord(char) > 127 or char in JOINERS + SIGNS for char in word.removeprefix(STEM))
        assert not any(char.isspace() for char in word)


@given(st.text(max_size=200))
def test_every_text_with_words_finds_itself(text: str) -> None:
    assert finds(text, text) == bool(words_in(text))


@given(st.text())
def test_the_same_text_has_the_same_words(text: str) -> None:
    assert words_in(text) == words_in(text)


@pytest.mark.parametrize(
    ("text", "query", "times"),
    [
        ("The door, the doors, a Door.", "doors", 3),
        ("дверь двери дверью окно", "двери", 3),
        ("猫猫猫", "猫猫", 2),
        ("user_id, user_name, user", "user", 3),
        ("ticket-991 ticket-991 ticket-7", "ticket-991", 2),
        ("café cafe", "cafe", 2),
        ("a window", "window", 1),
    ],
)
def test_the_forms_of_a_word_are_counted_together(text: str, query: str, times: int) -> None:
    assert times_in(query_words(query)[0], counted(text).repeats) == times


@pytest.mark.parametrize(
    ("text", "length"), [("The door, the DOORS.", 4), ("猫在火星上", 4), ("user_id x", 2), ("🙂", 0)]
)
def test_a_text_is_as_long_as_its_words_are_many(text: str, length: int) -> None:
    assert counted(text).length == length


def test_a_process_that_reads_much_keeps_more_words_at_hand_and_finds_the_same() -> None:
    text = "The doors of getUserName, and 1,200 cafés: Häuser wurden gebaut."
    before = counted(text)
    try:
        words.remember(20_000)
        assert counted(text) == before
        assert words._token_words.cache_info().maxsize == 20_000
    finally:
        words.remember(words._REMEMBERED)


@pytest.mark.parametrize(
    ("language", "said", "stems"),
    [
        ("english", "doors running generously skies", "door run generous sky"),
        ("german", "häuser gebaut freundlichkeiten", "haus gebaut freundlich"),
        ("french", "maisons continuellement généralisations", "maison continuel généralis"),
        ("spanish", "gatos rápidamente hablándoles", "gat rapid habl"),
        ("italian", "gatti velocemente abbandonata", "gatt veloc abbandon"),
        ("portuguese", "gatos rapidamente informações", "gat rapid inform"),
        ("dutch", "huizen lichamelijke kinderen", "huis lichamelijk kinder"),
        ("greek", "σπίτια ανθρώπων", "σπιτ ανθρωπ"),
        ("russian", "двери кошками говорившими", "двер кошк говор"),
        ("armenian", "տների մարդկանց", "տների մարդկ"),
        ("arabic", "الكتاب والمدرسة", "كتاب والمدرس"),
        ("hindi", "लड़कियों किताबें", "लड़क किताब"),
        ("tamil", "வீடுகள் மரங்களை", "வீடு மரங்"),
    ],
)
def test_stems_stay_those_by_which_the_books_that_are_there_are_found(language: str, said: str, stems: str) -> None:
    assert " ".join(words._stem(language, word) for word in said.split()) == stems


def test_a_text_near_the_bound_has_all_its_words_and_a_longer_one_those_from_its_beginning() -> None:
    said = [f"word{number}x" for number in range(60_000)]
    short, long = counted(" ".join(said[:1_000])), counted(" ".join(said))
    assert short.length == 1_000
    assert long.words[: len(short.words)] == short.words
    assert 1_000 < long.length < len(said)
