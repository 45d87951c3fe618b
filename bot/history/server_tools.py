"""Tools that the provider runs itself: web search and web fetch, as blocks within a reply. Pure.

A ``server_tool_use`` and its result (``web_search_tool_result``, ``web_fetch_tool_result``) stand in one reply and go
back as they came, since parts of them are encrypted. A reply that stops with ``pause_turn`` may end in a call that
is still open; it is sent back as it is, and the provider goes on.
https://platform.claude.com/docs/en/agents-and-tools/tool-use/server-tools
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal

from bot.estimate.cuts import beginning
from bot.messages import Block, Message, as_quoted, in_brackets, text_block

PAUSED = "pause_turn"
CALL = "server_tool_use"
GO_ON = "(Go on.)"

Web = Literal["off", "search", "fetch", "both"]

_CALLERS = ["direct"]
"""Not from the provider's code execution, which keeps a container between requests."""
_SEARCH: Mapping[str, Any] = {
    "type": "web_search_20260318",
    "name": "web_search",
    "max_uses": 8,
    "allowed_callers": _CALLERS,
}
_FETCH: Mapping[str, Any] = {
    "type": "web_fetch_20260318",
    "name": "web_fetch",
    "max_uses": 8,
    "max_content_tokens": 20_000,
    "citations": {"enabled": True},
    "allowed_callers": _CALLERS,
}
_OFFERED: Mapping[Web, tuple[Mapping[str, Any], ...]] = {
    "off": (),
    "search": (_SEARCH,),
    "fetch": (_FETCH,),
    "both": (_SEARCH, _FETCH),
}
_MOST_PAGE_CHARACTERS = 20_000


def definitions(web: Web) -> tuple[Mapping[str, Any], ...]:
    """As the Messages API takes them, in the newest versions that the SDK knows."""
    return _OFFERED[web]


def is_server_tool(tool: Mapping[str, Any]) -> bool:
    """Whether the provider runs it."""
    return str(tool.get("type", "custom")) != "custom"


def is_result(block: Block) -> bool:
    """Whether a block is what such a tool came to."""
    kind = str(block.get("type"))
    return kind.endswith("_tool_result") and kind != "mcp_tool_result"


def uses_server_tools(blocks: Iterable[Block]) -> bool:
    """Whether such a tool was called in this content."""
    return any(block.get("type") == CALL or is_result(block) for block in blocks)


def open_calls(content: Sequence[Block]) -> list[Block]:
    """Calls in a reply that have no result in it."""
    answered = {block["tool_use_id"] for block in content if is_result(block)}
    return [block for block in content if block.get("type") == CALL and block["id"] not in answered]


def paired(messages: list[Message]) -> None:
    """Make text of calls and results that do not stand as they have to. ``messages`` alternate; they are changed.

    A result follows its call in one message; where the same reply called tools of ours, it may stand in the reply to
    their results. What is still open at the end of a request stays open: the provider goes on with it.
    """
    waiting: set[str] = set()
    for index, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        content = _blocks(message)
        if not waiting and not uses_server_tools(content):
            continue
        known, kept = waiting, list[Block]()
        may_wait = _may_wait(messages, index)
        waiting = set()
        later = {block["id"] for block in open_calls(content)}
        for block in content:
            if block.get("type") == CALL:
                if block["id"] in later and not may_wait:
                    kept.append(text_block(told(block)))
                    continue
                (waiting if block["id"] in later else known).add(block["id"])
            elif is_result(block):
                if block["tool_use_id"] not in known:
                    kept.append(text_block(told(block)))
                    continue
                known.discard(block["tool_use_id"])
            kept.append(block)
        message["content"] = kept
    _close_what_nobody_answers(messages)


def _may_wait(messages: Sequence[Message], index: int) -> bool:
    """Whether a call of this reply may be open: nothing but the results of our own tools follows it."""
    if index == len(messages) - 1:
        return True
    follow = _blocks(messages[index + 1])
    return bool(follow) and all(block.get("type") == "tool_result" for block in follow)


def _close_what_nobody_answers(messages: list[Message]) -> None:
    """A call that waited for the next reply and is not answered there becomes text."""
    replies = [index for index, message in enumerate(messages) if message["role"] == "assistant"]
    for index, following in pairwise(replies):
        answered = {block["tool_use_id"] for block in _blocks(messages[following]) if is_result(block)}
        lost = {block["id"] for block in open_calls(_blocks(messages[index]))} - answered
        if lost:
            messages[index]["content"] = [
                text_block(told(block)) if block.get("type") == CALL and block["id"] in lost else block
                for block in _blocks(messages[index])
            ]


def as_texts(messages: Sequence[Message]) -> list[Message]:
    """For a provider that is not offered these tools now: what they did as text, without citations."""
    if not any(_is_foreign(block) for message in messages for block in _blocks(message)):
        return list(messages)
    return [Message(role=m["role"], content=[_plain(block) for block in _blocks(m)]) for m in messages]


def continued(messages: Sequence[Message]) -> list[Message]:
    """A page that ends in a reply which nothing is open in ends with a word of ours: many models take no other."""
    page = list(messages)
    if page and page[-1]["role"] == "assistant" and not uses_server_tools(_blocks(page[-1])):
        page.append(Message(role="user", content=[text_block(GO_ON)]))
    return page


def told(block: Block) -> str:
    """A call or a result in words. It stands in a reply: of what a page says, each line is quoted."""
    if block.get("type") == CALL:
        given = block.get("input")
        what = ", ".join(map(str, given.values())) if isinstance(given, Mapping) else ""
        return f"[{block.get('name')}: {what}]"
    content = block.get("content")
    if isinstance(content, list):
        items = (item for item in content if isinstance(item, Mapping))
        found = [f"- {in_brackets(str(item.get('title')))}: {in_brackets(str(item.get('url')))}" for item in items]
        return "\n".join(["[Found in the web]", *found])
    content = content if isinstance(content, Mapping) else {}
    if content.get("error_code"):
        return f"[The web was not reached: {content['error_code']}]"
    page = as_quoted(beginning(_page_text(content), _MOST_PAGE_CHARACTERS))
    return f"[Read in the web: {in_brackets(str(content.get('url')))}]\n{page}".rstrip()


def citations_of(block: Block) -> Sequence[Mapping[str, Any]]:
    """Where a text says that it has something from."""
    citations = block.get("citations") if block.get("type") == "text" else None
    return [one for one in citations if isinstance(one, Mapping)] if isinstance(citations, list) else []


def _page_text(content: Mapping[str, Any]) -> str:
    document = content.get("content")
    source = document.get("source") if isinstance(document, Mapping) else None
    return str(source.get("data") or "") if isinstance(source, Mapping) and source.get("type") == "text" else ""


def _is_foreign(block: Block) -> bool:
    return block.get("type") == CALL or is_result(block) or bool(citations_of(block))


def _plain(block: Block) -> Block:
    if block.get("type") == CALL or is_result(block):
        return text_block(told(block))
    return text_block(block["text"]) if citations_of(block) else block


def _blocks(message: Message) -> list[Block]:
    content = message["content"]
    return [text_block(content)] if isinstance(content, str) else content
