"""Variables that are no settings, and people who are none."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bot.app.doctor.people import check_people
from bot.app.doctor.variables import check_variables
from bot.errors import ConfigurationError
from bot.runtime.env_file import EnvFile
from bot.runtime.settings_check import unknown
from tests.doctor.conftest import MakeCase, said, the_one


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("TELEGRAM_TOKN", "TELEGRAM_TOKEN"),
        ("TELEGRAM_BOT_TOKEN", "TELEGRAM_TOKEN"),
        ("AGENTS__WARNINGS", "AGENTS__WARNING"),
        ("AGENT__WARNING", "AGENTS__WARNING"),
        ("DATABASE_URI", "DATABASE_URL"),
        ("ANTHROPIC_MODEL", "MODEL"),
        ("anthropic_apikey", "ANTHROPIC_API_KEY"),
    ],
)
async def test_a_name_that_looks_like_a_setting_is_told_with_the_one_that_was_meant(
    case: MakeCase, name: str, meant: str
) -> None:
    state = "problem" if name.startswith("AGENTS__") else "warning"
    finding = await the_one(check_variables, case(variables={name: "x"}), state)
    assert name.upper() in finding.sentence
    assert finding.advice == f"Did you mean {meant}?"


async def test_a_name_in_one_of_our_groups_is_told_also_where_nothing_is_near(case: MakeCase) -> None:
    finding = await the_one(check_variables, case(variables={"DISCORD_FAVOURITE_COLOUR": "x"}), "warning")
    assert ".env.example" in finding.advice


def test_names_of_settings_and_of_the_rest_of_the_world_are_no_findings() -> None:
    usual = ["PATH", "HOME", "LANG", "GROUP", "SHELL", "HOSTNAME", "POSTGRES_PASSWORD", "HTTP_PROXY", "LOGNAME", "TERM"]
    ours = ["TELEGRAM_TOKEN", "telegram_token", "AGENTS__WARNING", "RATE__PERSON", "GROUPS", "MODEL"]
    assert unknown(dict.fromkeys([*usual, *ours], "x"), EnvFile()) == []


def test_an_empty_variable_is_none() -> None:
    assert unknown({"TELEGRAM_TOKN": ""}, EnvFile()) == []


async def test_a_strategy_that_there_is_not_is_a_problem(case: MakeCase) -> None:
    finding = await the_one(check_variables, case(agents={"strategy": "rest"}), "problem")
    assert finding.sentence.startswith("AGENTS__STRATEGY: 'rest' is not a strategy; there is: ")
    assert "reset" in finding.sentence


async def test_a_strategy_that_wants_vectors_without_anybody_who_makes_them_is_told_with_what_to_do(
    case: MakeCase,
) -> None:
    known = ["ok: All settings are known."]
    assert await said(check_variables, case(agents={"strategy": "tiered"})) == known
    kept = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "wordllama"}
    sys.modules["wordllama"] = None  # type: ignore[assignment]  # how Python says that there is none
    try:
        finding = await the_one(check_variables, case(agents={"strategy": "tiered"}), "warning")
        assert finding.sentence.startswith("AGENTS__STRATEGY=tiered: it compares messages by their words")
        assert "palimpsest[vectors]" in finding.advice
        assert "EMBEDDINGS__URL" in finding.advice
        url = {"url": "http://127.0.0.1:11434"}
        assert await said(check_variables, case(agents={"strategy": "tiered"}, embeddings=url)) == known
        assert await said(check_variables, case(agents={"strategy": "segmented"})) == known
    finally:
        del sys.modules["wordllama"]
        sys.modules.update(kept)


@pytest.mark.parametrize(("name", "percent", "share"), [("warning", 75, "0.75"), ("critical", 90, "0.9")])
async def test_percent_where_a_share_is_wanted_is_told_with_the_share(
    case: MakeCase, name: str, percent: float, share: str
) -> None:
    finding = await the_one(check_variables, case(agents={name: percent}), "warning")
    assert f"AGENTS__{name.upper()}={percent}" in finding.sentence
    assert f"write {share} for {percent} %" in finding.advice
    assert await said(check_variables, case(agents={name: 1})) == ["ok: All settings are known."]


@pytest.mark.parametrize("entry", ["12345", "@ada", "telegram:"])
def test_an_entry_that_is_none_is_refused_when_the_settings_are_read(case: MakeCase, entry: str) -> None:
    with pytest.raises(ConfigurationError, match=f"ALLOW.* has {entry}, .*telegram:12345"):
        case(allow=f"telegram:1,{entry}")


@pytest.mark.parametrize("entry", ["telegram:@ada", "telegrm:1"])
async def test_an_entry_that_names_nobody_is_a_problem(case: MakeCase, entry: str) -> None:
    finding = await the_one(check_people, case(allow=f"telegram:1,{entry}"), "problem")
    assert finding.sentence == f"ALLOW has {entry}, which names nobody."
    assert "telegram:12345" in finding.advice


async def test_a_group_on_the_list_lets_in_none_of_its_members_and_that_is_said(case: MakeCase) -> None:
    finding = await the_one(check_people, case(allow="telegram:-100123"), "warning")
    assert "only who writes in its name" in finding.sentence


async def test_admins_are_looked_at_likewise(case: MakeCase) -> None:
    assert "ADMINS has discord:ada" in (await the_one(check_people, case(admins="discord:ada"), "problem")).sentence


async def test_an_open_door_on_a_platform_is_a_warning(case: MakeCase) -> None:
    finding = await the_one(check_people, case(access="open", telegram_token="1:a"), "warning")
    assert "at your cost" in finding.sentence
    assert await said(check_people, case(access="open")) == ["ok: Everybody is answered."]


async def test_an_empty_list_that_is_the_only_way_in_is_a_problem(case: MakeCase) -> None:
    shut = case(access="allowlist", discord_token="a.b.c")
    assert "nobody is answered" in (await the_one(check_people, shut, "problem")).sentence


PRICES = ('["mine-*"]\ninput = 1.0\n', '"mine-*" = 3\n', '["mine-*"]\ninput = "a"\noutput = 1\n', "[mine", None)


@pytest.mark.parametrize("written", PRICES)
async def test_a_file_of_prices_that_is_none_is_a_problem_that_names_it(
    case: MakeCase, tmp_path: Path, written: str | None
) -> None:
    file = tmp_path / "prices.toml"
    if written is not None:
        file.write_text(written)
    finding = await the_one(check_variables, case(prices=file), "problem")
    assert finding.sentence.startswith(f"PRICES={file}")
    assert finding.advice == "Correct it, or unset PRICES."


@pytest.mark.parametrize(
    ("budget", "said_of", "write"),
    [
        ({"person_day": "5", "day": "2"}, "BUDGET__PERSON_DAY ($5.00) is above BUDGET__DAY ($2.00)", "at most $2.00"),
        ({"chat_day": "31", "day": "32", "month": "30"}, "BUDGET__CHAT_DAY ($31.00) is above BUDGET__MONTH", "$30.00"),
        ({"day": "2m tokens", "month": "1m tokens"}, "BUDGET__DAY (2,000,000 tokens) is above", "1,000,000 tokens"),
    ],
)
async def test_an_amount_that_is_never_reached_is_told_with_the_one_that_stops_first(
    case: MakeCase, budget: dict[str, str], said_of: str, write: str
) -> None:
    found = await check_variables(case(budget=budget, anthropic_api_key="sk-ant-1"))
    finding = next(one for one in found if said_of in one.sentence)
    assert finding.state == "warning"
    assert write in finding.advice


async def test_amounts_that_go_together_are_no_findings(case: MakeCase) -> None:
    budget = {"person_day": "2", "chat_day": "2", "day": "2", "month": "40"}
    good = case(budget=budget, anthropic_api_key="sk-ant-1")
    assert await said(check_variables, good) == ["ok: All settings are known."]
    other_units = case(budget={"person_day": "900k tokens", "day": "2"}, anthropic_api_key="sk-ant-1")
    assert await said(check_variables, other_units) == ["ok: All settings are known."]


async def test_nothing_to_spend_is_told_since_it_may_have_meant_no_limit(case: MakeCase) -> None:
    finding = await the_one(check_variables, case(budget={"day": "0"}, anthropic_api_key="sk-ant-1"), "warning")
    assert finding.sentence == "BUDGET__DAY=0 lets nobody but ADMINS spend anything."


async def test_dollars_of_a_model_without_a_price_are_told_and_a_file_with_it_is_enough(
    case: MakeCase, tmp_path: Path
) -> None:
    model = {"model": "m-2030", "anthropic_api_key": "sk-ant-1", "budget": {"day": "2", "month": "900 tokens"}}
    finding = await the_one(check_variables, case(**model), "warning")
    assert finding.sentence.startswith("BUDGET__DAY: in dollars, and no price is known of m-2030")
    file = tmp_path / "prices.toml"
    file.write_text('["m-*"]\ninput = 1.0\noutput = 2.0\n')
    assert await said(check_variables, case(prices=file, **model)) == ["ok: All settings are known."]


@pytest.mark.parametrize(
    ("cheaper", "state", "words"),
    [
        ("claude-opus-5", "warning", "is not cheaper than claude-sonnet-5, which talks"),
        ("claude-sonnet-5", "warning", "is not cheaper than claude-sonnet-5, which talks"),
        ("openai/gpt-5-nano", "problem", "BUDGET__CHEAPER_MODEL=openai/gpt-5-nano wants OPENAI_API_KEY"),
    ],
)
async def test_a_cheaper_model_that_is_none_or_that_nobody_can_ask_is_told(
    case: MakeCase, cheaper: str, state: str, words: str
) -> None:
    finding = await the_one(
        check_variables, case(budget={"day": "2", "cheaper_model": cheaper}, anthropic_api_key="sk-ant-1"), state
    )
    assert words in finding.sentence


async def test_a_cheaper_model_that_is_one_is_no_finding(case: MakeCase) -> None:
    good = case(budget={"day": "2", "cheaper_model": "claude-haiku-4-5"}, anthropic_api_key="sk-ant-1")
    assert await said(check_variables, good) == ["ok: All settings are known."]
