"""llama.cpp's own server answers on both wires: somebody else's reading of them, for both of our adapters."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.app.embedded.local_model import LOCAL_CONTEXT, LOCAL_MODEL_NAME, LocalModel
from bot.errors import ModelOverflow
from bot.messages import Block, Message, text_block
from bot.model import Head, Model, SettingNames
from bot.model.anthropic import AnthropicModel
from bot.model.chat.client import ChatModel
from bot.runtime.providers import providers

TOOLS = ({"name": "look", "description": "Looks.", "input_schema": {"type": "object", "properties": {}}},)
HEAD = Head(LOCAL_MODEL_NAME, 12, "Be kind.", TOOLS)
CALL: Block = {"type": "tool_use", "id": "call_made_elsewhere", "name": "look", "input": {"at": "the wood"}}
FOUND: Block = {"type": "tool_result", "tool_use_id": "call_made_elsewhere", "content": "a fox"}


def said(*blocks: Block | str) -> Message:
    return Message(role="user", content=[text_block(it) if isinstance(it, str) else it for it in blocks])


@pytest.mark.rest
async def test_one_page_is_answered_on_both_wires_and_an_overflow_is_one_on_both(data_dir: Path) -> None:
    server = LocalModel(data_dir)
    url = await server.start()
    names, quirks = SettingNames("KEY", "BASE"), providers()["llamacpp"].quirks
    wires: list[Model] = [
        AnthropicModel(api_key="local", base_url=url),
        ChatModel(api_key=None, base_url=f"{url}/v1", names=names, quirks=quirks),
    ]
    page = [said("What is in the wood?"), Message(role="assistant", content=[text_block("I look."), CALL]), said(FOUND)]
    sizes = []
    for model in [*wires, *wires]:  # each reads what the other has written
        texts: list[str] = []
        reply = await model.ask(HEAD, page, texts.append)
        assert reply.stop_reason in ("end_turn", "max_tokens", "tool_use")
        assert len(texts) > 1
        assert 0 < reply.usage.output <= HEAD.max_tokens
        sizes.append(reply.usage.context)
        page += [Message(role="assistant", content=[*reply.blocks] or [text_block("So.")]), said("And?")]
    assert sizes == sorted(sizes)
    for model in wires:
        with pytest.raises(ModelOverflow) as overflow:
            await model.ask(HEAD, [said("word " * 2 * LOCAL_CONTEXT)])
        assert overflow.value.window == LOCAL_CONTEXT
        await model.close()
    await server.stop()


@pytest.mark.rest
async def test_a_model_is_looked_up_on_the_second_wire(data_dir: Path) -> None:
    server = LocalModel(data_dir)
    model = ChatModel(api_key=None, base_url=f"{await server.start()}/v1", names=SettingNames("KEY", "BASE"))
    assert await model.look_up(LOCAL_MODEL_NAME) is not None
    assert await model.look_up("gpt-nowhere") is None
    await model.close()
    await server.stop()
