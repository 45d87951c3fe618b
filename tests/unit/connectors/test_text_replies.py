"""Random replies on each platform: nothing refused, nothing lost, nothing made up.

``REPLIES=2000`` tries more of them than 200. A failure names its seed.
"""

from __future__ import annotations

import pytest

from connectors.text import for_discord, for_telegram, rich_markdown, utf16_length
from tests.unit import discord_reader, strict_telegram
from tests.unit.replies import COUNT, reply
from tests.unit.visible import bare, is_read_otherwise, visible, without_addresses

LIMITS = (4096, 300)
BATCH = 50
BATCHES = [
    pytest.param(range(start, min(start + BATCH, COUNT)), marks=[pytest.mark.long] if start >= COUNT // 4 else [])
    for start in range(0, COUNT, BATCH)
]
"""All but the first quarter are for LONG=1."""


@pytest.mark.parametrize("seeds", BATCHES, ids=str)
@pytest.mark.parametrize("limit", LIMITS)
def test_telegram_takes_every_message_and_people_see_all_of_the_reply(seeds: range, limit: int) -> None:
    for seed in seeds:
        messages = for_telegram(reply(seed), limit)

        for message in messages:
            strict_telegram.check(message, limit)
        shown = bare("".join(message.text for message in messages))
        wanted = visible(reply(seed))
        same = without_addresses(shown, reply(seed)) == without_addresses(wanted, reply(seed))
        assert same or is_read_otherwise(reply(seed)), f"seed {seed}"


@pytest.mark.parametrize("seeds", BATCHES, ids=str)
@pytest.mark.parametrize("limit", [2000, 400])
def test_discord_takes_every_message_and_people_see_all_of_the_reply(seeds: range, limit: int) -> None:
    for seed in seeds:
        messages = for_discord(reply(seed), limit)
        seen = [discord_reader.read(message) for message in messages]

        assert all(0 < len(message) <= limit and message == message.strip() for message in messages)
        assert "\ud83d" not in "".join(messages)
        assert not {kind for one in seen for kind, _ in one.marks} & {"special", "spoiler", "underline", "subtext"}
        shown = bare("".join(one.text for one in seen))
        wanted = visible(reply(seed))
        same = without_addresses(shown, reply(seed)) == without_addresses(wanted, reply(seed))
        assert same or is_read_otherwise(reply(seed)), f"seed {seed}"


@pytest.mark.parametrize("seeds", BATCHES, ids=str)
def test_every_beginning_of_a_reply_makes_messages_that_telegram_takes(seeds: range) -> None:
    for seed in seeds:
        text = reply(seed)
        for end in range(0, len(text), max(1, len(text) // 7)):
            for message in for_telegram(text[:end]):
                strict_telegram.check(message, 4096)
            assert all(len(message) <= 2000 for message in for_discord(text[:end]))


@pytest.mark.parametrize("seeds", BATCHES, ids=str)
def test_a_rich_message_says_what_the_reply_says(seeds: range) -> None:
    for seed in seeds:
        written = rich_markdown(reply(seed))
        if written is None:
            continue
        assert utf16_length(written) <= 32_768
        both = f"{reply(seed)}\n\n{written}"
        seen, wanted = visible(written, tags=True), visible(reply(seed))
        same = without_addresses(seen, both) == without_addresses(wanted, both)
        assert same or is_read_otherwise(reply(seed)), f"seed {seed}"
