"""Whether the settings say what somebody meant: one check for `run`, `chat`, the worker and the doctor.

Values that cannot be are refused when the settings are loaded (:mod:`bot.runtime.settings`). Here is what only all of
them together show, and names that are no settings, of which pydantic says nothing. What cannot have been meant stops
the program; what merely does nothing is said once. A name stops it only where it can be nobody else's, which is one of
a group of ours (`AGENTS__…`): whatever else is in the environment may be a stranger's.
"""

from __future__ import annotations

import difflib
import importlib.util
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from urllib.parse import urlsplit

from pydantic import BaseModel

from bot.errors import ConfigurationError
from bot.runtime import prices, setting_values
from bot.runtime.amounts import Amount
from bot.runtime.checks import Finding, as_line, problem, warning
from bot.runtime.env_file import ENV_FILE, EnvFile, env_file, read_env_file, user_env_file
from bot.runtime.prices import Price
from bot.runtime.providers import ANTHROPIC, Provider, Unresolved, choice, providers
from bot.runtime.settings import OF_A_PROVIDER, ProviderSettings, Settings, load_settings, variables

PART, ACCESS, MCP, TELEGRAM = "settings", "access", "mcp", "telegram"
ROLES = ("gateway", "agents", "worker")
_ALIKE = 0.82
_SHORT, _SHORT_ALIKE = 5, 0.8
"""Of so few letters one may be another: `MODLE`."""
_GROUPS_ALIKE = 0.75
_PLATFORMS = ("TELEGRAM_", "DISCORD_")
_MEANT = {
    "ANTHROPIC_MODEL": "MODEL",
    "AZURE_API_KEY": "AZURE_OPENAI_API_KEY",
    "AZURE_OPENAI_KEY": "AZURE_OPENAI_API_KEY",
    "BOT_TOKEN": "TELEGRAM_TOKEN",
    "CLAUDE_API_KEY": "ANTHROPIC_API_KEY",
    "GOOGLE_GENERATIVE_AI_API_KEY": "GEMINI_API_KEY",
    "GROK_API_KEY": "XAI_API_KEY",
    "OLLAMA_API_BASE": "OLLAMA_HOST",
    "OLLAMA_BASE_URL": "OLLAMA_HOST",
    "OPENAI_API_BASE": "OPENAI_BASE_URL",
    "OPENAI_KEY": "OPENAI_API_KEY",
    "OPENAI_MODEL": "MODEL",
    "TOGETHERAI_API_KEY": "TOGETHER_API_KEY",
}
_ONLY_WITHOUT_A_MODEL = frozenset(_MEANT) - {"ANTHROPIC_MODEL", "BOT_TOKEN"}
"""In the environment they may be for another program, as long as somebody answers here."""
_OTHERS = frozenset({"GROUP", "HOSTMODEL", "MODE"})
"""What shells and others set."""
_SHARED = frozenset(
    {
        "DATABASE_URL", "REDIS_URL", "MODEL", "SYSTEM_PROMPT", "TELEGRAM_TOKEN", "DISCORD_TOKEN", "TIMEZONE", "GROUPS",
        "ACCESS", "ALLOW", "ADMINS", "PRICES", "DATA_DIR", "LOG_FORMAT", "LOG_LEVEL",
    }
)  # fmt: skip
"""Settings that other programs have by the same name, beside the variables of providers and of OpenTelemetry."""
_DEPLOYED = frozenset({"POSTGRES_PASSWORD", "GRAFANA_PASSWORD", "HTTP_PORT", "PALIMPSEST_VERSION"})
"""What deploy/compose.yaml reads, perhaps from the same `.env`."""
_KUBERNETES = re.compile(
    r"\w+_(?:SERVICE_(?:HOST|PORT(?:_\w+)?)|PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)?)"
)
"""What Kubernetes puts into every container of a namespace in which a service has a name such as `telegram`."""
_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)")
_LEAST_LIMIT = 1_000
_MOST_NAMED = 3
_VERSION = re.compile(r"/v\d+$")
_WEBHOOK_PORTS = frozenset({None, 80, 88, 443, 8443})


def checked_settings(roles: Collection[str] = ROLES, **overrides: object) -> tuple[Settings, tuple[str, ...]]:
    """The settings of a process that plays these roles, and what is to be said of them, a line each.

    ``overrides`` win over what is set. Raises ConfigurationError with one line that names all that cannot be meant.
    """
    settings = load_settings(**overrides)
    findings = check(settings, variables(), read_env_file(), roles)
    wrong = [as_line(finding) for finding in findings if finding.state == "problem"]
    if wrong:
        raise ConfigurationError(" ".join(wrong))
    return settings, tuple(as_line(finding) for finding in findings)


def log_notes(notes: Sequence[str]) -> None:
    """Say once what :func:`checked_settings` says of the settings."""
    import structlog  # what has no log, as the doctor, does not wait for it

    log = structlog.get_logger(__name__)
    for note in notes:
        log.warning("setting_doubtful", note=note)


def check(
    settings: Settings, given: Mapping[str, str], file: EnvFile, roles: Collection[str] = ROLES
) -> Sequence[Finding]:
    """What is wrong or doubtful. ``given``: the environment and `.env`, by name."""
    findings = [
        *_names_in(given, file, settings),
        *_repeated(file),
        *_quoted(given, file),
        *_levels(settings),
        *_strategies(settings),
        *people(settings),
        *_of_the_model(settings),
        *_of_money(settings),
        *_idle(settings, "database_url", "database_pooler", "database_connections"),
    ]
    if "gateway" in roles:
        findings += _of_platforms(settings)
    if "agents" in roles:
        findings += _of_tools(settings)
    return findings


# --- names ---


def of_others(file: EnvFile) -> tuple[str, ...]:
    """The names in a `.env` that seems to be another program's, and are no settings of this one: nothing stands in it
    that only this program has. Empty for one of ours."""
    names = {name.upper() for name in file.lines}
    known = set(_names(Settings))
    of_all = {name for name in known if name.startswith(("ANTHROPIC_", "OTEL_"))} | _SHARED
    if any(name in known - of_all or name.startswith((*_groups(known), "STRATEGY__")) for name in names):
        return ()
    strange = unknown(dict.fromkeys(names, "set"), file)
    perhaps = [name for name in strange if name not in _DEPLOYED and not OF_A_PROVIDER.search(name)]
    return tuple(name for name in perhaps if not (_nearest(name) or _nearest_of_providers(name)))


def unknown(given: Mapping[str, str], file: EnvFile) -> list[str]:
    """The names of set variables that look like one of ours and are none; in `.env`, all that are none."""
    known = {name for name in _names(Settings) if name not in ("STRATEGY", "PROVIDERS")}
    in_file = {name.upper() for name in file.lines}
    names = sorted({*_written(given, known)} - known - _OTHERS - _of_providers(given))
    return [name for name in names if _looks_like_ours(name, known) or (name in in_file and not _is_an_option(name))]


def _of_providers(given: Collection[str]) -> frozenset[str]:
    """The variables of providers; none where nothing that is set looks like one, and the table need not be read."""
    if not any(OF_A_PROVIDER.search(name.upper()) for name in given):
        return frozenset()
    return frozenset(name for one in providers().values() for name in one.variables)


def _written(given: Mapping[str, str], known: Collection[str]) -> Iterator[str]:
    """The names of what is set; a group that is written as JSON as a whole sets what is in it."""
    groups = {group.removesuffix("__") for group in _groups(known)}
    for name, value in given.items():
        if value and name.upper() in groups:
            with suppress(ValueError):
                inside = json.loads(value)
                yield from (f"{name.upper()}__{key.upper()}" for key in (inside if isinstance(inside, dict) else ()))
        elif value:
            yield name.upper()


def _looks_like_ours(name: str, known: Collection[str]) -> bool:
    if _is_an_option(name) or _KUBERNETES.fullmatch(name):
        return False
    return name.startswith((*_groups(known), *_PLATFORMS)) or bool(_nearest(name))


def _is_an_option(name: str) -> bool:
    """Those of strategies are theirs to know."""
    return name.startswith("STRATEGY__")


def _groups(known: Collection[str]) -> tuple[str, ...]:
    return tuple({f"{name.split('__')[0]}__" for name in known if "__" in name})


def _names_in(given: Mapping[str, str], file: EnvFile, settings: Settings) -> Iterator[Finding]:
    strangers = tuple(name for name in of_others(file) if name not in _referenced(settings))
    yield from _of_the_place(strangers)
    groups = _groups(list(_names(Settings)))
    used = _DEPLOYED | _referenced(settings) if file.lines else frozenset()
    for name in unknown(given, file):
        where = " in .env" if name in {written.upper() for written in file.lines} else ""
        if name in strangers:
            continue
        if not where and name in _ONLY_WITHOUT_A_MODEL and not settings.uses_local_model:
            continue
        nearest = _nearest(name) or (_nearest_of_providers(name) if where else None)
        sentence = f"{name}{where} is set, and is no setting of this program."
        if name.startswith(groups):
            yield problem(PART, sentence, _advice(nearest))
        elif nearest or name.startswith(_PLATFORMS) or name not in used:
            yield warning(PART, sentence, _advice(nearest))


def _of_the_place(strangers: Sequence[str]) -> Iterator[Finding]:
    """Which of two files counts, where somebody may mean the other one. ``strangers``: see :func:`of_others`."""
    counts, own = env_file(), user_env_file()
    if not ENV_FILE.exists() or ENV_FILE.absolute() == own:
        return
    if counts == own:
        sentence = f"The .env of this folder seems to be another program's, and is not read: {own} counts."
        yield warning(
            PART,
            sentence,
            "If it is meant for this one, write a setting into it that only this one has, e.g. AGENTS__STRATEGY=reset.",
        )
    elif own.is_file():
        sentence = f"The settings in the .env of this folder count here, and not those in {own}."
        yield warning(PART, sentence, "Start in another folder for those.")
    if strangers:
        names = ", ".join(strangers[:_MOST_NAMED])
        sentence = f".env seems to be another program's: of {names} this one knows nothing."
        yield warning(PART, sentence, "Then start in another folder; else take them away, or look into .env.example.")


def _advice(nearest: str | None) -> str:
    return f"Did you mean {nearest}?" if nearest else "Take it away, or look for its name in .env.example."


def _nearest(name: str) -> str | None:
    if name in _MEANT:
        return _MEANT[name]
    cutoff = _ALIKE if len(name) > _SHORT else _SHORT_ALIKE
    if close := difflib.get_close_matches(name, list(_names(Settings)), n=1, cutoff=cutoff):
        return close[0]
    group, underscores, rest = name.partition("__")
    groups = [known.removesuffix("__") for known in (*_groups(list(_names(Settings))), "STRATEGY__")]
    if underscores and (alike := difflib.get_close_matches(group, groups, n=1, cutoff=_GROUPS_ALIKE)):
        return f"{alike[0]}__{rest}" if alike[0] != group else None
    return None


def _nearest_of_providers(name: str) -> str | None:
    variables = [variable for one in providers().values() for variable in one.variables]
    return next(iter(difflib.get_close_matches(name, variables, n=1, cutoff=_ALIKE)), None)


def _names(group: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, field in group.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from _names(kind, f"{prefix}{name.upper()}__")
        else:
            yield f"{prefix}{name.upper()}"


def _referenced(settings: Settings) -> frozenset[str]:
    """What the MCP servers are given of the environment and `.env`."""
    path = settings.mcp_config or settings.data_dir / "mcp.json"
    try:
        text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    except OSError:
        return frozenset()
    return frozenset(name.upper() for name in _REFERENCE.findall(text))


def _repeated(file: EnvFile) -> Iterator[Finding]:
    for name, lines in file.lines.items():
        if len(lines) > 1:
            where = f"{', '.join(map(str, lines[:-1]))} and {lines[-1]}"
            yield warning(PART, f".env sets {name} in lines {where}.", "The last one counts: take the others away.")


def _quoted(given: Mapping[str, str], file: EnvFile) -> Iterator[Finding]:
    """Docker's `--env-file` takes quotation marks for a part of the value, and so does Kubernetes."""
    known = (set(_names(Settings)) | _of_providers(given)) - {"SYSTEM_PROMPT"}
    for name, value in given.items():
        quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
        if quoted and name.upper() in known and name not in file.lines:
            sentence = f"{name.upper()} begins and ends with a quotation mark, which is taken for a part of it."
            yield warning(PART, sentence, "Write it without them: only a shell and .env take them away.")


# --- values that do not go together ---


def _levels(settings: Settings) -> Iterator[Finding]:
    """Percent where a share is wanted is taken, and means something else."""
    low, high = settings.agents.warning, settings.agents.critical
    meant = "It is a share of the limit: write {} for {:g} %."
    if low > 1:
        sentence = f"AGENTS__WARNING={low:g} turns automatic compaction off."
        yield warning(PART, sentence, meant.format(f"{low / 100:g}", low))
    if high > 1:
        sentence = f"AGENTS__CRITICAL={high:g} is a level that no conversation reaches."
        yield warning(PART, sentence, meant.format(f"{high / 100:g}", high))
    if 0 < low < 1 and high < low:
        sentence = f"AGENTS__CRITICAL={high:g} is below AGENTS__WARNING={low:g}."
        yield problem(PART, sentence, f"Write a share from {low:g} to 1 for AGENTS__CRITICAL.")
    limit = settings.agents.emergency_context_limit
    if limit is not None and limit < _LEAST_LIMIT:
        sentence = f"AGENTS__EMERGENCY_CONTEXT_LIMIT={limit} leaves no room to talk in: it is in tokens."
        yield warning(PART, sentence, "The system prompt and the tools take some hundred of them; write e.g. 16000.")


def _strategies(settings: Settings) -> Iterator[Finding]:
    if settings.agents.strategy == "reset" and not settings.strategy:
        return  # nothing was chosen, and loading them takes a while
    from bot.compaction import STRATEGIES
    from bot.runtime.strategies import configured, how_to_get_vectors

    try:
        known = configured(STRATEGIES, settings)
    except ConfigurationError as error:
        yield problem(PART, str(error), "")
        return
    wants_vectors = getattr(known.default, "wants_vectors", False)
    if wants_vectors and not settings.embeddings.url and importlib.util.find_spec("wordllama") is None:
        sentence = (
            f"AGENTS__STRATEGY={known.default.name}: it compares messages by their words, as nothing makes vectors."
        )
        yield warning(PART, sentence, how_to_get_vectors())
    for name in settings.strategy:
        options = getattr(known.get(name), "options", None)
        low, high = (getattr(options, level, None) for level in ("warning", "critical"))
        if isinstance(low, float) and isinstance(high, float) and 0 < low < 1 and high < low:
            sentence = f"STRATEGY__{name.upper()}: its critical level {high:g} is below its warning level {low:g}."
            yield problem(PART, sentence, f"Write a share from {low:g} to 1 for STRATEGY__{name.upper()}__CRITICAL.")


_TAKEN = ("telegram", "discord")
_PERSON = re.compile(r"(?:telegram|discord):\d+")
_CHAT = re.compile(r"telegram:-\d+")


def people(settings: Settings) -> Iterator[Finding]:
    """Entries of ALLOW and ADMINS that name nobody, and a list without anybody that is the only way in."""
    named = [("ALLOW", entry) for entry in settings.allow] + [("ADMINS", entry) for entry in settings.admins]
    for variable, entry in sorted(named):
        if not _PERSON.fullmatch(entry):
            yield _nobody(variable, entry)
    platform = settings.telegram_token or settings.discord_token
    if platform and settings.access == "allowlist" and not settings.allow | settings.admins:
        advice = "Name people in ALLOW as connector:id, or set ACCESS=pairing."
        yield problem(ACCESS, "ACCESS=allowlist and nobody is in ALLOW: nobody is answered.", advice)


def _nobody(variable: str, entry: str) -> Finding:
    connector = entry.partition(":")[0]
    if _CHAT.fullmatch(entry):
        sentence = f"{variable} has {entry}: a group or channel, which lets in only who writes in its name."
        return warning(ACCESS, sentence, "Name the people, each as telegram:12345.")
    if connector in ("terminal", "web"):
        sentence = f"{variable} has {entry}: whoever is at the terminal or on the page may always talk."
        return warning(ACCESS, sentence, "Take it away.")
    alike = difflib.get_close_matches(connector, _TAKEN, n=1, cutoff=_GROUPS_ALIKE)
    if connector not in _TAKEN and not alike:
        sentence = f"{variable} has {entry}, and this program comes with no connector {connector}."
        return warning(ACCESS, sentence, "Write telegram:12345 or discord:67890, unless the connector is your own.")
    advice = (
        "Write connector:id with the number of the person and not a name, and commas between them: "
        "telegram:12345,discord:67890."
    )
    return problem(ACCESS, f"{variable} has {entry}, which names nobody.", advice)


def _of_the_model(settings: Settings) -> Iterator[Finding]:
    base, key = settings.anthropic_base_url, settings.anthropic_api_key
    if base and base.rstrip("/").endswith(("/v1", "/v1/messages")):
        sentence = f"ANTHROPIC_BASE_URL={_without_login(base)} ends in a path that is added to it: /v1/messages."
        yield warning(PART, sentence, "Write it without, unless your server wants it twice.")
    if key and not base and not key.get_secret_value().startswith("sk-ant-"):
        sentence = "ANTHROPIC_API_KEY is no key of Anthropic's, which begin with sk-ant-."
        owner = _owner(key.get_secret_value())
        advice = f"It looks like one of {owner.title}: set {owner.key} to it in its place." if owner else ""
        yield warning(PART, sentence, advice or "For another endpoint set ANTHROPIC_BASE_URL too.")
    own = settings.compaction
    if (own.base_url or own.api_key) and not settings.compaction_model:
        name = "COMPACTION__BASE_URL" if own.base_url else "COMPACTION__API_KEY"
        sentence = f"{name} does nothing without COMPACTION_MODEL: the model that talks writes the summaries."
        yield problem(PART, sentence, f"Set COMPACTION_MODEL to a model of that endpoint, or unset {name}.")
    if own.base_url and own.base_url.endswith(("/v1", "/v1/messages")):
        sentence = f"COMPACTION__BASE_URL={_without_login(own.base_url)} ends in a path that is added to it."
        yield warning(PART, sentence, "Write it without /v1, unless your server wants it twice.")
    yield from _chosen(settings)
    for name, one in settings.providers.items():
        yield from _of_a_provider(providers()[name], one)


def _chosen(settings: Settings) -> Iterator[Finding]:
    """Whether it is said which models are meant, and whether what is said counts."""
    said: set[str] = set()
    for choose in (choice.talker, choice.fallbacks, choice.summaries):
        try:
            choose(settings)
        except Unresolved as error:
            if str(error) not in said:
                yield problem(PART, error.sentence, error.advice)
            said.add(str(error))
    if said:
        return
    yield from _stand_ins(settings)
    if not settings.uses_local_model:
        return
    if settings.compaction_model and not settings.has_own_summary_endpoint and choice.summaries(settings).is_local:
        sentence = f"COMPACTION_MODEL={settings.compaction_model} is ignored: the local model answers."
        yield warning(PART, sentence, "Set ANTHROPIC_API_KEY or ANTHROPIC_BASE_URL, or COMPACTION__BASE_URL.")
    for name in choice.unused(settings):
        sentence = f"{name} is set, and the small local model answers: nothing says which model to ask."
        yield warning(PART, sentence, f"Set MODEL, e.g. MODEL={_example(name)}.")


def _stand_ins(settings: Settings) -> Iterator[Finding]:
    """Whether those that `MODEL_FALLBACK` names can stand in."""
    talks = choice.talker(settings)
    for written, one in zip(settings.model_fallback, choice.fallbacks(settings), strict=True):
        if re.search(r"[\s;]", written):
            whole = ",".join(filter(None, re.split(r"[\s;,]+", written)))
            sentence = f"MODEL_FALLBACK={written}: the names in it are separated by commas alone."
            yield problem(PART, sentence, f"Write MODEL_FALLBACK={whole}.")
        elif one.is_local:
            sentence = f"MODEL_FALLBACK={written} is ignored: nothing says where that is to be asked."
            yield warning(PART, sentence, f"Write MODEL_FALLBACK=provider/{written}, and set that provider's key.")
        elif (one.provider, one.name, one.base_url) == (talks.provider, talks.name, talks.base_url):
            sentence = f"MODEL_FALLBACK={written} is the model that talks, and stands in for nobody."
            yield warning(PART, sentence, "Name another one, best of another provider.")


def _example(variable: str) -> str:
    owner = next(one for one in providers().values() if variable in one.variables)
    return f"{owner.name}/{owner.default_model or 'NAME'}"


_BUDGETS = ("person_day", "chat_day", "day", "month")
"""None of them can stop anybody whose amount is above that of a later one, but for the first two beside each other."""


def _of_money(settings: Settings) -> Iterator[Finding]:
    """A file of prices that is none, and amounts that contradict each other."""
    own: Sequence[tuple[str, Price]] = ()
    if settings.prices:
        try:
            own = prices.read(settings.prices)
        except ConfigurationError as error:
            yield problem(PART, str(error), "Correct it, or unset PRICES.")
            return
    given = {name: found for name in _BUDGETS if (found := getattr(settings.budget, name))}
    for name, amount in given.items():
        if not amount.number:
            sentence = f"BUDGET__{name.upper()}=0 lets nobody but ADMINS spend anything."
            yield warning(PART, sentence, "Write what may be spent, or unset it: then there is no limit.")
    for at, name in enumerate(_BUDGETS):
        yield from _never_reached(
            name, {wider: given[wider] for wider in _BUDGETS[max(2, at + 1) :] if wider in given}, given
        )
    yield from _cheaper(settings)
    yield from _unpriced(settings, own, [name for name, amount in given.items() if amount.unit == "money"])


def _never_reached(name: str, wider: Mapping[str, Amount], given: Mapping[str, Amount]) -> Iterator[Finding]:
    own = given.get(name)
    lower = (other for other, amount in wider.items() if own and amount.unit == own.unit and amount.number < own.number)
    other = next(lower, None)
    if own and other:
        one, all_of = f"BUDGET__{name.upper()}", f"BUDGET__{other.upper()}"
        most = given[other].in_words
        sentence = f"{one} ({own.in_words}) is above {all_of} ({most}), which is used up before it: it stops nobody."
        yield warning(PART, sentence, f"Write at most {most} for {one}, or more for {all_of}.")


def _cheaper(settings: Settings) -> Iterator[Finding]:
    """Whether who is to answer when most of a budget is spent can be asked, and is cheaper."""
    written, setting = settings.budget.cheaper_model, "BUDGET__CHEAPER_MODEL"
    if not written:
        return
    try:
        talks, cheaper = choice.talker(settings), choice.chosen(settings, written, setting)
    except Unresolved as error:
        yield problem(PART, error.sentence, error.advice)
        return
    if cheaper.is_local:
        sentence = f"{setting}={written} is ignored: nothing says where that is to be asked."
        yield warning(PART, sentence, f"Write {setting}=provider/{written}, and set that provider's key.")
        return
    before, price = (prices.price_of(one.name, one.provider) for one in (talks, cheaper))
    is_same = (talks.provider, talks.name, talks.base_url) == (cheaper.provider, cheaper.name, cheaper.base_url)
    if is_same or (before and price and price.input + price.output >= before.input + before.output):
        sentence = f"{setting}={written} does nothing: it is not cheaper than {talks.name}, which talks."
        yield warning(PART, sentence, "Name one that is, or unset it.")


def _unpriced(settings: Settings, own: Sequence[tuple[str, Price]], limited: Sequence[str]) -> Iterator[Finding]:
    """Budgets in dollars, of a model that costs nobody knows what. OpenRouter says so itself, with each answer."""
    with suppress(Unresolved):
        talks = choice.talker(settings)
        is_known = prices.price_of(talks.name, talks.provider) or any(
            fnmatchcase(talks.name.lower(), pattern) for pattern, _ in own
        )
        if limited and not is_known and talks.provider != "openrouter":
            names = ", ".join(f"BUDGET__{name.upper()}" for name in limited)
            sentence = f"{names}: in dollars, and no price is known of {talks.name}, so its answers count for nothing."
            yield warning(PART, sentence, "Write its price into a file and name that in PRICES, or write tokens.")


_ADDED = ("/chat/completions", "/messages", "/models", "/responses")
_VERSION_TWICE = re.compile(r"(/v\d+)\1$")


def _of_a_provider(provider: Provider, own: ProviderSettings) -> Iterator[Finding]:
    """A key or an address that cannot be meant."""
    key = own.key.get_secret_value() if own.key else ""
    name = own.key_from or provider.key
    if key and (reason := _refused(setting_values.key, key)):
        yield problem(PART, f"{name} {reason}.", "")
    elif key and not own.base_url and (owner := _owner(key)) and owner != provider:
        sentence = f"{name} looks like a key of {owner.title}, and not of {provider.title}."
        yield warning(PART, sentence, f"Set {owner.key} to it in its place.")
    if not own.base_url:
        return
    url = choice.whole_address(provider, own.base_url)
    shown = f"{provider.base_setting}={_without_login(own.base_url)}"
    if reason := choice.why_no_address(provider, own.base_url):
        yield problem(PART, f"{shown} {reason}.", "")
    elif (added := next((path for path in _ADDED if url.endswith(path)), "")) or _VERSION_TWICE.search(url):
        whole = _VERSION_TWICE.sub(r"\1", url.removesuffix(added))
        sentence = f"{shown} ends in a path that is added to it." if added else f"{shown} has its version twice."
        yield problem(PART, sentence, f"Write {provider.base_setting}={_without_login(whole)}.")
    elif not urlsplit(url).path and url != provider.base_url:
        sentence = f"{shown} has no path, and endpoints of this kind are below /v1 as a rule."
        yield warning(PART, sentence, f"Write {_without_login(url)}/v1, unless yours is not.")


def _refused(check: Callable[..., str], *values: str) -> str:
    """Why it is no such value; empty where it is one."""
    try:
        check(*values)
    except ValueError as error:
        return str(error)
    return ""


def _owner(key: str) -> Provider | None:
    """Whose keys begin like this one."""
    known = (one for one in providers().values() if one.key_begins)
    return next((one for one in known if key.startswith(one.key_begins)), None)


def _of_platforms(settings: Settings) -> Iterator[Finding]:
    yield from _idle(settings, "telegram_token", "telegram_api_base", "telegram_webhook_url", "telegram_webhook_secret")
    yield from _idle(settings, "discord_token", "discord_api_base", "discord_gateway")
    if settings.telegram_token:
        yield from _idle(settings, "telegram_webhook_url", "telegram_webhook_secret")
    base = settings.discord_api_base
    if base and settings.discord_token and not _VERSION.search(base):
        sentence = f"DISCORD_API_BASE={_without_login(base)} names no version of the API."
        yield warning(PART, sentence, "Write it up to the version, e.g. http://127.0.0.1:8082/api/v10.")
    yield from webhook_address(settings)


def _idle(settings: Settings, owner: str, *names: str) -> Iterator[Finding]:
    """Settings of something that is off, as ``owner`` is not set."""
    idle = [name.upper() for name in names if name in settings.model_fields_set and getattr(settings, name)]
    if idle and not getattr(settings, owner):
        verb = "does" if len(idle) == 1 else "do"
        sentence = f"{' and '.join(idle)} {verb} nothing without {owner.upper()}."
        yield warning(PART, sentence, f"Set {owner.upper()} too, or neither.")


def webhook_address(settings: Settings) -> Iterator[Finding]:
    """One that Telegram's own servers would not call: https://core.telegram.org/bots/api#setwebhook"""
    url = settings.telegram_webhook_url
    if not url or not settings.telegram_token or settings.telegram_api_base:
        return
    place = urlsplit(url)
    if place.scheme != "https" or place.port not in _WEBHOOK_PORTS:
        sentence = f"TELEGRAM_WEBHOOK_URL={_without_login(url)} is not an address that Telegram calls."
        yield problem(TELEGRAM, sentence, "Write https://host/path, on port 443, 80, 88 or 8443.")


def mcp_file(settings: Settings) -> Iterator[Finding]:
    """A file of MCP servers that was named, and is none."""
    path = settings.mcp_config
    if path is not None and not path.is_file():
        what = "it is not a file" if path.exists() else "there is no such file"
        yield problem(MCP, f"MCP_CONFIG={path}: {what}.", "Write where the file with the servers is, or unset it.")


def _of_tools(settings: Settings) -> Iterator[Finding]:
    yield from mcp_file(settings)
    tools = settings.tools
    if tools.shell_network and tools.shell == "off":
        yield warning(
            PART, "TOOLS__SHELL_NETWORK=true does nothing: there is no shell.", "Set TOOLS__SHELL=on as well."
        )
    if tools.web != "off" and settings.talker.provider != ANTHROPIC:
        who = "the local model" if settings.uses_local_model else providers()[settings.talker.provider].title
        sentence = f"TOOLS__WEB={tools.web} does nothing: {who} has no tools for the web."
        yield warning(PART, sentence, "Set ANTHROPIC_API_KEY.")


def _without_login(url: str) -> str:
    return re.sub(r"//[^/]*@", "//", url)
