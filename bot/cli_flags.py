"""Settings of compaction as flags of `chat` and `run`: they win over the environment and `.env`, for this process."""

from __future__ import annotations

from typing import Annotated, Any

import typer

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


def overrides(
    strategy: str | None, limit: int | None, options: list[str] | None, *, no_compact: bool
) -> dict[str, dict[str, Any]]:
    """The settings that these flags make, by their groups. Raises BadParameter."""
    agents: dict[str, Any] = {}
    if strategy is not None:
        agents["strategy"] = strategy
    if limit is not None:
        agents["emergency_context_limit"] = limit
    if no_compact:
        agents |= {"warning": 0.0, "compact_ahead": False}
    found: dict[str, dict[str, Any]] = {"agents": agents} if agents else {}
    if options:
        if strategy is None:
            raise typer.BadParameter("--option is one of a strategy: name that with --strategy")
        found["strategy"] = {strategy: dict(pair_of(option, strategy) for option in options)}
    return found


def pair_of(option: str, strategy: str = "") -> tuple[str, str]:
    """``KEY=VALUE``, with the key as the strategy's field. Raises BadParameter."""
    from bot.compaction import STRATEGIES
    from bot.compaction.options import field_name

    key, equals, value = option.partition("=")
    if not equals or not key.strip():
        raise typer.BadParameter(f"--option takes key=value, not {option!r}")
    return (field_name(STRATEGIES[strategy], key) if strategy in STRATEGIES else key, value)
