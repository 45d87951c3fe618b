"""What is counted of what people do, and where a turn's row says that its time went."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import select
from structlog.testing import capture_logs

from bot.app.main import ROLES
from bot.runtime.telemetry import Known, telemetry
from bot.store.schema import agents, turns
from tests.conftest import OpenHouse
from tests.house import House, Room
from tests.servers.messages.server import MessagesRequest, MessagesServer

Sample = tuple[str, tuple[tuple[str, str], ...]]


@pytest.fixture(autouse=True)
def _known() -> Iterator[None]:
    """As the program itself begins; what is counted stays for as long as the process lives."""
    known = Known(models=["claude-sonnet-5"], strategies=["reset"], served=["room"], connectors=["room"])
    telemetry.started("test", ROLES, known)
    yield
    telemetry.started("test", (), Known())


class Since:
    """What was counted since this was made."""

    def __init__(self) -> None:
        self._before = self._now()

    def __call__(self, name: str, **labels: str) -> float:
        sample = f"palimpsest_{name}", tuple(sorted(labels.items()))
        return self._now().get(sample, 0.0) - self._before.get(sample, 0.0)

    @staticmethod
    def _now() -> dict[Sample, float]:
        families = telemetry.metrics.registry.collect()
        found = [sample for family in families for sample in family.samples]
        return {(sample.name, tuple(sorted(sample.labels.items()))): sample.value for sample in found}


async def timings(house: House) -> list[dict[str, float]]:
    """Of all turns that ended, oldest first."""
    async with house.resources.database.read() as tx:
        rows = await tx.execute(
            select(turns.c.timing).where(turns.c.ended_at.is_not(None)).order_by(turns.c.started_at)
        )
        return [row[0] for row in rows]


async def test_a_turn_is_counted_once_and_its_row_has_the_same_times_as_its_line_of_the_log(
    house: OpenHouse, room: Room
) -> None:
    since = Since()
    with capture_logs() as logs:
        async with house() as opened:
            await room.asks("Write note.txt: the colour is blue.")
            await room.asks("What is the colour?")
            first, second = await timings(opened)
            async with opened.resources.database.read() as tx:
                meter = (await tx.execute(select(agents.c.meter))).scalar_one()
    for timing in (first, second):
        assert set(timing) == {"queued", "compaction", "model", "first_token", "tools", "total"}
        assert 0 < timing["first_token"] <= timing["model"] <= timing["total"]
        assert timing["queued"] + timing["model"] + timing["tools"] <= timing["total"] + 0.01
    ended = [line for line in logs if line["event"] == "turn_ended"]
    assert [{name: line[name] for name in first} for line in ended] == [first, second]
    assert since("turns_total", connector="room", state="done") == 2
    assert since("turn_seconds_count", connector="room") == 2
    assert since("turn_seconds_sum", connector="room") == pytest.approx(first["total"] + second["total"], abs=0.002)
    assert since("context_share_count") == 2
    assert meter["level"] == "ok"
    assert since("messages_received_total", connector="room") == 2
    assert since("model_requests_total", purpose="turn", outcome="ok") >= 2
    assert since("delivery_seconds_count", connector="room") == 2


async def test_a_compaction_that_is_taken_back_and_an_abort_of_an_answer_are_counted(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    since = Since()
    async with house(agents={"compact_ahead": False}) as opened:
        for number in range(8):
            await room.asks(f"This is line {number} and it talks about the weather in a town, which is mild.")
        await room.commands("/compact")
        await room.until(lambda: "Compacted:" in room.notices()[-1])
        await room.commands("/undo")
        model.hang(_is_turn)
        await room.says("What is the colour?")
        await model.wait_for(lambda server: server.running)
        told = await room.commands("/abort")
        model.release()
        await room.commands("/nonsense")
        aborted = (await timings(opened))[-1]
    assert told.startswith("Stopped")
    assert since("compactions_total", trigger="manual", outcome="done", strategy="reset") == 1
    assert since("compaction_seconds_count", trigger="manual") == 1
    freed = since("compaction_tokens_total", moment="before") - since("compaction_tokens_total", moment="after")
    assert freed > 0
    assert since("tokens_total", purpose="compaction", kind="output", model="claude-sonnet-5") > 0
    assert since("undos_total", kind="compaction") == 1
    assert since("aborts_total", what="turn") == 1
    assert since("turns_total", connector="room", state="aborted") == 1
    assert since("turn_seconds_count", connector="room") == 8, "what was stopped says nothing of how fast we are"
    assert aborted["model"] > 0
    assert since("commands_total", command="other") == 1


async def test_a_turn_that_waits_for_room_says_for_how_long(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    since = Since()
    async with house(agents={"compact_ahead": False}) as opened:
        while not room.notices():
            await room.asks("This is a line that talks about the weather in a town, which is mild, and nothing else.")
        waited = [timing for timing in await timings(opened) if timing["compaction"]]
    assert len(waited) == 1
    assert since("compaction_pause_seconds_count") == 1
    assert since("compaction_pause_seconds_sum") == pytest.approx(waited[0]["compaction"], abs=0.01)
    assert since("turn_part_seconds_count", part="compaction") == 1


def _is_turn(request: MessagesRequest) -> bool:
    return not request.is_summary
