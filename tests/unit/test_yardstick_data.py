"""What others recorded is fetched once, from where the list says, and comes out as conversations that can be sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.bench.yardstick import convert, fetch
from tests.bench.yardstick.fetch import PARTS, Half, Part, Source
from tests.bench.yardstick.prose import PROSE
from tests.bench.yardstick.requests import is_valid

CALL = {"id": "x", "function": {"name": "find", "arguments": '{"zip": "85034"}'}}
RECORDED: list[dict[str, Any]] = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "Find me."},
    {"role": "assistant", "content": None, "tool_calls": [CALL, CALL]},
    {"role": "tool", "content": "mia_3"},
    {"role": "tool", "content": "mia_4"},
    {"role": "assistant", "content": "There are two."},
    {"role": "user", "content": "###STOP###"},
]
TASKS = """
TASKS_TEST = [Task(annotator="0", user_id="mia_3", instruction="Exchange my lamp.", outputs=[], actions=[
    Action(name="exchange_delivered_order_items", kwargs={
        "order_id": "#W1", "item_ids": ["11"], "new_item_ids": ["12"], "payment_method_id": "card_5"})])]
"""
SHOP = {
    "shop/orders.json": {"#W1": {"status": "delivered", "items": [{"item_id": "11", "product_id": "77"}]}},
    "shop/products.json": {"77": {"name": "Lamp", "variants": {"12": {"price": 9}}}},
    "shop/users.json": {"mia_3": {"payment_methods": {"card_5": {}}}},
}
SOURCE = Source("some", "owner/name", "abc", "MIT", ["a b.json", "deep/2.json"])


def test_calls_of_one_message_come_with_all_their_results_and_what_ends_a_simulation_is_nobodys_word() -> None:
    messages = convert.chat_completions(RECORDED)["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "user", "assistant"]
    assert [block["content"] for block in messages[2]["content"]] == ["mia_3", "mia_4"]
    assert messages[1]["content"][0]["input"] == {"zip": "85034"}
    assert is_valid(messages)


def test_a_task_of_the_shop_is_played_with_what_has_to_be_looked_up_first() -> None:
    files = {"tasks_test.py": TASKS, **{path: json.dumps(data) for path, data in SHOP.items()}}
    (played,) = convert.tau_retail(files)
    calls = [block["name"] for message in played["messages"] for block in message["content"] if "name" in block]
    assert calls == ["get_user_details", "get_order_details", "get_product_details", "exchange_delivered_order_items"]
    assert '"status": "exchange requested"' in json.dumps(played).replace("\\", "")
    assert is_valid(played["messages"])


def test_services_are_called_before_the_answer() -> None:
    frame = {"service_call": {"method": "FindEvents", "parameters": {"city": "Toronto"}}, "service_results": [{"a": 1}]}
    turns = [
        {"speaker": "USER", "utterance": "In Toronto.", "frames": [{}]},
        {"speaker": "SYSTEM", "utterance": "There is one.", "frames": [frame]},
    ]
    (made,) = convert.schema_guided({"a": json.dumps([{"turns": turns}])})
    assert [message["role"] for message in made["messages"]] == ["user", "assistant", "user", "assistant"]
    assert is_valid(made["messages"])


def test_the_calls_of_a_turn_come_before_its_answer_and_a_failure_is_what_was_returned() -> None:
    call = {"request": {"api_name": "AddAlarm", "parameters": {"time": "14:30"}}, "response": None, "exception": "late"}
    turns = [{"role": "user", "text": "Wake me."}, {"role": "assistant", "text": "I could not.", "apis": [call]}]
    (talked,) = convert.tool_talk({"a": json.dumps({"conversation": turns})})
    result = {"output": {"token": "x1"}, "exception": None}
    lines = [
        {"role": "User", "text": "Log me in."},
        {"role": "API", "api_name": "GetToken", "param_dict": {"name": "mia"}, "result": result},
        {"role": "AI", "text": "You are in."},
    ]
    (banked,) = convert.api_bank({"a": "\n".join(map(json.dumps, lines))})
    for made, returned in ((talked, '"late"'), (banked, '{"token": "x1"}')):
        assert [message["role"] for message in made["messages"]] == ["user", "assistant", "user", "assistant"]
        assert made["messages"][2]["content"][0]["content"] == returned
        assert is_valid(made["messages"])


def test_who_says_most_in_a_channel_is_the_assistant_and_replies_answer_questions() -> None:
    said = [
        "[10:01] <ann> where is the log of the kernel?",
        "=== zed has joined #help",
        "[10:01] <bo> hi all",
        "[10:02] <bo> ann: read /var/log/kern.log as root",
        "[10:03] <cy> thanks",
    ]
    log = "\n".join([*["[09:00] <old> before"] * 1000, *said])
    (made,) = convert.irc({"1.raw.txt": log, "1.annotation.txt": "1000 1003 -\n1003 1004 -\n1004 1004 -\n"})
    assert [message["role"] for message in made["messages"]] == ["user", "assistant", "user"]
    assert made["messages"][0]["content"][0]["text"] == "ann: where is the log of the kernel?"
    assert [(each["answer"], each["evidence"]) for each in made["questions"]] == [(said[3][13:], [1])]


def test_commands_in_the_text_become_calls() -> None:
    history = [
        {"role": "system", "content": "You are in a shell."},
        {"role": "user", "content": "Mend it."},
        {"role": "assistant", "content": "Look.\n```\nls\n```", "thought": "Look.", "action": "ls\n"},
        {"role": "user", "content": "setup.py"},
        {"role": "assistant", "content": "Done.", "thought": "Done.", "action": "submit"},
    ]
    (made,) = convert.swe_agent({"a": json.dumps({"history": history})})
    assert made["messages"][1]["content"][1]["input"] == {"command": "ls"}
    assert made["messages"][2]["content"][0]["content"] == "setup.py"
    assert is_valid(made["messages"])


def test_questions_name_the_messages_that_answer_them() -> None:
    said = [
        {"speaker": "Ann", "clean_text": "Hi!", "dia_id": "D1:1"},
        {"speaker": "Ann", "clean_text": "I moved to Ulm.", "dia_id": "D1:2"},
        {"speaker": "bo", "clean_text": "Oh.", "dia_id": "D1:3"},
    ]
    asked = [
        {"question": "Where does Ann live?", "answer": "Ulm", "evidence": ["D1:2"], "category": 1},
        {"question": "Who is Zed?", "answer": "nobody", "evidence": ["D9:9"], "category": 1},
    ]
    chat = {"name": {"speaker_1": "ann", "speaker_2": "bo"}, "session_1": said, "qa": asked}
    (made,) = convert.realtalk({"a": json.dumps(chat)})
    assert [message["role"] for message in made["messages"]] == ["user", "assistant"]
    assert [(each["answer"], each["evidence"]) for each in made["questions"]] == [("Ulm", [0])]


def test_what_is_there_is_not_fetched_again(tmp_path: Path) -> None:
    urls: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        urls.append(str(request.url))
        return httpx2.Response(200, content=b"{}")

    with httpx2.Client(transport=httpx2.MockTransport(answer)) as client:
        fetch.fetch(SOURCE, tmp_path, client)
        fetch.fetch(SOURCE, tmp_path, client)
    assert urls == [f"{fetch.ORIGIN}/owner/name/abc/{path}" for path in ("a%20b.json", "deep/2.json")]
    assert (tmp_path / "deep" / "2.json").read_text(encoding="utf-8") == "{}"


def test_a_file_that_cannot_be_had_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    with (
        httpx2.Client(transport=httpx2.MockTransport(lambda _: httpx2.Response(404))) as client,
        pytest.raises(httpx2.HTTPError),
    ):
        fetch.fetch(SOURCE, tmp_path, client)
    assert not list(tmp_path.rglob("*.json"))


@pytest.mark.parametrize(("seen", "halves"), [(Half.EVEN, (2, 1)), (Half.ALL, (3, 0)), (Half.NONE, (0, 3))])
def test_what_is_held_out_is_written_apart(seen: Half, halves: tuple[int, int], tmp_path: Path) -> None:
    source = next(source for source in fetch.sources() if source.name == "sgd")
    for path in source.files:
        file = tmp_path / "raw" / "sgd" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("[]", encoding="utf-8")
    file.write_text(json.dumps([{"turns": []}] * 3), encoding="utf-8")
    assert fetch.write(Part("tools/some", "sgd", "", convert.schema_guided, seen), tmp_path) == 3
    files = [tmp_path / half / "tools" / "some.jsonl" for half in ("seen", "unseen")]
    assert tuple(len(each.read_text(encoding="utf-8").splitlines()) if each.exists() else 0 for each in files) == halves


def test_every_part_is_made_of_files_that_are_named_and_every_language_has_wordings() -> None:
    sources = {source.name for source in fetch.sources()}
    assert {part.source for part in PARTS} == sources
    assert {part.name.removeprefix("text/") for part in PARTS if part.name.startswith("text/")} == set(PROSE)
    held_out = {part.name for part in PARTS if part.seen is Half.NONE}
    assert {"tools/bookings", "tools/clinics", "tools/desk", "chat/realtalk", "text/hi", "text/tr"} <= held_out
    assert all("A" not in PROSE[name.removeprefix("text/")] for name in held_out if name.startswith("text/"))
