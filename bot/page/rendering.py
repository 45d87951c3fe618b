"""Pages from templates. Everything is escaped, an unknown name is an error, and no secret gets through."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from bot.page.format import FILTERS, visible
from bot.page.markup import marked, plain, rendered, with_marks
from bot.page.slowness import lasted, spent
from bot.runtime.redact import redact
from bot.store.search.snippets import found_in
from bot.store.search.words import Wanted

_HERE = Path(__file__).parent
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_OFTEN = 80
"""Characters: short texts are mostly words of the page itself, and come again and again."""


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
    """Makes the text of pages. ``secrets``: values of our own that must be in none of them; ``templates``: folders of
    others than those beside this module."""

    def __init__(self, secrets: Sequence[str], *, templates: Sequence[Path] = ()) -> None:
        self._secrets = tuple(secrets)
        self.files = static_files()
        self._shown_often = lru_cache(4_096)(self.shown)
        self._environment = Environment(
            loader=FileSystemLoader([_HERE / "templates", *templates]),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            finalize=self._clean,
            auto_reload=False,
        )
        self._environment.filters.update(FILTERS)
        self._environment.filters |= {
            "markdown": self.markdown,
            "preview": self.preview,
            "marked": self.marked,
            "called": self.called,
            "has": self.has,
            "spent": spent,
            "lasted": lasted,
        }
        self._environment.globals["static"] = self._static

    def text(self, template: str, **values: Any) -> str:
        """A whole page."""
        return self._environment.get_template(template).render(**values)

    def markdown(self, text: str, words: Sequence[Wanted] = ()) -> Markup:
        """What somebody said, as HTML that can do nothing, with these words marked."""
        return rendered(self.shown(text), words)

    def marked(self, text: str, words: Sequence[Wanted]) -> Markup:
        """What somebody said, as it is, with these words marked."""
        return marked(self.shown(text), words)

    def called(self, name: str, query: str) -> Markup:
        """A name or an id, with what was looked for in it marked."""
        name = self.shown(name)
        at = name.casefold().find(query.casefold()) if query else -1
        return with_marks(name, [(at, at + len(query))] if at >= 0 else [])

    def has(self, text: str, words: Sequence[Wanted]) -> bool:
        """Whether any of these words stands in it."""
        return bool(found_in(self.shown(text), words))

    def preview(self, text: str, most: int = 200) -> str:
        """The beginning of what somebody said, without the signs of Markdown."""
        return plain(self.shown(text), most)

    def shown(self, text: str) -> str:
        """A text without secrets, and with every control character as a sign that is seen."""
        return visible(redact(text, self._secrets))

    def _clean(self, value: Any) -> Any:
        """Every value of a template passes here; what is no plain text was made by us."""
        if type(value) is not str:
            return value
        return self._shown_often(value) if len(value) <= _OFTEN else self.shown(value)

    def _static(self, name: str) -> str:
        return f"/static/{name}?v={self.files[name].version}"
