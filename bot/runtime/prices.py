"""What requests cost: by what the provider says of each, by a file of prices, by what it lists, or by documentation.

Claude's list prices as of November 2026 (https://platform.claude.com/docs/en/about-claude/pricing), those of other
makers' models from models.toml, what a provider that lists its prices said in this process, and the file that `PRICES`
names, which wins. Money is counted in billionths of a dollar (nano-dollars), in integers: what is added up in one order
and in another is the same to the last digit.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from bot.errors import ConfigurationError
from bot.history import Usage
from bot.runtime.amounts import NANO

_PICO = 1_000
"""In a billionth: what one token costs may be less than that."""
_WRITE = 1.25
"""Of the price of input: writing to the cache for five minutes, and for an hour."""
_WRITE_FOR_AN_HOUR = 2.0
_SEARCH = 0.01
"""Dollars; fetching a page costs its tokens alone."""
FREE_PROVIDERS = frozenset({"local", "ollama", "lmstudio", "llamacpp", "vllm"})
"""Servers of one's own, whose tokens nobody charges for, unless the file says what they cost."""
LOCAL_MODEL = "smollm2-135m-instruct"
"""How the model that comes along is called where nothing is said of a provider."""
LISTED_ON = "2026-11-23"
"""When documentation was read."""


@dataclass(frozen=True)
class Longer:
    """What the whole of a request costs whose prompt is longer than ``above`` tokens: dollars for a million."""

    above: int
    input: float
    output: float


@dataclass(frozen=True)
class Price:
    """Dollars for a million tokens. ``read``, ``write``, ``hourly``: of the price of input, for what is read from the
    cache, and written to it for five minutes and for an hour. ``thinking``: what was only thought, where that is not
    charged as the rest of the answer; ``search``: dollars for one; ``longer``: by the length of the prompt, the
    shortest first; ``source``: who says so."""

    input: float
    output: float
    read: float = 0.1
    write: float = _WRITE
    hourly: float = _WRITE_FOR_AN_HOUR
    thinking: float | None = None
    search: float = _SEARCH
    longer: tuple[Longer, ...] = ()
    source: str = f"listed {LISTED_ON}"

    def nano(self, usage: Usage) -> int:
        """What it costs, in nano-dollars."""
        rates = _rates(self, _step(self, usage.context))
        written = usage.cache_creation - usage.hourly
        pico = rates.input * usage.input + rates.read * usage.cache_read
        pico += rates.write * written + rates.hourly * usage.hourly
        pico += rates.output * (usage.output - usage.reasoning) + rates.thinking * usage.reasoning
        return (pico + _PICO // 2) // _PICO + round(self.search * NANO) * usage.searches

    def written(self, *, hourly: bool) -> float:
        """Dollars for a million tokens that are written to the cache, for five minutes or for an hour."""
        return self.input * (self.hourly if hourly else self.write)

    @property
    def in_words(self) -> str:
        """As a row of the ledger keeps it."""
        return _in_words(self)


FREE = Price(0.0, 0.0, search=0.0, source="free")
TOLD = "told by the provider"
"""In the place of a price, where the provider said what a request cost."""


@dataclass(frozen=True)
class _Rates:
    """Millionths of a millionth of a dollar (pico-dollars) for one token."""

    input: int
    read: int
    write: int
    hourly: int
    output: int
    thinking: int


def _step(price: Price, prompt: int) -> int:
    """Which of its steps holds: 0 for none."""
    return sum(prompt > longer.above for longer in price.longer)


@lru_cache(maxsize=256)
def _rates(price: Price, step: int) -> _Rates:
    held = price.longer[step - 1] if step else price
    thinking = held.output if price.thinking is None or step else price.thinking
    each = (
        held.input,
        held.input * price.read,
        held.input * price.write,
        held.input * price.hourly,
        held.output,
        thinking,
    )
    return _Rates(*(round(dollars * 1_000_000) for dollars in each))


@lru_cache(maxsize=256)
def _in_words(price: Price) -> str:
    if price.input == price.output == 0:
        return price.source
    parts = {
        "in": price.input,
        "out": price.output,
        "read": price.input * price.read,
        "write": price.input * price.write,
        "hour": price.input * price.hourly,
    }
    return f"{' '.join(f'{name} {round(dollars, 6):g}' for name, dollars in parts.items())} ({price.source})"


_PRICES: tuple[tuple[str, Price], ...] = (
    ("claude-fable-5-1", Price(10.0, 50.0, 0.025)),
    ("claude-fable-5", Price(10.0, 50.0)),
    ("claude-opus-5-5", Price(4.0, 20.0, 0.05)),
    ("claude-opus-5", Price(5.0, 25.0)),
    ("claude-opus-4-5", Price(5.0, 25.0)),
    ("claude-opus-4-6", Price(5.0, 25.0)),
    ("claude-opus-4-7", Price(5.0, 25.0)),
    ("claude-opus-4-8", Price(5.0, 25.0)),
    ("claude-sonnet-5", Price(2.0, 10.0)),
    ("claude-sonnet-4", Price(3.0, 15.0)),
    ("claude-haiku-4-5", Price(1.0, 5.0)),
)
"""By how a model's name begins; the first one counts. Others, and what depends on more than tokens, are not guessed."""


def price_of(model: str, provider: str = "") -> Price | None:
    """What the file says, else what the provider listed, else what is documented; None where none of them knows it."""
    own = next((price for pattern, price in _own if fnmatchcase(model.lower(), pattern)), None)
    if own is not None:
        return own
    known = _learned.get(model) or next((price for prefix, price in _PRICES if model.startswith(prefix)), None)
    known = known or _elsewhere_documented(model)
    is_free = provider in FREE_PROVIDERS or (not provider and model == LOCAL_MODEL)
    return FREE if is_free else known


def nano(model: str, usage: Usage, provider: str = "") -> int | None:
    """Nano-dollars of one usage; None where the price of this model is not known."""
    price = price_of(model, provider)
    return None if price is None else price.nano(usage)


def cost(model: str, usage: Usage) -> float | None:
    """Dollars of one usage; None where the price of this model is not known."""
    found = nano(model, usage)
    return None if found is None else found / NANO


def learn(model: str, price: Price) -> None:
    """A provider lists this price of its model; it holds in this process."""
    _learned[model] = price


def use(file: Path | None) -> None:
    """From now on the prices of this file count in this process before all others; None: of no file. Raises a
    ConfigurationError."""
    _own[:] = read(file) if file else ()


def how_to_add(model: str) -> str:
    """What those who run the program can do about a price that is not known."""
    return f"No price is known of {model}: write it into a file of prices, and name that in PRICES."


def form_of(model: str) -> str:
    """What stands in a file of prices for a model, as an example to change. Three lines of TOML."""
    name = json.dumps(model, ensure_ascii=False)
    return f"[{name}]\ninput = 1.0  # dollars for a million tokens of the prompt\noutput = 4.0  # of the answer"


_own: list[tuple[str, Price]] = []
"""Of the file, by a pattern of names."""
_learned: dict[str, Price] = {}


# --- the file ---

_FIELDS = ("input", "output", "cached", "written", "written_hour", "thinking", "search", "longer")
_OF_LONGER = ("above", "input", "output")


def read(file: Path) -> Sequence[tuple[str, Price]]:
    """The prices of a file in TOML, in its order: a table for each model, or a pattern of names, with dollars for a
    million tokens. Raises a ConfigurationError with a sentence that says what is wrong."""
    import tomllib  # where nobody has such a file, it is not needed

    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigurationError(f"PRICES={file} cannot be read: {reason}.") from error
    return [(name.lower(), _priced(file, name, row)) for name, row in data.items()]


def _priced(file: Path, name: str, row: Any) -> Price:
    if not isinstance(row, Mapping):
        raise ConfigurationError(f'PRICES={file}: {name} is no table. Write ["{name}"], and below it input and output.')
    if strange := sorted(set(row) - set(_FIELDS)):
        raise ConfigurationError(
            f'PRICES={file}: ["{name}"] has {", ".join(strange)}; what may stand there is {", ".join(_FIELDS)}.'
        )
    steps = row.get("longer", ())
    if not isinstance(steps, list | tuple) or not all(isinstance(step, Mapping) for step in steps):
        raise ConfigurationError(f'PRICES={file}: longer is written as [["{name}".longer]], with above, input, output.')
    per_token = _number(file, name, row, "input")
    written = _number(file, name, row, "written", per_token)
    return Price(
        per_token,
        _number(file, name, row, "output"),
        _share(_number(file, name, row, "cached", per_token), per_token),
        _share(written, per_token),
        _share(_number(file, name, row, "written_hour", written), per_token),
        thinking=_number(file, name, row, "thinking") if "thinking" in row else None,
        search=_number(file, name, row, "search", 0.0),
        longer=tuple(sorted((_longer(file, name, step) for step in steps), key=lambda one: one.above)),
        source="PRICES",
    )


def _longer(file: Path, name: str, step: Mapping[str, Any]) -> Longer:
    above, *prices = (_number(file, name, step, field) for field in _OF_LONGER)
    return Longer(int(above), *prices)


def _number(file: Path, name: str, row: Mapping[str, Any], field: str, usual: float | None = None) -> float:
    found = row.get(field, usual)
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found < NANO:
        what = f"{field} of {name} is missing" if found is None else f"{field} of {name} is {found!r}"
        raise ConfigurationError(f"PRICES={file}: {what}; it is a number of dollars for a million tokens.")
    return float(found)


def _share(dollars: float, of: float) -> float:
    return dollars / of if of else 0.0


@cache
def _elsewhere_documented(model: str) -> Price | None:
    from bot.runtime.providers.known_models import price_of as documented  # who only asks Anthropic never reads it
    from bot.runtime.providers.known_models import read_on

    found = documented(model)
    if found is None:
        return None
    longer = tuple(Longer(**{field.name: step[field.name] for field in fields(Longer)}) for step in found.longer)
    source = f"listed {read_on():%Y-%m-%d}"
    return Price(found.input, found.output, found.cached / found.input, longer=longer, source=source)
