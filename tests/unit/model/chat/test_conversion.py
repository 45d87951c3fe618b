"""A page of ours as a request of the second wire: whoever wrote it, its endpoint takes it, and nothing is lost that it
has a place for."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pypdf import PdfWriter

from bot.history import History
from bot.history.server_tools import GO_ON, definitions
from bot.messages import Block, Message, text_block
from bot.model import Head
from bot.model.chat.conversion import BETWEEN, EMPTY, FAILED, ChatRequest, chat_request
from bot.model.foreign import for_messages
from bot.runtime.providers import Quirks, providers
from tests.servers.chat.manners import MANNERS, Manner
from tests.servers.chat.rules import ChatRules
from tests.unit.any_history import PICTURE, TOOLS, assert_valid, histories

HERE = "example.test/v1"
HEAD = Head("m", 100, "Be kind.", tuple(TOOLS))


def pdf() -> str:
    """An empty page, as base64."""
    writer, file = PdfWriter(), io.BytesIO()
    writer.add_blank_page(72, 72)
    writer.write(file)
    return base64.b64encode(file.getvalue()).decode()


PDF: Block = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": pdf()}}
URL = f"data:image/png;base64,{PICTURE['source']['data']}"
SEEN = {"type": "image_url", "image_url": {"url": URL}}
NOT_SEEN = "[image: a file, which this model's server does not take]"


def user(*blocks: Block | str) -> Message:
    return Message(role="user", content=[text_block(it) if isinstance(it, str) else it for it in blocks])


def assistant(*blocks: Block | str) -> Message:
    return Message(role="assistant", content=[text_block(it) if isinstance(it, str) else it for it in blocks])


def call(own: str = "call_1", name: str = "look", **given: Any) -> Block:
    return {"type": "tool_use", "id": own, "name": name, "input": given}


def result(own: str = "call_1", content: Any = "a fox", **more: Any) -> Block:
    return {"type": "tool_result", "tool_use_id": own, "content": content, **more}


def thought(value: Any, **more: Any) -> Block:
    return {"type": "reasoning", "place": HERE, "model": "m", "field": "reasoning_content", "value": value, **more}


def request_of(*messages: Message, quirks: Quirks | None = None, head: Head = HEAD, **more: Any) -> ChatRequest:
    return chat_request(head, messages, quirks or Quirks(), place=HERE, **more)


def sent(*messages: Message, **more: Any) -> list[Any]:
    """The messages behind the system prompt."""
    return list(request_of(*messages, **more).body["messages"][1:])


ASKED = {"role": "user", "content": "hi"}
CALLED = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
CALLS = {"role": "assistant", "content": None, "tool_calls": [CALLED]}
FOUND = {"role": "tool", "tool_call_id": "call_1", "content": "a fox"}


# --- the head ---


def test_the_system_prompt_and_what_stands_behind_it_are_one_message() -> None:
    head = replace(HEAD, standing="Be brief.")
    first = request_of(user("hi"), head=head, quirks=Quirks(system_role="developer")).body["messages"][0]
    assert first == {"role": "developer", "content": "Be kind.\n\nBe brief."}
    assert request_of(user("hi"), head=replace(HEAD, system="")).body["messages"] == [ASKED]


def test_a_providers_own_tools_are_not_offered_to_another() -> None:
    body = request_of(user("hi"), head=replace(HEAD, tools=definitions("both"))).body
    assert "tools" not in body


def test_an_answer_without_tools_is_asked_for_as_the_endpoint_knows_it() -> None:
    body = request_of(user("hi"), may_call=False).body
    assert body["tool_choice"] == "none"
    assert body["tools"]
    without = request_of(user("hi"), may_call=False, quirks=Quirks(tool_choice_none=False)).body
    assert {"tools", "tool_choice"}.isdisjoint(without)


def test_effort_is_named_only_for_models_that_take_no_tools_without() -> None:
    quirks = Quirks(effort_with_tools="none", effort_models="gpt-6")
    told = [
        request_of(user("hi"), quirks=quirks, head=replace(HEAD, model=model, tools=tools)).body.get("reasoning_effort")
        for model, tools in (("gpt-6-sol", HEAD.tools), ("gpt-6-sol", ()), ("gpt-4", HEAD.tools))
    ]
    assert told == ["none", None, None]


@pytest.mark.parametrize("own", ["mcp__" + "x" * 80, "files.read", "7zip", "ünlich", "-x", "a b"])
def test_a_name_that_is_none_there_is_another_and_is_known_again(own: str) -> None:
    tool = {"name": own, "input_schema": {"type": "object"}}
    made = request_of(user("hi"), assistant(call(name=own)), user(result()), head=replace(HEAD, tools=(tool,)))
    name = made.body["tools"][0]["function"]["name"]
    assert made.names == {name: own}
    assert len(name) <= 64
    assert name.isascii()
    assert made.body["messages"][2]["tool_calls"][0]["function"]["name"] == name


def test_names_that_begin_alike_stay_apart() -> None:
    tools = tuple({"name": "x" * 70 + end, "input_schema": {}} for end in "ab")
    assert len(request_of(user("hi"), head=replace(HEAD, tools=tools)).names) == 2


# --- calls and results ---


def test_a_call_and_its_result_stand_in_their_own_messages() -> None:
    page = user("hi"), assistant("I look.", call(at="a fox")), user(result()), assistant("A fox.")
    assert sent(*page) == [
        ASKED,
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": '{"at": "a fox"}'}}
            ],
        },
        FOUND,
        {"role": "assistant", "content": "A fox."},
        {"role": "user", "content": GO_ON},
    ]


def test_several_results_and_words_of_one_message_stand_one_after_the_other() -> None:
    page = user("hi"), assistant(call("call_1"), call("call_2")), user("and", result("call_2"), "so", result("call_1"))
    assert [it["role"] for it in sent(*page)] == ["user", "assistant", "tool", "tool", "user"]
    assert sent(*page)[-1]["content"] == "and\n\nso"


def test_a_call_without_a_result_and_a_result_without_a_call_are_words() -> None:
    opened = sent(user("hi"), assistant(call()))
    assert [it["role"] for it in opened] == ["user", "assistant", "user"]
    assert "look" in opened[1]["content"]
    lost = sent(user(result()), assistant("Yes."), user("hi"))
    assert [it["role"] for it in lost] == ["user", "assistant", "user"]
    assert "> a fox" in lost[0]["content"]


def test_that_a_tool_failed_is_said_since_there_is_no_place_for_it() -> None:
    failed = sent(user("hi"), assistant(call()), user(result(content="no such file", is_error=True)))[-1]
    assert failed["content"] == f"{FAILED}\n\nno such file"


@pytest.mark.parametrize("content", ["", " \n", [], [text_block(" ")], None])
def test_a_result_of_nothing_says_so(content: Any) -> None:
    assert sent(user("hi"), assistant(call()), user(result(content=content)))[-1]["content"] == EMPTY


@pytest.mark.parametrize(
    ("pattern", "own", "same"),
    [("", "toolu_01AbC", True), ("", "x" * 41, False), ("", "a.b:c", False), ("[a-zA-Z0-9]{9}", "toolu_01AbC", False)],
)
def test_ids_are_those_that_the_endpoint_takes_and_stay_a_pair(pattern: str, own: str, *, same: bool) -> None:
    page = sent(user("hi"), assistant(call(own)), user(result(own)), quirks=Quirks(call_ids=pattern))
    used = page[1]["tool_calls"][0]["id"]
    assert page[2]["tool_call_id"] == used
    assert (used == own) is same


def test_nobody_speaks_right_behind_a_result_where_that_is_refused() -> None:
    page = user("hi"), assistant(call()), user(result(), "go on")
    assert sent(*page, quirks=Quirks(alternates=True))[-2:] == [
        {"role": "assistant", "content": BETWEEN},
        {"role": "user", "content": "go on"},
    ]


# --- pictures and documents ---


def test_a_picture_stands_between_the_words_around_it() -> None:
    assert sent(user("one", "two", PICTURE, "three"))[0]["content"] == [
        text_block("one\n\ntwo"),
        SEEN,
        text_block("three"),
    ]


def test_a_picture_of_a_result_follows_behind_the_results_and_says_whose_it_is() -> None:
    page = (
        user("hi"),
        assistant(call(), call("call_2")),
        user(result(content=[text_block("a fox"), PICTURE]), result("call_2")),
    )
    first, second, behind = sent(*page)[2:]
    assert first["content"] == "a fox\n\n[image: it follows behind the results]"
    assert second["role"] == "tool"
    assert behind == {
        "role": "user",
        "content": [text_block("[The image that is part of the result of look, call call_1]"), SEEN],
    }


def test_a_picture_stays_in_its_result_where_it_may() -> None:
    page = user("hi"), assistant(call()), user(result(content=[text_block("a fox"), PICTURE]))
    assert sent(*page, quirks=Quirks(tool_pictures=True))[-1]["content"] == [text_block("a fox"), SEEN]


def test_what_an_endpoint_cannot_see_is_named() -> None:
    blind = Quirks(images=False)
    assert sent(user("see", PICTURE), quirks=blind)[0]["content"] == f"see\n\n{NOT_SEEN}"
    page = user("hi"), assistant(call()), user(result(content=[PICTURE]))
    assert sent(*page, quirks=blind)[-1]["content"] == NOT_SEEN
    assert "a.pdf, which" in sent(user({**PDF, "title": "a.pdf"}))[0]["content"]


def test_a_document_is_a_file_where_files_are_taken() -> None:
    taken = sent(user("read", {**PDF, "title": "files/a.pdf"}), quirks=Quirks(documents=True))[0]["content"]
    assert taken[1]["file"] == {
        "filename": "files/a.pdf",
        "file_data": f"data:application/pdf;base64,{PDF['source']['data']}",
    }


def test_a_document_that_is_text_is_text() -> None:
    source = {"type": "text", "media_type": "text/plain", "data": "a page"}
    assert sent(user({"type": "document", "source": source, "title": "b"}))[0]["content"] == "[document: b]\na page"


# --- what others wrote ---


def test_what_a_provider_found_itself_is_told_in_words() -> None:
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "foxes"}}
    found = {
        "type": "web_search_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": [{"type": "web_search_result", "title": "Foxes", "url": "https://a.b", "encrypted_content": "x"}],
    }
    cited = {**text_block("Red."), "citations": [{"url": "https://a.b"}], "cache_control": {"type": "ephemeral"}}
    said = sent(user("hi"), assistant(search, found, cited), user("so?"))[1]
    assert said == {
        "role": "assistant",
        "content": "[web_search: foxes]\n\n[Found in the web]\n- Foxes: https://a.b\n\nRed.",
    }


def test_thoughts_of_others_go_and_what_is_left_around_them_is_joined() -> None:
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    foreign = thought("Hm.", place="elsewhere.test")
    other_model = thought("Hm.", model="another")
    keeping = Quirks(reasoning="reasoning_content", reasoning_back="always")
    page = user("hi"), assistant(thinking, foreign, other_model), user("and?"), assistant(thinking, "Yes."), user("so")
    assert sent(*page, quirks=keeping) == [
        {"role": "user", "content": "hi\n\nand?"},
        {"role": "assistant", "content": "Yes."},
        {"role": "user", "content": "so"},
    ]


EARLIER = (user("hi"), assistant(thought("Early."), call("call_0")), user(result("call_0")), assistant("Done."))
OPEN = (*EARLIER, user("again"), assistant(thought("Late."), call("call_9")), user(result("call_9")))


@pytest.mark.parametrize(
    ("back", "expected"),
    [
        ("never", [None, None, None]),
        ("with_calls", [None, None, "Late."]),
        ("calls_always", ["Early.", None, "Late."]),
        ("always", ["Early.", None, "Late."]),
    ],
)
def test_own_thoughts_go_back_as_far_as_they_are_wanted(back: str, expected: list[str | None]) -> None:
    quirks = Quirks(reasoning="reasoning_content", reasoning_back=back)
    answers = [it for it in sent(*OPEN, quirks=quirks) if it["role"] == "assistant"]
    assert [it.get("reasoning_content") for it in answers] == expected


def test_where_thoughts_have_to_be_something_stands_for_those_of_others() -> None:
    quirks = Quirks(reasoning="reasoning_content", reasoning_back="calls_always", reasoning_stand_in=" ")
    elsewhere = (user("hi"), assistant(call()), user(result()), assistant("Done."), user("so"))
    answers = [it for it in sent(*elsewhere, quirks=quirks) if it["role"] == "assistant"]
    assert [it.get("reasoning_content") for it in answers] == [" ", None]


def test_signatures_go_back_with_the_call_that_they_sign() -> None:
    quirks = Quirks(reasoning="extra_content", reasoning_back="with_calls", reasoning_stand_in="skip")
    signed = {"google": {"thought_signature": "s"}}
    own = thought({"call_1": signed}, field="extra_content")
    calls = sent(user("hi"), assistant(own, call(), call("call_2")), user(result(), result("call_2")), quirks=quirks)[1]
    assert [it.get("extra_content") for it in calls["tool_calls"]] == [signed, None]
    calls = sent(user("hi"), assistant(call(), call("call_2")), user(result(), result("call_2")), quirks=quirks)[1]
    assert [it.get("extra_content") for it in calls["tool_calls"]] == [{"google": {"thought_signature": "skip"}}, None]


def test_details_and_chunks_of_thoughts_go_back_as_they_came() -> None:
    detail = {"type": "reasoning.text", "text": "Hm."}
    own = thought([detail], field="reasoning_details")
    quirks = Quirks(reasoning="reasoning_details", reasoning_back="always")
    assert sent(user("hi"), assistant(own, "Yes."), user("so"), quirks=quirks)[1]["reasoning_details"] == [detail]
    chunk = {"type": "thinking", "thinking": [text_block("Hm.")]}
    own = thought([chunk], field="thinking_chunks")
    quirks = Quirks(reasoning="thinking_chunks", reasoning_back="always")
    said = sent(user("hi"), assistant(own, "Yes."), user("so"), quirks=quirks)[1]
    assert said["content"] == [chunk, text_block("Yes.")]


# --- any page at all ---

QUIRKS: Mapping[str, Quirks] = {name: provider.quirks for name, provider in providers().items()}
OTHERS: tuple[Block, ...] = (
    thought("Hm."),
    thought("Hm.", place="elsewhere"),
    thought({"call-1": {"google": {"thought_signature": "signed-1"}}}, field="extra_content"),
    {"type": "thinking", "thinking": "Hm.", "signature": "s", "place": HERE},
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": {"error_code": "unavailable"}},
    {"type": "container_upload", "file_id": "x"},
    text_block("  "),
    {**text_block("Red."), "citations": [{"url": "https://a.b"}]},
    call("odd id: " + "x" * 90, "odd name. " + "x" * 90, at=1),
    call("call-1"),
    PICTURE,
    PDF,
)


def copied(page: list[Message]) -> list[Message]:
    """A page that can be changed."""
    return [Message(role=it["role"], content=[*it["content"]]) for it in page if not isinstance(it["content"], str)]


@st.composite
def pages(draw: Any) -> list[Message]:
    """The view of any history, with blocks of others put anywhere between, and messages cut anywhere."""
    history: History = draw(histories(most=8))
    page = copied(history.view())
    for _ in range(draw(st.integers(0, 4))):
        if page:
            at = draw(st.integers(0, len(page) - 1))
            content = page[at]["content"]
            assert isinstance(content, list)
            content.insert(draw(st.integers(0, len(content))), draw(st.sampled_from(OTHERS)))
    return page[draw(st.integers(0, 2)) : len(page) - draw(st.integers(0, 2))]


def refused_nothing(body: Mapping[str, Any], manner: Manner) -> None:
    ChatRules(manner, 10**6).check({**body, "stream": True})


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=60)
@given(pages(), st.sampled_from(sorted(set(MANNERS) & set(QUIRKS))), st.booleans())
def test_any_page_is_a_request_that_its_provider_takes(page: list[Message], name: str, may_call: bool) -> None:
    manner = MANNERS[name]
    if not page:
        return
    head = replace(HEAD, model=manner.model)
    made = chat_request(head, page, QUIRKS[name], place=HERE, may_call=may_call)
    refused_nothing(made.body, manner)
    json.dumps(made.body).encode()


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=60)
@given(histories(most=8), st.data())
def test_any_page_that_a_chat_endpoint_wrote_in_is_one_for_the_first_wire(
    history: History, data: st.DataObject
) -> None:
    page = copied(history.view())
    for message in page:
        if message["role"] == "assistant" and data.draw(st.booleans()):
            assert isinstance(message["content"], list)
            message["content"][:0] = data.draw(st.lists(st.sampled_from(OTHERS[:4]), max_size=2))
    here = data.draw(st.sampled_from(["api.anthropic.com", HERE]))
    made = for_messages(page, here)
    assert_valid(list(made))
    assert all(block.get("type") != "reasoning" for it in made for block in it["content"] if isinstance(block, Mapping))
