"""What others recorded, in the form that this bench reads. Pure: the text of files in, conversations out.

A conversation with tools is ``{"messages": […]}`` in the form of the Messages API. One without has questions beside it:
``{"question", "answer", "evidence"}``, where the evidence are numbers of messages.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from itertools import groupby
from typing import Any

Json = dict[str, Any]
Files = Mapping[str, str]
"""Texts by path."""

_SAID_THERE = re.compile(r"\[\d\d:\d\d\] <([^>]+)> (.+)")
"""What somebody said in a log of IRC; who came and went is none."""
_ANNOTATED = 1000
_FEWEST_WORDS = 5
"""Of what counts as an answer."""


class Recording:
    """Messages in the order in which they came; neighbours of one role become one message."""

    def __init__(self) -> None:
        self.messages: list[Json] = []
        self._count = 0

    def said(self, role: str, text: str) -> int:
        """A text; gives the number of its message. Nothing where there is no text."""
        if text.strip():
            self._add(role, {"type": "text", "text": text.strip()})
        return max(0, len(self.messages) - 1)

    def called(self, name: str, given: object, result: str) -> None:
        """A call and what it returned."""
        self.calls([(name, given)], [result])

    def calls(self, wanted: Sequence[tuple[str, object]], results: Sequence[str]) -> None:
        """Calls of one message, and what they returned."""
        returned = []
        for (name, given), result in zip(wanted, results, strict=False):
            self._count += 1
            call_id = f"call_{self._count}"
            self._add("assistant", {"type": "tool_use", "id": call_id, "name": name, "input": given})
            returned.append({"type": "tool_result", "tool_use_id": call_id, "content": result})
        for block in returned:
            self._add("user", block)

    def _add(self, role: str, block: Json) -> None:
        if self.messages and self.messages[-1]["role"] == role:
            self.messages[-1]["content"].append(block)
        else:
            self.messages.append({"role": role, "content": [block]})


def chat_completions(messages: Iterable[Mapping[str, Any]]) -> Json:
    """Messages with ``tool_calls`` and messages of the role ``tool``, as most recordings have them."""
    made = Recording()
    wanted: list[tuple[str, object]] = []
    results: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            results.append(_text(message.get("content")))
            continue
        if wanted:
            made.calls(wanted, results or ["(no result)"])
        wanted, results = [], []
        if message["role"] in ("user", "assistant"):
            made.said(message["role"], _text(message.get("content")).replace("###STOP###", ""))
            wanted = [_called(call) for call in message.get("tool_calls") or ()]
    if wanted and results:
        made.calls(wanted, results)
    return {"messages": made.messages}


def tau_recorded(files: Files) -> Iterator[Json]:
    """Trajectories of tau-bench."""
    for text in files.values():
        for recorded in json.loads(text):
            yield chat_completions(recorded["traj"])


def tau2_recorded(files: Files) -> Iterator[Json]:
    """Simulations of tau2-bench."""
    for text in files.values():
        for recorded in json.loads(text).get("simulations", ()):
            yield chat_completions(recorded["messages"])


def tau_retail(files: Files) -> Iterator[Json]:
    """The retail tasks of tau-bench, replayed on its data: the person's instruction, what has to be looked up first
    (the user, the orders, the products that are asked about), the person's yes, and the actions of the solution.
    """
    named = {path.rsplit("/", 1)[-1]: text for path, text in files.items()}
    shop = {name: json.loads(named[f"{name}.json"]) for name in ("orders", "products", "users")}
    for task in _tasks(named["tasks_test.py"]):
        yield _Retail(shop, task).played()


class _Retail:
    def __init__(self, shop: Mapping[str, Json], task: Json) -> None:
        self._shop = shop
        self._task = task
        self._made = Recording()

    def played(self) -> Json:
        """The conversation."""
        self._made.said("user", self._task["instruction"])
        writes = [(name, given) for name, given in self._task["actions"] if not name.startswith(("find_", "get_"))]
        for name, given in [*self._reads(writes)]:
            self._made.called(name, given, self._result(name, given))
        self._made.said("assistant", "I have found it all. Shall I go ahead?")
        self._made.said("user", "Yes, please.")
        for name, given in writes:
            self._made.called(name, given, self._result(name, given))
        self._made.said("assistant", "That is done. Is there anything else?")
        return {"messages": self._made.messages}

    def _reads(self, writes: Sequence[tuple[str, Json]]) -> Iterator[tuple[str, Json]]:
        solution = [action for action in self._task["actions"] if action[0].startswith(("find_", "get_"))]
        user = {"user_id": self._task["user_id"]}
        orders = dict.fromkeys(given["order_id"] for _, given in writes if "order_id" in given)
        products = dict.fromkeys(
            item["product_id"]
            for _, given in writes
            if given.get("new_item_ids")
            for item in self._shop["orders"].get(given["order_id"], {"items": ()})["items"]
            if item["item_id"] in given.get("item_ids", ())
        )
        wanted = [
            *solution,
            ("get_user_details", user),
            *(("get_order_details", {"order_id": order}) for order in orders),
            *(("get_product_details", {"product_id": product}) for product in products),
        ]
        yield from {json.dumps(action): action for action in wanted}.values()

    def _result(self, name: str, given: Json) -> str:
        found: Any
        match name:
            case "get_user_details":
                found = self._shop["users"].get(given["user_id"])
            case "get_product_details":
                found = self._shop["products"].get(given["product_id"])
            case "list_all_product_types":
                found = {product["name"]: number for number, product in self._shop["products"].items()}
            case _ if name.startswith("find_"):
                return str(self._task["user_id"])
            case _ if given.get("order_id"):
                found = deepcopy(self._shop["orders"].get(given["order_id"]))
                if found and not name.startswith("get_"):
                    found["status"] = name.split("_", 1)[0] + " requested"
            case _:
                found = self._shop["users"].get(given.get("user_id", ""))
        return json.dumps(found) if found is not None else "Error: not found"


def schema_guided(files: Files) -> Iterator[Json]:
    """Dialogues of the Schema-Guided Dialogue dataset, with the calls of services and what these returned."""
    for text in files.values():
        for dialogue in json.loads(text):
            made = Recording()
            for turn in dialogue["turns"]:
                for frame in turn["frames"]:
                    if call := frame.get("service_call"):
                        made.called(call["method"], call["parameters"], json.dumps(frame.get("service_results", [])))
                made.said("user" if turn["speaker"] == "USER" else "assistant", turn["utterance"])
            yield {"messages": made.messages}


def tool_talk(files: Files) -> Iterator[Json]:
    """Conversations of ToolTalk; the calls of a turn come before its answer."""
    for text in files.values():
        made = Recording()
        for turn in json.loads(text)["conversation"]:
            for call in turn.get("apis", ()):
                wanted = call["request"]
                made.called(wanted["api_name"], wanted["parameters"], json.dumps(call["response"] or call["exception"]))
            made.said(turn["role"], turn["text"])
        yield {"messages": made.messages}


def api_bank(files: Files) -> Iterator[Json]:
    """Dialogues of API-Bank, one line a turn."""
    for text in files.values():
        made = Recording()
        for turn in map(json.loads, text.splitlines()):
            if turn["role"] == "API":
                returned = turn["result"]["output"] or turn["result"]["exception"]
                made.called(turn["api_name"], turn["param_dict"], json.dumps(returned))
            else:
                made.said("user" if turn["role"] == "User" else "assistant", turn["text"])
        yield {"messages": made.messages}


def swe_agent(files: Files) -> Iterator[Json]:
    """Demonstrations of SWE-agent: with tool calls, or with commands and what they printed as the answer."""
    for text in files.values():
        history = [item for item in json.loads(text)["history"] if item["role"] != "system" and not item.get("is_demo")]
        if any(item.get("tool_calls") for item in history):
            yield chat_completions(history)
        else:
            yield _commands(history)


def realtalk(files: Files) -> Iterator[Json]:
    """Chats of two people over weeks, the one as the user and the other as the assistant."""
    for text in files.values():
        chat = json.loads(text)
        if "conversation" in chat:
            questions, chat = chat["qa"], chat["conversation"]
            first = chat["speaker_a"]
        else:
            questions, first = chat["qa"], chat["name"]["speaker_1"]
        made, places = Recording(), dict[str, int]()
        for session in _sessions(chat):
            for turn in session:
                words = turn.get("clean_text") or turn.get("text") or ""
                role = "user" if turn["speaker"].casefold() == first.casefold() else "assistant"
                places[turn["dia_id"]] = made.said(role, words)
        yield {"messages": made.messages, "questions": [*_asked(questions, places)]}


def beam(files: Files) -> Iterator[Json]:
    """Chats of BEAM, with the questions whose answers stand somewhere."""
    for path, text in files.items():
        if not path.endswith("chat.json"):
            continue
        made, places = Recording(), dict[str, int]()
        for turn in _turns(json.loads(text)):
            places[str(turn["id"])] = made.said(turn["role"], turn["content"].split("->->")[0])
        probing = json.loads(files[path.replace("chat.json", "probing_questions/probing_questions.json")])
        kinds = ("information_extraction", "knowledge_update", "temporal_reasoning", "multi_session_reasoning")
        asked = [
            {**question, "evidence": [str(at) for at in _leaves(question.get("source_chat_ids"))], "category": kind}
            for kind in kinds
            for question in probing.get(kind, ())
        ]
        yield {"messages": made.messages, "questions": [*_asked(asked, places)]}


def irc(files: Files) -> Iterator[Json]:
    """Logs of a channel where strangers help each other: who says most is the assistant, all others are the user, by
    name. Only the annotated part, from line 1,000 on; a question is a line with a question mark, its answer what
    another person replied to it, as the annotators linked them.
    """
    for path, text in files.items():
        if not path.endswith(".raw.txt"):
            continue
        lines = [_SAID_THERE.match(line) for line in text.splitlines()]
        said = {at: (found[1], found[2]) for at, found in enumerate(lines) if found and at >= _ANNOTATED}
        helper = Counter(name for name, _ in said.values()).most_common(1)[0][0]
        made, places = Recording(), dict[str, int]()
        for at, (name, words) in said.items():
            role = "assistant" if name == helper else "user"
            places[str(at)] = made.said(role, words if name == helper else f"{name}: {words}")
        links = [map(int, line.split()[:2]) for line in files[path.replace(".raw.", ".annotation.")].splitlines()]
        asked = [
            {"question": said[one][1], "answer": said[other][1], "evidence": [str(other)]}
            for one, other in map(sorted, links)
            if one in said and other in said and said[one][0] != said[other][0]
            if "?" in said[one][1] and len(said[other][1].split()) >= _FEWEST_WORDS
        ]
        yield {"messages": made.messages, "questions": [*_asked(asked, places)]}


def memory_bank(files: Files) -> Iterator[Json]:
    """Diaries of talks with a companion."""
    for text in files.values():
        for person in json.loads(text).values():
            made = Recording()
            for day in person["history"].values():
                for turn in day:
                    made.said("user", turn["query"])
                    made.said("assistant", turn["response"])
            yield {"messages": made.messages, "questions": []}


def paragraphs(files: Files) -> Iterator[Json]:
    """Paragraphs in the form of SQuAD and the questions about them; JSQuAD has the title before each."""
    for text in files.values():
        for article in json.loads(text)["data"]:
            for paragraph in article["paragraphs"]:
                context = paragraph["context"].split(" [SEP] ", 1)[-1]
                yield {"text": context, "questions": [each["question"] for each in paragraph["qas"]]}


def _text(content: object) -> str:
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return "" if content is None else str(content)


def _called(call: Mapping[str, Any]) -> tuple[str, object]:
    inner = call.get("function", call)
    given = inner.get("arguments", {})
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except ValueError:
            given = {"text": given}
    return str(inner["name"]), given if isinstance(given, dict) else {"value": given}


def _commands(history: Sequence[Mapping[str, Any]]) -> Json:
    made, waiting = Recording(), ""
    for item in history:
        text = _text(item["content"])
        if item["role"] == "assistant":
            made.said("assistant", _text(item.get("thought")) or text)
            waiting = _text(item.get("action"))
        elif waiting:
            made.called("command", {"command": waiting.strip()}, text)
            waiting = ""
        else:
            made.said("user", text)
    return {"messages": made.messages}


def _tasks(source: str) -> Iterator[Json]:
    """``Task(user_id=…, instruction=…, actions=[Action(name=…, kwargs={…}), …])`` out of Python source, not run."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Task":
            fields = {keyword.arg: keyword.value for keyword in node.keywords}
            actions = [
                {keyword.arg: ast.literal_eval(keyword.value) for keyword in action.keywords}
                for action in getattr(fields["actions"], "elts", ())
            ]
            yield {
                "user_id": ast.literal_eval(fields["user_id"]),
                "instruction": ast.literal_eval(fields["instruction"]),
                "actions": [(action["name"], action["kwargs"]) for action in actions],
            }


def _sessions(chat: Json) -> Iterator[list[Json]]:
    number = 1
    while f"session_{number}" in chat:
        yield chat[f"session_{number}"]
        number += 1


def _turns(value: object) -> Iterator[Json]:
    """The turns of a chat of BEAM, however deep they lie."""
    if isinstance(value, dict) and "role" in value and "content" in value:
        yield value
    elif isinstance(value, dict):
        yield from (turn for inner in value.values() for turn in _turns(inner))
    elif isinstance(value, list):
        yield from (turn for inner in value for turn in _turns(inner))


def _leaves(value: object) -> Iterator[object]:
    if isinstance(value, dict):
        yield from (leaf for inner in value.values() for leaf in _leaves(inner))
    elif isinstance(value, list):
        yield from (leaf for inner in value for leaf in _leaves(inner))
    elif value is not None:
        yield value


def _asked(questions: Iterable[Json], places: Mapping[str, int]) -> Iterator[Json]:
    for question in questions:
        evidence = [places[str(at).strip()] for at in question.get("evidence") or () if str(at).strip() in places]
        if evidence and question.get("answer") is not None and question.get("category") != 5:
            yield {
                "question": question["question"],
                "answer": str(question["answer"]),
                "evidence": [number for number, _ in groupby(sorted(evidence))],
                "kind": str(question.get("category", "")),
            }
