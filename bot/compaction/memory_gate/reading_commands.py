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
from itertools import pairwise

from bot.compaction.memory_gate.folder_probes import Shell

PLACE = "\ue000"
"""Stands in a command for a path that is yet to be put there."""

_READING = """
ls ll la dir vdir stat du df wc cat zcat head tail more realpath readlink echo printf pwd cd pushd popd
true false : read type where which whereis cut nl tac rev column comm diff cmp cksum md5sum
sha1sum sha224sum sha256sum sha384sum sha512sum b2sum shasum basename dirname strings hexdump od seq fold paste join
expand exa eza lsd for done fi sleep fc comp
get-childitem gci get-item gi test-path get-content gc resolve-path rvpa set-location sl push-location pop-location
join-path split-path write-output write-host select-object select sort-object measure-object measure
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
_SEARCHING = frozenset({"grep", "egrep", "fgrep", "zgrep", "rg", "findstr", "select-string", "sls"})
"""Programs that look for a text, which comes before the places that they look in."""
_SEARCH_VALUES = re.compile(r"-[A-Za-z]*[ABCmdD]|-[gtT]|--(?:(?:after-|before-)?context|max-count|glob|type)")
_FIND_PATTERNS = ("-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex", "-name", "-iname", "-lname")
_XARGS_VALUES = frozenset({"-n", "-I", "-d", "-L", "-P", "-s", "-E"})
_XARGS_FLAG = re.compile(r"-[0rtx]+|--null|--no-run-if-empty|--verbose|-[nLPs]\d+|-[Id]\S+")
_ENDS_A_STEP = frozenset({"|", "||", "&&", "&", ";", ";;", "\n", "(", ")", "|&"})
_INTO = frozenset({">", ">>", ">&", "&>", ">|", "&>>"})
_NOWHERE = re.compile(r"/dev/(?:null|stdout|stderr)|nul|\$null", re.IGNORECASE)
_ANOTHER_STREAM = re.compile(r"\d|-")
_ASSIGNED = re.compile(r"[A-Za-z_]\w*=")
_STEERING = re.compile(
    r"(?:HOME|USERPROFILE|PATH|IFS|ENV|BASH_ENV|SHELL|SHELLOPTS|BASHOPTS|PROMPT_COMMAND|PS4|PAGER|CDPATH|NODE_OPTIONS"
    r"|(?:GIT|LD|DYLD|LESS|PYTHON|PERL|RUBY)\w*)(?:=.*)?",
    re.DOTALL,
)
"""Variables that choose what a program runs, or which home it is; as words, they may be given another value."""
_CONTINUED = re.compile(r"\\(\n|.)", re.DOTALL)
_QUOTE_IN_QUOTES = re.compile(r"\$'(?:[^'\\]|\\[^'])*\\'")
"""`$'it\\'s'`: other quotes than those that words are told apart by here."""
_SED_PRINTS = re.compile(r"(?:(?:\d+|\$)(?:,(?:\d+|\$))?[pqd];?\s*)+")
_AWK_DOES = re.compile(r"[>|]|\bsystem\b|\bgetline\b|@")
_WINDOWS_WORDS = re.compile(
    r"\"[^\"]*\"|'[^']*'|\|\||&&|[|;&\n()]|[0-9*]?>{1,2}(?:&\d)?|(?:[^\s\"'|;&()>]|\"[^\"]*\"|'[^']*')+"
)
_CMD_WORDS = re.compile(r"\"[^\"]*\"|\|\||&&|[|;&\n()]|[0-9*]?>{1,2}(?:&\d)?|(?:[^\s\"|;&()>]|\"[^\"]*\")+")
"""To Windows' cmd a single quote is a letter."""
_WINDOWS_DOES = re.compile(
    r"[`{}]|\.(?:Delete|Move|Copy|Create|Write|Append|Set|Replace)\w*\(|<|\^|\\['\"]|[‘’‚‛“”„]"
    r"|(?:^|[;|(=\n]|&&)\s*&(?!&)",
    re.IGNORECASE,
)
"""More than words say: blocks, methods, what a variable names is called, quotes that not every shell takes for some."""
_VARIABLE = re.compile(r"\$\w+=?")
_DEEPEST = 3


def only_reads(command: str, shell: Shell, deep: int = 0) -> bool:
    """Whether each step of it reads and does nothing else. ``command``: with :data:`PLACE` where paths are to stand."""
    if deep > _DEEPEST or "\r" in command.replace("\r\n", "" if shell is not Shell.POSIX else "\r"):
        return False
    if shell is not Shell.POSIX and _WINDOWS_DOES.search(command):
        return False
    try:
        words = _posix_words(command) if shell is Shell.POSIX else _windows_words(command, shell)
        if "\n" in command and any(word.startswith("#") for word in words):
            return False  # a remark may hold a quote that closes nowhere
        steps = list(_steps(words))
    except ValueError:  # a quote that nobody closes; something that says more than words
        return False
    return all(_reads(step, shell, deep) for step in steps)


def _posix_words(command: str) -> list[str]:
    """Raises ValueError."""
    if _QUOTE_IN_QUOTES.search(command):
        raise ValueError("its quotes are not those of words")
    command = _CONTINUED.sub(lambda hit: "" if hit[1] == "\n" else hit[0], command)
    lexer = shlex.shlex(command, posix=True, punctuation_chars="();<>|&\n")
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    return list(lexer)


def _windows_words(command: str, shell: Shell) -> list[str]:
    pattern, quotes = (_CMD_WORDS, '"') if shell is Shell.CMD else (_WINDOWS_WORDS, "\"'")
    return [word if word[:1] not in quotes else word[1:-1] for word in pattern.findall(command)]


def _steps(words: Sequence[str]) -> Iterator[list[str]]:
    """The commands of a line. Raises ValueError where something is written, or more is done than words can say."""
    step: list[str] = []
    waiting = iter(words)
    for word in waiting:
        if word in _ENDS_A_STEP or (word and not word.strip(";&|()\n") and "((" not in word):
            if word.startswith("(") and _is_to_be_called(step):
                raise ValueError("what it calls is yet to be seen")
            yield [one.removesuffix("$") if len(one) > 1 else one for one in step]
            step = []
        elif word.lstrip("0123456789*") in _INTO:
            into = next(waiting, "")
            if not (_NOWHERE.fullmatch(into) or (word.endswith("&") and _ANOTHER_STREAM.fullmatch(into))):
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
            step.append(word)
    yield step


def _is_to_be_called(step: Sequence[str]) -> bool:
    """Whether `$(…)` stands where the name of a program does."""
    before = [word for word in step if word not in _LEADING]
    while before and _ASSIGNED.match(before[0]) and not before[0].endswith("$"):
        before = before[1:]
    return len(before) == 1 and before[0].endswith("$") and not _ASSIGNED.match(before[0])


def _reads(words: list[str], shell: Shell, deep: int) -> bool:
    if any(map(_STEERING.fullmatch, words)):
        return False
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
    if program == "xargs":  # whose arguments are yet to be seen
        return _without_options(arguments)[0] in _PLAIN | _SEARCHING
    rule = _RULES.get(program)
    return rule(arguments) if rule else program in _PLAIN


def _is_a_value(words: list[str]) -> bool:
    """In PowerShell the place alone is a text; with a name behind it, it would be run, unless a variable gets it."""
    rest = _unassigned(words)
    return bool(rest) and (rest == [PLACE] or (rest != words and rest[0].startswith(PLACE) and len(rest) == 1))


def _unassigned(words: list[str]) -> list[str]:
    """Without the variable that gets a value; a variable alone is one."""
    if not words or not _VARIABLE.fullmatch(words[0]):
        return words
    if words[1:2] == ["="]:
        return words[2:]
    return words[1:] if words[0].endswith("=") or len(words) == 1 else words


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
    """The command that `xargs` is given. None that reads where it is told something that is not known."""
    at = 0
    while at < len(arguments) and arguments[at].startswith("-"):
        if arguments[at] not in _XARGS_VALUES and not _XARGS_FLAG.fullmatch(arguments[at]):
            return [""]
        at += 2 if arguments[at] in _XARGS_VALUES else 1
    return list(arguments[at:]) or ["echo"]


def _git(arguments: Sequence[str]) -> bool:
    at = 0
    while at < len(arguments) and arguments[at] in ("-C", "--no-pager", "-P"):
        at += 2 if arguments[at] == "-C" else 1
    rest = arguments[at:]
    if not rest or not _takes_no_place(rest):  # it may be what is searched for
        return False
    if rest[0] == "branch":
        return _GIT_BRANCHES.issuperset(rest[1:])
    if rest[0] in _GIT_LISTS:
        return list(rest[1:]) in _GIT_LISTS[rest[0]]
    return rest[0] in _GIT_READS and _GIT_WRITES_NOTHING(rest[1:])


def _has_none(*options: str) -> Callable[[Sequence[str]], bool]:
    """A rule: none of the arguments begins with one of these."""
    return lambda arguments: not any(word.startswith(options) for word in arguments)


_GIT_WRITES_NOTHING = _has_none("--ou", "--ext", "--text", "-O", "--open")


def _has_no_letter(letters: str, *options: str) -> Callable[[Sequence[str]], bool]:
    """A rule: the same, and none of these letters among others behind one dash (`-uo FILE`)."""
    short = re.compile(rf"-[A-Za-z0-9]*[{letters}]")
    return lambda arguments: not any(short.match(word) or word.startswith(options) for word in arguments)


def _searches(arguments: Sequence[str]) -> bool:
    """What is searched for is a text, and no place: `grep -rn "~/Desktop" .`"""
    if any(word.startswith(("--pre", "--hostname-bin")) for word in arguments):
        return False
    at = 0
    while at < len(arguments) and arguments[at].startswith("-"):
        if PLACE in arguments[at]:
            return False
        at += 2 if _SEARCH_VALUES.fullmatch(arguments[at]) else 1
    expressions = [after for word, after in pairwise(arguments) if word in ("-e", "--regexp")]
    return not any(PLACE in word for word in (*arguments[at : at + 1], *expressions))


def _tests(arguments: Sequence[str]) -> bool:
    """Two texts are compared as they are."""
    return _takes_no_place(arguments) or not {"=", "==", "!=", "=~"}.intersection(arguments)


def _finds(arguments: Sequence[str]) -> bool:
    """The same for what a path is to look like."""
    patterns = (after for word, after in pairwise(arguments) if word.startswith(_FIND_PATTERNS))
    return _takes_no_place(list(patterns)) and not any(
        word.startswith(("-delete", "-exec", "-ok", "-fprint", "-fls")) for word in arguments
    )


def _takes_no_place(arguments: Sequence[str]) -> bool:
    return not any(PLACE in word for word in arguments)


def _sed(arguments: Sequence[str]) -> bool:
    words = [word for word in arguments if word not in ("-n", "-E", "-r", "-s", "-u")]
    return bool(words) and not any(word.startswith("-") for word in words) and bool(_SED_PRINTS.fullmatch(words[0]))


def _awk(arguments: Sequence[str]) -> bool:
    at = 0
    while at < len(arguments) and arguments[at].startswith("-F"):
        at += 2 if arguments[at] == "-F" else 1
    rest = arguments[at:]
    return bool(rest) and not rest[0].startswith("-") and PLACE not in rest[0] and not _AWK_DOES.search(rest[0])


def _at_most_one_file(arguments: Sequence[str]) -> bool:
    """A second one would be written."""
    return "--" not in arguments and sum(word == "-" or not word.startswith("-") for word in arguments) <= 1


_RULES: Mapping[str, Callable[[Sequence[str]], bool]] = {
    "git": _git,
    "sed": _sed,
    "awk": _awk,
    "gawk": _awk,
    "mawk": _awk,
    "uniq": _at_most_one_file,
    "xxd": lambda arguments: _at_most_one_file(arguments) and _has_none("-r")(arguments),
    "find": _finds,
    "fd": _has_no_letter("xX", "--exec"),
    "sort": _has_no_letter("oT", "--o", "/o", "/O", "--co", "--te", "/t", "/T"),
    "tree": _has_no_letter("oR", "--output"),
    "file": _has_no_letter("C", "--com"),
    "less": _has_no_letter("oO", "--log", "--LOG", "+"),
    "jq": lambda arguments: not any(PLACE in word for word in arguments[:1]),
    "tr": _takes_no_place,
    "test": _tests,
    "[": _tests,
    "[[": _tests,
    "date": lambda arguments: all(re.match(r"\+|-u\Z|-[IR]", word) for word in arguments),
    **dict.fromkeys(_SEARCHING, _searches),
}
"""Programs that read unless they are told otherwise."""
