"""The model's window as one agent has it: what is taken of it before anybody says a word, and what is left to talk.

::

    window = system prompt + tools (the head of each request) + the talk, up to the limit + the answer + a margin
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from bot.agent.tools.choosing import ToolChoice
from bot.agent.tools.toolbox import Toolbox
from bot.compaction.oversize import UNBOUND, Bound
from bot.estimate import Family, Part, family_of
from bot.estimate.learned_windows import is_cut
from bot.history.measure import head_parts
from bot.model import Head, Limits, Link

ANSWER_TOKENS = 8_192
"""For an answer, at most; a quarter of the window, if that is less."""
MARGIN = 0.03
"""Of the window: what guesses may be wrong by."""
_SHORTEST_ANSWER = 256
"""Tokens: with less room than that, the limit that was set says more of the window than its server does."""
SYSTEM_PROMPT = (
    "You are a helpful assistant in a chat. Answer in the person's language, briefly unless more is asked for. "
    "Older parts of this conversation may be replaced by a summary; trust it, and say so when you do not know."
)

ABOUT_TIMES = (
    '<sent at="…"/> before a message is put there by this program: when it was sent, by the clocks of {zone}. '
    "Never write it yourself."
)
"""Behind the system prompt, whosever that is. It says by which clocks, and never what they show: that would change."""


class Window:
    """What is known of it now. Within a turn the tools stay, and so does the head of its requests, as long as the same
    model is asked.

    ``link``: who is asked, as long as nobody has to stand in; ``system_prompt``: empty for our own; ``chosen_limit``:
    what was set, in tokens. Of a model that stands in it is no more than the limit that it may have itself.
    ``tells_time``: models are told when each message was sent.
    """

    def __init__(
        self,
        link: Link,
        tools: ToolChoice,
        *,
        system_prompt: str | None,
        chosen_limit: int | None,
        tells_time: bool,
    ) -> None:
        self._wanted = link
        self.link = link
        """Who is asked."""
        self._choice = tools
        self._own_system = system_prompt
        self._chosen_limit = chosen_limit
        self.tells_time = tells_time
        self.zone = ""
        """The IANA name of the time zone that the conversation goes by, from the next :meth:`choose_tools` on."""
        self.toolbox: Toolbox = self._toolbox()
        self.head = Head(link.name, ANSWER_TOKENS, self._system)
        self.parts: tuple[Part, Part] = (Part("system prompt", 0), Part("tools", 0))
        """What the head takes, as guessed."""
        self.limit = 1
        """Tokens that the head and the talk may take together."""
        self.limit_is_known = True
        self.bound = UNBOUND
        """Where the limit comes from, in words for people."""

    @property
    def _system(self) -> str:
        if self.link.prompt and not self._own_system:
            return self.link.prompt
        prompt = self._own_system or SYSTEM_PROMPT
        return f"{prompt}\n\n{ABOUT_TIMES.format(zone=self.zone)}" if self.tells_time and self.zone else prompt

    @property
    def model_name(self) -> str:
        """Of the one that is asked."""
        return self.link.name

    @property
    def family(self) -> Family:
        """By whose rates texts are counted."""
        return family_of(self.link.name)

    @property
    def kept_family(self) -> Family:
        """By whose rates they are counted in the book, whoever stands in."""
        return family_of(self._wanted.name)

    async def change_to(self, link: Link) -> None:
        """Another one is asked from now on: with as many tools as it has room for."""
        self.link = link
        await self.learn()
        self.toolbox = self._toolbox(self.limit)
        await self.learn()

    async def choose_tools(self, waited_for: Collection[str]) -> None:
        """Take over which tools there are. ``waited_for``: those whose calls are open."""
        await self._choice.look(waited_for)
        self.toolbox = self._toolbox(self.limit)
        await self.learn()

    def _toolbox(self, limit: int = 0) -> Toolbox:
        return self._choice.toolbox(limit) if self.link.uses_tools else self._choice.nothing()

    async def learn(self) -> None:
        """Take over what is known now of the model's window."""
        stands_in = self.link is not self._wanted
        limits = await self.link.model.limits(self.model_name)
        answer = min(ANSWER_TOKENS, limits.answer, max(1, limits.window // 4))
        has_these = self.link.uses_tools and (self.link.is_by_anthropic or not stands_in)
        of_provider = self._choice.by_provider if has_these else ()
        tools = (*self.toolbox.definitions, *of_provider)
        self.head = Head(self.model_name, answer, self._system, tools)
        # Only Anthropic itself adds a prompt of its own to requests with tools; elsewhere a model's name says nothing.
        self.parts = head_parts(self._system, tools, self.model_name if self.link.is_by_anthropic else None)
        chosen, most = self._chosen_limit, _usable(limits, answer)
        # What is listed may be too little, and is overruled by who runs the program; a refusal is not.
        self.limit = min(chosen, most) if chosen and (limits.refusal or stands_in) else chosen or most
        self.limit_is_known = limits.known or chosen is not None
        self.bound = Bound(
            limits.window,
            most,
            chosen,
            known=limits.known,
            refused=bool(limits.refusal),
            listed=limits.listed,
            cut=is_cut(limits.refusal),
        )

    def with_room(self, head: Head, asked: int) -> Head:
        """The head of a request of so many tokens, with an answer that fits beside it: many servers count that into the
        window, and who set a larger limit left it less room."""
        bound = self.bound
        left = bound.window - asked - _margin(bound.window)
        if not bound.known or left >= head.max_tokens or left < _SHORTEST_ANSWER:
            return head
        return replace(head, max_tokens=left)


def _margin(window: int) -> int:
    return max(32, int(window * MARGIN))


def _usable(limits: Limits, answer: int) -> int:
    return max(1, limits.window - answer - _margin(limits.window))
