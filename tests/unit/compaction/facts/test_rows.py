"""Rows that a later action changed. FEATURES A7."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.compaction.facts.candidates import candidates_of
from bot.compaction.facts.checkpoint import facts_in, rendered
from bot.compaction.facts.fact import Fact, FactKind
from bot.compaction.facts.merge import merged
from tests.unit.compaction.facts.test_candidates import used

ROWS = json.dumps([{"id": at, "name": f"N{at}", "mail": f"n{at}@x.example"} for at in range(1, 5)])


def rows(name: str, given: dict[str, Any], known: tuple[Fact, ...] = ()) -> list[str]:
    """The records after this action."""
    listed = [] if known else used(1, "list_users", {}, ROWS)
    result = merged(candidates_of([*listed, *used(30, name, given, "ok")]), known)
    return [fact.text.replace("\t", " ") for fact in result.facts if fact.kind is FactKind.VALUE]


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("update_user", {"id": 3, "mail": "q@x.example"}),
        ("update_user", {"user_id": 3, "new_mail": "q@x.example"}),
        ("setUserMail", {"id": "3", "mail": "q@x.example"}),
        ("crm__edit_user", {"id": 3, "fields": {"mail": "q@x.example"}}),
    ],
)
def test_a_row_shows_the_value_that_an_action_gave_it(name: str, given: dict[str, Any]) -> None:
    found = rows(name, given)
    assert "id=3 name=N3 mail=q@x.example" in found
    assert not [row for row in found if "n3@x.example" in row]
    assert "id=2 name=N2 mail=n2@x.example" in found


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("update_order", {"id": 3, "mail": "q@x.example"}),
        ("create_user", {"id": 3, "mail": "q@x.example"}),
        ("update_user", {"id": 33, "mail": "q@x.example"}),
        ("update_user", {"id": 3, "phone": "1"}),
        ("update_user", {"mail": "q@x.example"}),
    ],
)
def test_an_action_on_something_else_changes_no_row(name: str, given: dict[str, Any]) -> None:
    assert "id=3 name=N3 mail=n3@x.example" in rows(name, given)


def test_a_row_that_was_read_back_from_a_checkpoint_is_renewed_too() -> None:
    listed = merged(candidates_of(used(1, "list_users", {}, ROWS))).facts
    known = merged(facts_in(rendered(listed), 20)).facts
    assert "id=3 name=N3 mail=q@x.example" in rows("update_user", {"id": 3, "mail": "q@x.example"}, known)
