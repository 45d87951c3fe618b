"""Other people's ways to fit a conversation into a limit, where their libraries are installed."""

from __future__ import annotations

import asyncio
import json
import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bot.compaction.manual.manual import Embed
from bot.estimate import BLOCK_TOKENS, MESSAGE_TOKENS, Family, estimate_tokens, text_tokens
from bot.messages import Block, Message, Role, text_block, text_of
from tests.bench.yardstick.contenders import Contender
from tests.bench.yardstick.reading import blocks_of

_KEPT_TOOL_GROUPS = 3


def libraries() -> list[Contender]:
    """Those that are installed."""
    found = []
    if find_spec("langchain_core"):
        found.append(Contender("langchain trim_messages", _langchain))
    if find_spec("agent_framework"):
        found.append(Contender("agent-framework budget", _agent_framework))
    return found


def embedder() -> Embed | None:
    """Static embeddings from the wheel of wordllama, as the program uses them; None where it is not installed.

    No text is embedded twice: a conversation comes once for each limit.
    """
    if not find_spec("wordllama"):
        return None
    import wordllama

    loaded = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)

    made: dict[str, list[float]] = {}

    def embed(texts: Sequence[str]) -> Sequence[Sequence[float]]:
        new = [text for text in dict.fromkeys(texts) if text not in made]
        if new:
            made.update(zip(new, loaded.embed(new, norm=True).tolist(), strict=True))
        return [made[text] for text in texts]

    return embed


def _langchain(messages: list[Message], limit: int) -> list[Message]:
    """``trim_messages`` as its documentation has it: the last messages, beginning with one of a person."""
    from langchain_core.messages import trim_messages

    pieces = list(_pieces(messages))
    given = [_langchain_message(str(index), *piece) for index, piece in enumerate(pieces)]
    sizes = [estimate_tokens([Message(role=role, content=blocks)]) for role, blocks in pieces]
    kept = trim_messages(
        given,
        max_tokens=limit,
        strategy="last",
        start_on="human",
        token_counter=lambda some: sum(sizes[int(item.id)] for item in some),
    )
    return _merged([pieces[int(item.id)] for item in kept])


def _langchain_message(name: str, role: Role, blocks: list[Block]) -> Any:
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

    if role == "assistant":
        calls = [
            {"name": block["name"], "args": dict(block["input"]), "id": block["id"], "type": "tool_call"}
            for block in blocks
            if block["type"] == "tool_use"
        ]
        return AIMessage(content=text_of(blocks), tool_calls=calls, id=name)
    if blocks[0]["type"] == "tool_result":
        return ToolMessage(content=text_of(blocks[0]["content"]), tool_call_id=blocks[0]["tool_use_id"], id=name)
    return HumanMessage(content=text_of(blocks), id=name)


class _Tokenizer:
    """The library hands over the JSON of each of its messages; counted is what a provider would be sent of it."""

    def count_tokens(self, text: str) -> int:
        contents: list[dict[str, Any]] = json.loads(text)["contents"]
        said = [f"{part.get('name', '')} {_said(part)}" for part in contents]
        framing = MESSAGE_TOKENS + BLOCK_TOKENS * sum(part["type"] != "text" for part in contents)
        total: float = framing + sum(text_tokens(part, family=Family.NEWER) for part in said)
        return math.ceil(total)


def _said(part: Mapping[str, Any]) -> str:
    return str(part.get("text") or part.get("arguments") or part.get("result") or "")


def _agent_framework(messages: list[Message], limit: int) -> list[Message]:
    """A token budget: old tool groups become a line each, then the oldest groups go."""
    from agent_framework import _compaction as compaction

    logging.getLogger("agent_framework").setLevel(logging.WARNING)
    tokenizer = _Tokenizer()
    strategy = compaction.TokenBudgetComposedStrategy(
        token_budget=limit,
        tokenizer=tokenizer,
        strategies=[compaction.ToolResultCompactionStrategy(keep_last_tool_call_groups=_KEPT_TOOL_GROUPS)],
    )
    given = [_agent_message(*piece) for piece in _pieces(messages)]
    kept = asyncio.run(compaction.apply_compaction(given, strategy=strategy, tokenizer=tokenizer))
    return _merged([_from_agent(message) for message in kept])


def _agent_message(role: Role, blocks: list[Block]) -> Any:
    from agent_framework import Content
    from agent_framework import Message as AgentMessage

    contents = []
    for block in blocks:
        match block["type"]:
            case "text":
                contents.append(Content.from_text(block["text"]))
            case "tool_use":
                contents.append(
                    Content.from_function_call(block["id"], block["name"], arguments=json.dumps(block["input"]))
                )
            case "tool_result":
                contents.append(Content.from_function_result(block["tool_use_id"], result=text_of(block["content"])))
    is_result = blocks[0]["type"] == "tool_result"
    return AgentMessage("tool" if is_result else role, contents)


def _from_agent(message: Any) -> tuple[Role, list[Block]]:
    blocks: list[Block] = []
    for content in message.contents:
        match content.type:
            case "text":
                blocks.append(text_block(content.text))
            case "function_call":
                given = json.loads(content.arguments)
                blocks.append({"type": "tool_use", "id": content.call_id, "name": content.name, "input": given})
            case "function_result":
                blocks.append({"type": "tool_result", "tool_use_id": content.call_id, "content": str(content.result)})
    return ("assistant" if message.role == "assistant" else "user"), blocks


def _pieces(messages: Sequence[Message]) -> Iterator[tuple[Role, list[Block]]]:
    """Messages with each tool result by itself, as both libraries want them."""
    for message in messages:
        results = [block for block in blocks_of(message) if block["type"] == "tool_result"]
        others = [block for block in blocks_of(message) if block["type"] != "tool_result"]
        yield from ((message["role"], [block]) for block in results)
        if others:
            yield message["role"], others


def _merged(pieces: Sequence[tuple[Role, list[Block]]]) -> list[Message]:
    """As the libraries' own adapters send them: neighbours of one role in one message, nothing mended."""
    merged: list[Message] = []
    for role, blocks in pieces:
        if merged and merged[-1]["role"] == role:
            merged[-1] = Message(role=role, content=[*blocks_of(merged[-1]), *blocks])
        else:
            merged.append(Message(role=role, content=blocks))
    return merged
