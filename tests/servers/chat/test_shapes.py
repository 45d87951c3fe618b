"""Every shape of a stream says the same."""

import json
from typing import Any

import httpx2
import pytest

from tests.servers.asking import user
from tests.servers.chat.shapes import SHAPES
from tests.servers.messages.server import MessagesServer, Reply, ToolCall

TEXT = "I look at äll of it."
CALLS = [ToolCall("look", {"at": "the mät"}), ToolCall("see"), ToolCall("look", {"at": 2})]


async def lines_of(server: MessagesServer) -> list[str]:
    """The lines of a stream, as they come over the wire."""
    server.brain = lambda _: Reply(TEXT, CALLS)
    body = {"model": "m", "messages": [user("hi")], "stream": True, "stream_options": {"include_usage": True}}
    async with httpx2.AsyncClient(base_url=server.chat_url, headers={"authorization": "Bearer test-key"}) as http:
        answer = await http.post("/chat/completions", json=body)
    assert answer.status_code == 200
    return [line for line in answer.text.splitlines() if line]


def events(lines: list[str]) -> list[Any]:
    data = [line.removeprefix("data:").strip() for line in lines if line.startswith("data:")]
    return [json.loads(one) for one in data if one != "[DONE]"]


def deltas(chunks: list[Any]) -> list[Any]:
    return [chunk["choices"][0]["delta"] for chunk in chunks if chunk["choices"]]


@pytest.mark.parametrize("name", SHAPES)
async def test_every_shape_has_the_whole_answer(server: MessagesServer, name: str) -> None:
    server.shape = SHAPES[name]
    chunks = events(await lines_of(server))
    said = deltas(chunks)
    assert "".join(delta.get("content") or "" for delta in said) == TEXT
    pieces = [piece for delta in said for piece in delta.get("tool_calls") or ()]
    named = [p["function"]["name"] for p in pieces if p["function"].get("name") and "id" in p]
    assert list(dict.fromkeys(named)) == ["look", "see"]
    arguments = "".join(p["function"]["arguments"] for p in pieces)
    assert len(arguments) == len('{"at": "the mät"}{}{"at": 2}') - (2 if name == "no_arguments_empty" else 0)
    assert bool([c for c in chunks if c.get("usage")]) == (name != "no_usage")
    ended = [c["choices"][0]["finish_reason"] for c in chunks if c["choices"] and c["choices"][0]["finish_reason"]]
    assert len(ended) == {"no_finish": 0, "finish_twice": 2}.get(name, 1)


async def test_pieces_of_calls_are_interleaved(server: MessagesServer) -> None:
    server.shape = SHAPES["interleaved"]
    pieces = [
        piece["index"] for delta in deltas(events(await lines_of(server))) for piece in delta.get("tool_calls", ())
    ]
    assert pieces[:6] == [0, 1, 2, 0, 1, 2]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("index_zero", [0, 0, 0]), ("no_index", [None, None, None]), ("whole_calls", [0, 1, 2])],
)
async def test_indices_are_as_bad_as_in_the_wild(server: MessagesServer, name: str, expected: list[int | None]) -> None:
    server.shape = SHAPES[name]
    said = deltas(events(await lines_of(server)))
    assert [piece.get("index") for delta in said for piece in delta.get("tool_calls", ())] == expected


async def test_ids_may_be_missing_or_of_no_use(server: MessagesServer) -> None:
    for name, expected in (("empty_ids", ["", "", ""]), ("ids_are_names", ["look", "see", "look"])):
        server.shape = SHAPES[name]
        said = deltas(events(await lines_of(server)))
        assert [piece["id"] for delta in said for piece in delta.get("tool_calls", ())] == expected


async def test_comments_stand_between_the_chunks(server: MessagesServer) -> None:
    server.shape = SHAPES["comments"]
    assert (await lines_of(server)).count(": keep-alive") > 10


async def test_a_stream_may_end_without_saying_so(server: MessagesServer) -> None:
    server.shape = SHAPES["no_done"]
    assert "data: [DONE]" not in await lines_of(server)
    server.shape = None
    assert (await lines_of(server))[-1] == "data: [DONE]"


async def test_azure_begins_with_a_chunk_without_a_choice(server: MessagesServer) -> None:
    server.shape = SHAPES["azure"]
    first, second, *_ = events(await lines_of(server))
    assert (first["choices"], second["choices"][0]["delta"]["role"]) == ([], "assistant")
