"""The interactive terminal: a prompt that stays, replies that are set as Markdown above it, a meter below it.

What is finished stands in the terminal's own scrollback, printed once. What still changes (the block of a
reply that is being written, an unfinished status message, the spinner) is live: drawn between the scrollback
and the prompt.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from uuid import uuid4

from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples, to_formatted_text
from prompt_toolkit.input import Input
from prompt_toolkit.output import Output

from bot.connector import Intake, OfferedCommand
from bot.errors import DeliveryDelayed, StoreUnavailable
from bot.messages import (
    ABORT_COMPACTION,
    Address,
    Attachment,
    Button,
    Edit,
    Inbound,
    Outbound,
    React,
    Say,
    Status,
    Typing,
    Withdraw,
)
from connectors.terminal.attach import ATTACH, CannotAttachError, attached, copy, mentioned, told
from connectors.terminal.clipboard import by_terminal, by_tool
from connectors.terminal.prompt import Continues, Prompt
from connectors.terminal.typeset import clean, finished, last_code, last_rows, meter_line, typeset, wrapped
from connectors.terminal.unsent import Unsent

LEAVING: Final = {"/exit": "leave", "/quit": "leave"}
_SPOKEN_LEAVING: Final = frozenset({*LEAVING, "exit", "quit"})
"""Alone on a line."""
COPY, COPY_CODE, EDITOR = "/copy", "/copy code", "/editor"
_HELP = "/help"
_OWN: Final = {
    ATTACH: "send a file: /attach PATH, and what you say of it (or @PATH in a message)",
    COPY: "copy the last answer; /copy code copies its last block of code",
    EDITOR: "write in your editor ($EDITOR); so does Ctrl-X Ctrl-E",
    **LEAVING,
}
_OWN_HELP: Final = "\n".join(["And in this terminal alone:", *(f"{name}: {about}" for name, about in _OWN.items())])
_NUMBER = re.compile(r"(\d+)\.(?: |$)")
_ROWS_SAID, _ROWS_ANSWERED = 3, 8
"""Of what was said and answered before, at the beginning."""
_TYPING_SECONDS = 6.0
_AGAIN_SECONDS = 3.0
_DRAIN_SECONDS = 5.0
_ELSEWHERE_SECONDS = 60.0
_LIVE_ROWS = 24
_REMEMBERED = 1000
_KEYS = ("Enter sends", "Alt-Enter starts a new line", "@ attaches a file", "/help")
"""What the bottom line says before it has a meter, as much as fits."""
_STOPS_COMPACTION = "Stopping the compaction… (Ctrl-C again stops the answer)"
_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_NEVER = float("-inf")


@dataclass
class _Reply:
    """A reply that is being written: its text so far, and how much of that is in the scrollback."""

    text: str = ""
    printed: int = 0

    @property
    def rest(self) -> str:
        return self.text[self.printed :]


@dataclass(frozen=True)
class _Line:
    """What was entered. ``ref`` names it; ``echo``: it is shown above the prompt."""

    text: str
    ref: str
    echo: bool = True

    @property
    def is_for_model(self) -> bool:
        return not self.text.startswith("/") or self.text.startswith(ATTACH)


@dataclass(frozen=True)
class _Interrupted:
    """What a Ctrl-C met. The next one leaves where it meets the same: somebody who stops one answer, and soon after
    another one, wants both of them stopped and goes on talking."""

    begun: int
    typed: str
    shown: frozenset[str]
    compacting: bool = False
    """An answer waits for a compaction: that is stopped first, and by another Ctrl-C the answer."""


class Terminal:
    """One person at a terminal, in one conversation."""

    name = "terminal"

    def __init__(
        self,
        address: Address,
        *,
        history_file: Path,
        unsent_file: Path,
        commands: Sequence[OfferedCommand],
        continues: Continues = lambda _: {},
        banner: str = "",
        input: Input | None = None,  # noqa: A002 - prompt_toolkit's own name for it
        output: Output | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``unsent_file`` holds what is entered until it is stored; ``commands`` are offered after a slash;
        ``continues`` says what the last word of one that is being written may become; ``clock`` gives seconds."""
        self._address = address
        self._banner = banner
        self._clock = clock
        self._lines: asyncio.Queue[_Line | None] = asyncio.Queue()
        self._unsent = Unsent(unsent_file)
        self._moving = asyncio.Event()
        self._replies: dict[str, _Reply] = {}
        self._statuses: dict[str, str] = {}
        self._compacting: set[str] = set()
        """Statuses below which a compaction can be stopped."""
        self._marks: dict[str, str] = {}
        self._said: dict[str, str] = {}
        self._choices: Mapping[str, str] = {}
        """What a number alone means, right behind what asked for one of several."""
        self._below_entered = False
        """Whether what a person entered was shown last: what answers it stands right below."""
        self._facts: Mapping[str, str | int | float] = {}
        self._answer = ""
        """The last one, as the model wrote it."""
        self._unanswered: dict[str, bool] = {}
        """What was said and nobody answered yet, by its ref, in its order; whether it is stored."""
        self._helps: set[str] = set()
        """Refs of `/help`: below what answers it stand the terminal's own commands."""
        self._is_at_work = False
        self._taken: frozenset[str] = frozenset()
        """What was unanswered when the other side began to work."""
        self._typing_until = self._again_until = _NEVER
        self._begun = 0
        self._interrupted = _Interrupted(0, "", frozenset())
        self._presses = 0
        """Of Ctrl-C, for what was interrupted."""
        self._hint = ""
        self._order = 0
        self._prompt = Prompt(
            commands={**{f"/{command.name}": command.about for command in commands}, **_OWN},
            continues=continues,
            history_file=history_file,
            live=self._live,
            facts=self._bottom,
            enter=self._enter,
            interrupt=self._interrupt,
            input=input,
            output=output,
        )

    async def run(self, intake: Intake) -> None:
        """Store what is entered until the person leaves; the last line is stored before this returns."""
        with self._prompt.session():
            if self._banner:
                await self._prompt.print([("class:notice", self._wrapped(self._banner))])
            await self._say_again()
            async with asyncio.TaskGroup() as group:
                storing = group.create_task(self._store_lines(intake))
                moving = group.create_task(self._move())
                await self._prompt.run()
                moving.cancel()
                self._lines.put_nowait(None)
                with suppress(TimeoutError):
                    await asyncio.wait_for(storing, _DRAIN_SECONDS)
            await self._settle_all()

    async def show_before(self, note: str, said: str, answer: str) -> None:
        """Where the conversation stood when it is gone on with, unless the person was faster: a line that says so, and
        what was said and answered last, cut."""
        self._answer = self._answer or answer
        if self._begun:
            return
        width = max(1, self._prompt.columns - 2)
        shown = [
            _indented("> ", wrapped(clean(said), width), _ROWS_SAID),
            _indented("  ", typeset(clean(answer), width) if answer.strip() else "", _ROWS_ANSWERED),
        ]
        text = "\n".join(filter(None, shown))
        before = [(f"class:before {style}", piece) for style, piece, *_ in to_formatted_text(ANSI(f"\n{text}"))]
        await self._prompt.print([("class:notice", "\n" + self._wrapped(clean(note))), *before])

    def pace(self, address: Address) -> float:  # noqa: ARG002 - the Protocol's
        """See :class:`bot.connector.Connector`."""
        return 0.05

    def drafts(self, address: Address) -> bool:  # noqa: ARG002 - the Protocol's
        """See :class:`bot.connector.Connector`."""
        return False

    async def fetch(self, attachment: Attachment, target: Path, *, most_bytes: int) -> None:
        """Copy a file that was attached."""
        await copy(attachment, target, most_bytes=most_bytes)

    async def deliver(self, outbound: Outbound) -> tuple[str, ...]:
        """Show one outbound; a message has one part, named by its token.

        Raises :class:`~bot.errors.DeliveryDelayed` for a message of another conversation.
        """
        here = outbound.address == self._address
        if isinstance(outbound, Say | Edit):
            if not here:
                problem = f"{outbound.address.agent_id} is not open in this terminal"
                raise DeliveryDelayed(problem, _ELSEWHERE_SECONDS)
            key = outbound.refs[0] if isinstance(outbound, Edit) and outbound.refs else outbound.token
            if isinstance(outbound, Say) and outbound.file:
                await self._notice(key, clean(told(outbound.file, outbound.text)), "", partial=False)
                return (key,)
            can_be_stopped = any(button.command == ABORT_COMPACTION for button in outbound.buttons)
            (self._compacting.add if can_be_stopped else self._compacting.discard)(key)
            text, buttons = clean(outbound.text), _row(outbound.buttons)
            if outbound.notice:
                self._choices = _numbered(outbound.buttons) or self._choices
                if outbound.answers in self._helps:
                    text = f"{text}\n\n{_OWN_HELP}"
                await self._notice(key, text, buttons, partial=outbound.partial)
            elif await self._reply(key, text, buttons, partial=outbound.partial):
                await self._is_whole(outbound.answers)
            return (key,)
        if here:
            self._show(outbound)
        return ()

    def _show(self, outbound: Withdraw | Typing | React | Status) -> None:
        """What is not said, and changes what is live."""
        if isinstance(outbound, Withdraw):
            for key in outbound.refs:
                self._replies.pop(key, None)
            self._answers(outbound.answers)
            self._typing_until = _NEVER
            self._prompt.redraw()
        if isinstance(outbound, Typing):
            if outbound.on:
                self._begins()
            self._typing_until = self._clock() + _TYPING_SECONDS if outbound.on else _NEVER
            self._works(is_so=outbound.on)
            self._moving.set()
        if isinstance(outbound, React):
            if outbound.emoji:
                self._marks[outbound.ref] = outbound.emoji
            else:
                self._marks.pop(outbound.ref, None)
            self._prompt.redraw()
        if isinstance(outbound, Status):
            self._facts = outbound.facts
            self._prompt.redraw()

    async def find(
        self,
        outbound: Outbound,  # noqa: ARG002 - the Protocol's
        after: str | None,  # noqa: ARG002 - likewise
        known: frozenset[str],  # noqa: ARG002 - likewise
    ) -> tuple[str, ...] | None:
        """Nothing can be read back from a terminal."""
        return None

    async def close(self) -> None:
        """End :meth:`run` as if the person had left."""
        self._prompt.leave()

    async def _reply(self, key: str, text: str, buttons: str, *, partial: bool) -> bool:
        """Whether it is whole now."""
        if key in self._said and (partial or self._said[key] == text):
            return False  # a redelivery, or a late edit of what is final
        if key not in self._replies:
            await self._settle_all()  # nobody ended them, and they must not hang above the prompt
        reply = self._replies.setdefault(key, _Reply())
        if not text.startswith(reply.text[: reply.printed]):
            await self._prompt.print([("class:notice", "\n(The reply starts over.)")])
            reply.printed = 0
        if partial:
            self._begins()
        reply.text = text
        if partial:
            await self._settle(reply, reply.printed + finished(reply.rest))
            self._prompt.redraw()
            return False
        self._typing_until = _NEVER
        await self._settle(reply, len(text))
        self._replies.pop(key, None)
        self._answer = text
        self._remember(key, text)
        if buttons:
            await self._prompt.print([("class:notice", self._wrapped(buttons))])
        return True

    async def _is_whole(self, ref: str) -> None:
        """An answer is there, to this and to what came before it."""
        count = self._facts.get("answers")
        count = count if isinstance(count, int) else 1
        self._answers(ref, count)
        if count > 1:  # or whoever counts would miss some
            self._facts = {**self._facts, "answers": 1}
            await self._hint_at(f"(One answer to your {count:,} messages.)")

    def _answers(self, ref: str, count: int = 1) -> None:
        """Nobody waits any more for an answer to this, to what was said before it, and to what joined it, where it is
        one to so many. What was said since is another's to answer. One that names nothing is to all that was known."""
        refs = list(self._unanswered)
        if ref in refs:
            refs = refs[: max(refs.index(ref) + 1, count)]
        elif ref:
            refs = []
        elif self._is_at_work:
            refs = [known for known in refs if known in self._taken]
        for answered in refs:
            del self._unanswered[answered]

    def _works(self, *, is_so: bool) -> None:
        """The other side begins or ends to work. At the end nothing is left of what it knew at the beginning, unless
        that is marked as waiting; what was said meanwhile may still come to it."""
        if is_so and not self._is_at_work:
            self._taken = frozenset(ref for ref, stored in self._unanswered.items() if stored)
        elif not is_so:
            for ref in self._taken - self._marks.keys():
                self._unanswered.pop(ref, None)
            self._taken = frozenset()
        self._is_at_work = is_so

    async def _settle_all(self) -> None:
        """Move all that is there of every reply into the scrollback; others may come and go meanwhile."""
        for reply in tuple(self._replies.values()):
            await self._settle(reply, len(reply.text))

    async def _settle(self, reply: _Reply, upto: int) -> None:
        """Move a reply from above the prompt into the scrollback, up to a character."""
        block = reply.text[reply.printed : upto]

        def moved() -> None:
            self._below_entered = self._below_entered and not block.strip()
            reply.printed = max(reply.printed, upto)

        if block.strip():
            await self._prompt.print(to_formatted_text(ANSI("\n" + typeset(block, self._prompt.columns))), moved)
        else:
            moved()

    async def _notice(self, key: str, text: str, buttons: str, *, partial: bool) -> None:
        whole = f"{text}\n{buttons}" if buttons else text
        if partial or text.rstrip().endswith("…"):
            self._begins()
            self._statuses[key] = whole
            self._prompt.redraw()
        elif self._said.get(key) != whole:
            apart = "" if self._below_entered else "\n"

            def shown() -> None:
                self._below_entered = False
                self._statuses.pop(key, None)

            await self._prompt.print([("class:notice", apart + self._wrapped(whole))], shown)
            self._remember(key, whole)

    def _was_entered(self) -> None:
        self._below_entered = True

    def _remember(self, key: str, text: str) -> None:
        self._said[key] = text
        if len(self._said) > _REMEMBERED:
            del self._said[next(iter(self._said))]

    async def _store_lines(self, intake: Intake) -> None:
        while (waiting := await self._lines.get()) is not None:
            line = waiting.text
            if waiting.echo:
                shown = wrapped(clean(line), self._prompt.columns - 2).replace("\n", "\n  ")
                await self._prompt.print([("class:prompt", "\n> "), ("class:person", shown)], self._was_entered)
            if line in (COPY, COPY_CODE):
                await self._copy(code=line == COPY_CODE)
            else:
                await self._store(intake, line, waiting.ref)

    async def _store(self, intake: Intake, line: str, key: str) -> None:
        self._order = max(self._order + 1, time.time_ns())
        inbound = Inbound(self._address, key, "message", self._order, person="me", text=line, ref=key)
        new = 0
        missing: Sequence[str] = ()
        try:
            if file := await asyncio.to_thread(attached, line):
                inbound = replace(inbound, text=file[1], attachments=(file[0],))
            elif not inbound.is_command:
                files, missing = await asyncio.to_thread(mentioned, line)
                inbound = replace(inbound, attachments=files)
                if files:
                    await self._hint_at(" ".join(f"📎 {file.name}" for file in files))
            new = await intake.store([inbound])
            for name in missing:
                await self._hint_at(f"(There is no file {name}; it went as text.)")
        except CannotAttachError as error:
            await self._hint_at(str(error))
        except StoreUnavailable as error:
            await self._hint_at(f"Not stored: {error}. It is in the prompt again.")
            self._prompt.put_back(line)
        finally:
            if not new:
                self._unanswered.pop(key, None)
            elif key in self._unanswered:
                self._unanswered[key] = True
        self._unsent.remove(key)

    async def _hint_at(self, text: str) -> None:
        await self._prompt.print([("class:hint", self._wrapped(clean(text)))])

    async def _copy(self, *, code: bool) -> None:
        """Put the last answer, or its last block of code, into the clipboard."""
        text = last_code(self._answer) if code else self._answer
        if not text.strip():
            await self._hint_at("There is no code in the last answer." if code else "There is no answer to copy yet.")
            return
        tool, sequence = await asyncio.to_thread(by_tool, text), by_terminal(text)
        if sequence:
            self._prompt.ask_terminal(sequence)
        what = f"{len(text):,} characters"
        if tool:
            await self._hint_at(f"Copied {what}.")
        elif sequence:
            await self._hint_at(f"Gave {what} to the terminal to copy; some terminals do not take that (OSC 52).")
        else:
            await self._hint_at(f"{what} are too many for the terminal, and there is no wl-copy, xclip or pbcopy here.")

    def _enter(self, text: str) -> None:
        line = clean(text).strip("\n").rstrip()
        line, self._choices = self._choices.get(line, line), {}
        command, _, rest = line.partition(" ")
        if line in _SPOKEN_LEAVING:
            self._prompt.leave()
        elif line in (COPY, COPY_CODE):
            self._lines.put_nowait(_Line(line, uuid4().hex))
        elif command == EDITOR:
            self._prompt.edit(rest)
        elif line:
            self._say(_Line(line, uuid4().hex))

    def _say(self, entered: _Line) -> None:
        self._begun += 1
        if entered.text.lower() == _HELP:
            self._helps.add(entered.ref)
        if entered.is_for_model:
            self._unanswered[entered.ref] = False
            self._unsent.add(entered.ref, entered.text)
        self._lines.put_nowait(entered)

    async def _say_again(self) -> None:
        """What was entered when the program was killed, before it was stored."""
        if lines := self._unsent.lines:
            await self._hint_at("(The program ended before this was stored. It is sent now.)")
            for ref, text in lines.items():
                self._say(_Line(text, ref))

    def _interrupt(self) -> None:
        is_again = self._is_again
        self._presses = self._presses + 1 if is_again else 1
        answer_is_next = self._interrupted.compacting if is_again else self._answer_waits
        if is_again and self._presses > 1 + answer_is_next:
            self._prompt.leave()
            return
        self._again_until = self._clock() + _AGAIN_SECONDS
        if self._busy:
            self._lines.put_nowait(_Line("/abort", uuid4().hex, echo=False))
            compaction = answer_is_next and not is_again
            self._hint = _STOPS_COMPACTION if compaction else "Stopping… (Ctrl-C again to leave)"
        else:
            self._prompt.clear()
            self._hint = "Press Ctrl-C again to leave."
        self._interrupted = replace(self._met, compacting=answer_is_next)
        self._moving.set()

    @property
    def _met(self) -> _Interrupted:
        return _Interrupted(self._begun, self._prompt.text, frozenset({*self._replies, *self._statuses}))

    @property
    def _is_again(self) -> bool:
        """Whether a Ctrl-C now is the second for the same: while that still ends, or when nothing else has begun."""
        if self._clock() >= self._again_until:
            return False
        met = self._met if self._busy else replace(self._met, shown=self._interrupted.shown)
        return replace(met, compacting=self._interrupted.compacting) == self._interrupted

    @property
    def _answer_waits(self) -> bool:
        """Whether an answer waits for a compaction, as far as can be seen from here."""
        return bool(self._unanswered and self._compacting & self._statuses.keys())

    def _begins(self) -> None:
        """Something is under way; where nothing was, it is another thing than what was interrupted."""
        self._begun += not self._busy

    @property
    def _busy(self) -> bool:
        """Whether a turn or a compaction runs, as far as can be seen from here."""
        writing = any(reply.rest for reply in self._replies.values())
        return writing or bool(self._unanswered or self._statuses or self._marks) or self._clock() < self._typing_until

    async def _move(self) -> None:
        """Redraw while something moves by itself, and once after it stopped."""
        while True:
            await self._moving.wait()
            self._prompt.redraw()
            if self._clock() >= max(self._typing_until, self._again_until):
                self._moving.clear()
            await asyncio.sleep(0.1)

    def _live(self, columns: int, rows: int) -> StyleAndTextTuples:
        room = min(_LIVE_ROWS, rows)
        now = self._clock()
        lines: list[StyleAndTextTuples] = []
        for reply in self._replies.values():
            if reply.rest.strip():
                tail = typeset(last_rows(reply.rest, room), columns).split("\n")[-room:]
                lines += [to_formatted_text(ANSI(row)) for row in tail]
        lines += [
            [("class:notice", row)] for text in self._statuses.values() for row in wrapped(text, columns).split("\n")
        ]
        if self._marks:
            what = "Your message waits" if len(self._marks) == 1 else f"Your {len(self._marks)} messages wait"
            lines.append([("class:notice", f"{next(iter(self._marks.values()))} {what} for this answer.")])
        if now < self._typing_until:
            lines.append([("class:notice", f"{_SPINNER[int(now * 10) % len(_SPINNER)]} …")])
        if self._is_again and (self._busy or self._hint != _STOPS_COMPACTION):
            lines.append([("class:hint", self._hint)])
        return [fragment for line in lines[-room:] for fragment in (("", "\n"), *line)]

    def _bottom(self) -> StyleAndTextTuples:
        columns = self._prompt.columns
        hints = (" · ".join(_KEYS[:count]) for count in range(len(_KEYS), 0, -1))
        line = meter_line(self._facts, columns) or next((hint for hint in hints if len(hint) <= columns), "")
        return [(f"class:facts,facts.{self._facts.get('level', 'ok')}", line)]

    def _wrapped(self, text: str) -> str:
        return wrapped(text, self._prompt.columns)


def _indented(first: str, text: str, most: int) -> str:
    """Rows behind two columns, so many at most."""
    rows = text.strip().split("\n") if text.strip() else []
    if len(rows) > most:
        rows = [*rows[:most], "…"]
    return "\n".join(f"{first if at == 0 else '  '}{row}" for at, row in enumerate(rows))


def _numbered(buttons: tuple[Button, ...]) -> Mapping[str, str]:
    """The commands of buttons that are labelled with the numbers of what they choose, by those."""
    found = ((_NUMBER.match(button.label), button.command) for button in buttons)
    return {number[1]: command for number, command in found if number and command}


def _row(buttons: tuple[Button, ...]) -> str:
    return clean("  ".join(f"[{button.label}: {button.command}]" for button in buttons))
