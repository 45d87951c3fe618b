"""Settings come from the environment, and a wrong one is named in a sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bot.errors import ConfigurationError
from bot.runtime.settings import Settings, load_settings

TOKEN = "123456:not-a-real-token"


def load(**values: Any) -> Settings:
    return load_settings(_env_file=None, **values)


def test_nothing_has_to_be_set() -> None:
    settings = load()
    assert settings.data_dir == Path("data")
    assert settings.uses_local_model
    assert (settings.access, settings.allow) == ("pairing", frozenset())
    assert (settings.agents.warning, settings.agents.critical, settings.agents.strategy) == (0.75, 0.9, "reset")
    assert settings.agents.emergency_context_limit is None
    assert settings.secrets == ()


def test_names_in_the_environment_are_those_of_the_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTS__WARNING", "0.6")
    monkeypatch.setenv("AGENTS__EMERGENCY_CONTEXT_LIMIT", "50000")
    monkeypatch.setenv("COMPACTION__MUST_KEEP", r'["ABC-\\d+"]')
    monkeypatch.setenv("MODEL", "claude-test")
    settings = load()
    assert (settings.agents.warning, settings.agents.emergency_context_limit) == (0.6, 50_000)
    assert settings.agents.critical == 0.9
    assert settings.compaction.must_keep == (r"ABC-\d+",)
    assert settings.model == "claude-test"


def test_an_empty_variable_is_as_good_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "")
    monkeypatch.setenv("AGENTS__WARNING", "")
    assert load().uses_local_model
    assert load().agents.warning == 0.75


def test_the_allowlist_is_separated_by_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALLOW", " telegram:1, discord:2 ,,")
    assert load().allow == {"telegram:1", "discord:2"}
    assert load(allow=frozenset({"room:3"})).allow == {"room:3"}


@pytest.mark.parametrize("name", ["anthropic_api_key", "anthropic_auth_token", "anthropic_base_url"])
def test_whoever_names_a_key_or_an_endpoint_wants_no_local_model(name: str) -> None:
    assert not load(**{name: "http://127.0.0.1:1"}).uses_local_model


@pytest.mark.parametrize("access", ["everybody", "Open", ""])
def test_access_that_does_not_exist_is_refused_and_never_taken_for_open(access: str) -> None:
    with pytest.raises(ConfigurationError, match=r"ACCESS=.*'pairing', 'allowlist' or 'open'"):
        load(access=access)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AGENTS__EMERGENCY_CONTEXT_LIMIT", "0"),
        ("AGENTS__EMERGENCY_CONTEXT_LIMIT", "many"),
        ("AGENTS__WARNING", "half"),
        ("AGENTS__WHEN_BUSY", "queue"),
        ("LOG_FORMAT", "xml"),
        ("COMPACTION__MUST_KEEP", '["("]'),
    ],
)
def test_a_wrong_setting_is_named_as_it_is_written(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError, match=name):
        load()


@pytest.mark.parametrize(
    ("name", "value"), [("COMPACTION__MUST_KEEP", r"ABC-\d+"), ("AGENTS", "0.6"), ("COMPACTION", "["), ("TOOLS", "on")]
)
def test_what_should_be_json_and_is_not_is_a_wrong_setting_too(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError, match=f"(?i){name.partition('__')[0]}"):
        load()


def test_all_wrong_settings_are_named_at_once() -> None:
    with pytest.raises(ConfigurationError, match=r"ACCESS.* LOG_FORMAT"):
        load(access="everybody", log_format="xml")


def test_secrets_are_in_no_text_of_the_settings() -> None:
    settings = load(telegram_token=TOKEN, database_url="postgresql://me:swordfish@host/db")
    assert TOKEN not in repr(settings)
    assert "swordfish" not in str(settings)
    assert set(settings.secrets) == {TOKEN, "postgresql://me:swordfish@host/db"}


def test_an_error_never_repeats_a_secret() -> None:
    with pytest.raises(ConfigurationError) as refused:
        load(telegram_token=[TOKEN])
    assert TOKEN not in str(refused.value)
    assert "TELEGRAM_TOKEN" in str(refused.value)


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        load().model = "another"  # type: ignore[misc]  # that is the point


def test_the_key_of_the_summaries_is_a_secret_and_its_address_one_of_http() -> None:
    own = {"base_url": "http://127.0.0.1:11434/", "api_key": "key-of-the-small-one"}
    settings = load(compaction_model="llama3.2:3b", compaction=own)
    assert settings.secrets == ("key-of-the-small-one",)
    assert "key-of-the-small-one" not in repr(settings)
    assert settings.compaction.base_url == "http://127.0.0.1:11434"
    assert settings.has_own_summary_endpoint
    with pytest.raises(ConfigurationError, match="COMPACTION__BASE_URL"):
        load(compaction={"base_url": "127.0.0.1:11434"})
