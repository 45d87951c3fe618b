"""The drawn pictures can be read in light and in dark, by those who do not see them too, and load nothing."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.docs.pages import DOCS

PICTURES = sorted((DOCS / "pictures").glob("*.svg"))
SVG = "{http://www.w3.org/2000/svg}"
MOVES = DOCS / "pictures" / "tour.svg"
"""A terminal: its ground is its own in any light, and its lines are scrolled into view."""
each_picture = pytest.mark.parametrize("picture", PICTURES, ids=lambda path: path.stem)
each_that_stands = pytest.mark.parametrize(
    "picture", [path for path in PICTURES if path != MOVES], ids=lambda path: path.stem
)


@each_picture
def test_a_picture_says_in_words_what_it_shows(picture: Path) -> None:
    root = ET.parse(picture).getroot()
    assert root.get("role") == "img"
    assert root.findtext(f"{SVG}title")
    assert len((root.findtext(f"{SVG}desc") or "").split()) > 10
    assert root.get("aria-labelledby") == "title description"


@each_that_stands
def test_a_picture_has_colours_for_light_and_dark(picture: Path) -> None:
    text = picture.read_text(encoding="utf-8")
    light, dark = re.findall(r"svg \{([^}]*)\}", text)
    assert re.findall(r"--[\w-]+", light) == re.findall(r"--[\w-]+", dark)
    assert "@media (prefers-color-scheme: dark)" in text


@each_picture
def test_a_picture_loads_nothing(picture: Path) -> None:
    text = picture.read_text(encoding="utf-8")
    outside = re.findall(r"(?:href|src|url\(|@import|<script|@font-face)[^\s>]*", text.replace("url(#", "(#"))
    assert outside == []


@each_that_stands
def test_every_word_stands_inside_the_picture(picture: Path) -> None:
    root = ET.parse(picture).getroot()
    _, _, width, height = (float(number) for number in (root.get("viewBox") or "").split())
    for text in root.iter(f"{SVG}text"):
        assert 0 <= float(text.get("x") or 0) <= width
        assert 0 <= float(text.get("y") or 0) <= height
