"""Places of a command that look for a folder of the person, and how a path is written in their stead. Pure.

A *probe* stands for ``Desktop``, ``Documents`` or ``Downloads`` below the home folder, in the words of a POSIX shell,
of PowerShell or of Windows' cmd. What stands around it decides how a path with blanks is quoted; where no way is safe,
the probe stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal


class Shell(StrEnum):
    """Whose words a probe is in."""

    POSIX = "posix"
    POWERSHELL = "powershell"
    CMD = "cmd"


Quotes = Literal["none", "double", "single", "inner double", "inner single"]
"""What a probe stands in; ``inner``: a command that another shell is given, as in ``bash -c '…'``."""

FOLDERS = ("Desktop", "Documents", "Downloads")
_SPECIAL = {"desktopdirectory": "Desktop", "mydocuments": "Documents", "personal": "Documents"}

_FOLDER = r"(?P<folder>Desktop|Documents|Downloads)"
_START = r"(?<![\w/\\.:$%~@}\-])"
_END = r"(?![\w.\-*?\[{$~+@=!#^%]|,(?![\s$~%\"'\[])|\\[ &;|()'#!])"
_POWERSHELL_HOME = (
    r"(?:\$env:USERPROFILE\b|\$\{env:USERPROFILE\}|\$\(\$env:USERPROFILE\)"
    r"|\$env:HOME\b|\$\{env:HOME\}|\$\(\$env:HOME\)|\$\(\$HOME\))"
)
_CMD_HOME = r"(?:%USERPROFILE%|%HOME%|%HOMEDRIVE%%HOMEPATH%)"
_POSIX_HOME = r"(?:~|\$HOME\b|\$\{HOME\}|\"\$HOME\"|\"\$\{HOME\}\")"
_NAMED = r"(?P<folder>DesktopDirectory|Desktop|MyDocuments|Documents|Personal|Downloads)"
_CALL = r"\[(?:System\.)?Environment\]::GetFolderPath"
_ENUM = r"\[(?:System\.)?Environment\+SpecialFolder\]::"

_BELOW_POWERSHELL = re.compile(rf"{_START}{_POWERSHELL_HOME}[\\/]+{_FOLDER}{_END}", re.IGNORECASE)
_BELOW_CMD = re.compile(rf"{_START}{_CMD_HOME}[\\/]+{_FOLDER}{_END}", re.IGNORECASE)
_BELOW_POSIX = re.compile(rf"{_START}{_POSIX_HOME}(?P<sign>[\\/]+){_FOLDER}{_END}")
_CALLED = re.compile(
    rf"(?P<wrap>\$\(\s*)?{_CALL}\(\s*(?:(?P<q>['\"]){_NAMED}(?P=q)|{_ENUM}{_NAMED.replace('folder', 'member')})\s*\)"
    r"(?(wrap)\s*\))",
    re.IGNORECASE,
)
_BARE = _FOLDER.replace("folder", "bare")
_JOINED = re.compile(
    rf"(?P<wrap>\$\(\s*)?\bJoin-Path\s+(?:-Path\s+)?(?P<h>[\"']?)(?:{_POWERSHELL_HOME}|\$HOME\b|~)(?P=h)"
    rf"(?:\s+-ChildPath\s+|\s*,\s*|\s+)(?:(?P<q>['\"]){_FOLDER}(?P<rest>[\\/][^'\"$`]*)?(?P=q)"
    rf"|{_BARE}(?P<more>[\\/][^'\"\s|;)$`]*)?)(?![\w.\-'\"\\/])(?(wrap)\s*\))",
    re.IGNORECASE,
)
_INNER = re.compile(
    r"\b(?:(?:ba|z|da|k)?sh|pwsh|powershell)(?:\.exe)?\b[^'\"]*\s-(?:\w*c|command)\s+\Z|\bcmd(?:\.exe)?\s+/[ck]\s+\Z",
    re.IGNORECASE,
)
_LONGEST_LEAD = 200
"""Characters before a quote in which it stands what the quoted is for."""
_CMDLET = re.compile(r"\$env:|\b[A-Z][a-z]+-[A-Z][A-Za-z]+\b|::")
_REST_OF_WORD = re.compile(r"[^\s;|&<>(){},'\"`$]*")
_AS_IT_IS = {
    Shell.POSIX: re.compile(r"[\w@%+=:,./\-]+"),
    Shell.POWERSHELL: re.compile(r"[\w+=:./\\\-]+"),
    Shell.CMD: re.compile(r"[\w+:./\\\-]+"),
}
"""Paths that need no quotes."""


@dataclass(frozen=True)
class Probe:
    """One of them: ``folder`` is what it stands for, ``rest`` what it names below that; ``start`` and ``end`` say where
    it stands. ``expression``: it is a value of its own, and no part of a word; ``wrapped``: in ``$(…)``."""

    folder: str
    start: int
    end: int
    shell: Shell
    expression: bool = False
    wrapped: bool = False
    tilde: bool = False
    rest: str = ""


def shell_of(name: str, command: str) -> Shell:
    """The shell that a command is written for, by the name of its tool and by its own words."""
    if re.search(r"powershell|pwsh", f"{name} {command}", re.IGNORECASE) or _CMDLET.search(command):
        return Shell.POWERSHELL
    words = re.split(r"[\W_]+", name.casefold())
    return Shell.CMD if "cmd" in words or re.search(_CMD_HOME, command, re.IGNORECASE) else Shell.POSIX


def probes_in(command: str, shell: Shell) -> list[Probe]:
    """All of them, none inside another, in their order."""
    found = [
        _expression(hit, hit["folder"] or hit["bare"], hit["rest"] or hit["more"] or "")
        for hit in _JOINED.finditer(command)
    ]
    found += [_expression(hit, hit["folder"] or hit["member"]) for hit in _CALLED.finditer(command)]
    for pattern, words in ((_BELOW_POWERSHELL, Shell.POWERSHELL), (_BELOW_CMD, Shell.CMD)):
        found += [Probe(_name(hit["folder"]), *hit.span(), words) for hit in pattern.finditer(command)]
    found += [
        Probe(_name(hit["folder"]), *hit.span(), shell, tilde=hit[0].startswith("~"))
        for hit in _BELOW_POSIX.finditer(command)
        if "\\" not in hit["sign"] or shell is not Shell.POSIX
    ]
    found.sort(key=lambda probe: (probe.start, -probe.end))
    ends = 0
    apart: list[Probe] = []
    for probe in found:
        if probe.start >= ends:
            apart.append(probe)
            ends = probe.end
    return apart


def replaced(command: str, probes: list[Probe], paths: Mapping[str, str]) -> tuple[str, list[str]]:
    """The command with these paths in place of the probes for their folders, and the folders that this was done for."""
    parts: list[str] = []
    done: list[str] = []
    at = 0
    for probe, quotes, opened in _in_quotes(command, probes):
        path = paths.get(probe.folder)
        written = _written(command, probe, quotes, opened, path) if path and probe.start >= at else None
        if written is None:
            continue
        text, end = written
        parts += [command[at : probe.start], text]
        at = end
        done.append(probe.folder)
    return "".join([*parts, command[at:]]), list(dict.fromkeys(done))


def _expression(hit: re.Match[str], folder: str, rest: str = "") -> Probe:
    wrapped = bool(hit["wrap"])
    return Probe(_name(folder), *hit.span(), Shell.POWERSHELL, expression=True, wrapped=wrapped, rest=rest)


def _name(folder: str) -> str:
    return _SPECIAL.get(folder.casefold(), folder.capitalize())


def _in_quotes(command: str, probes: list[Probe]) -> Iterator[tuple[Probe, Quotes, int]]:
    """Each probe with the quotes that it stands in, and where these were opened."""
    quote, opened, at = "", -1, 0
    for probe in probes:
        escape = "`" if probe.shell is Shell.POWERSHELL else "\\" if probe.shell is Shell.POSIX else ""
        while at < probe.start:
            char = command[at]
            if char == escape and quote != "'":
                at += 1
            elif char == quote:
                quote = ""
            elif not quote and char in ("\"'" if probe.shell is not Shell.CMD else '"'):
                quote, opened = char, at
            at += 1
        at = max(at, probe.end)
        kind: Quotes = "double" if quote == '"' else "single" if quote else "none"
        if quote and _INNER.search(command, max(0, opened - _LONGEST_LEAD), opened):
            kind = "inner double" if quote == '"' else "inner single"
        yield probe, kind, opened


def _written(command: str, probe: Probe, quotes: Quotes, opened: int, path: str) -> tuple[str, int] | None:
    """What stands for this probe, and up to where; None where it has to stay."""
    if probe.expression:
        text = _literal(path + probe.rest, probe, quotes)
        return None if text is None else (text, probe.end)
    before = command[max(0, probe.start - 1) : probe.start]
    begins = command[probe.start]
    if (quotes == "none" and before in ("'", '"')) or (quotes != "none" and begins == '"'):
        return None  # it goes on a quoted text, and is no path by itself
    if _goes_on(command, probe, quotes):
        return None
    plain = bool(_AS_IT_IS[probe.shell].fullmatch(path))
    if quotes == "double" or (quotes == "single" and probe.shell is not Shell.POSIX):
        return _inside(probe, quotes, path, first=probe.start == opened + 1, plain=plain)
    if quotes == "single":
        return None
    if plain:
        return path, probe.end
    if probe.shell is Shell.POSIX:  # what follows stays as it is: there may be patterns in it
        return _quoted(path, quotes), probe.end
    return _whole_word(command, probe, quotes, path)


def _goes_on(command: str, probe: Probe, quotes: Quotes) -> bool:
    """Whether the folder's name does, behind a quote: `"$HOME/Desktop"-old`, `~/Desktop" old"`."""
    quote, after = command[probe.end : probe.end + 1], command[probe.end + 1 : probe.end + 2]
    if quote not in ("'", '"'):
        return False
    if quotes == "none":
        return bool(after) and after not in "/\\"
    return quotes in ("double", "single") and bool(re.match(r"[^\s/\\;|&<>()]", after))


def _inside(probe: Probe, quotes: Quotes, path: str, *, first: bool, plain: bool) -> tuple[str, int] | None:
    """Within quotes that the probe does not end. A tilde means something only where such a text begins."""
    if probe.tilde and not first:
        return None
    if quotes == "single":
        means = probe.tilde or (probe.shell is Shell.CMD and plain)
        return (path, probe.end) if means and "'" not in path else None
    return path.replace("\\", "\\\\") if probe.shell is Shell.POSIX else path, probe.end


def _quoted(path: str, quotes: Quotes) -> str:
    """In quotes of its own, for a POSIX shell. Its letters mean nothing to one, but for a quote and a backslash."""
    quoted = path.replace("'", "'\\''")
    return f'"{quoted}"' if quotes == "inner single" else f"'{quoted}'"


def _whole_word(command: str, probe: Probe, quotes: Quotes, path: str) -> tuple[str, int] | None:
    """In quotes of its own, with what follows: elsewhere than in a POSIX shell quotes end a word."""
    rest = _REST_OF_WORD.match(command, probe.end)
    assert rest is not None
    stops = command[rest.end() : rest.end() + 1]
    closes = {"inner double": '"', "inner single": "'"}.get(quotes, "")
    if stops and stops in "'\"`$" and stops != closes:
        return None
    whole = path + rest[0]
    if quotes == "none":
        doubled = whole.replace("'", "''")
        return (f'"{whole}"' if probe.shell is Shell.CMD else f"'{doubled}'"), rest.end()
    if "'" in whole or probe.shell is Shell.CMD:
        return None
    return (f"'{whole}'" if quotes == "inner double" else f'"{whole}"'), rest.end()


def _literal(path: str, probe: Probe, quotes: Quotes) -> str | None:
    """A path as a value of PowerShell."""
    if quotes == "none":
        doubled = path.replace("'", "''")
        return f"'{doubled}'"
    if quotes == "double":
        return path if probe.wrapped else None
    if "'" in path or quotes == "single":
        return None
    return f"'{path}'" if quotes == "inner double" else f'"{path}"'
