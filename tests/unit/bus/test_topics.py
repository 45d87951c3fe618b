"""Topics and leases get their names in one place, and are what other processes know them by."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.bus import topics
from bot.bus.bells import Bells
from bot.bus.leases import AGENT, AGENT_UNRENEWED, CONNECTOR, HOUSEKEEPING
from bot.messages import AgentId

ROOT = Path(__file__).parents[3]
ADA = AgentId("room-1")
ON_THE_WIRE = {
    topics.inbox(ADA): "inbox:room-1",
    topics.epoch(ADA): "epoch:room-1",
    topics.settled(ADA): "settled:room-1",
    topics.delivered(ADA): "delivered:room-1",
    topics.live(ADA): "live:room-1",
    topics.marked(ADA): "marked:room-1",
    topics.outbox("room"): "outbox:room",
    topics.fetch("room"): "fetch:room",
    topics.handed_over("connector:room"): "handed_over:connector:room",
    topics.run("ab12"): "run:ab12",
    topics.INBOXES: "inbox:",
    topics.OUTBOXES: "outbox:",
    topics.SETTLED: "settled:",
    topics.DELIVERED: "delivered:",
    topics.RUNS: "run:",
}
LEASES = ["agent:room-1", "connector:room", "housekeeping"]
KINDS = {word.partition(":")[0] for word in (*ON_THE_WIRE.values(), *LEASES)}
_LIKELY = re.compile(rf"""(?:^|["'])({"|".join(sorted(KINDS))}):|\blease\(|\bTopic\(""", re.MULTILINE)


@pytest.mark.parametrize(("topic", "word"), ON_THE_WIRE.items())
def test_a_process_of_another_version_knows_a_topic_by_the_same_word(topic: topics.Topic, word: str) -> None:
    assert topic == word
    assert topics.topic_in(word) == topic
    assert topics.whose(topic) == word.partition(":")[2]


def test_a_process_of_another_version_knows_a_lease_by_the_same_name() -> None:
    assert [AGENT.of(ADA), CONNECTOR.of("room"), HOUSEKEEPING.name] == LEASES
    assert AGENT_UNRENEWED.of(ADA) == AGENT.of(ADA)


async def test_a_topic_rings_for_who_waits_for_it_and_for_who_waits_for_all_of_its_kind() -> None:
    bells = Bells()
    with bells.hung(topics.inbox(ADA)) as own, bells.hung(topics.INBOXES) as every, bells.hung(topics.RUNS) as other:
        for bell in (own, every, other):
            assert await bell.wait(0) == {None}  # once at the start
        bells.strike(topics.inbox(ADA))
        assert await own.wait(0) == await every.wait(0) == {topics.inbox(ADA)}
        assert await other.wait(0) == set()


def test_no_topic_or_lease_is_named_outside_of_the_bus() -> None:
    modules = [path for folder in ("bot", "connectors", "workers") for path in (ROOT / folder).rglob("*.py")]
    assert [found for path in modules if path.parent != ROOT / "bot" / "bus" for found in made_in(path)] == []


@pytest.mark.parametrize(
    "line",
    [
        "bus.ring(f'inbox:{agent}')",
        "_EVERY = 'run:'",
        "bus.ring('settled:' + agent)",
        "bus.ring(Topic(name))",
        "bus.lease(f'agent:{a}', AGENT.seconds)",
        "bus.lease(name, 3.0)",
    ],
)
def test_one_that_is_named_somewhere_else_is_found(line: str, tmp_path: Path) -> None:
    path = tmp_path / "somewhere.py"
    path.write_text(f'"""run: it."""\n\n{line}\n')
    assert made_in(path) == [f"{path}:3"]


def made_in(path: Path) -> list[str]:
    """Where a text begins as a topic or a lease does, or is called a topic, or where a number is how long one lasts."""
    source = path.read_text()
    if not _LIKELY.search(source):  # most modules: taking all of them apart takes seconds
        return []
    tree = ast.parse(source)
    alone = [node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)]
    said = {id(value) for value in alone if isinstance(value, ast.Constant)}  # docstrings
    within = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    nodes = [node for node in ast.walk(tree) if id(node) not in said | within]
    return [f"{path}:{line}" for node in nodes for line in _names(node)]


def _names(node: ast.AST) -> Iterator[int]:
    match node:
        case ast.JoinedStr(values=[ast.Constant(value=str(text)), *_]) | ast.Constant(value=str(text)):
            kind, colon, whose = text.partition(":")
            if colon and kind in KINDS and not whose.startswith(" "):
                yield node.lineno
        case ast.Call(func=ast.Attribute(attr="lease"), args=[_, ast.Constant()]):  # how long is in the table
            yield node.lineno
        case ast.Call(func=ast.Name(id="Topic") | ast.Attribute(attr="Topic")):
            yield node.lineno
