"""docs/features.md and docs/documents.md name tests that there are, and each row once."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1]
DOCS = TESTS.parent / "docs"
PAGE = (DOCS / "features.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| ([A-Z]\d+) \| (.+) \| (.+) \|$", PAGE, re.MULTILINE)
GROUPS = "DAPTESB"
SENTENCES = (DOCS / "documents.md").read_text(encoding="utf-8")
DOCUMENTS = re.findall(r"^\| (.+) \| (.+) \| (`.+) \|$", SENTENCES, re.MULTILINE)


def named(cell: str) -> Iterator[tuple[str, str]]:
    """File and test, of `file`: `test`, `Class::test`<br>`file`: …"""
    for part in cell.split("<br>"):
        path, *tests = re.findall(r"`([^`]+)`", part)
        yield from ((path, test) for test in tests or ["no test"])


def names_in(path: Path) -> set[str]:
    """`test` and `Class::test`."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    classes = [node for node in body if isinstance(node, ast.ClassDef)]
    return {*functions(body), *(f"{node.name}::{name}" for node in classes for name in functions(node.body))}


def functions(body: list[ast.stmt]) -> list[str]:
    found = [node.name for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return [name for name in found if name.startswith("test_")]


NAMED = sorted({name for *_, cell in (*ROWS, *DOCUMENTS) for name in named(cell)})


def test_every_test_on_the_page_exists() -> None:
    there = {path: names_in(TESTS / path) for path, _ in NAMED}
    assert [f"{path}: {test}" for path, test in NAMED if test not in there[path]] == []


def test_every_sentence_of_the_documents_is_shown_by_something() -> None:
    lines = [line for line in SENTENCES.splitlines() if line.startswith("|")]
    assert len([line for line in lines if not line.startswith(("| the document", "|---"))]) == len(DOCUMENTS) > 0


def test_no_row_stands_twice_and_the_rows_of_a_group_are_in_order() -> None:
    rows = [(GROUPS.index(row[0]), int(row[1:])) for row, *_ in ROWS]
    assert rows == sorted(set(rows))


def test_every_row_of_the_page_is_read_and_shown_by_something() -> None:
    lines = [line for line in PAGE.splitlines() if line.startswith("|") and not line.startswith(("| row", "|---"))]
    assert len(lines) == len(ROWS) > 0
    assert {row[0] for row, *_ in ROWS} == set(GROUPS)
