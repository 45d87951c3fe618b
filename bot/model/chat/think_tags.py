"""Thoughts between tags before an answer: what a server hands on that knows nothing of its model's reasoning. Pure.

DeepSeek's R1, Qwen3 and their kin write ``<think>…</think>`` and then the answer; a server that does not take the two
apart sends both as content. https://docs.vllm.ai/en/latest/features/reasoning_outputs/
"""

from __future__ import annotations

from enum import Enum, auto

_OPENS, _CLOSES = "<think>", "</think>"


class _At(Enum):
    BEGINNING = auto()
    THOUGHTS = auto()
    GAP = auto()
    """Between the thoughts and the answer."""
    ANSWER = auto()


class ThinkTags:
    """Takes apart what comes in pieces of any length. Tags count at the very beginning alone: further on they are what
    an answer says of such tags. ``thought``: all that was thought so far."""

    def __init__(self) -> None:
        self.thought = ""
        self._held = ""
        """What may be the beginning of a tag."""
        self._at = _At.BEGINNING

    def take(self, words: str) -> str:
        """The next piece; what of it, and of what was held back, belongs to the answer."""
        if self._at is _At.ANSWER:
            return words
        self._held += words
        if self._at is _At.BEGINNING:
            begun = self._held.lstrip()
            if _OPENS.startswith(begun[: len(_OPENS)]) and len(begun) < len(_OPENS):
                return ""
            if not begun.startswith(_OPENS):
                return self._answer(self._held)
            self._held, self._at = begun.removeprefix(_OPENS), _At.THOUGHTS
        if self._at is _At.THOUGHTS:
            thought, tag, self._held = self._held.partition(_CLOSES)
            kept = "" if tag else thought[len(thought) - _begun(thought) :]
            self.thought += thought.removesuffix(kept)
            if not tag:
                self._held = kept
                return ""
            self._at = _At.GAP
        self._held = self._held.lstrip()
        return self._answer(self._held) if self._held else ""

    def end(self, *, is_cut: bool) -> str:
        """Nothing follows: what of that which was held back belongs to the answer. Thoughts that were never closed were
        none, unless the answer was cut in them (``is_cut``)."""
        held, self._held = self._held, ""
        if self._at is _At.THOUGHTS:
            thought, self.thought = self.thought + held, ""
            if is_cut:
                self.thought = thought
                return ""
            held = _OPENS + thought
        self._at = _At.ANSWER
        return held

    def _answer(self, words: str) -> str:
        self._held, self._at = "", _At.ANSWER
        return words


def _begun(text: str) -> int:
    """How many characters at the end may begin the closing tag."""
    return next((size for size in range(len(_CLOSES) - 1, 0, -1) if text.endswith(_CLOSES[:size])), 0)
