"""What commands answer, in words. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.agent.commands.arguments import ABOUT_STRATEGIES, DEFAULT, WITHOUT_SUMMARIES
from bot.agent.commands.parsing import OLD_BUTTON
from bot.agent.commands.table import offered
from bot.agent.model_choice import ModelChoice
from bot.agent.tools.mcp.state import ServerStatus, State
from bot.compaction import Strategy
from bot.compaction.gate import Restraint, ahead_margin
from bot.compaction.oversize import Bound
from bot.compaction.statistics import messages_text, statistics_of
from bot.estimate import Level, Meter
from bot.estimate.meter import percent
from bot.history import IMPORTED
from bot.messages import Button
from bot.model import Link
from bot.model.chain import Chain
from bot.runtime import access
from bot.runtime.settings import Settings
from bot.runtime.zones import EXAMPLE, local_time, offset_text
from bot.store.people import Person
from bot.store.runs import Run

STOPPED = "Stopped. Your message stays in the conversation."
STOPPED_BOTH = "Stopped the compaction and the answer. Your message stays in the conversation."
BUSY = "Busy: I am still answering. Wait for the answer, or stop it with /abort."
COMPACTING = "Busy: a compaction is under way. Wait for it, or stop it with /abort."
MODEL_IS_NOT_YOURS = "Which model answers is chosen by those who run me. /model alone says which one it is."
_BAR = 20
_LONGEST_LABEL = 60
"""Characters on a button."""


def hello() -> str:
    """The answer to /start."""
    return (
        "Hello! Write to me as long as you like: when the conversation grows too large for my memory, I summarise its "
        "older part, say so, and you can stop that (/abort) or take it back (/undo). /help lists all commands."
    )


def help_text() -> str:
    """The answer to /help."""
    return "\n".join(f"/{command.name}: {command.about}" for command in offered())


_LEAVING = ("exit", "quit", "bye")
_LONGEST_MEANT = 200


def unknown(name: str, meant: str = "") -> str:
    """The answer to a command that does not exist, or to a button without one. ``meant``: the one that there is."""
    if name == OLD_BUTTON:
        return "That button does nothing any more. /help lists what I can do."
    if name in _LEAVING:
        return "There is nothing to leave: I answer whenever you write. /new starts afresh, /abort stops what I do."
    if meant:
        shown = meant if len(meant) <= _LONGEST_MEANT else f"{meant[:_LONGEST_MEANT].rstrip()} …"
        return f"I do not know /{name}. Did you mean {shown}?"
    return f"I do not know /{name}. /help lists what I know."


NO_SUMMARIES = (
    "It wants summaries, and the small local model writes none that are of use, and takes minutes: "
    f"{' and '.join(WITHOUT_SUMMARIES)} need none."
)


def strategy_text(name: str, names: Sequence[str], *, chosen: bool, by_local_model: bool = False) -> str:
    """The answer to /strategy. ``by_local_model``: summaries would be the small local model's."""
    lines = [f"From the next compaction on: {name}." if chosen else f"I compact this conversation by: {name}."]
    lines += [
        f"/strategy {one}{' (in use)' if one == name else ''}: {ABOUT_STRATEGIES.get(one, 'your own')}" for one in names
    ]
    if by_local_model and name in ABOUT_STRATEGIES and name not in WITHOUT_SUMMARIES:
        lines.insert(1, NO_SUMMARIES)
    return "\n".join([*lines, f"/strategy {DEFAULT}: as all conversations"])


def models_text(chain: Chain, summaries: Chain) -> list[str]:
    """Who answers now, as far as this process knows, who stands in, and who writes summaries."""
    first, down = chain.first, chain.down
    up = [link for link in chain.links if link not in down]
    model = f"Model: {first.described}"
    if first in down:
        model += f", which is down: {up[0].described} answers" if up else ", which does not answer just now"
    others = [f"{link.described}{' (down)' if link in down else ''}" for link in chain.links[1:]]
    writer = summaries.first
    summary = f"Summaries by: {writer.described}" + (" (down)" if writer in summaries.down else "")
    return [model, *([f"Where it is down: {', '.join(others)}"] if others else []), summary]


def model_text(choice: ModelChoice, settings: Settings, asked: Link, listed: str, *, may_choose: bool) -> str:
    """The answer to /model alone. ``asked``: who answers just now; ``listed``: what there is to choose, in a sentence,
    empty where nobody says so."""
    first, *others = choice.chain.links
    lines = [f"{_named(first)} answers here" + (", as chosen for this conversation." if choice.chosen else ".")]
    if choice.problem:
        lines = [f"{_named(first)} answers here. {choice.chosen} was chosen, and cannot be asked: {choice.problem}"]
    if asked is not first:
        lines.append(f"Just now it does not, and {_named(asked)} does.")
    if others:
        lines.append(f"When it does not: {', then '.join(map(_named, others))}.")
    if may_choose:
        lines += [f"/model {name}" for name in settings.model_fallback if name != choice.chosen]
        lines.append("/model NAME: another one for this conversation, as MODEL names it (provider/name)")
        if listed:
            lines.append(listed)
        if choice.chosen:
            lines.append(f"/model {DEFAULT}: as all conversations")
    return "\n".join(lines)


def model_chosen(choice: ModelChoice, meter: Meter) -> str:
    """The answer to /model NAME."""
    who = f"{_named(choice.chain.first)} answers from now on"
    full = f"The context is {percent(meter.share)} full for it ({meter.total:,} of {meter.limit:,} tokens)."
    return f"{who}{', as in all conversations' if not choice.chosen else ''}. {full}"


def unknown_model(written: str, why: str) -> str:
    """The answer to /model with a name that nobody can be asked by."""
    return f"I did not change to {written[:80]}: {why}"


def _named(link: Link) -> str:
    return link.called or "The local model"


OF_CHAT = "chat"
"""What is written before the zone of a chat, where several people talk."""
ZONE_UNCHANGED = "Nothing was changed."
ZONE_IS_OF_PLATFORM = "That holds on this platform; wherever else you write to me, it is chosen there."
ZONE_IS_NOT_YOURS = "The time zone of this chat is chosen by those who run me. /timezone NAME chooses yours."


@dataclass(frozen=True)
class ChosenZones:
    """By what a conversation goes. ``is_chosen``: somebody chose it; ``own``: by what goes who asks, where several
    people talk; empty where one alone does."""

    here: str
    is_chosen: bool
    own: str = ""


def zone_text(zones: ChosenZones, now: float, *, setting: str, changed: bool) -> str:
    """The answer to /timezone. ``setting``: TIMEZONE, if it is set."""
    if zones.own:
        lines = [f"You go by {clock(zones.own, now)}"]
        lines += [ZONE_IS_OF_PLATFORM] if changed else []
        lines += [f"This chat goes by {clock(zones.here, now)}"] if zones.here != zones.own else ["So does this chat."]
        ways = [f"/timezone NAME: yours, /timezone {OF_CHAT} NAME: this chat's"]
    else:
        lines = [f"{'From now on I' if changed else 'I'} go by {clock(zones.here, now)}"]
        lines += [ZONE_IS_OF_PLATFORM] if changed else []
        ways = [f"/timezone NAME: another one, e.g. /timezone {EXAMPLE if zones.here != EXAMPLE else 'Asia/Tokyo'}"]
    if not zones.is_chosen:
        lines.append(f"Nobody chose {zones.here}: it is {'what TIMEZONE is set to' if setting else 'this machine’s'}.")
    else:
        ways.append(f"/timezone {DEFAULT}: as all conversations")
    return "\n".join([*lines, *ways])


def clock(zone: str, now: float) -> str:
    """What the clocks of a zone show."""
    at = local_time(now, zone)
    return f"{zone} ({offset_text(at)}), where it is {at:%A}, {at.day} {at:%B %Y}, {at:%H:%M}."


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
    IMPORTED: "What was brought over is away again, and no longer found; importing the file again brings it back",
}
LIMIT_ASSUMED = (
    "The limit is assumed: the model's server does not say how large its window is. "
    "AGENTS__EMERGENCY_CONTEXT_LIMIT sets it."
)


OVER = "It is over its limit, which leaves room for an answer: it is compacted before the next one."
OVER_AND_LEFT = "It is over its limit, which leaves room for an answer. /compact makes it smaller."


def undone_text(kind: str, before: Meter, after: Meter, level: Level) -> str:
    """The answer to /undo, which took off a layer of this kind."""
    what = _UNDONE.get(kind, "Took the last compaction back")
    text = f"{what}: {before.total:,} → {after.total:,} tokens ({percent(after.share)})."
    if after.over:
        return f"{text} That is over its limit, which leaves room for an answer: I compact again before the next one."
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
    window: str = "",
) -> str:
    """The answer to /context. ``taken_back``: what the last compaction did was; ``automatic``: it compacts by itself,
    ``ahead`` also after an answer; ``freed``: tokens that a compaction would free now; None: not known;
    ``rules``: how many are pinned, and how many of them stand behind the system prompt; ``window``: see
    :func:`window_text`."""
    level = strategy.level(meter)
    filled = min(_BAR, round(meter.share * _BAR))
    lines = [
        f"Context: {meter.total:,} of {meter.limit:,} tokens ({percent(meter.share)}), level {level.value}",
        "▓" * filled + "░" * (_BAR - filled),
        *([OVER if automatic else OVER_AND_LEFT] if meter.over else []),
        *([window] if window else []),
        *(["Of it, about:"] if meter.source == "usage" else []),
        *(f"· {part.name}: {part.tokens:,}" for part in meter.parts if part.tokens),
        f"Source: {'counted by the provider' if meter.source == 'usage' else 'estimated'}",
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


def window_text(link: Link, bound: Bound, total: int) -> str:
    """Whose window it is, how large, and how much of it is used."""
    is_chosen = bound.chosen is not None and (bound.chosen < bound.room or not bound.known)
    why = "AGENTS__EMERGENCY_CONTEXT_LIMIT sets the limit" if is_chosen else "the limit leaves room for an answer"
    if not bound.known:
        return f"Window of {_named(link)}: not known" + (f"; {why}" if is_chosen else "")
    share = percent(total / bound.window)
    return f"Window of {_named(link)}: {bound.window:,} tokens, {share} of it used; {why}"


def _automatic(meter: Meter, strategy: Strategy, restraint: Restraint, *, automatic: bool, ahead: bool) -> str:
    begins = _first_level(meter, strategy) if automatic else None
    if begins is None:
        return "Automatic compaction: off"
    critical = strategy.level(meter) is Level.CRITICAL
    if restraint.paused and critical:
        return "Automatic compaction: before the next answer"
    if restraint.paused:
        return "Automatic compaction: paused by /undo until the level is critical or the next /compact"
    if restraint.cooldown:
        messages = "message" if restraint.cooldown == 1 else "messages"
        return f"Automatic compaction: resting for {restraint.cooldown} more {messages}"
    early = begins - ahead_margin(strategy)
    after_answer = f", after an answer from {percent(early)}" if ahead and early < begins else ""
    return f"Automatic compaction: at {percent(begins)}{after_answer}"


def _first_level(meter: Meter, strategy: Strategy) -> float | None:
    """The share from which this strategy wants to compact, to a hundredth; None: never."""
    empty = Meter.of([], limit=meter.limit)
    shares = (hundredth / 100 for hundredth in range(101))
    return next((share for share in shares if strategy.level(empty.raised(share)) is not Level.OK), None)


_MOST_BUTTONS = 5
ASK_IN_PRIVATE = "Others read along here: ask me that in a private chat."


def who_waits(waiting: Sequence[Person]) -> str:
    """The answer to /pair alone."""
    if not waiting:
        return "Nobody waits to be let in."
    lines = [f"{one.name or one.person} ({one.connector}:{one.person}) waits with {one.code}" for one in waiting]
    return "\n".join([*lines, "/pair CODE lets somebody in."])


def let_in_buttons(waiting: Sequence[Person]) -> list[Button]:
    """One for each of the latest."""
    return [
        Button(f"{access.LET_IN}: {one.name or one.person}"[:_LONGEST_LABEL], f"/pair {one.connector}:{one.person}")
        for one in waiting[:_MOST_BUTTONS]
    ]


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
