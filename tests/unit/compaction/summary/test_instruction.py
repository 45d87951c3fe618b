"""What a model is told when it writes a summary."""

from __future__ import annotations

from bot.compaction.summary.instruction import SYSTEM, correction, from_outside, instruction


def test_the_instruction_names_what_must_survive() -> None:
    text = instruction(room=1_000)
    for heading in (
        "Task",
        "Done",
        "In progress",
        "Decisions",
        "Constraints",
        "Exact details",
        "Open",
        "Latest request",
    ):
        assert f"## {heading}:" in text


def test_the_instruction_bounds_the_summary_by_the_room_there_is() -> None:
    assert "at most about 700 words" in instruction(room=1_000)
    assert "at most about 60 words" in instruction(room=1)


def test_an_earlier_summary_is_updated_only_where_there_is_one() -> None:
    assert "Update it" in instruction(updates=True, room=1_000)
    assert "earlier summary" not in instruction(room=1_000)


def test_what_a_person_wants_kept_stands_in_the_instruction_word_for_word() -> None:
    assert "keep above all: the {name} of 50 % <b>\n" in instruction(focus="the {name} of 50 % <b>", room=1_000)


def test_a_correction_lists_what_is_missing_letter_by_letter() -> None:
    assert correction(["/etc/hosts", "42 EUR"]).endswith("\n- /etc/hosts\n- 42 EUR")


def test_a_transcript_stands_before_its_task_and_a_part_says_which_it_is() -> None:
    whole = from_outside("User: hi", "TASK")
    assert whole == "<conversation>\nUser: hi\n</conversation>\n\nTASK"
    assert from_outside("User: hi", "TASK", part=2, parts=3).endswith("This is part 2 of 3; summarise this part alone.")


def test_the_system_prompt_asks_for_the_summary_alone() -> None:
    assert "You write summaries" in SYSTEM
    assert "summary alone" in SYSTEM
