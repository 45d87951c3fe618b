"""The strategy that settings choose, with the levels that they set."""

from __future__ import annotations

import pytest

from bot.compaction import STRATEGIES
from bot.errors import ConfigurationError
from bot.estimate import Level
from bot.runtime.settings import AgentsSettings, Settings
from bot.runtime.strategies import configured
from tests.unit.entries import full


def settings(**agents: object) -> Settings:
    return Settings(_env_file=None, agents=AgentsSettings.model_validate(agents))


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_can_be_chosen_by_its_name(name: str) -> None:
    strategy = configured(STRATEGIES, settings(strategy=name)).default
    assert strategy.name == name
    assert type(strategy) is type(STRATEGIES[name])


def test_without_anybody_to_write_summaries_it_is_the_one_that_needs_none_unless_one_is_chosen() -> None:
    def chosen(**values: object) -> tuple[str, str]:
        made = Settings(_env_file=None, **values)  # type: ignore[arg-type]
        return configured(STRATEGIES, made).default.name, made.memory_of_agents.visibility

    own = {"base_url": "http://127.0.0.1:1", "api_key": "a-key"}
    assert chosen() == ("memory", "off")
    assert chosen(agents={"warning": 0.5}) == ("memory", "off")
    assert chosen(memory={"visibility": "debug"}) == ("memory", "debug")
    assert chosen(agents={"strategy": "reset"}) == ("reset", "brief")
    assert chosen(anthropic_api_key="sk-ant-0") == ("reset", "brief")
    assert chosen(compaction_model="claude-haiku-4-5", compaction=own) == ("reset", "brief")


def test_the_levels_are_those_of_the_settings() -> None:
    strategy = configured(STRATEGIES, settings(warning=0.5, critical=0.6)).default
    assert [strategy.level(full(total)) for total in (499, 500, 600)] == [Level.OK, Level.WARNING, Level.CRITICAL]


@pytest.mark.parametrize(("name", "level"), [("reset", 0.75), ("segmented", 0.8), ("memory", 0.8)])
def test_each_strategy_has_the_level_of_its_document_unless_the_settings_say_another(name: str, level: float) -> None:
    own = configured(STRATEGIES, settings(strategy=name)).default
    assert own.options.warning == level
    assert configured(STRATEGIES, settings(strategy=name, warning=0.7)).default.options.warning == 0.7
    assert configured(STRATEGIES, settings(strategy=name, critical=0.85)).default.options.warning == level


def test_choosing_changes_nothing_about_the_strategies_themselves() -> None:
    configured(STRATEGIES, settings(warning=0.1))
    assert STRATEGIES["reset"].level(full(500)) is Level.OK


def test_an_unknown_name_is_a_configuration_error_that_lists_those_there_are() -> None:
    with pytest.raises(ConfigurationError, match=r"magic.*reset"):
        configured(STRATEGIES, settings(strategy="magic"))
