"""Whether a command does nothing but read, as far as its words say. Pure.

::

    command ─▶ words and operators (shlex; in PowerShell and cmd by their quotes) ─▶ steps ─▶ each step's program reads

Whatever is not known to read is taken to write: a program that is not listed, an option that names a file for the
answer, a substitution within quotes, a redirection to anything but nothing.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence

from bot.compaction.folder_probes import Shell

PLACE = "\ue000"
"""Stands in a command for a path that is yet to be put there."""

_READING = """
ls ll la dir vdir stat du df wc cat zcat head tail less more test [ [[ realpath readlink echo printf pwd cd pushd popd
true false : read type where which whereis grep egrep fgrep zgrep cut tr nl tac rev column comm diff cmp cksum md5sum
sha1sum sha224sum sha256sum sha384sum sha512sum b2sum shasum basename dirname strings hexdump od jq seq fold paste join
expand exa eza lsd for done fi sleep findstr fc comp
get-childitem gci get-item gi test-path get-content gc resolve-path rvpa set-location sl push-location pop-location
join-path split-path write-output write-host select-object select sort-object measure-object measure select-string sls
format-table ft format-list fl format-wide fw out-string out-host get-filehash get-itemproperty gp
get-itempropertyvalue import-csv convertfrom-json convertfrom-csv convertto-json get-unique get-acl
"""
_PLAIN = frozenset(_READING.split())
"""Programs that read, whatever their arguments are, and words of shells that do nothing by themselves."""
_LEADING = frozenset({"do", "then", "else", "elif", "if", "while", "until", "!", "time", "command", "builtin"})
"""Words before a command, which is then looked at itself."""
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "powershell", "pwsh", "cmd"})
_RUNNERS = re.compile(r"(?:python|pypy)[\d.]*|py|node|ruby|perl|php|rscript")
"""Programs that are given a file to run."""
_RUNNERS_OPTIONS = frozenset({"-u", "-B", "-I", "-s", "-S", "-E", "-O", "-q", "-b", "-w", "--no-warnings"})
_GIT_READING = """
status log diff show ls-files ls-tree grep blame annotate rev-parse rev-list describe shortlog cat-file name-rev
merge-base whatchanged count-objects cherry show-ref diff-tree diff-index check-ignore version
"""
_GIT_READS = frozenset(_GIT_READING.split())
_GIT_LISTS: Mapping[str, Sequence[Sequence[str]]] = {
    "remote": ([], ["-v"]),
    "stash": (["list"],),
    "tag": ([], ["-l"], ["--list"]),
    "worktree": (["list"],),
}
_GIT_BRANCHES = frozenset({"-a", "-r", "-v", "-vv", "--all", "--list", "--show-current"})
_XARGS_VALUES = frozenset({"-n", "-I", "-d", "-L", "-P", "-s", "-E"})
_ENDS_A_STEP = frozenset({"|", "||", "&&", "&", ";", ";;", "\n", "(", ")", "|&"})
_INTO = frozenset({">", ">>", ">&", "&>", ">|", "&>>"})
_NOWHERE = re.compile(r"/dev/(?:null|stdout|stderr)|nul|\$null|\d|-", re.IGNORECASE)
_ASSIGNED = re.compile(r"[A-Za-z_]\w*=")
_SED_PRINTS = re.compile(r"(?:(?:\d+|\$)(?:,(?:\d+|\$))?[pqd];?\s*)+")
_AWK_DOES = re.compile(r"[>|]|\bsystem\b|\bgetline\b|@")
_WINDOWS_WORDS = re.compile(
    r"\"[^\"]*\"|'[^']*'|\|\||&&|[|;&\n()]|[0-9*]?>{1,2}(?:&\d)?|(?:[^\s\"'|;&()>]|\"[^\"]*\"|'[^']*')+"
)
_WINDOWS_DOES = re.compile(r"[`{}]|\.(?:Delete|Move|Copy|Create|Write|Append|Set|Replace)\w*\(|<|\^", re.IGNORECASE)
_VARIABLE = re.compile(r"\$\w+=?")
_DEEPEST = 3


def only_reads(command: str, shell: Shell, deep: int = 0) -> bool:
    """Whether each step of it reads and does nothing else. ``command``: with :data:`PLACE` where paths are to stand."""
    if deep > _DEEPEST:
        return False
    if shell is not Shell.POSIX and _WINDOWS_DOES.search(command):
        return False
    try:
        words = _posix_words(command) if shell is Shell.POSIX else _windows_words(command)
        steps = list(_steps(words))
    except ValueError:  # a quote that nobody closes; something that says more than words
        return False
    return all(_reads(step, shell, deep) for step in steps)


def _posix_words(command: str) -> list[str]:
    """Raises ValueError."""
    lexer = shlex.shlex(command.replace("\\\n", " "), posix=True, punctuation_chars="();<>|&\n")
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    return list(lexer)


def _windows_words(command: str) -> list[str]:
    return [word if word[:1] not in "\"'" else word[1:-1] for word in _WINDOWS_WORDS.findall(command)]


def _steps(words: Sequence[str]) -> Iterator[list[str]]:
    """The commands of a line. Raises ValueError where something is written, or more is done than words can say."""
    step: list[str] = []
    waiting = iter(words)
    for word in waiting:
        if word in _ENDS_A_STEP or (word and not word.strip(";&|()\n") and "((" not in word):
            yield step
            step = []
        elif word.lstrip("0123456789*") in _INTO:
            if not _NOWHERE.fullmatch(next(waiting, "")):
                raise ValueError("it writes a file")
            while step and step[-1].isdigit():
                step.pop()
        elif re.fullmatch(r"[0-9*]?>{1,2}&\d", word):
            continue
        elif word == "<":
            next(waiting, "")
        elif not word.strip("();<>|&\n") or "`" in word or "$(" in word or "<(" in word:
            raise ValueError("it does more than can be seen")
        else:
            step.append(word.removesuffix("$") if word.endswith("$") and len(word) > 1 else word)
    yield step


def _reads(words: list[str], shell: Shell, deep: int) -> bool:
    while words and (words[0] in _LEADING or _ASSIGNED.match(words[0]) or words[0] in ("$", "export")):
        words = words[1:]
    if shell is not Shell.POSIX and _is_a_value(words):
        return True
    words = _unassigned(words) if shell is not Shell.POSIX else words
    if not words:
        return True
    program, arguments = _program(words[0]), words[1:]
    if program in _SHELLS:
        return _is_given_what_reads(program, arguments, deep)
    if _RUNNERS.fullmatch(program):
        return _runs_a_file(arguments)
    if program == "xargs":
        return _reads(_without_options(arguments), shell, deep)
    rule = _RULES.get(program)
    return rule(arguments) if rule else program in _PLAIN


def _is_a_value(words: list[str]) -> bool:
    """In PowerShell the place alone is a text; with a name behind it, it would be run, unless a variable gets it."""
    rest = _unassigned(words)
    return bool(rest) and (rest == [PLACE] or (rest != words and rest[0].startswith(PLACE) and len(rest) == 1))


def _unassigned(words: list[str]) -> list[str]:
    if words and _VARIABLE.fullmatch(words[0]):
        words = words[1:]
        return words[1:] if words[:1] == ["="] else words
    return words


def _program(word: str) -> str:
    """By its name; from elsewhere than where programs are, it may be any."""
    return word.casefold().removesuffix(".exe")


def _is_given_what_reads(program: str, arguments: Sequence[str], deep: int) -> bool:
    """A shell with a command (`bash -lc '…'`, `powershell -NoProfile -Command …`, `cmd /c …`)."""
    posix = program not in ("powershell", "pwsh", "cmd")
    inner = {"cmd": Shell.CMD}.get(program, Shell.POSIX if posix else Shell.POWERSHELL)
    for at, word in enumerate(arguments):
        is_it = re.fullmatch(r"-[a-z]*c" if posix else r"-c(?:ommand)?|/[ck]", word, re.IGNORECASE)
        if is_it:
            rest = arguments[at + 1 :]
            return bool(rest) and only_reads(rest[0] if posix else " ".join(rest), inner, deep + 1)
        if not word.startswith(("-", "/")):
            return False
    return False


def _runs_a_file(arguments: Sequence[str]) -> bool:
    """Only the file that is run stands in the place: what it is given may be where it writes."""
    for at, word in enumerate(arguments):
        if word in _RUNNERS_OPTIONS:
            continue
        return not word.startswith("-") and PLACE in word and not any(PLACE in one for one in arguments[at + 1 :])
    return False


def _without_options(arguments: Sequence[str]) -> list[str]:
    """The command that `xargs` is given. Nothing where it is told something that is not known."""
    at = 0
    while at < len(arguments) and arguments[at].startswith("-"):
        at += 2 if arguments[at] in _XARGS_VALUES else 1
    return list(arguments[at:]) or ["echo"]


def _git(arguments: Sequence[str]) -> bool:
    at = 0
    while at < len(arguments) and arguments[at] in ("-C", "--no-pager", "-P"):
        at += 2 if arguments[at] == "-C" else 1
    rest = arguments[at:]
    if not rest:
        return False
    if rest[0] == "branch":
        return _GIT_BRANCHES.issuperset(rest[1:])
    if rest[0] in _GIT_LISTS:
        return list(rest[1:]) in _GIT_LISTS[rest[0]]
    return rest[0] in _GIT_READS and _GIT_WRITES_NOTHING(rest[1:])


def _has_none(*options: str) -> Callable[[Sequence[str]], bool]:
    """A rule: none of the arguments begins with one of these."""
    return lambda arguments: not any(word.startswith(options) for word in arguments)


_GIT_WRITES_NOTHING = _has_none("--output", "--ext-diff", "--textconv", "-O", "--open-files")


def _sed(arguments: Sequence[str]) -> bool:
    words = [word for word in arguments if word not in ("-n", "-E", "-r", "-s", "-u")]
    return bool(words) and not any(word.startswith("-") for word in words) and bool(_SED_PRINTS.fullmatch(words[0]))


def _awk(arguments: Sequence[str]) -> bool:
    at = 0
    while at < len(arguments) and arguments[at].startswith("-F"):
        at += 2 if arguments[at] == "-F" else 1
    rest = arguments[at:]
    return bool(rest) and not rest[0].startswith("-") and not _AWK_DOES.search(rest[0])


def _at_most_one_file(arguments: Sequence[str]) -> bool:
    """A second one would be written."""
    return sum(not word.startswith("-") for word in arguments) <= 1


_RULES: Mapping[str, Callable[[Sequence[str]], bool]] = {
    "git": _git,
    "sed": _sed,
    "awk": _awk,
    "gawk": _awk,
    "mawk": _awk,
    "uniq": _at_most_one_file,
    "xxd": lambda arguments: _at_most_one_file(arguments) and _has_none("-r")(arguments),
    "find": _has_none("-delete", "-exec", "-ok", "-fprint", "-fls"),
    "fd": _has_none("-x", "-X", "--exec"),
    "rg": _has_none("--pre", "--hostname-bin"),
    "sort": _has_none("-o", "--output", "/o", "/O", "--compress-program"),
    "tree": _has_none("-o", "-R"),
    "file": _has_none("-C", "--compile"),
    "date": lambda arguments: all(word.startswith(("+", "-u", "-I", "-R")) for word in arguments),
}
"""Programs that read unless they are told otherwise."""
