"""The memory gate: a command that looks for a known folder gets its path from memory. Pure (FEATURES A10).

``ls ~/Desktop`` becomes ``ls /data/ada/Desktop`` where memory knows that path, and likewise in PowerShell and in
Windows' cmd. In any doubt the command runs as the model wrote it: where it names an absolute path, does more
than look, or runs on another machine; where the person wants it looked at again; where facts disagree.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bot.compaction.fact_life import RUN_AS
from bot.compaction.facts import Fact, FactKind, FactStatus, Speaker
from bot.compaction.folder_probes import FOLDERS, Probe, Shell, probes_in, replaced, shell_of
from bot.cuts import beginning

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
_IN_PROSE = re.compile(
    r"[\"'`«“]((?:/|[A-Za-z]:\\|\\\\)[^\"'`»”]{2,200})[\"'`»”]|(?<![\w:/\\.])((?:/|[A-Za-z]:\\|\\\\)\S{2,200})"
)
_IS_AT = re.compile(
    r"\b(?:is|are|at|in|under|lives?)\b|[:=—→]|\b(?:находится|лежит|лежат|это|в|на)\b|是|在|位于|为", re.IGNORECASE
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
_LOOKING = """
ls ll la dir vdir tree find fd stat file du df wc cat head tail less more test [ [[ realpath readlink echo printf pwd
cd pushd true type where get-childitem gci get-item gi test-path get-content gc resolve-path set-location sl
push-location join-path write-output write-host select-object select sort-object sort measure-object measure
format-table ft format-list fl out-string
"""
_LOOKS = frozenset(_LOOKING.split())
"""Commands that only look. Nothing else is ever rewritten: what memory read somewhere must not choose what is written
or deleted."""
_STEP = re.compile(r"\|\|?|&&?|;|\n")
_ASSIGNED = re.compile(r"^\s*(?:\$\w+\s*=\s*|export\s+\w+=|\w+=(?=[\"'$~(]))")
_INNER = re.compile(
    r"^\s*(?:sh|bash|zsh|dash|powershell|pwsh|cmd)(?:\.exe)?(?:\s+[-/][A-Za-z]+)+\s+[\"']?", re.IGNORECASE
)
"""A shell that is given a command."""
_VALUE = re.compile(r"^[(\s]*(?:\[(?:System\.)?Environment\]|\$(?:env:|HOME|\{)|%USERPROFILE%|[\"'~])", re.IGNORECASE)
_DOES = re.compile(
    r"[`{]|\$\((?!\s*(?:ls|pwd|echo|cat)\b)|(?<!\d)>(?!\s*(?:/dev/null|&\d))|\d>(?!\s*(?:/dev/null|&\d|nul\b))"
    r"|\s-(?:delete|exec|execdir|ok|okdir|fprint\w*|fls)\b|\.Delete\(|\.Move|\.Copy|<<",
    re.IGNORECASE,
)
_AGAIN = re.compile(
    r"\b(?:re-?(?:check|verif\w+|validate|confirm|scan|detect|discover)|double[- ]?check|verify|make sure"
    r"|(?:check|look|search|find|detect|scan|probe|resolve|determine)\b.{0,40}\b(?:again|anew|once more|afresh))"
    r"|перепровер|провер(?:ь|ьте|ить|им|ка)\b|убеди(?:сь|тесь)|удостовер"
    r"|(?:ещ[её] раз|снова|заново)\W+(?:\w+\W+){0,2}?(?:провер|посмотр|найд|поищ|узна|определ)"
    r"|(?:посмотр|найд|поищ|узна|определ)\w*\W+(?:\w+\W+){0,2}?(?:ещ[её] раз|снова|заново)"
    r"|重新(?:检查|确认|核实|验证|查|看|找|扫描|定位)|再(?:次)?(?:检查|确认|核实|验证|查|看|找)|核实|核对|复查|验证一下|确认一下|检查一下",
    re.IGNORECASE,
)  # fmt: skip


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
        return f"{RUN_AS}{where}. The command was: {beginning(self.rewritten, _LONGEST_SHOWN)}]"

    @property
    def brief(self) -> str:
        """For people, in one line."""
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
        or not _only_looks(command, probes)
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


def _only_looks(command: str, probes: Iterable[Probe]) -> bool:
    """Whether each step of the command does nothing but look, as far as its first word says."""
    bare = _INNER.sub("", _without(command, probes))
    if _DOES.search(bare):
        return False
    for step in _STEP.split(bare):
        word = _ASSIGNED.sub("", step).strip()
        if word and not _VALUE.match(word) and word.split(maxsplit=1)[0].casefold() not in _LOOKS:
            return False
    return True


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
    if fact.kind is FactKind.PATH:
        if _last(fact.text) in names:
            yield fact.text
    elif fact.kind in (FactKind.GOAL, FactKind.CONSTRAINT, FactKind.STATEMENT) and fact.speaker is Speaker.PERSON:
        yield from _stated(fact.text, names)


def _stated(text: str, names: tuple[str, ...]) -> Iterator[str]:
    """The path of "My desktop is at D:\\Work\\Desktop": the only one, after the folder's name."""
    hits = list(_IN_PROSE.finditer(text))
    if len(hits) != 1:
        return
    path = (hits[0][1] or hits[0][2]).rstrip(".,;:!?。，；！？)")
    before = text[: hits[0].start()].casefold()
    named = any(re.search(rf"(?<!\w){name}" if name.isascii() else name, before) for name in names)
    others = [other for folder in FOLDERS if _NAMES[folder] != names for other in _NAMES[folder]]
    if named and _IS_AT.search(before) and not any(other in before for other in others):
        yield path


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


def _last(path: str) -> str:
    return re.split(r"[\\/]", path.rstrip("/\\"))[-1].casefold() if _SAFE.match(path) else ""


def _compared(path: str) -> str:
    """Windows does not tell capitals apart, nor its two separators."""
    windows = re.match(r"[A-Za-z]:|\\\\", path)
    return path.replace("\\", "/").casefold() if windows else path
