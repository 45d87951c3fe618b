"""The memory gate: a command that looks for a known folder gets its path from memory. Pure (FEATURES A10).

``ls ~/Desktop`` becomes ``ls /data/ada/Desktop`` where memory knows that path, and likewise in PowerShell and in
Windows' cmd. In any doubt the command runs as the model wrote it: where it names an absolute path, does more
than look, or runs on another machine; where the person wants it looked at again; where facts disagree.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot.compaction.facts.fact import Fact, FactKind, FactStatus, Speaker
from bot.compaction.facts.tools import RUN_AS
from bot.compaction.grammar import last_name
from bot.compaction.memory_gate.folder_probes import FOLDERS, Probe, Shell, probes_in, replaced, shell_of
from bot.compaction.memory_gate.reading_commands import PLACE, only_reads
from bot.compaction.places import LONGEST, named_places, whole_place
from bot.compaction.quotes import is_note
from bot.estimate.cuts import beginning

GATE = "[CFPM_TOOL_GATE_V1]"
"""What its notices for machines begin with."""

_LONGEST_COMMAND = 20_000
_LONGEST_SHOWN = 400
_ARGUMENTS = ("command", "cmd", "script")
_SHELLS = frozenset(
    {"shell", "bash", "sh", "zsh", "powershell", "pwsh", "cmd", "terminal", "console", "exec", "execute"}
)

_NAMES = {
    "Desktop": ("desktop", "рабочий стол", "рабочем столе", "桌面"),
    "Documents": ("documents", "документы", "文档"),
    "Downloads": ("downloads", "загрузки", "下载"),
}
"""What the folders are called, on disk and by people."""

_SAFE = re.compile(r"(?:/|[A-Za-z]:[\\/]|\\\\)(?:[^\W_]|[ _.,()+@&'~\\/:\-])+")
"""A path that says nothing to a shell but where it is."""
_IS_AT = re.compile(
    r"\b(?:is|are|at|in|under|lives?)\b|[:=—→]|\b(?:находится|лежит|лежат|это|в|на)\b|是|在|位于|为", re.IGNORECASE
)

_DENIES = re.compile(
    r"\b(?:not|never|no longer|used to|was|were|(?:is|are|does|do|was)n['’]?t|nicht|kein\w*|pas|ya no)\b"
    r"|\b(?:не|нет|нету|больше не|был[аои]?|раньше)\b|不|没|沒|别|別|无|曾",
    re.IGNORECASE,
)
_POSIX_PATH = re.compile(
    r"(?:^|(?<=[\s=:;|&<>(\"',]))/(?!dev/(?:null|stdout|stderr|stdin|tty)\b)(?:[\w.~@+*\-]|(?=\s|$))"
)
_DEEP_PATH = re.compile(r"(?:^|(?<=[\s=;|&<>(\"',]))/[\w.\-]+/")
_WINDOWS_PATH = re.compile(r"(?<![A-Za-z])[A-Za-z]:[\\/]|(?:^|(?<=[\s\"'=]))\\\\\w")
_ELSEWHERE = re.compile(
    r"(?:^|[\s;&|(])(?:ssh|scp|sftp|rsync|docker|podman|kubectl|lxc|wsl|chroot|su|runuser|vagrant|adb|nsenter)(?:\.exe)?\s"
    r"|\bsudo\s+(?:-\w+\s+)*-\w*[ui]|(?:^|[\s;&(])(?:HOME|USERPROFILE)=|\$env:(?:HOME|USERPROFILE)\s*=",
    re.IGNORECASE,
)
_AGAIN = re.compile(
    r"\b(?:re-?(?:check|verif\w+|validate|confirm|scan|detect|discover)|double[- ]?check|verify|make sure"
    r"|(?:check|look|search|find|detect|scan|probe|resolve|determine)\b.{0,40}\b(?:again|anew|once more|afresh))"
    r"|перепровер|провер(?:ь|ьте|ить|им|ка)\b|убеди(?:сь|тесь)|удостовер"
    r"|(?:ещ[её] раз|снова|заново)\W+(?:\w+\W+){0,2}?(?:провер|посмотр|найд|поищ|узна|определ)"
    r"|(?:посмотр|найд|поищ|узна|определ)\w*\W+(?:\w+\W+){0,2}?(?:ещ[её] раз|снова|заново)"
    r"|重新(?:检查|确认|核实|验证|查|看|找|扫描|定位)|再(?:次)?(?:检查|确认|核实|验证|查|看|找)|核实|核对|复查|验证一下|确认一下|检查一下"
    r"|\b(?:(?:über|nach)?prüf\w*|(?:noch ?mal|nochmals|erneut)\b|(?:re)?vérifi\w*|encore une fois|à nouveau"
    r"|de nouveau|verifi[qc]\w*|compr(?:ue|o)b\w*|otra vez|de nuevo|nuevamente|ricontroll\w*|di nuovo|novamente"
    r"|outra vez|sprawd\w*|jeszcze raz|ponownie|перевір\w*|ще раз|tekrar|yeniden|doğrula\w*)"
    r"|確認|もう一度|再度|다시|확인",
    re.IGNORECASE,
)  # fmt: skip
"""Where it is in doubt, it is looked at again: that harms nothing. In a language that is not here a model that calls
the same command twice running gets it run as it is written (:class:`bot.agent.memory.AgentMemory`)."""


@dataclass(frozen=True)
class Rewritten:
    """What a notice for machines says of one command."""

    target: str
    path: str
    original: str
    rewritten: str


def gates_in(payload: str) -> tuple[Rewritten, ...]:
    """The commands of notices for machines, one a line (:attr:`Rewrite.notices`); none in any other text."""
    found: list[Rewritten] = []
    for line in payload.splitlines():
        try:
            told = json.loads(line.removeprefix(GATE)) if line.startswith(f"{GATE} ") else None
            names = ("target", "path", "originalCommand", "rewrittenCommand")
            found += [Rewritten(*(str(told[name]) for name in names))] if told else []
        except (ValueError, KeyError, TypeError):
            continue
    return tuple(found)


@dataclass(frozen=True)
class Rewrite:
    """A call as it is run instead. ``folders``: those whose paths came from memory, with these paths."""

    tool: str
    arguments: Mapping[str, Any]
    original: str
    rewritten: str
    folders: tuple[tuple[str, str], ...]

    @property
    def notices(self) -> tuple[str, ...]:
        """For machines: one a folder."""
        return tuple(
            f"{GATE} "
            + json.dumps(
                {
                    "tool": self.tool,
                    "target": folder,
                    "path": path,
                    "originalCommand": self.original,
                    "rewrittenCommand": self.rewritten,
                },
                ensure_ascii=False,
            )
            for folder, path in self.folders
        )

    @property
    def note(self) -> str:
        """For the model, below the result."""
        where = ", ".join(f"{folder} is {path}" for folder, path in self.folders)
        ran = beginning(self.rewritten, _LONGEST_SHOWN)
        again = "Called once more at once, it is run as you wrote it"
        return f"{RUN_AS}{where}. {again}. The command was: {ran}]"

    @property
    def lasting(self) -> str:
        """For people, where it is done for the first time."""
        where = ", ".join(f"{folder} is {path}" for folder, path in self.folders)
        return (
            f"🧠 As memory has it, {where}. Commands that look there and only read are run with that path; what writes "
            "runs as it is written. /memory lists it, and /memory forget takes it out."
        )

    @property
    def brief(self) -> str:
        """For people, in one line, while it runs."""
        return "🧠 " + ", ".join(f"{folder} → {path}" for folder, path in self.folders)


def looks_for_a_folder(tool: str, arguments: Mapping[str, Any]) -> bool:
    """Whether :func:`rewrite` would want to know facts at all."""
    argument = _argument(tool, arguments)
    return argument is not None and bool(_probes(tool, str(arguments[argument]))[0])


def rewrite(tool: str, arguments: Mapping[str, Any], facts: Iterable[Fact], asked: str) -> Rewrite | None:
    """The call with what memory knows in it; None: it runs as it is. ``asked``: what the person wants of this turn."""
    argument = _argument(tool, arguments)
    if argument is None or _AGAIN.search(asked):
        return None
    command = str(arguments[argument])
    probes, shell = _probes(tool, command)
    if (
        not probes
        or not only_reads(_marked(command, probes), shell)
        or _ELSEWHERE.search(command)
        or _is_absolute(command, probes, shell)
    ):
        return None
    known = list(facts)
    wanted = dict.fromkeys(probe.folder for probe in probes)
    paths = {folder: path for folder in wanted if (path := known_path(folder, known))}
    rewritten, done = replaced(command, probes, paths)
    if not done:
        return None
    folders = tuple((folder, paths[folder]) for folder in done)
    return Rewrite(tool, {**arguments, argument: rewritten}, command, rewritten, folders)


def _marked(command: str, probes: Sequence[Probe]) -> str:
    for probe in reversed(probes):
        command = f"{command[: probe.start]}{PLACE}{command[probe.end :]}"
    return command


def _without(command: str, probes: Iterable[Probe]) -> str:
    for probe in probes:
        command = command[: probe.start] + "~" * (probe.end - probe.start) + command[probe.end :]
    return command


def known_path(folder: str, facts: Iterable[Fact]) -> str | None:
    """Where this folder is: the path that ends in it, or that a person said; None when nobody knows, or two differ."""
    names = _NAMES[folder]
    found: dict[str, str] = {}
    for fact in facts:
        if fact.status is not FactStatus.ACTIVE:
            continue
        for path in _paths_in(fact, names):
            clean = path.rstrip("/\\")
            if _SAFE.fullmatch(clean) and ".." not in clean and not clean.startswith(("//", "\\\\")):
                found[_compared(clean)] = clean
    return next(iter(found.values())) if len(found) == 1 else None


def _paths_in(fact: Fact, names: tuple[str, ...]) -> Iterator[str]:
    """A place that a tool listed, or that a person pinned; and what people say in so many words. That a person names a
    path alone says nothing of it: "/home/ada/Desktop" may stand in a sentence that it is not there."""
    if fact.kind is FactKind.PATH:
        if last_name(fact.text) in names and (fact.speaker is Speaker.TOOL or fact.pinned):
            yield fact.text
    elif fact.kind in (FactKind.GOAL, FactKind.CONSTRAINT, FactKind.STATEMENT) and fact.speaker is Speaker.PERSON:
        if is_note(fact.text):  # somebody else's words
            return
        yield from _stated(fact.text, names)


def _stated(text: str, names: tuple[str, ...]) -> Iterator[str]:
    """The path of "My desktop is at D:\\Work\\Desktop": the only one, after the folder's name; or a path alone."""
    if alone := whole_place(text):
        if last_name(alone) in names:
            yield alone
        return
    hits = list(named_places(text))
    if len(hits) != 1 or text.rstrip().endswith(("?", "？")):
        return
    start, path = hits[0]
    before = text[:start].casefold()
    named = any(re.search(rf"(?<!\w){name}" if name.isascii() else name, before) for name in names)
    others = [other for folder in FOLDERS if _NAMES[folder] != names for other in _NAMES[folder]]
    if not named or not _IS_AT.search(before) or _DENIES.search(text) or any(other in before for other in others):
        return
    if path := path or _up_to_the_name(text[start:], names):
        yield path


def _up_to_the_name(text: str, names: tuple[str, ...]) -> str:
    """The path that the text begins with, up to the folder's own name, or to the text's end; nothing if that cannot be
    told."""
    for name in names:
        if found := re.match(rf".{{1,{LONGEST}}}?[\\/]{name}(?=$|[\s.,;:!?。，；！？])", text, re.IGNORECASE):
            return whole_place(found[0], marked=True)
    return whole_place(text)


def _argument(tool: str, arguments: Mapping[str, Any]) -> str | None:
    """The name of the argument that holds a command: of any tool one that is called so, of a shell its only text."""
    for name in arguments:
        if str(name).casefold() in _ARGUMENTS and _is_command(arguments[name]):
            return str(name)
    words = re.split(r"[\W_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", tool).casefold())
    texts = [str(name) for name, value in arguments.items() if isinstance(value, str)]
    if not _SHELLS.isdisjoint(words) and len(texts) == 1 and _is_command(arguments[texts[0]]):
        return texts[0]
    return None


def _is_command(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _LONGEST_COMMAND


def _probes(tool: str, command: str) -> tuple[list[Probe], Shell]:
    shell = shell_of(tool, command)
    return probes_in(command, shell), shell


def _is_absolute(command: str, probes: Iterable[Probe], shell: Shell) -> bool:
    """Whether it names an absolute path besides the probes; `/b` is none to Windows' cmd."""
    command = _without(command, probes)
    posix = _DEEP_PATH if shell is Shell.CMD else _POSIX_PATH
    return bool(_WINDOWS_PATH.search(command) or posix.search(command))


def _compared(path: str) -> str:
    """Windows does not tell capitals apart, nor its two separators."""
    windows = re.match(r"[A-Za-z]:|\\\\", path)
    return path.replace("\\", "/").casefold() if windows else path
