"""What an object has is there from the beginning: nothing is set later that its `__init__` does not set."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("bot", "connectors", "workers")


def test_what_an_object_has_is_set_in_its_init() -> None:
    trees = {path: ast.parse(path.read_text()) for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))}
    classes = [
        (path, node) for path, tree in trees.items() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
    ]
    ours = {node.name for _, node in classes}
    late = [
        f"{path.relative_to(ROOT)}: {node.name}.{name}"
        for path, node in classes
        if all(base in ours for base in _bases(node))  # what a library's class has is its own
        for name in sorted(_set_late(node))
    ]
    assert len(classes) > 500, "there is something to look at"
    assert not late


def test_an_attribute_that_is_set_later_is_found() -> None:
    init = "    def __init__(self):\n        self.a = 1\n        self.c: int\n"
    [node] = ast.parse(f"class A:\n{init}    def run(self): self.a, self.b, self.c = 2, 3, 4").body
    assert isinstance(node, ast.ClassDef)
    assert _set_late(node) == {"b", "c"}


def _bases(node: ast.ClassDef) -> Iterator[str]:
    names = (base.value if isinstance(base, ast.Subscript) else base for base in node.bases)
    return (ast.unparse(name) for name in names if ast.unparse(name) not in ("Protocol", "Exception"))


def _set_late(node: ast.ClassDef) -> set[str]:
    """A field of a dataclass, or a property that can be set, is no attribute that comes later."""
    declared = {
        item.target.id for item in node.body if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
    }
    methods = [item for item in node.body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)]
    in_init = {name for method in methods if method.name == "__init__" for name in _sets(method)}
    elsewhere = {name for method in methods if method.name != "__init__" for name in _sets(method)}
    return elsewhere - in_init - declared - {method.name for method in methods}


def _sets(method: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """What it gives a value; a type without a value sets nothing."""
    nodes = list(ast.walk(method))
    only_typed = {id(node.target) for node in nodes if isinstance(node, ast.AnnAssign) and node.value is None}
    stored = [node for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)]
    return {node.attr for node in stored if _is_self(node.value) and id(node) not in only_typed}


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"
