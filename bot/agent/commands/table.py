"""Every command of people, one row each.

The parser, `/help`, the menus of the platforms, what the terminal completes and the table of docs/commands.md are made
from these rows. What a command does is a method of :class:`bot.agent.commands.handlers.CommandHandlers`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from bot.agent.commands.arguments import STRATEGY, complete_compact, complete_strategy, strategies_in_words
from bot.connector import CommandField, OfferedCommand

_ALIKE = 0.7
"""As `difflib` compares two words: from there on one is the other, mistyped."""

Completion = Callable[[Sequence[str]], Mapping[str, str]]
"""What the last of these words may become, and a few words about each."""


class Who(Enum):
    """Who may give a command."""

    EVERYBODY = auto()
    """Whoever is let in."""
    ADMINS = auto()
    """It is offered to nobody, and unknown to everybody else."""


class Runs(Enum):
    """When a command is carried out."""

    AT_ONCE = auto()
    """Whatever is under way; the next one waits for it, since it takes no time."""
    ASIDE = auto()
    """Whatever is under way; it takes a moment, and nothing waits for it."""
    OF_THE_PAST = auto()
    """It is about what was said before it: it waits for files of that which are still on their way, and while an
    answer or a compaction is under way it says that it is busy."""


@dataclass(frozen=True)
class CommandSpec:
    """One row. ``name`` also names its handler."""

    name: str
    about: str
    """One line for `/help` and for menus."""
    details: str
    """What it does, for docs/commands.md, as Markdown."""
    forms: Sequence[str] = ()
    """How it is written, where that is more than its name."""
    synonyms: Sequence[str] = ()
    understood: Sequence[str] = ()
    """What it is called elsewhere: means the same, and is offered nowhere."""
    who: Who = Who.EVERYBODY
    runs: Runs = Runs.AT_ONCE
    is_urgent: bool = False
    """Nothing holds it up: it is not counted before it is tried, and who writes too fast may still give it."""
    fields: tuple[CommandField, ...] = ()
    """What stands behind it, for platforms that have fields for that."""
    completion: Completion | None = None


_WHAT_TO_RECALL = CommandField("what", "Words, or numbers: 12-40")
_WHAT_OF_MEMORY = CommandField("what", "pin 3, unpin 3, forget 3, add and a text, or the number of a page")
_WHAT_OF_RULES = CommandField("what", "pin 3, pin and a text, forget 3, or the number of a page")
_WHEN = CommandField("when", "When: tomorrow 9:00, in 20 minutes, every weekday at 9")
_WHAT_OF = CommandField("what", "What to remind of")
_WHICH_REMINDER = CommandField("what", "cancel 3")
_QUIET_HOURS = CommandField("hours", "From when to when: 22-8, or off")
_MODEL_NAME = CommandField("name", "A model, as MODEL names it, or default")
_BUDGET = CommandField("what", "chat 3, connector:person 3, day 20 or month 300; off, or default")
_ZONE = CommandField("zone", "A place such as Europe/Lisbon, or default")
_STRATEGY_NAME = CommandField("name", "One of those that /strategy names, or default")
_HOW_TO_COMPACT = (
    CommandField("strategy", f"How, for this time: {strategies_in_words()}", prefix=f"{STRATEGY}="),
    CommandField("options", "Options of that strategy: keep=2"),
    CommandField("focus", "What to keep", is_words=True),
)

TABLE: tuple[CommandSpec, ...] = (
    CommandSpec(
        name="help",
        understood=("commands",),
        about="what I can do",
        details="lists the commands",
    ),
    CommandSpec(
        name="compact",
        synonyms=("summarize",),
        about="summarise now; /compact WHAT says what to keep, strategy=NAME how",
        details="compacts now",
        forms=("/compact [OPTION=VALUE …] [what to keep]",),
        runs=Runs.OF_THE_PAST,
        fields=_HOW_TO_COMPACT,
        completion=complete_compact,
    ),
    CommandSpec(
        name="abort",
        synonyms=("stop",),
        understood=("cancel",),
        about="stop what I am doing",
        details="stops what is under way",
        is_urgent=True,
    ),
    CommandSpec(
        name="context",
        about="how full the context is, and why",
        details="shows the meter",
        runs=Runs.ASIDE,
    ),
    CommandSpec(
        name="undo",
        about="take back the last compaction (or /new)",
        details="takes the last layer off",
        runs=Runs.OF_THE_PAST,
    ),
    CommandSpec(
        name="new",
        understood=("clear", "reset"),
        about="start afresh; /undo brings the conversation back",
        details="starts afresh",
        runs=Runs.OF_THE_PAST,
    ),
    CommandSpec(
        name="recall",
        about="find what was said before: /recall WORDS, or read it: /recall 12-40",
        details="finds, or reads, what was said before",
        forms=("/recall WORDS", "/recall 12-40"),
        runs=Runs.ASIDE,
        fields=(_WHAT_TO_RECALL,),
    ),
    CommandSpec(
        name="memory",
        about="the facts I know of this conversation; pin, unpin, forget or add one; debug says why",
        details="shows the [facts](memory.md) that are known, keeps, forgets or adds one",
        forms=("/memory", "/memory pin 3", "/memory add TEXT"),
        fields=(_WHAT_OF_MEMORY,),
    ),
    CommandSpec(
        name="rules",
        about="rules that I follow whatever is compacted: lists, pins and forgets them",
        details="shows the standing [rules](rules.md) that were found and those that are pinned, pins one word for "
        "word, lets one go",
        forms=("/rules", "/rules pin 3", "/rules pin TEXT", "/rules forget 3"),
        fields=(_WHAT_OF_RULES,),
    ),
    CommandSpec(
        name="remind",
        about="remind you: /remind WHEN WHAT, for example tomorrow 9:00 call Ana",
        details="makes a [reminder](appointments.md), once or again and again; `wake` before it lets the assistant "
        "look at it then, `urgent` lets it come in quiet hours",
        forms=("/remind WHEN WHAT", "/remind wake WHEN WHAT", "/remind urgent WHEN WHAT"),
        fields=(_WHEN, _WHAT_OF),
    ),
    CommandSpec(
        name="reminders",
        about="what is to come; cancel 3 takes one back",
        details="lists the [reminders](appointments.md) to come, with buttons that take them back, and those that were "
        "missed",
        forms=("/reminders", "/reminders cancel 3"),
        fields=(_WHICH_REMINDER,),
    ),
    CommandSpec(
        name="quiet",
        about="when you want to be left alone: /quiet 22-8",
        details="says in which hours no [reminder](appointments.md#quiet-hours) of yours comes",
        forms=("/quiet 22-8", "/quiet off"),
        fields=(_QUIET_HOURS,),
    ),
    CommandSpec(
        name="strategy",
        about="how I compact; /strategy NAME chooses another way",
        details="shows or chooses how this conversation is compacted",
        forms=("/strategy [NAME]",),
        fields=(_STRATEGY_NAME,),
        completion=complete_strategy,
    ),
    CommandSpec(
        name="model",
        about="which model answers; /model NAME chooses another one for this conversation",
        details="shows which [model](models.md#another-one-for-one-conversation) answers; whoever runs the program "
        "chooses another one for this conversation",
        forms=("/model [NAME]",),
        runs=Runs.ASIDE,
        fields=(_MODEL_NAME,),
    ),
    CommandSpec(
        name="timezone",
        about="by which clock I go; /timezone Europe/Lisbon changes it",
        details="shows or chooses the [time zone](time.md#the-time-zone); in a group it is yours, and "
        "`/timezone chat NAME`, which whoever runs the program may give, is the chat's",
        forms=("/timezone [NAME]", "/timezone chat NAME"),
        fields=(_ZONE,),
    ),
    CommandSpec(
        name="usage",
        understood=("cost",),
        about="what you and this chat have spent on models, and what is left",
        details="shows what you and this chat [spent](budgets.md) today and this month, what is left, and about what "
        "compactions saved; to whoever runs the program, what all spent",
        runs=Runs.ASIDE,
    ),
    CommandSpec(
        name="budget",
        about="what may be spent here, and what is left of it",
        details="shows the [budgets](budgets.md) that hold here; whoever runs the program chooses others for this "
        "chat, for a person, or for all together",
        forms=(
            "/budget",
            "/budget chat AMOUNT",
            "/budget CONNECTOR:PERSON AMOUNT",
            "/budget day AMOUNT",
            "/budget month AMOUNT",
        ),
        fields=(_BUDGET,),
    ),
    CommandSpec(
        name="status",
        about="what I run on",
        details="model, summary model, strategy, context, layers, what it is doing, each [MCP server](mcp.md)",
    ),
    CommandSpec(
        name="retry",
        about="try the answer again that no model gave",
        details="tries again what got no answer since [no model gave one](models.md#when-a-model-is-away), as the "
        "button under such a message does",
        runs=Runs.OF_THE_PAST,
    ),
    CommandSpec(
        name="start",
        about="say hello",
        details="says hello",
    ),
    CommandSpec(
        name="pair",
        about="let somebody in",
        details="lets somebody in; alone, it lists who waits",
        forms=("/pair CODE", "/pair"),
        who=Who.ADMINS,
    ),
)

SPECS: Mapping[str, CommandSpec] = {
    word: spec for spec in TABLE for word in (spec.name, *spec.synonyms, *spec.understood)
}
"""A row by each of its names."""


def offered() -> tuple[OfferedCommand, ...]:
    """What everybody is offered, in the order of the table, and then the synonyms."""
    known = [spec for spec in TABLE if spec.who is Who.EVERYBODY]
    return (
        *(OfferedCommand(spec.name, spec.about, spec.fields) for spec in known),
        *(OfferedCommand(same, f"the same as /{spec.name}", spec.fields) for spec in known for same in spec.synonyms),
    )


def meant(name: str) -> str | None:
    """The command that everybody may give and that whoever wrote this most likely meant; None where it is like none."""
    known = {word: spec.name for word, spec in SPECS.items() if spec.who is Who.EVERYBODY}
    swapped = (word for word in known if sorted(word) == sorted(name))
    near = next(swapped, None) or next(iter(difflib.get_close_matches(name, known, n=1, cutoff=_ALIKE)), None)
    return known[near] if near else None


def urgent() -> frozenset[str]:
    """The texts that nothing holds up."""
    return frozenset(f"/{word}" for word, spec in SPECS.items() if spec.is_urgent)


def completions(typed: str) -> Mapping[str, str]:
    """What the last word of a command that is being written may become, and a few words about it."""
    command, *words = typed.split(" ")
    spec = SPECS.get(command.removeprefix("/")) if command.startswith("/") else None
    return spec.completion(words) if spec and spec.completion else {}
