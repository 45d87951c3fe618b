"""All candidates become facts: rows of which a later action changed a value. FEATURES A7."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.compaction.facts.candidates import candidates_of
from bot.compaction.facts.checkpoint import facts_in, rendered
from bot.compaction.facts.fact import Fact, FactKind
from bot.compaction.facts.life import merged
from tests.unit.compaction.facts.test_candidates import used

IDS = range(1, 5)
ROWS = json.dumps([{"id": at, "name": f"N{at}", "mail": f"n{at}@x.example"} for at in IDS])


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
        ("correo_nuevo", {"user_id": 3, "mail": "q@x.example"}),
        ("crm__edit_user", {"id": 3, "fields": {"mail": "q@x.example"}}),
    ],
)
def test_what_an_action_gave_another_value_to_is_told_by_it_and_not_by_the_row(
    name: str, given: dict[str, Any]
) -> None:
    assert rows(name, given) == [f"id={at} name=N{at}" + (f" mail=n{at}@x.example" if at != 3 else "") for at in IDS]


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("update_user", {"id": 33, "mail": "q@x.example"}),
        ("update_user", {"id": 3, "phone": "1"}),
        ("update_user", {"id": 3, "mail": "n3@x.example"}),
        ("update_user", {"mail": "q@x.example"}),
    ],
)
def test_an_action_on_something_else_changes_no_row(name: str, given: dict[str, Any]) -> None:
    assert "id=3 name=N3 mail=n3@x.example" in rows(name, given)


def test_a_row_that_was_read_back_from_a_checkpoint_is_changed_too() -> None:
    listed = merged(candidates_of(used(1, "list_users", {}, ROWS))).facts
    known = merged(facts_in(rendered(listed), 20)).facts
    assert "id=3 name=N3" in rows("update_user", {"id": 3, "mail": "q@x.example"}, known)
