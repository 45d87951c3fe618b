"""Conversations made up by a seed: tool-using talk, and planted in it what somebody relies on later."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

from bot.messages import Block, Message, text_block
from tests.bench.yardstick.planted import Plant, PlantKind
from tests.bench.yardstick.tool_output import ToolOutput, record, some_output
from tests.bench.yardstick.wordings import Language, SetName, Wordings, filled

_MOST_TRIES = 50
_FIRST_REVISION = 6
_PASTES = 0.25
"""The share of turns in which the person pastes something."""


@dataclass(frozen=True)
class Made:
    """A generated conversation and what was planted in it."""

    language: Language
    wordings: SetName
    messages: list[Message]
    plants: tuple[Plant, ...]


@dataclass(frozen=True)
class _Moment:
    """A turn in which something is planted: what the person says; what a tool returns; how the model answers."""

    said: str
    returned: ToolOutput | None = None
    answer: str = ""


@dataclass(frozen=True)
class _Planned:
    """Something planted, the turn that says it first, and the one that changes it, if any."""

    plant: Plant
    first: _Moment
    later: _Moment | None = None


def generated(seed: int, language: Language, wordings: SetName, *, turns: int = 60) -> Made:
    """A conversation of so many turns. The same arguments give the same conversation; ``ValueError``: too few turns.

    Everything is planted in the first half; what is updated or cancelled, that happens before the last quarter.
    """
    writer = _Writer(Random(f"{seed} {language} {wordings}"), language, Wordings.of(language, wordings))
    planned = writer.planned()
    half, most = turns // 2, turns * 3 // 4
    moments: dict[int, _Moment] = {}
    for item in planned:
        first = writer.free(range(half), moments)
        moments[first] = item.first
        if item.later:
            moments[writer.free(range(first + 1, most), moments)] = item.later
    for turn in range(turns):
        writer.turn(moments.get(turn))
    return Made(language, wordings, writer.messages, tuple(item.plant for item in planned))


@dataclass
class _Writer:
    dice: Random
    language: Language
    words: Wordings
    messages: list[Message] = field(default_factory=list)
    _values: list[str] = field(default_factory=list)
    _calls: int = 0

    def planned(self) -> list[_Planned]:
        """Facts that stay and facts that change, said and returned; rules, decisions and cancelled tasks.

        Chinese and Russian have fewer labels and rules, so fewer are planted.
        """
        labels = self.dice.sample(self.words.labels, len(self.words.labels))
        makers: list[Callable[[str, str], _Planned]] = [
            self._said,
            self._returned,
            self._said_anew,
            self._returned_anew,
        ]
        facts = [makers[index % len(makers)](label, kind) for index, (label, kind) in enumerate(labels)]
        rules = [self._stated(PlantKind.RULE, text) for text in self._some(self.words.rules, 4)]
        decisions = [self._stated(PlantKind.DECISION, text) for text in self._some(self.words.decisions, 3)]
        tasks = [self._cancelled(text) for text in self.words.tasks]
        # What changes later needs room after it, so it is placed first.
        return sorted([*facts, *rules, *decisions, *tasks], key=lambda item: item.later is None)

    def free(self, turns: range, taken: dict[int, _Moment]) -> int:
        """A turn in which nothing is planted yet."""
        left = [turn for turn in turns if turn not in taken]
        if not left:
            raise ValueError("too few turns for all that is planted")
        return self.dice.choice(left)

    def turn(self, moment: _Moment | None) -> None:
        """One turn: a request, usually tool calls with thoughts between them, an answer."""
        thing = self.dice.choice(self.words.things)
        small = self._pick(self.words.small_talk, thing=thing)
        texts = [small] if moment is None else [moment.said]
        if moment and not moment.returned and self.dice.random() < 0.5:
            texts = [small, moment.said] if self.dice.random() < 0.5 else [moment.said, small]
        pasted = self._quoted(some_output(thing, self.dice)) if self.dice.random() < _PASTES else ""
        self._say("user", " ".join(texts) + pasted)
        quoted = ""
        if moment and moment.returned:
            self._use([moment.returned], "")
        elif small in texts:
            for _ in range(self.dice.randint(1, 2)):
                outputs = [some_output(thing, self.dice) for _ in range(self.dice.choice((1, 1, 1, 2)))]
                self._use(outputs, self.dice.choice(("", self._pick(self.words.thinking, thing=thing))))
                quoted = self._quoted(outputs[0])
        answers = [moment.answer] if moment else []
        answers += [self._pick(self.words.answers, thing=thing)] if small in texts else []
        self._say("assistant", " ".join(answers) + quoted)

    def _quoted(self, output: ToolOutput) -> str:
        """Some lines of what a tool returned, as people paste them and models list them."""
        some = self.dice.sample(output.lines, min(len(output.lines), self.dice.randint(3, 9)))
        return "\n" + "\n".join(f"- {line}" for line in some)

    def _said(self, label: str, kind: str) -> _Planned:
        value = self._new(kind)
        sentence = self._pick(self.words.says, label=label, value=value)
        return _Planned(Plant(PlantKind.FACT, value, sentence), self._noted(sentence))

    def _said_anew(self, label: str, kind: str) -> _Planned:
        old, new = self._new(kind), self._new(kind)
        first = self._pick(self.words.says, label=label, value=old)
        later = self._pick(self.words.updates, label=label, value=new)
        return _Planned(Plant(PlantKind.FACT, new, later, old), self._noted(first), self._noted(later))

    def _returned(self, label: str, kind: str) -> _Planned:
        moment, sentence, value = self._looked_up(label, kind, self.words.asks, self.words.reports)
        return _Planned(Plant(PlantKind.FACT, value, sentence), moment)

    def _returned_anew(self, label: str, kind: str) -> _Planned:
        first, _, old = self._looked_up(label, kind, self.words.asks, self.words.reports)
        later, sentence, new = self._looked_up(label, kind, self.words.asks_again, self.words.reports_again, again=True)
        return _Planned(Plant(PlantKind.FACT, new, sentence, old), first, later)

    def _stated(self, kind: PlantKind, template: str) -> _Planned:
        sentence, value = self._fill(template)
        return _Planned(Plant(kind, value, sentence), self._noted(sentence))

    def _cancelled(self, template: str) -> _Planned:
        wanted, value = self._fill(template)
        cancel = self._pick(self.words.cancels, slot=value)
        return _Planned(Plant(PlantKind.TASK, value, cancel), self._noted(wanted), self._noted(cancel))

    def _looked_up(
        self, label: str, kind: str, asks: Sequence[str], reports: Sequence[str], *, again: bool = False
    ) -> tuple[_Moment, str, str]:
        """A record that is looked up; ``again``: the same one, with its next revision."""
        value = self._new(kind)
        report = self._pick(reports, label=label, value=value)
        revision = _FIRST_REVISION + 1 if again else _FIRST_REVISION
        moment = _Moment(self._pick(asks, label=label), record(label, value, revision, self.dice), report)
        return moment, report, value

    def _noted(self, sentence: str) -> _Moment:
        return _Moment(sentence, answer=self.dice.choice(self.words.notes))

    def _new(self, kind: str) -> str:
        return self._fill(f"{{{kind}}}")[1]

    def _fill(self, template: str) -> tuple[str, str]:
        """A sentence with a value that no other shares a part with."""
        for _ in range(_MOST_TRIES):
            sentence, value = filled(template, self.language, self.dice)
            if not any(value in other or other in value for other in self._values):
                self._values.append(value)
                return sentence, value
        raise ValueError(f"no new value for: {template}")

    def _some(self, templates: Sequence[str], count: int) -> list[str]:
        return self.dice.sample(templates, min(count, len(templates)))

    def _pick(self, templates: Sequence[str], **slots: str) -> str:
        return self.dice.choice(templates).format(**slots)

    def _say(self, role: str, text: str) -> None:
        self.messages.append(Message(role="user" if role == "user" else "assistant", content=[text_block(text)]))

    def _use(self, outputs: Sequence[ToolOutput], thought: str) -> None:
        calls: list[Block] = []
        results: list[Block] = []
        for output in outputs:
            self._calls += 1
            call_id = f"call_{self._calls}"
            calls.append({"type": "tool_use", "id": call_id, "name": output.name, "input": output.given})
            results.append({"type": "tool_result", "tool_use_id": call_id, "content": output.returned})
        said = [text_block(thought)] if thought else []
        self.messages.append(Message(role="assistant", content=[*said, *calls]))
        self.messages.append(Message(role="user", content=results))
