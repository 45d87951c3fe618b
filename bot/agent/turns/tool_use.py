"""The tool calls of one turn: each is shown to people while it runs, and bounded; what leads nowhere is said."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from bot.agent.context import Context
from bot.agent.live_view import LiveView
from bot.agent.memory_gate import MemoryGate
from bot.agent.tools.calls import Progress, Repeats, with_note
from bot.agent.tools.tool import NOT_WHOLE, Done, result_block
from bot.history import replies
from bot.messages import Block
from bot.runtime.access import Access
from bot.store import Database, inbox

RESULT_SHARE = 0.25
"""Of the limit: what one tool result may take."""
_CHARACTERS_A_TOKEN = 2
"""Is little: most texts have more."""


class ToolUse:
    """``slot``: where the reply of the turn is shown; ``secrets``: what is not shown of a call."""

    def __init__(
        self,
        context: Context,
        *,
        turn_id: str,
        slot: int,
        database: Database,
        access: Access,
        gate: MemoryGate,
        live: LiveView,
        secrets: Collection[str],
    ) -> None:
        self._turn_id = turn_id
        self._slot = slot
        self._context = context
        self._database = database
        self._access = access
        self._gate = gate
        self._live = live
        self._progress = Progress(secrets)
        self._repeats = Repeats(replies.results(context.history, turn_id))

    @property
    def stuck(self) -> str:
        """Which call leads nowhere, in a sentence for people; empty while it goes on."""
        return self._repeats.stuck

    def next_reply(self) -> None:
        """The model has answered, knowing what its calls came to."""
        self._repeats.next_reply()

    def forget_repeats(self) -> None:
        """Somebody said something that may help."""
        self._repeats.forget()

    def broken(self, call: Block) -> Block:
        """What the model is told of a call whose arguments are not whole; it is not run."""
        return self._repeats.noted(call, result_block(call, NOT_WHOLE, error=True), is_known=False)

    async def run(self, call: Block, *, written: str) -> Done:
        """What a call comes to. ``written``: so much of the reply people see already."""
        window = self._context.window
        rewrite = await self._gate.rewritten(call)
        if self._progress.add(call):
            if rewrite:
                self._gate.show(self._progress, rewrite)
            self._live.show(self._slot, self._progress.below(written))
        tokens = int(window.limit * RESULT_SHARE)
        by_admin, asker = await self._whose()
        done = await window.toolbox.run(
            {**call, "input": rewrite.arguments} if rewrite else call,
            most_characters=tokens * _CHARACTERS_A_TOKEN,
            most_tokens=tokens,
            by_admin=by_admin,
            asker=asker,
        )
        block = self._repeats.noted(call, done.block, is_known=window.toolbox.has(call["name"]))
        return replace(done, block=with_note(block, rewrite.note) if rewrite else block)

    async def _whose(self) -> tuple[bool, inbox.Asker | None]:
        """Whether all who are answered in this turn are admins (somebody may have joined them a moment ago), and for
        whom a call is: the last of them, unless another one is no admin. Nobody gets an admin's rights by speaking
        together with one."""
        async with self._database.read() as tx:
            people = await inbox.people_of(tx, self._turn_id)
        others = [one for one in people if not self._access.is_admin(self._context.address, one.person)]
        return bool(people) and not others, next(reversed(others or people), None)
