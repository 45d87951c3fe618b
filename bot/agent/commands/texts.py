"""What commands answer, in words. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from bot.agent.commands.arguments import ABOUT_STRATEGIES, DEFAULT
from bot.agent.commands.parsing import OLD_BUTTON
from bot.agent.commands.table import offered
from bot.agent.tools.mcp.state import ServerStatus, State
from bot.compaction import Strategy
from bot.compaction.gate import Restraint, ahead_margin
from bot.compaction.statistics import messages_text, statistics_of
from bot.estimate import Level, Meter
from bot.estimate.meter import percent
from bot.store.runs import Run

_BAR = 20


def hello() -> str:
    """The answer to /start."""
    return (
        "Hello! Write to me as long as you like: when the conversation grows too large for my memory, I summarise its "
        "older part, say so, and you can stop that (/abort) or take it back (/undo). /help lists all commands."
    )


def help_text() -> str:
    """The answer to /help."""
    return "\n".join(f"/{command.name}: {command.about}" for command in offered())


def unknown(name: str) -> str:
    """The answer to a command that does not exist, or to a button without one."""
    if name == OLD_BUTTON:
        return "That button does nothing any more. /help lists what I can do."
    return f"I do not know /{name}. /help lists what I know."


def strategy_text(name: str, names: Sequence[str], *, chosen: bool) -> str:
    """The answer to /strategy."""
    lines = [f"From the next compaction on: {name}." if chosen else f"I compact this conversation by: {name}."]
    lines += [f"/strategy {other}: {ABOUT_STRATEGIES.get(other, 'your own')}" for other in names if other != name]
    return "\n".join([*lines, f"/strategy {DEFAULT}: as all conversations"])


def servers_text(servers: Sequence[ServerStatus]) -> list[str]:
    """The lines of /status about MCP servers."""
    return [f"MCP server {server.name}: {_how(server)}" for server in servers]


def _how(server: ServerStatus) -> str:
    if server.state is State.CONNECTED:
        return f"connected, {server.tools} {'tool' if server.tools == 1 else 'tools'}"
    return f"{server.state.value}: {server.reason}" if server.reason else server.state.value


def unknown_strategy(name: str, names: Sequence[str]) -> str:
    """The answer to /strategy with a name that there is not."""
    return f"There is no strategy {name[:40]!r}. There is: {', '.join([*names, DEFAULT])}."


_UNDONE = {
    "new": "The earlier conversation is back",
    "excerpt": "The message that was too large is back whole",
    "unseen": "The files are in view again",
}
LIMIT_ASSUMED = (
    "The limit is assumed: the model's server does not say how large its window is. "
    "AGENTS__EMERGENCY_CONTEXT_LIMIT sets it."
)


def undone_text(kind: str, before: Meter, after: Meter, level: Level) -> str:
    """The answer to /undo, which took off a layer of this kind."""
    what = _UNDONE.get(kind, "Took the last compaction back")
    text = f"{what}: {before.total:,} → {after.total:,} tokens ({percent(after.share)})."
    if level is Level.CRITICAL:
        return f"{text} That is critical, so I will compact again soon."
    return f"{text} I will not compact by myself before it is critical."


def context_text(
    meter: Meter,
    strategy: Strategy,
    restraint: Restraint,
    last: Run | None,
    *,
    taken_back: bool,
    automatic: bool,
    ahead: bool,
    freed: int | None,
    rules: tuple[int, int] = (0, 0),
) -> str:
    """The answer to /context. ``taken_back``: what the last compaction did was; ``automatic``: it compacts by itself,
    ``ahead`` also after an answer; ``freed``: tokens that a compaction would free now; None: not known;
    ``rules``: how many are pinned, and how many of them stand behind the system prompt."""
    level = strategy.level(meter)
    filled = min(_BAR, round(meter.share * _BAR))
    lines = [
        f"Context: {meter.total:,} of {meter.limit:,} tokens ({percent(meter.share)}), level {level.value}",
        "▓" * filled + "░" * (_BAR - filled),
        *(f"· {part.name}: {part.tokens:,}" for part in meter.parts if part.tokens),
        f"Source: {'counted by the provider' if meter.source == 'usage' else 'estimated'} ({meter.source})",
        _automatic(meter, strategy, restraint, automatic=automatic, ahead=ahead),
        _last(last, taken_back=taken_back),
    ]
    if count := rules[0]:
        where = f", {rules[1]} of them behind the system prompt" if rules[1] else ", each where it was pinned"
        lines.append(f"Pinned rules: {count}{where} (/rules)")
    if freed is not None:
        gain = (
            f"would free about {freed:,} tokens ({freed / max(1, meter.total):.0%})" if freed else "would free nothing"
        )
        lines.append(f"/compact now: {gain} by {strategy.name}")
    return "\n".join(lines)


def _automatic(meter: Meter, strategy: Strategy, restraint: Restraint, *, automatic: bool, ahead: bool) -> str:
    begins = _first_level(meter, strategy) if automatic else None
    if begins is None:
        return "Automatic compaction: off"
    critical = strategy.level(meter) is Level.CRITICAL
    if restraint.paused and critical:
        return "Automatic compaction: before the next answer"
    if restraint.paused:
        return "Automatic compaction: paused by /undo until the level is critical"
    if restraint.cooldown:
        return f"Automatic compaction: resting for {restraint.cooldown} more messages"
    early = begins - ahead_margin(strategy)
    after_answer = f", after an answer from {percent(early)}" if ahead and early < begins else ""
    return f"Automatic compaction: at {percent(begins)}{after_answer}"


def _first_level(meter: Meter, strategy: Strategy) -> float | None:
    """The share from which this strategy wants to compact, to a hundredth; None: never."""
    empty = Meter.of([], limit=meter.limit)
    shares = (hundredth / 100 for hundredth in range(101))
    return next((share for share in shares if strategy.level(empty.raised(share)) is not Level.OK), None)


def _last(run: Run | None, *, taken_back: bool) -> str:
    if run is None:
        return "Last compaction: none yet"
    became = f"{run.state.value} and taken back" if taken_back else run.state.value
    line = f"Last compaction: {became} ({run.trigger}, {run.strategy})"
    if run.meter_after:
        before, after = run.meter_before.total, run.meter_after.total
        stats = statistics_of(run.meter_before, run.meter_after)
        return f"{line}, {before:,} → {after:,} tokens" + (f", {messages_text(stats)}" if stats else "")
    return f"{line}, {run.reason}" if run.reason else line
