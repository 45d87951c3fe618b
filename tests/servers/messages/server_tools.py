"""Web search and web fetch, which the server itself runs: their blocks, and what the Messages API refuses about them.

https://platform.claude.com/docs/en/agents-and-tools/tool-use/server-tools
Wordings are those of error messages quoted in public issue trackers.
"""

import base64
import binascii
import re
import zlib
from collections.abc import Iterator, Sequence

from tests.servers.messages.wire import Json, Refused, unsealed

VERSIONS = {
    "web_search": ("web_search_20250305", "web_search_20260209", "web_search_20260318"),
    "web_fetch": ("web_fetch_20250910", "web_fetch_20260209", "web_fetch_20260309", "web_fetch_20260318"),
}
RESULT_OF = {"web_search": "web_search_tool_result", "web_fetch": "web_fetch_tool_result"}
FIELDS: dict[str, frozenset[str]] = {
    "server_tool_use": frozenset({"id", "name", "input", "caller"}),
    "web_search_tool_result": frozenset({"tool_use_id", "content", "caller"}),
    "web_fetch_tool_result": frozenset({"tool_use_id", "content", "caller"}),
}
_ID = re.compile(r"^srvtoolu_[a-zA-Z0-9_]+$")


def sealed(text: str) -> str:
    """A text as only this server reads it, and as it knows whether somebody changed it."""
    data = text.encode()
    return base64.b64encode(zlib.crc32(data).to_bytes(4, "big") + data).decode()


def call(name: str, number: int, **arguments: str) -> Json:
    """A call of one of the server's own tools."""
    caller = {"type": "direct"}
    return {"type": "server_tool_use", "id": f"srvtoolu_{number}", "name": name, "input": arguments, "caller": caller}


def found(number: int, *pages: tuple[str, str, str]) -> Json:
    """What a search found: title, URL and text of each page."""
    results = [
        {"type": "web_search_result", "title": title, "url": url, "encrypted_content": sealed(text), "page_age": None}
        for title, url, text in pages
    ]
    return {"type": "web_search_tool_result", "tool_use_id": f"srvtoolu_{number}", "content": results}


def fetched(number: int, url: str, text: str) -> Json:
    """What a page says."""
    document = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": text}, "title": None}
    content = {"type": "web_fetch_result", "url": url, "content": document, "retrieved_at": "2026-11-21T12:00:00Z"}
    return {"type": "web_fetch_tool_result", "tool_use_id": f"srvtoolu_{number}", "content": content}


def cited(text: str, title: str | None, url: str, quoted: str) -> Json:
    """A text that names where it has something from."""
    citation = {
        "type": "web_search_result_location",
        "url": url,
        "title": title,
        "encrypted_index": sealed(url),
        "cited_text": quoted,
    }
    return {"type": "text", "text": text, "citations": [citation]}


def check_server_tools(body: Json, messages: Sequence[Json]) -> None:
    """Raise `Refused` for wrong definitions and for calls that are not followed by their results.

    `messages` alternate in role, and their contents are blocks.
    """
    offered = {tool["name"] for tool in _definitions(body)}
    for index, message in enumerate(messages):
        for number, block in enumerate(message["content"]):
            at = f"messages.{index}.content.{number}"
            if block["type"] in FIELDS:
                if message["role"] != "assistant":
                    raise Refused(f"{at}: `{block['type']}` blocks can only be in `assistant` messages")
                if not offered:
                    raise Refused(f"{at}: Requests which include `{block['type']}` blocks must define the tool")
            _check_block(at, block)
        if message["role"] == "assistant":
            _check_pairs(index, messages)


def _definitions(body: Json) -> Iterator[Json]:
    for index, tool in enumerate(body.get("tools") or []):
        if tool.get("type", "custom") == "custom":
            continue
        if tool["type"] not in VERSIONS.get(str(tool.get("name")), ()):
            raise Refused(f"tools.{index}: Input tag '{tool['type']}' found using 'type' does not match")
        yield tool


def _check_block(at: str, block: Json) -> None:
    if block["type"] == "server_tool_use" and not _ID.match(str(block.get("id"))):
        raise Refused(f"{at}.server_tool_use.id: String should match pattern '{_ID.pattern}'")
    if block["type"] == "web_search_tool_result" and isinstance(block["content"], list):
        for number, result in enumerate(block["content"]):
            if not {"type", "title", "url", "encrypted_content"} <= result.keys():
                raise Refused(f"{at}.web_search_tool_result.content.{number}: Field required")
            _check_sealed(f"{at}: Invalid `encrypted_content` in `search_result` block", result["encrypted_content"])
    for citation in block.get("citations") or () if block["type"] == "text" else ():
        if not {"type", "title", "url", "encrypted_index", "cited_text"} <= citation.keys():
            raise Refused(f"{at}.text.citations: Field required")
        _check_sealed(f"{at}: Invalid `encrypted_index` in citation", citation["encrypted_index"])


def _check_sealed(problem: str, value: str) -> None:
    try:
        unsealed(value)
    except (ValueError, binascii.Error) as error:
        raise Refused(problem) from error


def _check_pairs(index: int, messages: Sequence[Json]) -> None:
    known = _waiting(messages, index - 2)
    before = set(known)
    for number, block in enumerate(messages[index]["content"]):
        if block["type"] == "server_tool_use":
            known[block["id"]] = block["name"]
        if block["type"] in RESULT_OF.values():
            name = known.pop(block.get("tool_use_id"), None)
            if name is None or RESULT_OF[name] != block["type"]:
                raise Refused(
                    f"messages.{index}.content.{number}: unexpected `tool_use_id` found in `{block['type']}` blocks:"
                    f" {block.get('tool_use_id')}. It must have a corresponding `server_tool_use` block before it."
                )
    lost = {call: name for call, name in known.items() if call in before or not _may_wait(messages, index)}
    for call_id, name in lost.items():
        raise Refused(
            f"messages.{index}: `{name}` tool use with id `{call_id}` was found without a corresponding"
            f" `{RESULT_OF[name]}` block"
        )


def _waiting(messages: Sequence[Json], index: int) -> dict[str, str]:
    """Calls of an earlier reply that wait for the results of the client's tools."""
    if index < 0 or not _may_wait(messages, index):
        return {}
    blocks = messages[index]["content"]
    answered = {block["tool_use_id"] for block in blocks if block["type"] in RESULT_OF.values()}
    return {b["id"]: b["name"] for b in blocks if b["type"] == "server_tool_use" and b["id"] not in answered}


def _may_wait(messages: Sequence[Json], index: int) -> bool:
    """A paused reply ends the request; or nothing but results of the client's tools follows."""
    if index == len(messages) - 1:
        return True
    return all(block["type"] == "tool_result" for block in messages[index + 1]["content"])
