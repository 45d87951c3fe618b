"""Where sentences end, in any writing, and what a list stands with. FEATURES A7."""

from __future__ import annotations

import pytest

from bot.compaction.sentences import sentences_in


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("Адрес: ул. Ленина, д. 12, кв. 5.", ["Адрес: ул. Ленина, д. 12, кв. 5."]),
        ("Заплатил 1 200 руб. Чек лежит на почте.", ["Заплатил 1 200 руб.", "Чек лежит на почте."]),
        ("Er wohnt z.B. in der Hauptstraße, ca. 3 km weg.", ["Er wohnt z.B. in der Hauptstraße, ca. 3 km weg."]),
        ("Dr. Smith works there today. My code is 4411.", ["Dr. Smith works there today.", "My code is 4411."]),
        ("Mein Flug ist am 3. Mai um 9 Uhr.", ["Mein Flug ist am 3. Mai um 9 Uhr."]),
        ("你好世界。我很好吗？", ["你好世界。", "我很好吗？"]),
        ("मुझे चाय पसंद है। कॉफ़ी नहीं।", ["मुझे चाय पसंद है।", "कॉफ़ी नहीं।"]),
        (
            "Please buy:\n- milk\n- two lemons\n\nThanks a lot, really.",
            ["Please buy: - milk - two lemons", "Thanks a lot, really."],
        ),
        ("NEVER CALL ME BEFORE NINE!", ["NEVER CALL ME BEFORE NINE!"]),
        ("etc. etc.", ["etc. etc."]),
    ],
)
def test_a_line_is_a_sentence_or_a_list_with_what_introduces_it_word_for_word(text: str, lines: list[str]) -> None:
    assert sentences_in(text) == lines
