"""The platforms that every dialog is played on, and what each of them does not have."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

STAGES = ("terminal", "telegram", "telegram webhook", "discord")

GROUPS, OTHERS, EDITS, ALBUMS = "groups", "others", "edits", "albums"

LACKS: Mapping[str, Mapping[str, str]] = {
    "terminal": {
        GROUPS: "one person sits at a terminal: there are no groups and no topics",
        OTHERS: "whoever sits at a terminal is its owner: nobody else can come in",
        EDITS: "what was entered at a terminal cannot be changed",
        ALBUMS: "a line of a terminal attaches one file",
    },
}


def everywhere(*needs: str) -> pytest.MarkDecorator:
    """Play a dialog on every platform that has what it needs."""
    return pytest.mark.parametrize("stage", [_param(name, needs) for name in STAGES], indirect=True)


def _param(name: str, needs: tuple[str, ...]) -> object:
    lacks = [LACKS[name][need] for need in needs if need in LACKS.get(name, {})]
    marks = [pytest.mark.skip(reason=f"{name}: {lacks[0]}")] if lacks else []
    # By webhook only the way in is another one: `make test` has long polling.
    return pytest.param(name, marks=[*marks, pytest.mark.rest] if name == "telegram webhook" else marks)
