"""Topics: what rings, and whose. One function each, and no topic is made anywhere else.

Processes of the version before and after this one hear the same words, so a word stays what it is. One that names
nobody (:data:`INBOXES`) is waited for, never rung: it stands for all below it.
"""

from __future__ import annotations

from typing import NewType

from bot.messages import AgentId

Topic = NewType("Topic", str)
"""``what:whose``, or ``what:`` for everybody's."""
_LONGEST = 400


def inbox(agent_id: AgentId) -> Topic:
    """There is something to do for this agent."""
    return Topic(f"inbox:{agent_id}")


def epoch(agent_id: AgentId) -> Topic:
    """Another process may have taken this agent over: look into the book."""
    return Topic(f"epoch:{agent_id}")


def appointments(agent_id: AgentId) -> Topic:
    """This agent has a new appointment, which may be the next one of all."""
    return Topic(f"appointments:{agent_id}")


def settled(agent_id: AgentId) -> Topic:
    """A turn or a compaction of this agent has ended."""
    return Topic(f"settled:{agent_id}")


def delivered(agent_id: AgentId) -> Topic:
    """Something that this agent said has reached its platform."""
    return Topic(f"delivered:{agent_id}")


def outbox(connector: str) -> Topic:
    """There is something to be delivered by this connector."""
    return Topic(f"outbox:{connector}")


def fetch(connector: str) -> Topic:
    """There are files to be fetched by this connector."""
    return Topic(f"fetch:{connector}")


def handed_over(lease: str) -> Topic:
    """Whoever stands by for this lease of a connector may take it."""
    return Topic(f"handed_over:{lease}")


def run(run_id: str) -> Topic:
    """Something has changed about this compaction: it was begun, reported on, or stopped."""
    return Topic(f"run:{run_id}")


def live(agent_id: AgentId) -> Topic:
    """What is gone in a moment has changed here. It rings in one process alone."""
    return Topic(f"live:{agent_id}")


def marked(agent_id: AgentId) -> Topic:
    """A person's message got a mark here, or lost it. It rings in one process alone."""
    return Topic(f"marked:{agent_id}")


INBOXES = Topic("inbox:")
APPOINTMENTS = Topic("appointments:")
OUTBOXES = Topic("outbox:")
SETTLED = Topic("settled:")
DELIVERED = Topic("delivered:")
RUNS = Topic("run:")


def whose(topic: Topic) -> str:
    """The id or the name in it; empty where it stands for everybody's."""
    return topic.partition(":")[2]


def is_inbox(topic: Topic) -> bool:
    """Whether it says that there is something to do for an agent."""
    return all_of_its_kind(topic) == INBOXES


def all_of_its_kind(topic: Topic) -> Topic:
    """The one that stands for this one too."""
    return Topic(topic[: topic.find(":") + 1])


def topic_in(text: str) -> Topic | None:
    """The topic that came over the wire, where it may be one."""
    if ":" in text and len(text) <= _LONGEST and text.isprintable() and " " not in text:
        return Topic(text)
    return None
