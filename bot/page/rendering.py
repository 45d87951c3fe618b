"""Pages from templates. Everything is escaped, an unknown name is an error, and no secret gets through."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from bot.page import words
from bot.page.markup import rendered
from bot.page.slowness import lasted, spent
from bot.redact import redact

_HERE = Path(__file__).parent
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_SHORTEST_SECRET = 6


class StaticFile:
    """One file that every page may ask for, as it lies beside this module."""

    def __init__(self, path: Path) -> None:
        self.body = path.read_bytes()
        self.media_type = f"{_TYPES[path.suffix]}; charset=utf-8"
        self.version = hashlib.sha256(self.body).hexdigest()[:12]


def static_files() -> Mapping[str, StaticFile]:
    """By name. Nothing else is ever served, whatever a request is called."""
    return {path.name: StaticFile(path) for path in sorted((_HERE / "static").iterdir()) if path.suffix in _TYPES}


class Rendering:
    """Makes the text of pages. ``secrets``: values of our own that must be in none of them."""

    def __init__(self, secrets: Sequence[str]) -> None:
        self._secrets = tuple(secrets)
        self.files = static_files()
        self._environment = Environment(
            loader=FileSystemLoader(_HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            finalize=self._clean,
            auto_reload=False,
        )
        self._environment.filters.update(words.FILTERS)
        self._environment.filters |= {"markdown": self.markdown, "spent": spent, "lasted": lasted}
        self._environment.globals["static"] = self._static

    def text(self, template: str, **values: Any) -> str:
        """A whole page."""
        return self._environment.get_template(template).render(**values)

    def markdown(self, text: str) -> Markup:
        """What somebody said, as HTML that can do nothing."""
        return rendered(self.shown(text))

    def shown(self, text: str) -> str:
        """A text without secrets, and with every control character as a sign that is seen."""
        return words.visible(redact(text, self._secrets))

    def _clean(self, value: Any) -> Any:
        if type(value) is not str or len(value) < _SHORTEST_SECRET:
            return words.visible(value) if type(value) is str else value
        return self.shown(value)

    def _static(self, name: str) -> str:
        return f"/static/{name}?v={self.files[name].version}"
