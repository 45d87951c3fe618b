"""A text file as an outline. FEATURES T2."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.compaction.parts.outline import MOST_CHARACTERS, MOST_LINES, outline
from bot.history.file_headers import outlined_path

FILLER = "    value = compute(something, other)  # what this line does is not of interest\n" * 12

PYTHON = f"""\
import os

class Store:
    def open(self) -> None:
{FILLER}
    async def close(self) -> None:
{FILLER}
def main(argv):
{FILLER}"""


def test_code_becomes_its_signatures_with_their_offsets() -> None:
    lines = outline("files/store.py", PYTHON).splitlines()
    assert lines[0] == (
        f'[File: files/store.py, {len(PYTHON):,} characters, in outline. To read it again: read_file("files/store.py")'
        "; the numbers below are offsets]"
    )
    names = [line.split(": ", 1)[1] for line in lines[1:]]
    assert names == [
        "class Store",
        "def open(self) -> None",
        "async def close(self) -> None",
        "def main(argv)",
    ]
    for line in lines[1:]:
        offset, name = line.split(": ", 1)
        assert PYTHON[int(offset) :].lstrip().startswith(name)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("a.js", "export default async function load(path) {"),
        ("a.ts", "export interface Shape<T> {"),
        ("a.ts", "export const add = (a: number, b: number): number => {"),
        ("a.go", "func (s *Server) Listen(addr string) error {"),
        ("a.rs", "pub(crate) fn parse(input: &str) -> Result<Ast> {"),
        ("a.java", "    public static void main(String[] args) {"),
        ("a.c", "static int read_all(int fd, char *buffer)"),
        ("a.cpp", "std::string Parser::next(bool skip) {"),
        ("a.cs", "    internal sealed record Point(int X, int Y);"),
        ("a.rb", "  def total"),
        ("a.php", "    public function render($view) {"),
        ("a.kt", "data class User(val name: String)"),
        ("a.swift", "protocol Drawable {"),
        ("a.sh", "deploy() {"),
        ("a.sql", "CREATE TABLE users ("),
    ],
)
def test_signatures_of_the_usual_languages_are_found(name: str, line: str) -> None:
    shown = outline(name, f"// a comment that is no signature\n{line}\n" + "    x = 1;\n" * 100)
    assert line.rstrip(" {").strip() in shown
    assert "x = 1" not in shown


@pytest.mark.parametrize(
    "line", ["return build(a, b);", "if (ready(a)) {", "} else if (x(y)) {", "int total = sum(a);"]
)
def test_statements_of_c_are_no_signatures(line: str) -> None:
    text = "int main(void) {\n" + f"    {line}\n" * 100
    assert line.split("(", maxsplit=1)[0] not in outline("a.c", text)


def test_markdown_becomes_its_headings_and_not_the_comments_of_its_code() -> None:
    text = "# One\n\n" + "talk " * 200 + "\n## Two ##\n```sh\n# no heading\n```\n### Three\n" + "talk\n" * 200
    shown = outline("notes.md", text)
    assert [line.split(": ", 1)[1] for line in shown.splitlines()[1:]] == ["# One", "## Two ##", "### Three"]
    assert "no heading" not in shown


def test_json_becomes_its_keys() -> None:
    value = {"name": "palimpsest", "users": [{"id": 1, "mail": "a@b.c"}] * 50, "deep": {"a": 1, "b": 2}, "n": None}
    lines = outline("data.json", json.dumps(value, indent=1)).splitlines()[1:]
    assert lines == ['"name": "palimpsest"', '"users": list of 50', '"deep": object of 2: a, b', '"n": null']
    listed = outline("data.json", json.dumps([{"id": 1, "who": "Ana"}] * 40))
    assert listed.splitlines()[1:] == ["list of 40", "the first of them:", '"id": 1', '"who": "Ana"']


def test_json_that_was_cut_off_and_json_lines_still_show_keys() -> None:
    value = {f"key{index}": {"inner": "x" * 50} for index in range(12)}
    cut = outline("data.json", json.dumps(value, indent=2)[:-300])
    assert '"key3": {' in cut
    lines = "\n".join(json.dumps({"id": index, "text": "x" * 40}) for index in range(30))
    assert outline("data.jsonl", lines).splitlines()[1:3] == ["30 lines, each one value; the first:", '"id": 0']


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("a.yaml", "services:\n  web:\n    image: x\n" + "# talk\n" * 100, ["services:", "  web:"]),
        ("a.toml", '[tool.ruff]\nline-length = 120\n[tool."x"]\n' + "# talk\n" * 100, ["[tool.ruff]", "line-length"]),
        ("a.csv", "name,age\nAna,3\nBo,4\nCy,5\nDi,6\n" * 40, ["199 rows of 2 columns", "name,age", "Cy,5"]),
        ("a.log", "first line\n\n" + "more\n" * 400, ["402 lines; it begins:", "first line"]),
        ("LICENSE", "Apache\n" + "more\n" * 400, ["Apache"]),
        ("a.py", "x = 1\n" * 200, ["200 lines; it begins:", "x = 1"]),
    ],
)
def test_other_files_become_their_keys_rows_or_first_lines(name: str, text: str, wanted: list[str]) -> None:
    shown = outline(name, text)
    assert all(part in shown for part in wanted)
    assert len(shown) < len(text) / 2


def test_the_deepest_signatures_go_first_when_there_are_too_many() -> None:
    text = "".join(f"class C{index}:\n    def method(self): ...\n    def other(self): ...\n" for index in range(20))
    shown = outline("a.py", text)
    assert "class C19" in shown
    assert "method" not in shown


def test_what_does_not_fit_is_counted() -> None:
    shown = outline("a.py", "".join(f"def function_{index}(): ...\n" for index in range(200)))
    assert shown.splitlines()[-1] == "… and 172 more"


def test_it_says_how_the_same_piece_is_read_again_also_by_other_tools() -> None:
    assert 'read_file("files/отчёт «1».md", offset=8000)' in outline("files/отчёт «1».md", "# A\n" * 300, offset=8_000)
    assert "\n8000: # A\n" in outline("a.md", "# A\n" * 300, offset=8_000)
    shown = outline("/srv/a.md", "# A\n" * 300, tool="fs_read")
    assert 'To read it again: fs_read("/srv/a.md")]\n# A\n' in shown


@pytest.mark.parametrize("text", ["", "x", "def f(): ...", "# A\n\nshort"])
def test_a_text_that_is_no_longer_than_its_outline_stays_as_it_is(text: str) -> None:
    assert outline("files/a.py", text) == text


def test_an_outline_is_known_as_one() -> None:
    assert outlined_path(outline("src/a, b.py", PYTHON)) == "src/a, b.py"
    assert outlined_path(PYTHON) is None
    assert outlined_path("[File: a.py, 12 characters]\nx") is None


ENDINGS = ("py", "md", "json", "jsonl", "csv", "tsv", "yaml", "toml", "c", "java", "txt", "", "sh", "sql")
pieces = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        ("\n", "\r\n", "class A:\n", "# H\n", '{"a": [', "}\n", "a,b\n", '"', "```\n", "[s]\n", "k: v\n", "\x00")
    ),
)


@given(st.sampled_from(ENDINGS), st.lists(pieces, max_size=60), st.integers(1, 40))
def test_any_text_has_an_outline_that_is_short_and_shorter_than_it(ending: str, parts: list[str], times: int) -> None:
    text = "".join(parts) * times
    shown = outline(f"files/file.{ending}", text)
    assert shown == text or (
        len(shown) < len(text) and len(shown) <= MOST_CHARACTERS and len(shown.split("\n")) <= MOST_LINES
    )


@pytest.mark.parametrize("unit", ["a ", "(", "a(", '"a":', "public ", "[", "- ", "a:b ", "\t", "`", "{", "const a = ("])
def test_no_text_takes_long(unit: str) -> None:
    for ending in ENDINGS:
        began = time.perf_counter()
        outline(f"a.{ending}", unit * 10_000)
        outline(f"a.{ending}", f"{unit * 50}\n" * 400)
        assert time.perf_counter() - began < 2, ending
