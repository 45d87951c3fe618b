"""The prompt of the terminal: a line to type in that stays, what is live above it, a line of facts below it.

It stands directly below what was printed and never asks the terminal where the cursor is: the answer would
take a round trip after every block that is printed, and some terminals never give it.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from contextvars import copy_context
from pathlib import Path

from prompt_toolkit.application import Application, create_app_session, run_in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import (
    CompleteEvent,
    Completer,
    Completion,
    ConditionalCompleter,
    ThreadedCompleter,
    merge_completers,
)
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition, Filter
from prompt_toolkit.formatted_text import FormattedText, StyleAndTextTuples
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.input import Input, create_input
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import (
    BufferControl,
    Float,
    FloatContainer,
    FormattedTextControl,
    HSplit,
    Layout,
    Window,
)
from prompt_toolkit.layout.menus import CompletionsMenu
from prompt_toolkit.output import ColorDepth, Output, create_output
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.patch_stdout import patch_stdout
from prompt_toolkit.shortcuts import print_formatted_text
from prompt_toolkit.styles import Style
from prompt_toolkit.widgets import SearchToolbar
from typing_extensions import override

from connectors.terminal.attach import begun, offered_paths

_MENU_ROWS = 8
_STYLE = Style.from_dict(
    {
        "prompt": "bold ansicyan",
        "person": "bold",
        "notice": "ansicyan",
        "hint": "ansiyellow",
        "before": "ansibrightblack",
        "facts": "ansibrightblack",
        "facts.warning": "ansiyellow",
        "facts.critical": "bold ansired",
    }
)


Continues = Callable[[str], Mapping[str, str]]
"""What the last word of a command that is being written may become, and a few words about each."""


class _Words(Completer):
    """Commands, and then whatever continues them, word by word."""

    def __init__(self, commands: Mapping[str, str], continues: Continues) -> None:
        self._commands = commands
        self._continues = continues

    @override
    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        typed = document.text_before_cursor
        word = typed.rpartition(" ")[2]
        found = self._continues(typed) if " " in typed else self._commands
        for whole, about in found.items():
            if whole.startswith(word):
                yield Completion(whole, start_position=-len(word), display_meta=about)


class _Paths(Completer):
    """Files behind an `@`."""

    @override
    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        for whole, name, replaced in offered_paths(document.text_before_cursor):
            yield Completion(whole, start_position=-replaced, display=name)


class Prompt:
    """Reads keys and draws. A line goes to ``enter``, Ctrl-C to ``interrupt``; Ctrl-D on nothing leaves."""

    def __init__(
        self,
        *,
        commands: Mapping[str, str],
        continues: Continues,
        history_file: Path,
        live: Callable[[int, int], StyleAndTextTuples],
        facts: Callable[[], StyleAndTextTuples],
        enter: Callable[[str], None],
        interrupt: Callable[[], None],
        input: Input | None,  # noqa: A002 - prompt_toolkit's own name for it
        output: Output | None,
    ) -> None:
        """``live`` is given the columns and rows that it may fill."""
        self._live = live
        self._facts = facts
        self._enter = enter
        self._interrupt = interrupt
        is_command = Condition(lambda: self._buffer.text.startswith("/"))
        is_path = Condition(lambda: begun(self._buffer.document.text_before_cursor))
        completers = [
            ConditionalCompleter(_Words(commands, continues), is_command & ~is_path),
            ConditionalCompleter(ThreadedCompleter(_Paths()), is_path),
        ]
        self._buffer = Buffer(
            completer=merge_completers(completers),
            complete_while_typing=is_command | is_path,
            history=_history(history_file),
            multiline=True,
            tempfile_suffix=".md",
        )
        self._input = input or _keyboard()
        self._editing: asyncio.Task[None] | None = None
        self._app: Application[None] = Application(
            self._layout(),
            style=_STYLE,
            key_bindings=self._keys(),
            erase_when_done=True,
            input=self._input,
            output=output or _terminal(),
        )
        self._context = copy_context()

    @property
    def columns(self) -> int:
        """The terminal's width."""
        return self._app.output.get_size().columns

    @property
    def text(self) -> str:
        """What is typed and not yet entered."""
        return self._buffer.text

    def session(self) -> AbstractContextManager[object]:
        """Within it, whatever else prints in this process does so above the prompt."""
        with ExitStack() as stack:
            stack.enter_context(create_app_session(input=self._app.input, output=self._app.output))
            stack.enter_context(patch_stdout())
            self._context = copy_context()
            return stack.pop_all()

    async def run(self) -> None:
        """Read keys until :meth:`leave`."""
        with suppress(EOFError):  # the terminal itself is gone
            await self._app.run_async(set_exception_handler=False)

    def leave(self) -> None:
        """End :meth:`run`; nothing if it does not run."""
        if self._app.is_running and not self._app.is_done:
            self._app.exit()

    def redraw(self) -> None:
        """Draw again soon; may be called more often than the screen can follow."""
        self._app.invalidate()

    def edit(self, text: str | None = None) -> None:
        """Open what is typed in the person's editor (`$VISUAL`, `$EDITOR`); ``text``: in its place."""
        if self._editing and not self._editing.done():
            return
        if text is not None:
            self._buffer.document = Document(text)
        self._editing = asyncio.get_running_loop().create_task(self._edit())

    async def _edit(self) -> None:
        """What else is printed waits until the editor is closed, which has the terminal as a program expects it."""
        keys = self._input
        if isinstance(keys, _Keys):
            keys.lent = True
        try:
            await self._buffer.open_in_editor()
        finally:
            if isinstance(keys, _Keys):
                keys.lent = False

    def ask_terminal(self, sequence: str) -> None:
        """Send the terminal an escape sequence that shows nothing."""
        self._app.output.write_raw(sequence)
        self._app.output.flush()

    async def print(self, text: StyleAndTextTuples, then: Callable[[], object] = lambda: None) -> None:
        """Print above the prompt; ``then`` runs before that is drawn again, so that nothing is seen twice."""

        def show() -> None:
            print_formatted_text(FormattedText(text), output=self._app.output, style=_STYLE)
            then()

        # The caller's own context knows no application: printing from there would write across the prompt.
        await self._context.run(run_in_terminal, show)

    def clear(self) -> None:
        """Drop what is typed; the history keeps it."""
        if self._buffer.text.strip():
            with suppress(OSError):  # a full disk must not keep anyone from talking
                self._buffer.append_to_history()
        self._buffer.reset()

    def put_back(self, line: str) -> None:
        """Give a line back to the person, before what was typed since."""
        typed = self._buffer.text
        self._buffer.document = Document(f"{line}\n{typed}" if typed else line)

    def _layout(self) -> Layout:
        search = SearchToolbar()
        typed = Window(
            BufferControl(self._buffer, search_buffer_control=search.control, preview_search=True),
            get_line_prefix=lambda row, wrap: [("class:prompt", "  " if row or wrap else "> ")],
            height=lambda: _MENU_ROWS if self._buffer.complete_state else None,
            wrap_lines=True,
            dont_extend_height=True,
        )
        above = Window(FormattedTextControl(self._above), wrap_lines=True, dont_extend_height=True)
        below = Window(FormattedTextControl(self._facts), height=1)
        menu = Float(CompletionsMenu(max_height=_MENU_ROWS), xcursor=True, ycursor=True)
        return Layout(FloatContainer(HSplit([above, typed, search, below]), [menu]), focused_element=typed)

    def _above(self) -> StyleAndTextTuples:
        size = self._app.output.get_size()
        typed = _MENU_ROWS if self._buffer.complete_state else self._buffer.document.line_count
        return self._live(size.columns, max(1, size.rows - typed - 4))

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()
        typing = Condition(lambda: self._app.layout.has_focus(self._buffer))

        def on(*names: Keys | str, when: Filter, do: Callable[[], object]) -> None:
            @keys.add(*names, filter=when)
            def pressed(_: KeyPressEvent) -> None:
                do()

        def entered() -> None:
            # What a paste may bring in and no file or terminal can take is replaced.
            line = self._buffer.text.encode("utf-8", "replace").decode()
            self._buffer.document = Document(line)
            self.clear()
            self._enter(line)

        on(Keys.Enter, when=typing, do=entered)
        on(Keys.Escape, Keys.Enter, when=typing, do=lambda: self._buffer.insert_text("\n"))
        on(Keys.ControlX, Keys.ControlE, when=typing, do=self.edit)
        on(Keys.ControlC, when=typing, do=self._interrupt)
        on(Keys.SIGINT, when=typing, do=self._interrupt)
        on(Keys.ControlD, when=typing & Condition(lambda: not self._buffer.text), do=self.leave)
        return keys


class _Keys(Vt100Input):
    """Keys that are keys while something is printed, too.

    prompt_toolkit gives the terminal its own line editing back for that moment, for programs that ask questions
    there. None does here, and what is typed meanwhile would be edited by the terminal: Ctrl-R and Ctrl-D are gone.
    """

    lent = False
    """An editor has the terminal: it gets it with its line editing."""

    @override
    def cooked_mode(self) -> AbstractContextManager[None]:
        return super().cooked_mode() if self.lent else nullcontext()


class _Steady(Vt100_Output):
    """A terminal whose scrollback gets only what is printed.

    tmux takes clearing from the top left corner for clearing the screen, and keeps a copy of it in its
    history (``screen_write_clearendofscreen`` in https://github.com/tmux/tmux/blob/3.4/screen-write.c). The
    prompt stands there after the window was made smaller, so the first row is cleared apart from the rest.
    """

    @override
    def erase_down(self) -> None:
        self.write_raw("\x1b7\x1b[K\x1b[B\x1b[J\x1b8")


def _keyboard() -> Input:
    keys = create_input()
    return _Keys(sys.stdin) if isinstance(keys, Vt100Input) else keys


def _terminal() -> Output:
    output = create_output()
    if isinstance(output, Vt100_Output):
        depth = ColorDepth.from_env()
        output = _Steady.from_pty(sys.stdout, term=os.environ.get("TERM"), default_color_depth=depth)
        output.enable_cpr = False
    return output


def _history(file: Path) -> History:
    """What was typed before, in a file that only its owner can read; in memory where there can be none."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(mode=0o600)
        file.chmod(0o600)
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(file))
