"""A plan depends on its seed alone, and strikes only what its house has."""

from __future__ import annotations

from typing import get_args

from tests.chaos.plan import (
    CHATS,
    HOUSES,
    PEOPLE,
    PROGRAMS,
    Commands,
    Edits,
    Pooler,
    Presses,
    Repeats,
    Says,
    Strike,
    StrikeKind,
    short_plan,
)


def test_the_same_seed_gives_the_same_plan_and_another_one_another() -> None:
    assert short_plan(7) == short_plan(7)
    assert short_plan(7) != short_plan(10)


def test_a_plan_strikes_and_speaks_only_where_there_is_something() -> None:
    for seed in range(300):
        plan = short_plan(seed)
        wires = {"model", "telegram", "discord", *({"valkey", "postgres"} if plan.house == "fleet" else ())}
        assert not plan.guest or plan.house == "fleet"
        for _, act in plan.guest:
            assert not isinstance(act, Strike)
            assert isinstance(act, Repeats) or act.chat <= PEOPLE, "nobody talks to a guest at Discord"
        for _, act in plan.acts:
            match act:
                case Says(chat) | Commands(chat) | Edits(chat) | Presses(chat):
                    assert chat < CHATS
                case Strike("kill" | "restart" | "freeze" | "clock", target):
                    assert target in PROGRAMS[plan.house]
                case Strike("cut" | "blackhole" | "half-close" | "slow line", target):
                    assert target in wires
                case Strike(kind) if "postgres" in kind:
                    assert plan.house == "fleet"


def test_two_hundred_seeds_strike_in_every_way_in_every_house() -> None:
    plans = [short_plan(seed) for seed in range(1, 201)]
    struck = {act.kind for plan in plans for _, act in plan.acts if isinstance(act, Strike)}
    assert struck == set(get_args(StrikeKind))
    assert {plan.house for plan in plans} == set(HOUSES)
    assert any(plan.webhook for plan in plans)
    assert any(plan.guest for plan in plans)
    assert {plan.pooler for plan in plans} == set(get_args(Pooler))
