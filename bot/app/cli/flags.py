"""Settings of compaction as flags of `chat` and `run`: they win over the environment and `.env`, for this process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import typer
from typer.core import TyperGroup, TyperOption
from typing_extensions import override

Strategy = Annotated[
    str | None, typer.Option(help="How it compacts, as AGENTS__STRATEGY says it: reset, monologue, two_phase, …")
]
Limit = Annotated[
    int | None, typer.Option(min=1, help="Tokens of a context, as AGENTS__EMERGENCY_CONTEXT_LIMIT says it.")
]
NoCompact = Annotated[
    bool, typer.Option("--no-compact", help="Compact only when somebody asks for it, or the provider refuses.")
]
Options = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="KEY=VALUE", help="An option of that strategy; may be given repeatedly."),
]


class Commands(TyperGroup):
    """All commands. The help shows what takes no value without one, here and below (typer 0.29 shows it as
    ``--version <bool>``), and who forgot the `chat` before an option of it is told so."""

    @override
    def get_params(self, ctx: Any) -> list[Any]:
        """As it is there."""
        return _as_flags(super().get_params(ctx))

    @override
    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """As it is there."""
        command = super().get_command(ctx, cmd_name)
        _below(command, ctx)
        return command

    @override
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As it is there; an option of `palimpsest chat` that stands where a command does is told its place."""
        word = args[0].partition("=")[0] if args else ""
        option = word if word.startswith("--") else word[:2]
        if option in _options(self.get_command(ctx, "chat"), ctx) - _options(self, ctx):
            ctx.fail(f"No such option: {option}. Write `palimpsest chat {option} …`.")
        return super().parse_args(ctx, args)


def _options(command: Any, context: Any) -> set[str]:
    """As they are written."""
    return {word for param in command.get_params(context) for word in param.opts if word.startswith("-")}


def _below(command: Any, context: Any) -> None:
    if command is not None:
        _as_flags(command.get_params(context))
    for each in getattr(command, "commands", {}).values():
        _below(each, context)


def _as_flags(params: list[Any]) -> list[Any]:
    for param in params:
        if isinstance(param, TyperOption) and param.is_flag and param.metavar is None:
            param.metavar = ""
    return params


def overrides(
    strategy: str | None, limit: int | None, options: list[str] | None, *, no_compact: bool
) -> dict[str, dict[str, Any]]:
    """The settings that these flags make, by their groups. Raises BadParameter."""
    agents: dict[str, Any] = {}
    values = values_of(options or (), strategy or "")
    if values and strategy is None:
        raise typer.BadParameter("--option is one of a strategy: name that with --strategy")
    if strategy is not None:
        _check(strategy, values)
        agents["strategy"] = strategy
    if limit is not None:
        agents["emergency_context_limit"] = limit
    if no_compact:
        agents |= {"warning": 0.0, "compact_ahead": False}
    found: dict[str, dict[str, Any]] = {"agents": agents} if agents else {}
    if values:
        found["strategy"] = {str(strategy): values}
    return found


def values_of(options: Iterable[str], strategy: str = "") -> dict[str, str]:
    """Each ``KEY=VALUE``, with the key as the strategy's field. Raises BadParameter."""
    values: dict[str, str] = {}
    for key, value in (_pair_of(option, strategy) for option in options):
        if key in values:
            raise typer.BadParameter(f"--option {key} is given twice")
        values[key] = value
    return values


def _check(strategy: str, values: Mapping[str, str]) -> None:
    """Somebody's own strategy is looked at with the settings, which say what else it needs. Raises BadParameter."""
    from bot.compaction import STRATEGIES
    from bot.compaction.options import with_options
    from bot.errors import ConfigurationError
    from bot.runtime.strategies import named

    if ":" in strategy:
        return
    try:
        with_options(named(strategy, STRATEGIES), values)
    except (ConfigurationError, ValueError) as error:
        raise typer.BadParameter(str(error)) from error


def _pair_of(option: str, strategy: str) -> tuple[str, str]:
    from bot.compaction import STRATEGIES
    from bot.compaction.options import field_name

    key, equals, value = option.partition("=")
    if not equals or not key.strip():
        raise typer.BadParameter(f"--option takes key=value, not {option!r}")
    return (field_name(STRATEGIES[strategy], key) if strategy in STRATEGIES else key, value)
