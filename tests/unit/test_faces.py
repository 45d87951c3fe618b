"""Faces of rooms (docs/decisions/0014-faces.md): each exports what is there, and is light."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

BOT = Path(__file__).parents[2] / "bot"
FACES = [path for path in sorted(BOT.rglob("__init__.py")) if "migrations" not in path.parts]
TALKING = {"anthropic", "aiogram", "arq", "discord", "mcp", "redis", "starlette", "xllamacpp"}
"""Libraries that talk to somebody."""
HEAVY = TALKING | {"PIL", "pypdf", "alembic", "prometheus_client"}
WITHOUT = {
    "bot.estimate": HEAVY | {"pydantic", "sqlalchemy", "structlog"},
    "bot.history": HEAVY | {"pydantic", "sqlalchemy", "structlog"},
    "bot.compaction": HEAVY | {"sqlalchemy", "structlog"},
    "bot.overflow": HEAVY | {"sqlalchemy"},
    "bot.store": HEAVY,
    "bot.model": HEAVY | {"sqlalchemy"},
    "bot.app.cli.main": HEAVY | {"sqlalchemy"},
    "bot.app.chat": TALKING | {"aiohttp", "alembic", "sqlalchemy"},  # until the prompt is shown
    "connectors.terminal.connector": HEAVY | {"aiohttp", "sqlalchemy"},
    "connectors.web": HEAVY | {"aiohttp", "sqlalchemy"},
}


def name_of(face: Path) -> str:
    return ".".join(face.parent.relative_to(BOT.parent).parts)


def test_what_a_face_exports_is_there() -> None:
    rooms = [import_module(name_of(face)) for face in FACES]
    assert [
        (room.__name__, name) for room in rooms for name in getattr(room, "__all__", ()) if not hasattr(room, name)
    ] == []


@pytest.mark.parametrize("name", WITHOUT)
def test_what_has_to_be_light_loads_no_library_that_it_can_be_without(name: str) -> None:
    code = f"import sys, {name}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert {module.partition(".")[0] for module in loaded.split()} & WITHOUT[name] == set()
