"""What Prometheus sees of the real program, and that the alerts and the dashboard ask for nothing else."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families as families_of

from bot.app.main import ROLES
from tests.deployed import queries, rows
from tests.promql import asked, labels_in
from tests.servers.messages.server import MessagesServer
from tests.servers.telegram.server import BotApiServer
from tests.wire.conftest import Served
from tests.wire.program import KEY, Program, Programs
from tests.wire.talk import Talk

EVERYWHERE = frozenset({"job", "instance", "le"})

pytestmark = pytest.mark.asyncio(loop_scope="session")

Samples = dict[str, list[Mapping[str, str]]]


async def scraped(program: Program) -> tuple[Samples, set[str]]:
    """The labels of all samples by their names, and the names that there may be samples of."""
    address = json.loads(program.logged("http_listens")[0])["address"]
    async with aiohttp.ClientSession() as session, session.get(f"http://{address}/metrics") as answer:
        assert answer.status == 200
        page = await answer.text()
    samples: Samples = {}
    names: set[str] = set()
    for family in families_of(page):
        ends = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count")}.get(family.type, ("",))
        names |= {f"{family.name}{end}" for end in ends}
        for sample in family.samples:
            samples.setdefault(sample.name, []).append(sample.labels)
    return samples, names


async def test_after_a_turn_and_a_compaction_the_numbers_are_there(served: Served, ada: Talk) -> None:
    await ada.asks("The colour is blue.")
    await ada.says_much(600, lines=3)
    ada.says("/compact")
    await ada.reads("🗜 Compacted: ")
    samples, names = await scraped(served.program)
    assert {row["state"] for row in samples["palimpsest_turns_total"]} >= {"done"}
    assert {row["part"] for row in samples["palimpsest_turn_part_seconds_count"]} >= {"queued", "model", "first_token"}
    compacted = {"trigger": "manual", "outcome": "done", "strategy": "reset"}
    assert compacted in samples["palimpsest_compactions_total"]
    assert {row["moment"] for row in samples["palimpsest_compaction_tokens_total"]} == {"before", "after"}
    purposes = {(row["purpose"], row["kind"]) for row in samples["palimpsest_tokens_total"]}
    assert purposes >= {("turn", "input"), ("turn", "output"), ("compaction", "output")}
    assert {row["connector"] for row in samples["palimpsest_delivery_seconds_count"]} == {"telegram", "web"}
    assert {row["part"] for row in samples["palimpsest_ready"]} == {
        "telegram",
        "web",
        "background",
        "model",
        "mcp",
        "jobs",
    }
    assert {"roles": "gateway,agents,worker", "version": "0.1.0"} in samples["palimpsest_info"]
    for name, kind, labels, _ in rows():
        sampled = f"{name}_bucket" if kind == "histogram" else name
        assert sampled in names, f"{name} is on the page, and not exported"
        for shown in samples.get(sampled, ()):
            assert shown.keys() - {"le"} == labels, name


async def test_nothing_of_a_person_or_a_chat_is_in_a_label(served: Served, ada: Talk) -> None:
    await ada.asks("The colour is blue.")
    samples, _ = await scraped(served.program)
    values = {value for rows_of in samples.values() for row in rows_of for value in row.values()}
    assert not {value for value in values if str(ada.number) in value or ada.name in value}


async def test_alerts_and_dashboard_ask_for_what_is_exported_with_these_labels_and_values(
    served: Served, ada: Talk
) -> None:
    await ada.asks("The colour is blue.")
    _, names = await scraped(served.program)
    page = {name: (labels, text) for name, _, labels, text in rows()}
    for place, query, shown in queries():
        found = asked(query)
        assert found.matched, place
        known: set[str] = set()
        for name, labels in found.matched.items():
            assert name in names | {"up"}, f"{place}: {name} is not exported"
            own = page.get(whole(name), (frozenset[str](), ""))[0]
            assert labels <= own | EVERYWHERE, f"{place}: {name} has no {labels - own}"
            known |= own
        assert found.grouped <= known | EVERYWHERE, place
        for name, label, value in found.values:
            is_told = label in EVERYWHERE or value == "true" or f"`{value}`" in page[whole(name)][1]
            assert is_told, f"{place}: {label} of {name} is never {value}"
        assert labels_in(shown) <= (found.grouped or known) | EVERYWHERE, place


def whole(name: str) -> str:
    """The metric that a sample belongs to."""
    return re.sub(r"_(bucket|sum|count)$", "", name)


async def test_all_that_an_alert_or_a_panel_asks_for_is_there_before_it_happens_in_every_process_that_may_count_it(
    tmp_path: Path, postgres_database: str, external_valkey: str
) -> None:
    book = {"DATABASE_URL": postgres_database, "REDIS_URL": external_valkey, "DISCORD_TOKEN": ""}
    async with MessagesServer(window=3_000, key=KEY) as model, BotApiServer() as telegram:
        programs = Programs(tmp_path, model, telegram, book=book)
        try:
            alone = dict(zip(ROLES, await asyncio.gather(*(programs.serve(role) for role in ROLES)), strict=True))
            seen: dict[str, Samples] = {role: (await scraped(program))[0] for role, program in alone.items()}
        finally:
            await programs.close()
    wanted: dict[str, set[tuple[str, str]]] = {}
    for _, query, _ in queries():
        for name in asked(query).matched:
            wanted.setdefault(name, set())
        for name, label, value in asked(query).values:
            wanted.setdefault(name, set()).add((label, value))
    for name, kind, _, roles in (row for row in roles_of_rows() if row[1] in ("counter", "histogram")):
        for sample in [one for one in wanted if whole(one) == name]:
            for role in roles:
                there = seen[role].get(sample, [])
                assert there, f"{role}: no {sample} ({kind}) before it happens"
                for label, value in wanted[sample] - {("active", "true")}:
                    assert value in {row[label] for row in there}, f"{role}: no {sample} with {label}={value}"


def roles_of_rows() -> Iterator[tuple[str, str, frozenset[str], frozenset[str]]]:
    """Name, type and labels of each metric, and the roles that the page says it for."""
    for name, kind, labels, line in rows():
        told = line.split("|")[5].strip()
        yield name, kind, labels, frozenset(ROLES) if told == "all" else frozenset(told.split(", "))
