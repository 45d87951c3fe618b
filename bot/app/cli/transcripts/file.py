"""A conversation in a file: a JSON list of messages, an object with `system`, `tools` and `messages`, or JSONL."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from stat import S_IMODE
from tempfile import NamedTemporaryFile
from typing import Any, Literal

from bot.errors import PalimpsestError

Form = Literal["list", "object", "jsonl"]
STANDARD_INPUT = "-"


class TranscriptError(PalimpsestError):
    """A transcript cannot be read or written; the text is one sentence that names the file."""


@dataclass(frozen=True)
class Transcript:
    """What a file held. Messages are not checked: who uses them does that."""

    messages: list[Any]
    form: Form = "list"
    rest: Mapping[str, Any] = field(default_factory=dict)
    """The object's keys beside its messages, in their order."""

    @property
    def system(self) -> str | list[Any] | None:
        """The system prompt: a text or blocks."""
        system: str | list[Any] | None = self.rest.get("system")
        return system

    @property
    def tools(self) -> list[Any]:
        """The tool definitions."""
        return self.rest.get("tools") or []

    @property
    def model(self) -> str | None:
        """The model that the object names, as a request does."""
        model = self.rest.get("model")
        return model if isinstance(model, str) else None

    def written(self, messages: Sequence[Mapping[str, Any]]) -> str:
        """These messages instead, in the same form, with the object's other keys."""
        match self.form:
            case "jsonl":
                return "".join(f"{json_text(message)}\n" for message in messages)
            case "object":
                return json_text({**self.rest, "messages": list(messages)}, indent=2) + "\n"
            case "list":
                return json_text(list(messages), indent=2) + "\n"


def json_text(value: object, *, indent: int | None = None) -> str:
    """JSON that UTF-8 can hold: half of a surrogate pair, which only JSON can say, stays escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, indent=indent)
    return text


def read_text(name: str) -> str:
    """The text of a file, or of standard input for `-`. Raises TranscriptError."""
    what = "Standard input" if name == STANDARD_INPUT else name
    try:
        raw = sys.stdin.buffer.read() if name == STANDARD_INPUT else Path(name).read_bytes()
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TranscriptError(f"{what} is not UTF-8 (byte {error.start + 1}).") from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise TranscriptError(f"{what} cannot be read: {reason}.") from error


def read_transcript(name: str) -> Transcript:
    """The conversation in a file. Raises TranscriptError."""
    return parsed(read_text(name), "Standard input" if name == STANDARD_INPUT else name)


def write_text(name: str, text: str) -> None:
    """The whole text, or the file stays as it was. Raises TranscriptError."""
    path = Path(name)
    try:
        if path.exists() and not path.is_file():  # /dev/stdout, a pipe
            path.write_text(text, encoding="utf-8", newline="\n")
        else:
            _replace(path.resolve(), text)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise TranscriptError(f"{name} cannot be written: {reason}.") from error


def _replace(path: Path, text: str) -> None:
    mode = path.stat().st_mode if path.exists() else None
    with NamedTemporaryFile("w", dir=path.parent, encoding="utf-8", newline="\n", delete=False) as beside:
        written = Path(beside.name)
        try:
            beside.write(text)
            beside.flush()
            written.chmod(S_IMODE(mode) if mode is not None else 0o666 & ~_umask())
            written.replace(path)
        except BaseException:
            written.unlink(missing_ok=True)
            raise


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def parsed(text: str, what: str) -> Transcript:
    """``what`` names the source in errors. Raises TranscriptError."""
    rows = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not rows:
        return Transcript([], "jsonl")
    try:
        value = _loaded(text)
    except ValueError as error:
        if _is_message(rows[0][1]):
            return Transcript(list(_messages_of(rows, what)), "jsonl")
        raise TranscriptError(f"{what} is broken JSON: {_reason(error)}.") from error
    if isinstance(value, list):
        return Transcript(value, "list")
    if isinstance(value, dict) and "messages" in value:
        return _from_object(value, what)
    if isinstance(value, dict) and "role" in value:
        return Transcript([value], "jsonl")
    raise TranscriptError(
        f"{what} is no transcript: that is a JSON list of messages, an object with messages, or a message in each line."
    )


def _from_object(value: dict[str, Any], what: str) -> Transcript:
    messages, system, tools = value["messages"], value.get("system"), value.get("tools")
    if not isinstance(messages, list):
        raise TranscriptError(f"{what} is no transcript: its messages are not a list.")
    if not (system is None or isinstance(system, str) or _are_objects(system)):
        raise TranscriptError(f"{what} is no transcript: its system prompt is neither a text nor a list of blocks.")
    if not (tools is None or _are_objects(tools)):
        raise TranscriptError(f"{what} is no transcript: its tools are not a list of definitions.")
    return Transcript(messages, "object", value)


def _are_objects(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _messages_of(rows: Sequence[tuple[int, str]], what: str) -> Iterator[Any]:
    for number, line in rows:
        try:
            yield _loaded(line)
        except ValueError as error:
            raise TranscriptError(f"{what} is broken JSON in line {number}: {_reason(error, line=False)}.") from error


def _is_message(line: str) -> bool:
    try:
        return isinstance(_loaded(line), dict)
    except ValueError:
        return False


def _loaded(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_no_number)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number in JSON")


def _reason(error: ValueError, *, line: bool = True) -> str:
    if not isinstance(error, json.JSONDecodeError):
        return str(error)
    where = f"line {error.lineno}, column {error.colno}" if line else f"column {error.colno}"
    return f"{error.msg} ({where})"
