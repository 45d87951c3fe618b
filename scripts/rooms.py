"""Writes what docs/architecture.md says of the rooms, and `docs/pictures/rooms.svg`: `make docs`.

All of it is read from the code: the order from the contract of layers in `pyproject.toml`, what a room is for from its
face (the first sentence of its ``__init__``), who imports whom from the imports themselves, so that neither can lie.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from xml.sax.saxutils import escape

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "architecture.md"
PICTURE = ROOT / "docs" / "pictures" / "rooms.svg"
BEGIN, END = "<!-- made by `make docs`: rooms -->", "<!-- until here -->"

_BESIDE = ("connectors", "workers")
"""Packages of their own beside `bot/`."""
_LEFT, _TOP, _ROW, _COLUMN = 590, 110, 38, 22
_FEW, _SOME = 5, 25
"""Imports of a room by another: three sizes of dots, so that a new line seldom changes the picture."""
_LINE = 62
"""Characters of a sentence that stand beside a name."""


@dataclass(frozen=True)
class Room:
    """A folder or a one-file contract. ``name`` as one imports it, ``layer``: the number of its layer, 0 on top; None
    beside the house. ``imports``: how many imports there are of which other room."""

    name: str
    purpose: str
    layer: int | None
    imports: Counter[str]

    @property
    def short(self) -> str:
        """Without `bot.`"""
        return self.name.removeprefix("bot.")

    @property
    def place(self) -> str:
        """Its folder or file, from the root of the repository."""
        path = self.name.replace(".", "/")
        return f"{path}/" if (ROOT / path).is_dir() else f"{path}.py"


def rooms() -> list[Room]:
    """All of them, from the top of the house to its ground, and then who lives beside it."""
    layers = _layers()
    names = [name for layer in layers for name in layer] + list(_BESIDE)
    levels = {name: number for number, layer in enumerate(layers) for name in layer}
    return [_room(name, names, levels.get(name)) for name in names]


def _layers() -> list[list[str]]:
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = pyproject["tool"]["importlinter"]["contracts"]
    contract = next(contract for contract in contracts if contract["type"] == "layers")
    [house] = contract["containers"]
    return [[f"{house}.{name.strip()}" for name in layer.split("|")] for layer in contract["layers"]]


def _room(name: str, names: Sequence[str], layer: int | None) -> Room:
    path = ROOT / name.replace(".", "/")
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]
    face = path / "__init__.py" if path.is_dir() else files[0]
    said = ast.get_docstring(ast.parse(face.read_text(encoding="utf-8"))) or ""
    purpose = re.sub(r":\w+:|`", "", " ".join(said.partition("\n\n")[0].split()))
    imports = Counter(there for file in files for there in _imported(file, names) if there != name)
    return Room(name, purpose, layer, imports)


def _imported(file: Path, names: Sequence[str]) -> Iterator[str]:
    """A room for each line that imports it."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and not node.level and node.module:
            found = {_home(f"{node.module}.{alias.name}", names) for alias in node.names}
        elif isinstance(node, ast.Import):
            found = {_home(alias.name, names) for alias in node.names}
        else:
            continue
        yield from (name for name in found if name)


def _home(imported: str, names: Sequence[str]) -> str | None:
    return next((name for name in names if f"{imported}.".startswith(f"{name}.")), None)


def table(house: Sequence[Room]) -> str:
    """The rooms one below the other, as Markdown."""
    rows = [f"| `{room.place}` | {room.purpose} |" for room in house]
    return "\n".join(["| room | what it is for |", "|---|---|", *rows])


def page(text: str, house: Sequence[Room]) -> str:
    """`text` of docs/architecture.md with the table between its marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{table(house)}\n\n{END}{after}"


def picture(house: Sequence[Room]) -> str:
    """The rooms as rows; in each row a dot below whoever it imports, and grey where no import may go."""
    columns = [room for room in house if room.layer is not None]
    height = _TOP + len(house) * _ROW + 24
    width = _LEFT + len(columns) * _COLUMN + 60
    parts = [_HEAD.format(width=width, height=height, words=escape(_in_words(house)))]
    parts += [
        f'<text class="head" x="{x}" y="{_TOP - 12}" transform="rotate(-50 {x} {_TOP - 12})">{room.short}</text>'
        for x, room in zip(_xs(len(columns)), columns, strict=True)
    ]
    for number, room in enumerate(house):
        parts += _row(room, columns, _TOP + number * _ROW)
    return "\n".join([*parts, "</svg>", ""])


def _xs(count: int) -> list[int]:
    return [_LEFT + number * _COLUMN + _COLUMN // 2 for number in range(count)]


def _row(room: Room, columns: Sequence[Room], top: int) -> Iterator[str]:
    middle = top + _ROW // 2
    yield f'<path class="line" d="M20 {top} H{_LEFT + len(columns) * _COLUMN}"/>'
    yield f'<text class="name" x="20" y="{middle + 4}">{room.short}</text>'
    lines = wrap(room.purpose, _LINE)[:2]
    for number, line in enumerate(lines):
        y = middle + 4 + round((number - (len(lines) - 1) / 2) * 15)
        yield f'<text class="note" x="120" y="{y}">{escape(line)}</text>'
    for x, other in zip(_xs(len(columns)), columns, strict=True):
        if room.layer is not None and other.layer is not None and other.layer <= room.layer:
            yield f'<rect class="shut" x="{x - _COLUMN // 2}" y="{top}" width="{_COLUMN}" height="{_ROW}"/>'
        if count := room.imports[other.name]:
            radius = 3 if count <= _FEW else 5 if count <= _SOME else 7
            yield f'<circle class="dot" cx="{x}" cy="{middle}" r="{radius}"/>'


def _in_words(house: Sequence[Room]) -> str:
    said = [f"{room.short} imports {', '.join(sorted(n.removeprefix('bot.') for n in room.imports))}" for room in house]
    return "The rooms from top to ground, each with whom it imports. " + "; ".join(
        sentence if room.imports else f"{room.short} imports none" for room, sentence in zip(house, said, strict=True)
    )


_HEAD = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-labelledby="title description">
<title id="title">The rooms, and who imports whom</title>
<desc id="description">{words}.</desc>
<style>
  svg {{ --page: #ffffff; --ink: #24292f; --soft: #57606a; --edge: #d0d7de; --shut: #eff1f4; --dot: #0969da; }}
  @media (prefers-color-scheme: dark) {{
    svg {{ --page: #0d1117; --ink: #e6edf3; --soft: #9aa4af; --edge: #30363d; --shut: #1c2128; --dot: #79c0ff; }} }}
  text {{ font: 13px system-ui, sans-serif; fill: var(--ink); }}
  .page {{ fill: var(--page); }}
  .name {{ font-weight: 600; }}
  .note {{ font-size: 12px; fill: var(--soft); }}
  .head {{ font-size: 12px; fill: var(--soft); }}
  .line {{ stroke: var(--edge); }}
  .shut {{ fill: var(--shut); }}
  .dot {{ fill: var(--dot); }}
</style>
<rect class="page" width="{width}" height="{height}" rx="8"/>
<text class="note" x="20" y="30">A dot: the room on the left imports the one above it, the larger the more often.</text>
<text class="note" x="20" y="48">Grey: no import may go there, so a room is understood from those below it.</text>"""


def main() -> None:
    """Write both."""
    house = rooms()
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), house), encoding="utf-8")
    PICTURE.write_text(picture(house), encoding="utf-8")


if __name__ == "__main__":
    main()
