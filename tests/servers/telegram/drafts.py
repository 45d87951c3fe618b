"""The previews that a bot streams while it writes.

https://core.telegram.org/bots/api#sendmessagedraft
"""

from dataclasses import dataclass, field

from tests.servers.telegram.switches import Switches

SECONDS = 30.0
"""How long a draft stays after its last change."""


@dataclass
class Draft:
    """One preview, with all that it has shown; `source` is the Markdown or HTML of a rich one."""

    chat_id: int
    thread_id: int | None
    draft_id: int
    can_stop: bool
    keep_on_stop: bool
    shown_at: float
    history: list[str] = field(default_factory=list)
    source: str = ""
    rich: bool = False
    gone: bool = False
    stopped: bool = False

    @property
    def text(self) -> str:
        """What it shows now; empty for "Thinking…"."""
        return self.history[-1]


class Drafts:
    """All drafts there have been, by the order in which they appeared."""

    def __init__(self, switches: Switches) -> None:
        self._switches = switches
        self._drafts: list[Draft] = []

    def live(self, chat_id: int) -> list[Draft]:
        """What a chat shows now: at most one draft in each thread."""
        return [draft for draft in self.all(chat_id) if not draft.gone]

    def all(self, chat_id: int) -> list[Draft]:
        """Also those that are gone."""
        now = self._switches.clock()
        for draft in self._drafts:
            draft.gone = draft.gone or now >= draft.shown_at + SECONDS
        return [draft for draft in self._drafts if draft.chat_id == chat_id]

    def show(self, draft: Draft, text: str) -> None:
        """Show a text in the live draft with the same id, or in this new one instead of another.

        After the stop button was pressed the same draft shows nothing more.
        """
        before = [known for known in self.all(draft.chat_id) if known.thread_id == draft.thread_id]
        if any(known.stopped and known.draft_id == draft.draft_id for known in before):
            return
        live = next((known for known in before if not known.gone), None)
        if live is None or live.draft_id != draft.draft_id:
            self.end(draft.chat_id, draft.thread_id)
            self._drafts.append(draft)
        else:
            live.can_stop, live.keep_on_stop = draft.can_stop, draft.keep_on_stop
            live.source, live.rich = draft.source, draft.rich
            draft = live
        draft.shown_at = self._switches.clock()
        draft.history.append(text)

    def end(self, chat_id: int, thread_id: int | None) -> None:
        """Take the draft away, as a message does that is sent there."""
        for draft in self.live(chat_id):
            if draft.thread_id == thread_id:
                draft.gone = True

    def stop(self, chat_id: int, thread_id: int | None) -> Draft:
        """Press the stop button; LookupError where there is none."""
        for draft in self.live(chat_id):
            if draft.thread_id == thread_id and draft.can_stop and not draft.stopped:
                draft.stopped = True
                draft.gone = not draft.keep_on_stop
                return draft
        raise LookupError(f"no draft with a stop button in chat {chat_id}, thread {thread_id}")
