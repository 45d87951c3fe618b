"""What people and models write, as HTML that can do nothing: Markdown without HTML, pictures, or links but to the web.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup, escape

from bot.store.search.snippets import found_in
from bot.store.search.words import Wanted

_NESTING = 24
LONGEST = 200_000
"""Characters: a longer text is shown as it is."""
_WORDS = "palimpsest_words"
"""Where the words to be marked stand while a text is rendered."""
_SIGNS_FOR_A_LETTER = 4
"""So much of a text is read for the beginning of it; a link may be longer than its words."""
_SCHEMES = ("http://", "https://", "mailto:")


def rendered(text: str, words: Sequence[Wanted] = ()) -> Markup:
    """The HTML of a text. ``words``: of a query, which are marked in it."""
    if len(text) > LONGEST:
        return Markup("<pre>{}</pre>").format(marked(text, words))  # `format` escapes
    # markdown-it escapes all text, and has no rule that lets HTML through.
    return Markup(_PARSER.render(text, {_WORDS: words}))  # noqa: S704


def marked(text: str, words: Sequence[Wanted]) -> Markup:
    """A text as it is, with the words of a query marked."""
    return with_marks(text, found_in(text, words))


def with_marks(text: str, spans: Sequence[tuple[int, int]]) -> Markup:
    """A text as it is, with what stands between these places marked."""
    pieces, at = [], 0
    for start, end in spans:
        pieces += [escape(text[at:start]), Markup("<mark>{}</mark>").format(text[start:end])]
        at = end
    return Markup("").join([*pieces, escape(text[at:])])


def blocks(text: str) -> list[Markup]:
    """The HTML of a text in pieces: each paragraph, list and piece of code of it by itself."""
    if len(text) > LONGEST:
        return [rendered(text)]
    env: MutableMapping[str, Any] = {}
    found: list[Markup] = []
    piece: list[Token] = []
    for token in _PARSER.parse(text, env):
        piece.append(token)
        if token.level == 0 and token.nesting <= 0:  # what closes a block stands as high as what opened it
            found.append(Markup(_PARSER.renderer.render(piece, _PARSER.options, env)))  # noqa: S704  # as above
            piece = []
    return found


def plain(text: str, most: int) -> str:
    """The beginning of a text as people read it, on one line and without the signs of Markdown."""
    words = " ".join("".join(_words(_PARSER.parse(text[: most * _SIGNS_FOR_A_LETTER]))).split())
    return words if len(words) <= most else f"{words[:most].rstrip()} …"


def _words(tokens: Sequence[Token]) -> Iterator[str]:
    for token in tokens:
        if token.children:
            yield from _words(token.children)
        elif token.type in ("softbreak", "hardbreak") or token.nesting < 0 < token.block:
            yield " "
        elif token.content:
            yield f"{token.content} " if token.block else token.content


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": _NESTING, "breaks": True})
    parser.enable(["table", "strikethrough"]).disable(["html_block", "html_inline", "image"])
    parser.validateLink = lambda url: url.strip().lower().startswith(_SCHEMES)  # type: ignore[method-assign]
    parser.add_render_rule("text", _text)
    parser.add_render_rule("code_inline", _code_inline)
    parser.add_render_rule("link_open", _link_open)
    parser.add_render_rule("heading_open", _heading)
    parser.add_render_rule("heading_close", _heading)
    parser.add_render_rule("fence", _code)
    parser.add_render_rule("code_block", _code)
    return parser


def _text(
    _renderer: RendererHTML, tokens: Sequence[Token], at: int, _options: Any, env: MutableMapping[str, Any]
) -> str:
    return str(marked(tokens[at].content, env.get(_WORDS, ())))


def _code_inline(
    _renderer: RendererHTML, tokens: Sequence[Token], at: int, _options: Any, env: MutableMapping[str, Any]
) -> str:
    return f"<code>{marked(tokens[at].content, env.get(_WORDS, ()))}</code>"


def _link_open(
    renderer: RendererHTML, tokens: Sequence[Token], at: int, options: Any, _env: MutableMapping[str, Any]
) -> str:
    tokens[at].attrSet("rel", "noopener noreferrer nofollow")
    tokens[at].attrSet("target", "_blank")
    return renderer.renderToken(tokens, at, options, _env)


def _heading(
    _renderer: RendererHTML, tokens: Sequence[Token], at: int, _options: Any, _env: MutableMapping[str, Any]
) -> str:
    """A heading that somebody wrote is none of the page's."""
    return '<p class="heading">' if tokens[at].nesting == 1 else "</p>\n"


def _code(
    _renderer: RendererHTML, tokens: Sequence[Token], at: int, _options: Any, env: MutableMapping[str, Any]
) -> str:
    """Code can be wider than the screen: whoever uses the keyboard can scroll it."""
    return f'<pre tabindex="0"><code>{marked(tokens[at].content, env.get(_WORDS, ()))}</code></pre>\n'


_PARSER = _parser()
