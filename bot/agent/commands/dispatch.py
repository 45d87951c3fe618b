"""Who may give a command, when it is carried out, how often it is tried. What it does is in `handlers`."""

from __future__ import annotations

from functools import partial

import structlog

from bot.agent.commands import texts
from bot.agent.commands.answers import Answers
from bot.agent.commands.handlers import CommandHandlers
from bot.agent.commands.parsing import Command
from bot.agent.commands.table import CommandSpec, Runs, Who
from bot.agent.context import Context
from bot.agent.retries import DIED, Retries
from bot.agent.turns.runner import TurnRunner
from bot.errors import StaleEpoch, StoreUnavailable
from bot.messages import Button
from bot.runtime.access import Access
from bot.runtime.telemetry import telemetry
from bot.store.inbox import Waiting

log = structlog.get_logger(__name__)

_LONGEST_BUTTON = 60
"""Bytes of a command that every platform takes behind a button."""
MOST_ASIDE = 4
"""Commands that take a moment, answered at once for one conversation."""


class CommandDispatcher:
    """Obeys the commands of one agent. They are answered at once, whatever runs, and only touch what came before
    them."""

    def __init__(
        self,
        context: Context,
        *,
        access: Access,
        retries: Retries,
        runner: TurnRunner,
        answers: Answers,
        handlers: CommandHandlers,
    ) -> None:
        self._context = context
        self._access = access
        self._retries = retries
        self._runner = runner
        self._answers = answers
        self._handlers = handlers
        self.in_hand = answers.in_hand
        """Commands that are being answered, or rest before another try, by their rows in the inbox."""

    async def obey(self, command: Command, message: Waiting) -> None:
        """Answer one command. One that crashes is tried again, and then put aside."""
        if self._retries.is_over(message):
            await self._retries.park(message, DIED)
            return
        spec = self._spec(command, message)
        if spec and spec.runs is Runs.ASIDE and len(self.in_hand) >= MOST_ASIDE:
            return  # it comes when one of them is answered
        counted = not (spec and spec.is_urgent)  # what is urgent waits for nothing, nor can it kill anything
        if counted:
            await self._retries.count([message])
        telemetry.commanded(command.name, known=command.known)
        log.info("command", command=command.name)
        try:
            if spec:
                await self._obey(spec, command.argument, message)
            else:
                await self._leave(command, message)
        except StaleEpoch:
            raise
        except StoreUnavailable:
            if counted:
                await self._retries.interrupted([message])
            raise
        except Exception as error:  # noqa: BLE001  # logged, counted and told there
            await self._answers.crashed(message, error, counted=counted)

    def _spec(self, command: Command, message: Waiting) -> CommandSpec | None:
        """Its row, where there is one and this person may give it."""
        spec = command.spec
        return spec if spec and (spec.who is Who.EVERYBODY or self._is_admin(message)) else None

    def _is_admin(self, message: Waiting) -> bool:
        return self._access.is_admin(self._context.address, message.person)

    async def _obey(self, spec: CommandSpec, argument: str, message: Waiting) -> None:
        carry_out = partial(self._handlers.carry_out, spec.name, argument, message)
        if spec.runs is Runs.OF_THE_PAST:
            await self._runner.settled()  # whoever reads the answer may say what comes next
        if spec.runs is Runs.OF_THE_PAST and self._handlers.is_busy:
            await self._answers.give(message, texts.BUSY if self._runner.turn else texts.COMPACTING)
        elif spec.runs is Runs.ASIDE:
            self._answers.aside(message, carry_out)
        else:
            await self._answers.give(message, await carry_out())

    async def _leave(self, command: Command, message: Waiting) -> None:
        """Nobody's command. In a group it may be meant for another bot; a button is under a message of ours."""
        if not message.speaker or message.kind == "press":
            meant = command.meant
            buttons = [Button("Yes", meant)] if 0 < len(meant.encode()) <= _LONGEST_BUTTON else []
            await self._answers.give(message, texts.unknown(command.name, meant), buttons=buttons)
        else:
            await self._answers.ignore(message)
