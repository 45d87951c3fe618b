"""`palimpsest compact`: a transcript through a strategy, with statistics and what became of each message."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, Annotated

import structlog
import typer

from bot.app.cli.flags import values_of
from bot.app.cli.process import one_line_errors, run_to_its_end
from bot.errors import ConfigurationError

if TYPE_CHECKING:
    from bot.app.cli.transcripts.file import Transcript
    from bot.compaction import CompactionResult, Strategy
    from bot.compaction.manual.refusals import NeedsSummary
    from bot.model import Model
    from bot.runtime.settings import Settings

log = structlog.get_logger(__name__)

_SHORTEST_SUMMARY = 200
_STYLES = {"-": "red", "+": "green", "~": "yellow", "=": "dim"}


def compact(
    file: Annotated[str, typer.Argument(help="A JSON list, an object with messages, or JSONL; - is standard input.")],
    *,
    strategy: Annotated[str, typer.Option(help="A strategy's name, or your own as module:attribute.")] = "monologue",
    limit: Annotated[
        int | None, typer.Option(min=1, help="Tokens that the whole request may take. Default: compact once.")
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="An option of the strategy; may be given repeatedly.")
    ] = None,
    out: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the compacted transcript there; it may be FILE.")
    ] = None,
    summary: Annotated[
        str | None, typer.Option(metavar="FILE", help="The summary, for strategies that want one.")
    ] = None,
    with_model: Annotated[
        bool, typer.Option("--with-model", help="Let the model of the settings write the summary.")
    ] = False,
    model: Annotated[str | None, typer.Option(help="Count as this model's tokenizer does.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False,
) -> None:
    """Compact a transcript by hand. No model is asked, and the file is not changed, unless you say so."""
    from bot.app.cli.transcripts import file as transcript_file

    if out == transcript_file.STANDARD_INPUT:
        raise typer.BadParameter("--out takes a file; --json prints the messages on standard output")
    if file == summary == transcript_file.STANDARD_INPUT:
        raise typer.BadParameter("the transcript and the summary cannot both be standard input")
    if summary and with_model:
        raise typer.BadParameter("--summary gives the summary, and --with-model has it written: choose one")
    with one_line_errors():
        settings = _settings()
        chosen = _chosen(settings, strategy, option or ())
        transcript = transcript_file.read_transcript(file)
        text = transcript_file.read_text(summary) if summary else None
        result = _compacted(settings, transcript, chosen, limit=limit, model=model, summary=text, with_model=with_model)
        log.info(
            "history_compacted",
            strategy=chosen.name,
            removed=result.stats["removed"],
            reduction_percent=result.stats["reductionPercent"],
            tokens_saved=result.stats["tokensSaved"],
        )
        log.debug("compaction_statistics", **result.stats)
        if out:
            transcript_file.write_text(out, transcript.written(result.messages))
        if as_json:
            document = {"strategy": chosen.name, **result.stats, "messages": result.messages}
            print(transcript_file.json_text(document))
        else:
            _show(chosen.name, transcript, result)


def _settings() -> Settings:
    from bot.runtime import logs
    from bot.runtime.settings import load_settings

    settings = load_settings()
    logs.configure(settings)
    return settings


def _chosen(settings: Settings, name: str, options: Sequence[str]) -> Strategy:
    """With the options of the settings, and then with those of the command. Raises BadParameter."""
    from bot.compaction import STRATEGIES
    from bot.runtime.foreign_strategy import for_once
    from bot.runtime.strategies import configured, named

    known = configured(STRATEGIES, settings)
    values: dict[str, object] = {**values_of(options)}
    try:
        there = {each: found for each in known.names if (found := known.get(each))}
        return for_once(named(name, there), values)
    except (ConfigurationError, ValueError) as error:
        raise typer.BadParameter(str(error)) from error


def _compacted(
    settings: Settings,
    transcript: Transcript,
    strategy: Strategy,
    *,
    limit: int | None,
    model: str | None,
    summary: str | None,
    with_model: bool,
) -> CompactionResult:
    from bot.compaction import compact_history
    from bot.compaction.manual.refusals import NeedsSummary
    from bot.runtime.redact import redact

    compacted = partial(
        compact_history,
        transcript.messages,
        strategy=strategy,
        limit=limit,
        system=transcript.system,
        tools=transcript.tools,
        model=model or transcript.model,
        embed=partial(_embedded, settings),
        rules=settings.compaction.must_keep,
        redact=partial(redact, secrets=settings.secrets),
    )
    try:
        return compacted(summary=summary)
    except NeedsSummary as needs:
        if not with_model:
            raise
        return compacted(summary=redact(run_to_its_end(_written(settings, needs)), settings.secrets))


def _embedded(settings: Settings, texts: Sequence[str]) -> Sequence[Sequence[float]]:
    """Loaded when a strategy compares texts. It goes on without vectors that cannot be had."""
    from bot.agent.embeddings import HttpEmbedder, WordLlamaEmbedder
    from bot.errors import EmbeddingsUnavailable

    chosen = settings.embeddings
    embedder = HttpEmbedder(chosen.url, chosen.model) if chosen.url else WordLlamaEmbedder()
    try:
        return run_to_its_end(embedder.embed(texts))
    except EmbeddingsUnavailable as error:
        log.warning("embeddings_missing", wanted=len(texts), reason=str(error))
        return []


async def _written(settings: Settings, needs: NeedsSummary) -> str:
    """A summary by the model of the settings. Raises a ModelError, NoSummary."""
    from bot.app.models import open_talker, open_writer, summary_link

    async with AsyncExitStack() as stack:
        elsewhere = summary_link(settings) is not None
        writer = open_writer(settings, stack, await open_talker(settings, stack, asks=not elsewhere))
        return await summary_by(writer.model, writer.name, needs)


async def summary_by(model: Model, name: str, needs: NeedsSummary) -> str:
    """The summary that a strategy wants, by the model with this name, which is asked again where its answer was cut
    off. Raises a ModelError, NoSummary."""
    from bot.compaction.goal import SUMMARY_SHARE
    from bot.compaction.manual.refusals import NoSummary
    from bot.compaction.summary.checks import is_no_summary
    from bot.compaction.summary.instruction import SYSTEM, from_outside, instruction, shorter
    from bot.compaction.summary.transcript import render
    from bot.errors import ModelOverflow
    from bot.estimate import estimate_tokens
    from bot.messages import Message, text_block, text_of, tool_calls
    from bot.model import CUT_OFF, Head

    answer = (await model.limits(name)).answer
    room = max(_SHORTEST_SUMMARY, min(int(SUMMARY_SHARE * estimate_tokens(needs.messages)), answer))
    task = instruction(focus=needs.plan.focus, updates=needs.updates, room=room, asks=needs.plan.asks)
    asked = Message(role="user", content=[text_block(from_outside(render(needs.messages), task))])
    try:
        head = Head(name, min(2 * room, answer), SYSTEM)
        reply = await model.ask(head, [asked])
        if reply.stop_reason == CUT_OFF:
            begun = Message(role="assistant", content=[text_block(text_of(reply.blocks).strip() or "(cut off)")])
            again = Message(role="user", content=[text_block(shorter(room))])
            reply = await model.ask(head, [asked, begun, again])
    except ModelOverflow as overflow:
        raise ModelOverflow(
            f"What is to be summarised does not fit into {name} ({overflow}): give a summary with --summary FILE."
        ) from overflow
    text = text_of(reply.blocks)
    if tool_calls(reply.blocks) or is_no_summary(text) or reply.stop_reason == CUT_OFF:
        raise NoSummary(f"{name} wrote no summary: give one with --summary FILE.")
    return text


def _show(strategy: str, transcript: Transcript, result: CompactionResult) -> None:
    """The statistics, and what became of each message; coloured on a terminal."""
    from rich.console import Console
    from rich.text import Text

    from bot.app.cli.transcripts.difference import lines_of

    stats = result.stats
    share = stats["compactedTokens"] / stats["originalTokens"] if stats["originalTokens"] else 1.0
    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    for name, value in {"strategy": strategy, **stats}.items():
        console.print(f"{name:<17} {value}")
    console.print(f"Compressed to {share:.0%} of the original size.".replace("%", " %"))
    if result.changed:
        console.print()
        for sign, line in lines_of(transcript.messages, result.page):
            console.print(Text(f"{sign} {line}", style=_STYLES[sign] if console.is_terminal else ""))
    else:
        console.print("Nothing was changed.")
