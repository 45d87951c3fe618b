"""Pictures as a model takes them: of a known format, upright, and not larger than it looks at."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

LONGEST_EDGE = 1568
"""Pixels; models scale larger pictures down. https://docs.claude.com/en/docs/build-with-claude/vision"""
MOST_BYTES = 3_500_000
"""Of a picture that is sent as it is: 5 MB in base64 is the limit of the Messages API."""
MOST_PIXELS = 40_000_000
"""A larger one is more likely a bomb than a picture; each pixel takes up to 8 bytes while it is open."""
_TAKEN = {"JPEG": "image/jpeg", "PNG": "image/png", "GIF": "image/gif", "WEBP": "image/webp"}
_CONVERTED = ("AVIF", "BMP", "ICO", "TIFF")
"""Models do not take them. No other format is tried, whatever a file is called: some start another program (PostScript
its interpreter), and the rare ones are where the holes are."""
MEDIA_TYPES = frozenset(_TAKEN.values())
_VIEWS = ".views"
_UPRIGHT = 1
_ORIENTATION = 0x0112


class NotAPicture(ValueError):
    """Something else."""


class TooLarge(ValueError):
    """A picture that is not opened; the text says why."""


@dataclass(frozen=True)
class View:
    """What is sent of a picture: a file, and its size in pixels."""

    path: Path
    media_type: str
    width: int
    height: int


def view_of(path: Path) -> View:
    """The picture itself, or a smaller one made of it, kept beside it. Reads and writes on disk, and takes as much
    time and memory as the file wants: :mod:`bot.files.parser_pool` bounds both.

    Raises NotAPicture, TooLarge, and ValueError or OSError for a broken one.
    """
    from PIL import Image, ImageOps, UnidentifiedImageError  # a twentieth of a second to import

    _know_formats()
    with path.open("rb") as file:
        try:
            picture = Image.open(file, formats=(*_TAKEN, *_CONVERTED))
        except UnidentifiedImageError as error:
            raise NotAPicture("it is no picture that can be read") from error
        except Image.DecompressionBombError as error:
            raise TooLarge("it has too many pixels") from error
        with picture:
            if picture.width * picture.height > MOST_PIXELS:
                raise TooLarge(f"{picture.width:,} × {picture.height:,} pixels are too many")
            media_type = _TAKEN.get(picture.format or "")
            upright = picture.getexif().get(_ORIENTATION, _UPRIGHT) == _UPRIGHT
            fits = max(picture.size) <= LONGEST_EDGE and path.stat().st_size <= MOST_BYTES
            if media_type and upright and fits:
                picture.load()  # a file that was cut off is found here, and not by the model's server
                return View(path, media_type, *picture.size)
            picture.thumbnail((LONGEST_EDGE, LONGEST_EDGE))  # a JPEG is then not even decoded in its full size
            view = ImageOps.exif_transpose(picture).convert("RGB")
            target = smaller(path)
            target.parent.mkdir(exist_ok=True, mode=0o700)
            view.save(target, "JPEG", quality=85)
            return View(target, "image/jpeg", *view.size)


def smaller(path: Path) -> Path:
    """Where the smaller copy of a picture lies."""
    return path.parent / _VIEWS / f"{path.name}.jpg"


def _know_formats() -> None:
    """Each by its name: Pillow would else load all that it has, to look for one."""
    from PIL import (  # noqa: F401  # they make themselves known
        AvifImagePlugin,
        BmpImagePlugin,
        GifImagePlugin,
        IcoImagePlugin,
        JpegImagePlugin,
        PngImagePlugin,
        TiffImagePlugin,
        WebPImagePlugin,
    )

    AvifImagePlugin.DEFAULT_MAX_THREADS = 1
