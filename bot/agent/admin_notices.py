"""Those who run the program, met in a chat: what only they read, and what they are told once and not each time.

What a provider's error says is for them: which key, which bill, which address. Everybody else reads that there is no
answer, and whether somebody knows. Who sits at the terminal or on the page runs the program; an admin is one in their
own private chat, and in a group not, since others read along.
"""

from __future__ import annotations

from collections.abc import Collection

import structlog

from bot.agent.context import Context
from bot.agent.step import Step
from bot.errors import OF_PROVIDER, Cause
from bot.messages import AgentId
from bot.model import Link
from bot.model.chain import Chain
from bot.runtime.access import is_own
from bot.runtime.redact import redact
from bot.store import outages
from bot.store.outages import MODEL_IS_DOWN

log = structlog.get_logger(__name__)

ANSWERS, SUMMARIES = "answers", "summaries"
TOLD = "I cannot answer just now; whoever runs me has been told."
UNTOLD = "I cannot answer just now. Try again later."
SAYS_WHY = "`palimpsest doctor` says why."
"""For whoever runs the program, where a provider is not to be reached: it looks at each setting that leads there."""
CHANGES_IT = "`palimpsest setup model` asks for them; they count from the next start on."
"""For the same, where a key or a name is wrong."""
_HELPS = dict.fromkeys((Cause.KEY, Cause.MODEL), CHANGES_IT) | {Cause.AWAY: SAYS_WHY}
_BEGAN = {
    ANSWERS: "⚠️ I cannot answer anybody just now: {} I tell you when I can again.",
    SUMMARIES: "⚠️ I cannot compact conversations just now: {} I tell you when I can again.",
}
_ENDED = {ANSWERS: "I can answer again.", SUMMARIES: "I can compact conversations again."}
_LONGEST_NAME = 180
"""Characters of a model's name in the book."""
_MODEL_BEGAN = "⚠️ {} is down: {{}} {} answers in its place. I tell you when it is back."
_MODEL_ENDED = "{} answers again."
_BEGAN_HERE = "⚠️ I cannot answer in {} just now: {} I tell you when I can again."
_ENDED_HERE = "I can answer in {} again."


class AdminNotices:
    """What admins are told of one conversation. ``secrets``: what no notice may hold."""

    def __init__(self, context: Context, admins: Collection[str], secrets: Collection[str]) -> None:
        self._context = context
        self._admins = admins
        self._secrets = secrets

    async def failed(self, step: Step, sentence: str, cause: Cause) -> str:
        """There is no answer here, for this reason; returns what people read instead."""
        name = ANSWERS if cause in OF_PROVIDER else f"{ANSWERS}:{self._context.agent_id}"
        is_told = await self._begin(step, name, sentence)
        if await self._is_read_by_admins_alone(step):
            return f"{sentence} {_HELPS.get(cause, '')}".rstrip()
        return TOLD if is_told else UNTOLD

    async def answered(self, step: Step, chain: Chain, by: Link) -> None:
        """There is an answer here, by this model of the chain; those before it may be down."""
        await self._end(step, ANSWERS, f"{ANSWERS}:{self._context.agent_id}", _down(by))
        for link in chain.links[: chain.links.index(by)]:
            if why := chain.why(link):
                began = _MODEL_BEGAN.format(link.called, by.called)
                await self._begin(step, _down(link), str(why), began)

    async def not_summarised(self, step: Step, sentence: str) -> str:
        """There is no summary, for this reason; returns what people read of it, or nothing where it is not for them."""
        await self._begin(step, SUMMARIES, sentence)
        return sentence if await self._is_read_by_admins_alone(step) else ""

    async def summarised(self, step: Step) -> None:
        """There is a summary."""
        await self._end(step, SUMMARIES)

    async def _is_read_by_admins_alone(self, step: Step) -> bool:
        address = self._context.address
        return is_own(address) or address in await outages.admin_places(step.tx, self._admins)

    async def _begin(self, step: Step, name: str, sentence: str, began: str = "") -> bool:
        """Tell it, unless somebody was told before; whether anybody knows. ``began``: in these words."""
        context, sentence = self._context, redact(sentence, self._secrets)
        await outages.goes_on(step.tx, name, context.agent_id, now=step.now)
        places = await outages.admin_places(step.tx, self._admins)
        reached = [place for place, is_reached in places.items() if is_reached]
        if not reached:
            return False
        if await outages.to_be_told(step.tx, name):
            words = began or _BEGAN.get(name) or _BEGAN_HERE.replace("{}", context.agent_id, 1)
            text = words.replace("{}", _as_sentence(sentence))
            for place in reached:
                if place != context.address or began:  # there it stands in the answer's place, unless there is one
                    await step.say_to(place, text)
            log.info("admins_told", outage=name, chats=len(reached))
        return True

    async def _end(self, step: Step, *names: str) -> None:
        context = self._context
        for name, told in (await outages.end(step.tx, names, context.agent_id, now=step.now)).items():
            log.info("outage_over", outage=name)
            places = await outages.admin_places(step.tx, self._admins) if told else {}
            for place, is_reached in places.items():
                if is_reached and place != context.address:
                    await step.say_to(place, _ended(name, context.agent_id))


def _down(link: Link) -> str:
    return f"{MODEL_IS_DOWN}{link.called[:_LONGEST_NAME]}"


def _ended(name: str, agent_id: AgentId) -> str:
    if name.startswith(MODEL_IS_DOWN):
        return _MODEL_ENDED.format(name.removeprefix(MODEL_IS_DOWN))
    return _ENDED.get(name) or _ENDED_HERE.format(agent_id)


def _as_sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."
