"""Loads aiogram so that its models are built when they are used.

At its import aiogram lets pydantic build what reads and checks each type of the Bot API, one after the other: two
seconds and more than 100 MB, of which a bot uses a few per cent. Here that is put off: a model of pydantic that was not
built is built at its first use, by pydantic itself, if it knows the names in its annotations
(``__pydantic_parent_namespace__``: https://docs.pydantic.dev/latest/api/base_model/#pydantic.BaseModel).

Only while aiogram is imported, and only for its models, ``model_rebuild`` notes these names in the place of building.
Where somebody has imported aiogram before, or where it does not build its models this way any more, nothing is changed,
and nothing breaks.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pydantic import BaseModel

_OWN = "aiogram."


@contextmanager
def built_when_used() -> Iterator[None]:
    """Within the block, models of aiogram that are told to be built note what they need for it."""
    builds = BaseModel.__dict__["model_rebuild"]

    def note(cls: type[BaseModel], /, *, _types_namespace: dict[str, Any] | None = None, **options: Any) -> bool | None:
        if _types_namespace is None or not cls.__module__.startswith(_OWN):
            options["_parent_namespace_depth"] = options.get("_parent_namespace_depth", 2) + 1  # this is one more
            built: bool | None = builds.__func__(cls, _types_namespace=_types_namespace, **options)
            return built
        cls.__pydantic_parent_namespace__ = _types_namespace
        return None

    BaseModel.model_rebuild = classmethod(note)  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        BaseModel.model_rebuild = builds  # type: ignore[method-assign]


def load() -> None:
    """Import aiogram, unless somebody has."""
    if "aiogram" in sys.modules:
        return
    with built_when_used():
        import aiogram
    # Methods, and what holds an answer, are built where they are defined. What they refer to was not there yet.
    names = aiogram.types.Update.__pydantic_parent_namespace__
    waiting = [getattr(aiogram.methods, name) for name in aiogram.methods.__all__]
    for model in waiting:
        if isinstance(model, type) and issubclass(model, BaseModel) and not model.__pydantic_complete__:
            model.__pydantic_parent_namespace__ = names
    aiogram.methods.Response.__pydantic_parent_namespace__ = names
    aiogram.types.Message.model_rebuild()  # first: half of the others hold it, and take it over as it is
