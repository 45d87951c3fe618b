"""Settings, from the environment and `.env`.

Each name here is a line in `.env.example`, which says what it means; `make docs` makes docs/configuration.md of that. A
docstring here says what whoever reads the code wants to know besides.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Literal

from dotenv import dotenv_values
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic.fields import FieldInfo
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from bot.errors import ConfigurationError
from bot.runtime import setting_values
from bot.runtime.amounts import Amount, amount
from bot.runtime.env_file import ENCODING, env_file, read_env_file
from bot.runtime.providers import choice
from bot.runtime.settings_errors import unreadable, wrong_values

LOCAL_API_KEY = "local"


def _stripped(value: object) -> object:
    """Without what stands around it: a secret from a file often ends in a line break, which nobody sees."""
    return value.strip() if isinstance(value, str) else value


class _Group(BaseModel):
    """Settings that begin with the same word."""

    model_config = ConfigDict(allow_inf_nan=False)

    _stripped = field_validator("*", mode="before")(_stripped)


WITHOUT_A_MODEL = "memory"
"""The strategy of conversations for which nobody can write summaries."""


class AgentsSettings(_Group):
    """`AGENTS__*`: how an agent keeps its context."""

    emergency_context_limit: int | None = Field(default=None, gt=0)
    """Tokens; unset: the model's window less the room for its answer and a margin."""
    warning: float = 0.75
    critical: float = 0.90
    strategy: str = "reset"
    compact_ahead: bool = True
    compact_quiet: bool = False
    """Just before the prompt cache expires, where that is expected to be cheaper; not without `compact_ahead`."""
    compact_quiet_from: float = Field(default=0.25, ge=0, le=1)
    """Of the limit: a smaller conversation is never compacted for that."""
    compact_quiet_most: int = Field(default=4, ge=0)
    """So many times within 24 hours a conversation is compacted for that at most."""
    when_busy: Literal["collect", "steer", "interrupt"] = "collect"
    tell_time: bool = True
    """Whether models are told when each message was sent."""
    at_once: int = Field(default=1_000, gt=0)
    """Conversations that one process keeps awake; more of them wait their turn, or for another process."""


class CompactionSettings(_Group):
    """`COMPACTION__*`: how summaries are made."""

    base_url: str | None = None
    """An endpoint of its own for `COMPACTION_MODEL`."""
    api_key: SecretStr | None = None
    """The key there. The one of the model that talks is never sent there."""
    must_keep: tuple[str, ...] = ()
    """Regular expressions; what they match in the talk must be in every summary of it."""
    rolling: float = Field(default=0, ge=0, le=1)
    """Of the limit: so much has to become old before it is folded into a running summary; 0: there is none."""

    @field_validator("base_url")
    @classmethod
    def _is_an_address(cls, value: str | None) -> str | None:
        example = "http://127.0.0.1:11434"
        return setting_values.address(value, "http", "https", example=example).rstrip("/") if value else value

    @field_validator("api_key")
    @classmethod
    def _can_be_sent(cls, value: SecretStr | None) -> SecretStr | None:
        return _checked(value, setting_values.key)

    @field_validator("must_keep")
    @classmethod
    def _compile(cls, rules: tuple[str, ...]) -> tuple[str, ...]:
        for rule in rules:
            try:
                re.compile(rule)
            except re.error as error:
                raise ValueError(f"has {rule!r}, which is not a regular expression: {error}") from error
        return rules


class ProviderSettings(_Group):
    """What is set of one provider of models, by the variables that everybody calls it by (bot.runtime.providers)."""

    key: SecretStr | None = None
    key_from: str = ""
    """The variable that it was in."""
    base_url: str | None = None
    """As it is written: `choice.address` says what it means."""
    version: str | None = None


class _ProviderVariables(PydanticBaseSettingsSource):
    """The variables of providers, in the environment and `.env`. The table is read when something looks like one."""

    def __init__(self, settings: type[BaseSettings], *given: PydanticBaseSettingsSource) -> None:
        super().__init__(settings)
        self._given: dict[str, str | None] = {}
        for source in given:  # the first wins
            if isinstance(source, EnvSettingsSource):
                self._given = {**source.env_vars, **{name: value for name, value in self._given.items() if value}}

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[object, str, bool]:
        """Required of a source; :meth:`__call__` does it for the one field that there is."""
        raise NotImplementedError

    def __call__(self) -> dict[str, object]:
        given = {name.upper(): value for name, value in self._given.items() if value and value.strip()}
        if not any(OF_A_PROVIDER.search(name) for name in given):
            return {}
        from bot.runtime.providers.table import providers

        found: dict[str, dict[str, str]] = {}
        for provider in providers().values():
            keys = [name for name in provider.keys if name in given]
            values = {
                "key": given[keys[0]] if keys else None,
                "key_from": keys[0] if keys else None,
                "base_url": given.get(provider.base_setting),
                "version": given.get(provider.version_setting),
            }
            if provider.name != choice.ANTHROPIC and (values["key"] or values["base_url"]):
                found[provider.name] = {name: value for name, value in values.items() if value}
        return {_NOT_A_VARIABLE: found} if found else {}


OF_A_PROVIDER = re.compile(r"^(?!ANTHROPIC_).*_(API_KEY|API_TOKEN|BASE_URL|ENDPOINT|HOST)$")
"""How the names of all of them end."""
_NOT_A_VARIABLE = "providers of models"
"""By which pydantic knows what is found so: `PROVIDERS` would be somebody else's."""


class EmbeddingsSettings(_Group):
    """`EMBEDDINGS__*`: how `tiered` finds what belongs to a question."""

    url: str | None = None
    """An endpoint like Ollama's `/api/embed`; unset: WordLlama, if `palimpsest[vectors]` is installed, or words."""
    model: str = "nomic-embed-text"
    """The model at that endpoint."""

    @field_validator("url")
    @classmethod
    def _is_an_address(cls, value: str | None) -> str | None:
        return setting_values.address(value, "http", "https", example="http://127.0.0.1:11434") if value else value


class RateSettings(_Group):
    """`RATE__*`: messages in ten minutes that are taken from one person, and in one chat; 0: any number."""

    person: int = Field(default=600, ge=0)
    chat: int = Field(default=1200, ge=0)


class RetentionSettings(_Group):
    """`RETENTION__*`: what is not kept for ever. What was said is."""

    settled_days: float = Field(default=30.0, ge=0)
    """Days that answered messages stay in the inbox, and delivered ones in the outbox; 0: for ever."""
    trace_files_days: float = Field(default=90.0, ge=0)
    """Days that the daily files of traces stay; 0: for ever. The book keeps the sections."""
    trace_compress_days: float = Field(default=2.0, ge=0)
    """Days after which those of them are compressed whose day was over then; 0: never."""
    ledger_days: float = Field(default=400.0, ge=0)
    """Days that the rows of single requests to models stay; 0: for ever. What they add up to stays."""


class BudgetSettings(_Group):
    """`BUDGET__*`: what may be spent on models; unset: any amount."""

    person_day: Amount | None = None
    """By one person in a day, wherever they are. Days and months are those of UTC."""
    chat_day: Amount | None = None
    """In one conversation in a day."""
    day: Amount | None = None
    """By all together."""
    month: Amount | None = None
    cheaper_model: str | None = None
    """Who answers from 80 % of a budget in dollars on; written as in `MODEL`."""

    @field_validator("person_day", "chat_day", "day", "month", mode="before")
    @classmethod
    def _is_an_amount(cls, value: object) -> object:
        return amount(str(value)) if isinstance(value, str | int | float) else value


class FilesSettings(_Group):
    """`FILES__*`: what people send."""

    most_bytes: int = Field(default=20_000_000, gt=0)
    seconds: int = Field(default=5, gt=0)
    """Of a processor, to open one."""
    memory: int = Field(default=800_000_000, ge=200_000_000)
    """Bytes, to open one."""
    at_once: int = Field(default=2, gt=0)
    """That are opened at the same time."""


class AppointmentsSettings(_Group):
    """`APPOINTMENTS__*`: what people and the model may have come at a time."""

    per_person: int = Field(default=100, ge=0)
    """That may be to come of one person, wherever they are."""
    per_chat: int = Field(default=200, ge=0)
    """… in one conversation."""


class ToolsSettings(_Group):
    """`TOOLS__*`: what the model can do besides talking."""

    most_rounds: int = Field(default=40, gt=0)
    """Requests with tool calls in one turn; then it has to answer."""
    most_file_bytes: int = Field(default=1_000_000, gt=0)
    """Of a file that it writes."""
    most_folder_bytes: int = Field(default=500_000_000, gt=0)
    """Of all files of a conversation; a fuller folder takes no more."""
    shell: Literal["off", "on", "unconfined"] = "off"
    shell_network: bool = False
    web: Literal["off", "search", "fetch", "both"] = "off"
    """Run by the provider itself."""


_SHORTEST_PASSWORD, _SHORTEST_TOKEN = 12, 32


class PageSettings(_Group):
    """`PAGE__*`: the page of those who run it, and its door."""

    password: SecretStr | None = None
    """What a browser logs in with."""
    token: SecretStr | None = None
    """What a script sends as `Authorization: Bearer …`."""
    local: bool = True
    """Without either, whether the page is open to this machine while `HTTP_BIND` is an address of loopback."""
    session_hours: float = Field(default=12.0, gt=0, le=8_760)
    hosts: Annotated[frozenset[str], NoDecode] = frozenset()
    """Names that the page is called by, separated by commas; besides those of loopback."""
    proxies: Annotated[tuple[str, ...], NoDecode] = ()
    """Addresses or networks of reverse proxies, whose word on who calls is taken."""

    @field_validator("password", "token")
    @classmethod
    def _long_enough(cls, value: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        least = _SHORTEST_PASSWORD if info.field_name == "password" else _SHORTEST_TOKEN
        if value is not None and len(value.get_secret_value()) < least:
            raise ValueError(f"has to have at least {least} characters; `openssl rand -hex 24` makes a good one")
        return value

    @field_validator("hosts", mode="before")
    @classmethod
    def _split_hosts(cls, value: object) -> object:
        return frozenset(map(setting_values.host_name, _parts(value))) if isinstance(value, str) else value

    @field_validator("proxies", mode="before")
    @classmethod
    def _split_proxies(cls, value: object) -> object:
        return tuple(map(setting_values.network, _parts(value))) if isinstance(value, str) else value


def _parts(value: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in value.split(",") if part.strip())


def _checked(secret: SecretStr | None, check: Callable[[str], str]) -> SecretStr | None:
    """A secret whose value is one of its kind."""
    if secret is not None and secret.get_secret_value():
        check(secret.get_secret_value())
    return secret


class MemorySettings(_Group):
    """`MEMORY__*`: what the strategy `memory` does besides compacting."""

    visibility: Literal["off", "brief", "debug"] = "brief"
    """What people see of it in the chat."""
    pre_tool_gate: bool = True
    """Whether commands that look for a known folder get its path."""
    extractor: Literal["off", "model"] = "off"
    """Who else looks for facts: a model, asked now and then for what was said since."""


_EXAMPLES = {
    "anthropic_base_url": "https://models.example.com",
    "telegram_api_base": "http://127.0.0.1:8081",
    "discord_api_base": "http://127.0.0.1:8082/api/v10",
    "telegram_webhook_url": "https://bot.example.org/telegram",
}
_KINDS = {
    "telegram_token": setting_values.telegram_token,
    "telegram_webhook_secret": setting_values.webhook_secret,
    "discord_token": setting_values.discord_token,
    "database_url": setting_values.database,
    "redis_url": setting_values.redis,
}


class Settings(BaseSettings):
    """All of it. Fields of nested groups are set with two underscores: `AGENTS__WARNING=0.6`."""

    model_config = SettingsConfigDict(
        env_file_encoding=ENCODING,
        env_nested_delimiter="__",
        extra="ignore",
        env_ignore_empty=True,
        frozen=True,
        allow_inf_nan=False,
    )

    _stripped = field_validator("*", mode="before")(_stripped)

    data_dir: Path = Path("./data")
    database_url: SecretStr | None = None
    database_pooler: Literal["none", "session", "transaction"] = "none"
    """What stands between this program and PostgreSQL."""
    database_connections: int = Field(default=16, ge=4)
    """Of this process to PostgreSQL, at once."""
    redis_url: SecretStr | None = None

    anthropic_api_key: SecretStr | None = None
    anthropic_auth_token: SecretStr | None = None
    anthropic_base_url: str | None = None
    model: str | None = None
    model_fallback: Annotated[tuple[str, ...], NoDecode] = ()
    """Who answers where that one does not, in this order."""
    compaction_model: str | None = None
    providers: Mapping[str, ProviderSettings] = Field(default_factory=dict, validation_alias=_NOT_A_VARIABLE)
    """Those of which something is set, by name, without Anthropic."""
    model_calls: int = Field(default=64, gt=0)
    """Calls of the model that this process makes at once; whoever else wants an answer waits in line."""
    model_patience: float = Field(default=120.0, ge=0)
    """Seconds for which an answer is tried again while no model gives one; 0: a few tries, in five seconds."""
    model_silence: float | None = Field(default=None, gt=0)
    """Seconds after which a model that has not begun to answer is taken to be away."""
    prompt_cache: Literal["auto", "5m", "1h"] = "auto"
    """For how long the provider is to remember a conversation after each request; auto: for an hour at Anthropic, and
    elsewhere for five minutes, which everybody takes (docs/cost.md)."""
    system_prompt: str | None = None

    telegram_token: SecretStr | None = None
    telegram_api_base: str | None = None
    telegram_webhook_url: str | None = None
    telegram_webhook_secret: SecretStr | None = None

    discord_token: SecretStr | None = None
    discord_api_base: str | None = None
    discord_gateway: str | None = None

    timezone: str | None = None
    """An IANA name: the zone of conversations that chose none; unset: the machine's."""
    groups: Literal["mention", "always"] = "mention"
    """What is answered where several people talk: messages that mention the bot or reply to it, or all."""
    deleted_messages: Literal["mark", "hide"] = "mark"
    """What becomes of a message that its author deletes after it was read."""

    access: Literal["pairing", "allowlist", "open"] = "pairing"
    allow: Annotated[frozenset[str], NoDecode] = frozenset()
    """People as `connector:id`, separated by commas, e.g. `telegram:12345`."""
    admins: Annotated[frozenset[str], NoDecode] = frozenset()
    """Likewise: people who may let others in."""
    rate: RateSettings = RateSettings()
    retention: RetentionSettings = RetentionSettings()
    files: FilesSettings = FilesSettings()
    budget: BudgetSettings = BudgetSettings()
    prices: Path | None = None
    """A file of prices (bot.runtime.prices), which count before all others."""

    agents: AgentsSettings = AgentsSettings()
    compaction: CompactionSettings = CompactionSettings()
    strategy: dict[str, dict[str, str]] = Field(default_factory=dict)
    """Options of strategies by the strategy's name, as they are written; each strategy checks its own."""
    embeddings: EmbeddingsSettings = EmbeddingsSettings()
    memory: MemorySettings = MemorySettings()
    appointments: AppointmentsSettings = AppointmentsSettings()
    tools: ToolsSettings = ToolsSettings()
    mcp_config: Path | None = None
    """MCP servers; unset: `mcp.json` in the data folder, if there is one."""

    shutdown_seconds: float = Field(default=20.0, ge=0)
    """Answers and summaries under way may take so long to come to their end when the program is told to."""
    log_format: Literal["console", "json"] = "console"
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    otel_exporter_otlp_endpoint: str | None = None
    """Where traces go (bot.runtime.tracing); unset: there are none. These four are OpenTelemetry's own names."""
    otel_exporter_otlp_headers: SecretStr | None = None
    """`name=value`, separated by commas."""
    otel_service_name: str = "palimpsest"
    otel_instrumentation_genai_capture_message_content: Literal[
        "false", "true", "no_content", "span_only", "event_only", "span_and_event"
    ] = "false"
    """Whether what is said is in them."""
    http_bind: str = "127.0.0.1:8080"
    page: PageSettings = PageSettings()

    @field_validator("data_dir", "mcp_config", "prices")
    @classmethod
    def _from_home(cls, value: Path | None) -> Path | None:
        return setting_values.path(value) if value else value

    @field_validator("http_bind")
    @classmethod
    def _is_a_place(cls, value: str) -> str:
        return setting_values.host_and_port(value)

    @field_validator("anthropic_base_url", "telegram_api_base", "discord_api_base", "telegram_webhook_url")
    @classmethod
    def _is_an_address(cls, value: str | None, info: ValidationInfo) -> str | None:
        if not value:
            return value
        checked = setting_values.address(value, "https", "http", example=_EXAMPLES[info.field_name or ""])
        # What is added to the others begins with a slash; the webhook's path is compared as it is.
        return checked if info.field_name == "telegram_webhook_url" else checked.rstrip("/")

    @field_validator("discord_gateway")
    @classmethod
    def _is_a_gateway(cls, value: str | None) -> str | None:
        return setting_values.address(value, "wss", "ws", example="ws://127.0.0.1:8082/gateway") if value else value

    @field_validator("anthropic_api_key", "anthropic_auth_token")
    @classmethod
    def _can_be_sent(cls, value: SecretStr | None) -> SecretStr | None:
        return _checked(value, setting_values.key)

    @field_validator("telegram_token", "telegram_webhook_secret", "discord_token", "database_url", "redis_url")
    @classmethod
    def _is_of_its_kind(cls, value: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        return _checked(value, _KINDS[info.field_name or ""])

    @field_validator("timezone")
    @classmethod
    def _is_a_zone(cls, value: str | None) -> str | None:
        return setting_values.timezone(value) if value else value

    @field_validator("allow", "admins", mode="before")
    @classmethod
    def _split_people(cls, value: object) -> object:
        return frozenset(map(setting_values.person, _parts(value))) if isinstance(value, str) else value

    @field_validator("model_fallback", mode="before")
    @classmethod
    def _split_models(cls, value: object) -> object:
        return _parts(value) if isinstance(value, str) else value

    @field_validator("otel_exporter_otlp_endpoint")
    @classmethod
    def _takes_traces(cls, value: str | None) -> str | None:
        return setting_values.address(value, "http", "https", example="http://127.0.0.1:4318") if value else value

    @field_validator("otel_instrumentation_genai_capture_message_content", mode="before")
    @classmethod
    def _in_small_letters(cls, value: object) -> object:
        return value.lower() if isinstance(value, str) else value

    @field_validator("log_level", mode="before")
    @classmethod
    def _in_capitals(cls, value: object) -> object:
        return value.upper() if isinstance(value, str) else value

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Those that there are anyway, and the one for variables that are no fields."""
        of_providers = _ProviderVariables(settings_cls, env_settings, dotenv_settings)
        return init_settings, env_settings, dotenv_settings, file_secret_settings, of_providers

    @property
    def cache_life(self) -> Literal["5m", "1h"]:
        """What `PROMPT_CACHE` comes to at the endpoint of `ANTHROPIC_*`."""
        if self.prompt_cache != "auto":
            return self.prompt_cache
        return "1h" if self.anthropic_base_url is None else "5m"

    @property
    def talker(self) -> choice.Choice:
        """The model that talks; where the settings do not say which, what `settings_check` stops the program for, none
        of a provider's."""
        try:
            return choice.talker(self)
        except choice.Unresolved:
            return choice.Choice(choice.ANTHROPIC, self.model or choice.DEFAULT_MODEL)

    @property
    def uses_local_model(self) -> bool:
        """Nobody named a model to talk to: neither a key nor an endpoint."""
        return self.talker.is_local

    @property
    def strategy_of_all(self) -> str:
        """How conversations are compacted that chose nothing: as `AGENTS__STRATEGY` says; where it says nothing, and
        summaries were the small local model's, which writes none of use and takes minutes, without any."""
        if "strategy" in self.agents.model_fields_set or self.has_own_summary_endpoint:
            return self.agents.strategy
        try:
            return WITHOUT_A_MODEL if choice.summaries(self).is_local else self.agents.strategy
        except choice.Unresolved:
            return self.agents.strategy

    @property
    def with_summaries(self) -> Settings:
        """These, where another model than theirs writes summaries: what is to be done for want of one is not."""
        return self.model_copy(update={"agents": self.agents.model_copy(update={"strategy": self.agents.strategy})})

    @property
    def memory_of_agents(self) -> MemorySettings:
        """Memory tells of its facts where it was chosen, and not where it is there for want of a model."""
        is_chosen = "visibility" in self.memory.model_fields_set or self.strategy_of_all == self.agents.strategy
        return self.memory if is_chosen else self.memory.model_copy(update={"visibility": "off"})

    @property
    def has_own_summary_endpoint(self) -> bool:
        """Whether summaries are written elsewhere than answers: by `COMPACTION_MODEL`, at an endpoint of its own."""
        return bool(self.compaction_model and (self.compaction.base_url or self.compaction.api_key))

    @property
    def secrets(self) -> tuple[str, ...]:
        """The values that must be in no log, trace or error."""
        held = (
            self.anthropic_api_key,
            self.anthropic_auth_token,
            self.compaction.api_key,
            self.telegram_token,
            self.telegram_webhook_secret,
            self.discord_token,
            self.database_url,
            self.redis_url,
            self.page.password,
            self.page.token,
            *(one.key for one in self.providers.values()),
        )
        sent = self.otel_exporter_otlp_headers
        in_headers = [one.partition("=")[2].strip() for one in sent.get_secret_value().split(",")] if sent else []
        secrets = [secret.get_secret_value() for secret in held if secret]
        return tuple(secret for secret in (*secrets, *in_headers) if secret)

    @property
    def traces_content(self) -> bool:
        """Whether traces tell what is said."""
        return self.otel_instrumentation_genai_capture_message_content in ("true", "span_only", "span_and_event")


def variables(file: Path | None = None) -> Mapping[str, str]:
    """What is set, in this `.env`, or in the one that counts, and in the environment, which wins."""
    in_file = dotenv_values(file or env_file(), encoding=ENCODING)
    return {name: value or "" for name, value in {**in_file, **os.environ}.items()}


def load_settings(**overrides: object) -> Settings:
    """The settings of this process. Raises ConfigurationError with a sentence for each value that cannot be.

    What only all of them together show, and names that are no settings, is for :mod:`bot.runtime.settings_check`.
    """
    try:
        file = overrides.setdefault("_env_file", env_file())
        if file is not None:
            read_env_file(file if isinstance(file, Path) else None)
        if "providers" in overrides:
            overrides[_NOT_A_VARIABLE] = overrides.pop("providers")
        return Settings(**overrides)  # type: ignore[arg-type]  # names and values are checked by pydantic itself
    except ValidationError as error:
        raise ConfigurationError(" ".join(wrong_values(error, Settings))) from error
    except SettingsError as error:
        raise ConfigurationError(unreadable(error, Settings, variables())) from error
