"""Results are bounded in tokens, whatever a tool returns, and what is left out can be read."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from bot.agent.tools.files import FILE_TOOLS
from bot.agent.tools.tool import Occasion, ToolError
from bot.agent.tools.toolbox import Toolbox
from bot.estimate.bounds import fitting, head_and_tail, tokens_of
from bot.messages import Block, text_block
from tests.parser import HERE

MOST = 500
TEXTS = {
    "english": "The quick brown fox jumps over the lazy dog. " * 2_000,
    "chinese": "我们明天上午在北京开会,请带上合同。" * 2_000,
    "russian": "Завтра утром мы встретимся в Москве и обсудим договор. " * 2_000,
    "emoji": "🙂🚀🎉" * 5_000,
    "base64": base64.b64encode(bytes(range(256)) * 200).decode(),
    "one line of json": str([{"id": number, "name": f"n{number}"} for number in range(5_000)]),
    "blanks": "x" + " " * 15_000 + "y" * 400_000,
}


@dataclass(frozen=True)
class Says:
    """A tool that returns what it is told to."""

    result: str | Sequence[Block]
    name: str = "says"
    description: str = "Says it."
    parameters: Mapping[str, Any] = field(default_factory=dict)
    idempotent: bool = False

    async def run(self, arguments: Mapping[str, Any], occasion: Occasion) -> str | Sequence[Block]:
        return self.result


@dataclass(frozen=True)
class Fails(Says):
    """A tool that fails with many words."""

    async def run(self, arguments: Mapping[str, Any], occasion: Occasion) -> str:
        raise ToolError(str(self.result))


async def result_of(folder: Path, tool: Says, most: int = MOST) -> Any:
    call = {"type": "tool_use", "id": "1", "name": "says", "input": {}}
    return (await Toolbox(folder, HERE, [tool]).run(call, most_tokens=most)).block["content"]


def picture(color: str = "teal") -> Block:
    file = io.BytesIO()
    Image.new("RGB", (40, 30), color).save(file, "PNG")
    data = base64.b64encode(file.getvalue()).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


@pytest.mark.parametrize("kind", TEXTS)
async def test_a_long_result_is_its_beginning_its_end_and_where_all_of_it_is(tmp_path: Path, kind: str) -> None:
    text = TEXTS[kind]
    shown = await result_of(tmp_path, Says(text))
    assert tokens_of(shown) <= MOST
    path, offset = re.findall(r"is in (results/says-\w+\.txt): read_file goes on from offset (\d+)", shown)[0]
    assert (tmp_path / path).read_text() == text
    head, _, rest = shown.partition("\n[… ")
    assert head == text[: int(offset)]
    tail = rest.partition("]\n")[2]
    assert tail
    assert text.endswith(tail)


@pytest.mark.parametrize("kind", TEXTS)
async def test_the_whole_of_a_long_result_can_be_read_with_read_file(tmp_path: Path, kind: str) -> None:
    text = TEXTS[kind][:40_000]
    shown = await result_of(tmp_path, Says(text))
    path = re.findall(r"results/[\w-]+\.txt", shown)[0]
    box, read, offset = Toolbox(tmp_path, HERE, FILE_TOOLS), "", 0
    while True:
        call = {"type": "tool_use", "id": "1", "name": "read_file", "input": {"path": path, "offset": offset}}
        piece, more, following = str((await box.run(call, most_tokens=MOST)).block["content"]).partition(
            "\n[More follows"
        )
        assert tokens_of(piece) <= MOST
        read += piece
        if not more:
            break
        offset = int(following.split()[-1].strip(".]"))
    assert read == text


async def test_a_short_result_stays_as_it_is(tmp_path: Path) -> None:
    assert await result_of(tmp_path, Says("fine")) == "fine"
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("blank", ["", " \n", [], [text_block("  ")]])
async def test_a_result_of_nothing_is_said_to_be_empty(tmp_path: Path, blank: Any) -> None:
    assert await result_of(tmp_path, Says(blank)) == "(empty)"


async def test_of_a_result_that_never_ends_two_megabytes_are_kept(tmp_path: Path) -> None:
    shown = await result_of(tmp_path, Says("é" * 3_000_000))
    assert "The first 2,000,000 bytes" in shown
    [kept] = (tmp_path / "results").iterdir()
    assert kept.stat().st_size == 2_000_000


async def test_old_results_are_swept(tmp_path: Path) -> None:
    for _ in range(60):
        await result_of(tmp_path, Says("word " * 3_000))
    assert len([*(tmp_path / "results").iterdir()]) == 50


async def test_an_error_is_bounded_too(tmp_path: Path) -> None:
    assert tokens_of(await result_of(tmp_path, Fails("no " * 20_000))) <= MOST


async def test_a_list_of_texts_is_bounded_as_a_whole(tmp_path: Path) -> None:
    blocks = await result_of(tmp_path, Says([text_block(f"{number} " + "word " * 300) for number in range(20)]))
    assert sum(tokens_of(block["text"]) for block in blocks) <= MOST


async def test_pictures_lie_in_the_folder_and_only_some_are_shown(tmp_path: Path) -> None:
    colors = ["teal", "red", "blue", "green", "black", "white"]
    blocks = await result_of(tmp_path, Says([text_block("look"), *map(picture, colors)]))
    images = [block for block in blocks if block["type"] == "image"]
    assert [block["source"]["type"] for block in images] == ["folder"] * 4
    assert all((tmp_path / block["source"]["path"]).is_file() for block in images)
    assert blocks[0] == text_block("look")
    assert "2 more pictures" in blocks[-1]["text"]


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "####"}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
        {"type": "image", "source": {"type": "url", "url": "http://127.0.0.1/"}},
        {"type": "image", "source": {"type": "folder", "path": "../secret.png", "media_type": "image/png"}},
        {"type": "image", "source": {"type": "folder", "path": "notes.txt", "media_type": "image/png"}},
        {"type": "audio", "data": "AAAA"},
        {"type": "tool_use", "id": "x", "name": "read_file", "input": {}},
        {},
    ],
)
async def test_what_is_neither_text_nor_a_picture_becomes_a_note(tmp_path: Path, block: Block) -> None:
    (tmp_path / "notes.txt").write_text("text")
    shown = await result_of(tmp_path, Says([text_block("before"), block]))
    assert shown[0] == text_block("before")
    assert [part["type"] for part in shown] == ["text", "text"]


async def test_what_no_one_can_read_is_taken_out(tmp_path: Path) -> None:
    assert await result_of(tmp_path, Says("a\0b\x07\x1b[31mred\x1b[0m\ud800")) == "abred?"


@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize("tokens", [1, 40, 1_000])
def test_what_fits_takes_no_more_tokens_and_is_not_much_less(kind: str, tokens: int) -> None:
    text = TEXTS[kind]
    length = fitting(text, tokens)
    assert length == 1 or tokens_of(text[:length]) <= tokens
    if kind != "blanks":
        assert tokens_of(text[: length + max(8, length // 8)]) >= tokens * 0.9


def test_beginning_and_end_do_not_overlap() -> None:
    assert head_and_tail("abc", 100) == ("abc", "")
