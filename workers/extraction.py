"""What a model makes of facts: asked once, for all that was said since it was asked last."""

from __future__ import annotations

from bot.compaction import Plan
from bot.compaction.extraction import MOST_SHOWN, SYSTEM, operations_in, request_for
from bot.errors import ModelError, ModelOverflow
from bot.estimate import block_tokens, family_of, message_tokens
from bot.history import History
from bot.messages import Message, text_block, text_of
from bot.model import Head, Reply
from bot.store import facts, histories
from bot.store.runs import Result, Run
from workers.desk import Desk
from workers.requests import NoAnswerError, NotWantedError, Requests

_MOST_TOKENS = 4_000
"""Of an answer: more than the operations take that are looked at."""
_MARGIN = 0.9
"""Guesses may be wrong by so much."""


async def extract_facts(desk: Desk, run: Run) -> Result:
    """The result of a run: the answer as it came, since only the agent has its facts. What goes wrong with the model is
    a result too."""
    plan, requests = Plan.from_json(run.plan), Requests.of(desk, run)
    async with desk.database.read() as tx:
        known = await facts.load(tx, run.agent_id)
        entries = await facts.shown(tx, run.agent_id, plan.summarise)
        floor = History((), await histories.load_layers(tx, run.agent_id)).floor

    async def ask() -> Reply:
        link = requests.link
        limits = await link.model.limits(link.name)
        family = family_of(link.name)
        room = min(_MOST_TOKENS, limits.answer, limits.window // 4)
        left = limits.window * _MARGIN - room - block_tokens(SYSTEM, family=family)
        for most in (MOST_SHOWN, MOST_SHOWN // 5, 1):
            asked: Message = {"role": "user", "content": [text_block(request_for(known, entries, floor, most))]}
            if message_tokens(asked, family=family) <= left:
                return await requests.ask(Head(link.name, room, SYSTEM), [asked], "facts")
        raise ModelOverflow("What was said does not fit into the model's window beside an answer.")

    try:
        reply = await requests.answer(ask)
    except ModelError as error:
        return requests.result("failed", reason=str(error))
    except NoAnswerError as error:
        return requests.result("empty", reason=str(error))
    except NotWantedError:
        return requests.result("failed", reason="the run has ended")
    answer = text_of(reply.blocks)
    if operations_in(answer) is None:
        return requests.result("empty", reason="the model answered with no list of operations")
    return requests.result("summary", summary=answer)
