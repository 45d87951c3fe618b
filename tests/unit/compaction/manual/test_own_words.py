"""What people did not write is known in messages that come from outside, by the exact words around it."""

from __future__ import annotations

import pytest

from bot.compaction.manual.given import entries_of
from bot.compaction.manual.own_words import kind_of
from bot.compaction.strategies import reset, segmented, tiers, two_phase
from bot.history import EARLIER_RESULT, EntryKind
from bot.history.file_headers import header, with_text
from bot.messages import text_block
from tests.unit.by_hand import assistant

SUMMARY = "The library closes at six."
FILE = with_text("files/a.txt", 9, "Never close before nine.")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (reset.MARKER, EntryKind.MARKER),
        (f"{SUMMARY}\n\n{reset.GO_ON}", EntryKind.SUMMARY),
        (f"{SUMMARY}\n\n{tiers.GO_ON}", EntryKind.SUMMARY),
        (segmented.SUMMARY_TEXT.replace("\x02summary\x03", SUMMARY), EntryKind.SUMMARY),
        (two_phase.CHECKPOINT.replace("\x02summary\x03", SUMMARY), EntryKind.SUMMARY),
        (segmented.GO_ON, EntryKind.NOTE),
        (f"{EARLIER_RESULT}]\n> Never close.\n>\n> Ever.", EntryKind.NOTE),
        (f"{EARLIER_RESULT}]\n> Never close.\nEver.", None),
        (FILE, EntryKind.FILE),
        (header("files/a.png"), EntryKind.FILE),
        (f"{header('files/a.png')}\nWhat is it?", None),
        (f"I read: {reset.MARKER}", None),
        (f"{reset.MARKER} And more.", None),
        ("", None),
    ],
)
def test_what_a_text_is_follows_from_the_exact_words_around_it(text: str, kind: EntryKind | None) -> None:
    assert kind_of(text) is kind


def test_a_message_falls_into_what_a_person_said_and_what_nobody_did() -> None:
    picture = {"type": "image", "source": {"type": "folder", "path": "files/a.png", "width": 9, "height": 9}}
    mixed = [
        text_block(reset.MARKER),
        text_block("Look."),
        text_block(header("files/a.png")),
        picture,
        text_block(FILE),
    ]
    entries = entries_of([{"role": "user", "content": mixed}, assistant("I see.")])
    assert [(entry.kind, entry.layer, len(entry.blocks)) for entry in entries] == [
        (EntryKind.MARKER, 0, 1),
        (EntryKind.SAID, None, 1),
        (EntryKind.FILE, None, 3),
        (EntryKind.REPLY, None, 1),
    ]
