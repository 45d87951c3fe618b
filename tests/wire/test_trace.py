"""The daily file that an operator reads: one section a run, private, unbroken, without secrets."""

from __future__ import annotations

import re
import stat

import pytest

from tests.wire.conftest import Served
from tests.wire.program import KEY
from tests.wire.talk import Talk

pytestmark = pytest.mark.asyncio(loop_scope="session")

SECRETS = (KEY, "sk-ant-api03-abcdefghijklmnopqrstuv", "hunter2-of-the-database")


def _headings(markdown: str) -> list[str]:
    """The headings of a document that stand in none of its code blocks (https://spec.commonmark.org/)."""
    found, fence = [], ""
    for line in markdown.splitlines():
        ticks = re.match(r" {0,3}(`{3,})", line)
        if fence:
            if ticks and len(ticks[1]) >= len(fence) and not line.strip().strip("`"):
                fence = ""
        elif ticks:
            fence = ticks[1]
        elif line.startswith("#"):
            found.append(line)
    assert not fence, "a code block never ends"
    return found


async def test_every_run_is_one_section_and_nothing_in_it_breaks_the_page_or_tells_a_secret(
    served: Served, ada: Talk
) -> None:
    await ada.asks("```\n## 2026-01-01 a section of mine\n````\n~~~\nunbalanced `` ticks ```` and <!-- a comment")
    await ada.asks(f"Use the key {SECRETS[0]}, or {SECRETS[1]}.")
    await ada.asks(f"The database is postgres://palimpsest:{SECRETS[2]}@db.example/main, remember that.")
    await ada.says_much(1_500)

    served.model.hang(ada.is_my_summary)
    ada.says("/compact")
    await served.model.wait_for(lambda _: ada.summaries)
    ada.says("/abort")
    await ada.reads("🗜 Compaction aborted")
    served.model.clear_faults()

    served.model.fail(400, "invalid_request_error", "messages: no", times=None, when=ada.is_my_summary)
    ada.says("/compact")
    await ada.reads("🗜 Compaction failed")
    served.model.clear_faults()

    served.brain.summaries[ada.name] = "No summary."
    ada.says("/compact")
    await ada.reads("🗜 Nothing was compacted")
    del served.brain.summaries[ada.name]

    ada.says("/compact keep `all` of it")
    await ada.reads("🗜 Compacted: ")
    await ada.asks("Thank you.")

    path = served.programs.trace(ada.agent_id)
    assert re.fullmatch(r"compaction_\d{8}\.md", path.name)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    text = path.read_text()
    sections = [heading for heading in _headings(text) if heading.startswith("## ")]
    assert [section.split()[-2:] for section in sections] == [
        ["manual", "aborted"],
        ["manual", "failed"],
        ["manual", "empty"],
        ["manual", "done"],
    ]
    assert "messages: no" in text
    assert "keep `all` of it" in text
    for part in ("- **before**: ", "- **after**: ", "System prompt:", "Tools:", "Messages:", "Reply:", "### Summary"):
        assert part in text
    for secret in SECRETS:
        assert secret not in text
        assert not served.program.logged(secret)
    assert "[redacted]" in text


async def test_an_automatic_run_is_in_the_trace_too(served: Served, ada: Talk) -> None:
    await ada.says_much(1_000, lines=6)
    await ada.reads("🗜 Compacted: ")
    await ada.asks("Thank you.")
    sections = [heading for heading in _headings(served.programs.trace(ada.agent_id).read_text()) if "## " in heading]
    assert sections[0].endswith(" auto done")
