"""The files that people and the bot have sent.

https://core.telegram.org/bots/api#getfile
"""

import mimetypes
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

LARGEST_DOWNLOAD = 20 * 1024 * 1024
LARGEST_DOCUMENT = 50 * 1024 * 1024
LARGEST_PHOTO = 10 * 1024 * 1024
"""Bytes that a bot may fetch, and may send."""

_IMAGES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF8", b"RIFF")
_FOLDERS = {"photo": "photos", "voice": "voice", "sticker": "stickers", "video": "videos", "audio": "music"}


@dataclass(frozen=True)
class StoredFile:
    """One file; `size` (bytes) can be more than `content` holds, for a file that is too large to fetch."""

    file_id: str
    kind: str
    name: str
    content: bytes = field(repr=False)
    size: int

    @property
    def path(self) -> str:
        """Where it is fetched from, below `/file/bot<token>/`."""
        return f"{_FOLDERS.get(self.kind, 'documents')}/{self.file_id}{PurePosixPath(self.name).suffix}"

    @property
    def mime_type(self) -> str:
        """As Telegram guesses it from the name."""
        return mimetypes.guess_type(self.name)[0] or "application/octet-stream"

    def wire(self) -> dict[str, Any]:
        """What every kind of file has in its JSON."""
        return {"file_id": self.file_id, "file_unique_id": f"unique-{self.file_id}", "file_size": self.size}

    def document(self) -> dict[str, Any]:
        """The JSON of a document."""
        return self.wire() | {"file_name": self.name, "mime_type": self.mime_type}


class Files:
    """All files by their id."""

    def __init__(self) -> None:
        self._files: dict[str, StoredFile] = {}

    def add(self, kind: str, name: str, content: bytes, size: int | None = None) -> StoredFile:
        """Keep a file and give it an id."""
        file_id = f"file-{len(self._files) + 1}"
        stored = StoredFile(file_id, kind, name, content, len(content) if size is None else size)
        self._files[file_id] = stored
        return stored

    def get(self, file_id: object) -> StoredFile | None:
        """The file with this id."""
        return self._files.get(str(file_id))

    def at(self, path: str) -> StoredFile | None:
        """The file that is fetched from this path."""
        return next((file for file in self._files.values() if file.path == path), None)

    def add_photo(
        self, content: bytes, *, width: int = 1280, height: int = 960, size: int | None = None
    ) -> list[dict[str, Any]]:
        """Keep a photo and return the JSON of its sizes, the smallest first; only the last has its bytes."""
        sizes = []
        for longest in (90, 320, max(width, height)):
            scale = min(1.0, longest / max(width, height))
            whole = longest == max(width, height)
            stored = self.add(
                "photo", "photo.jpg", content if whole else b"at most %d px" % longest, size if whole else None
            )
            sizes.append(stored.wire() | {"width": round(width * scale), "height": round(height * scale)})
        return sizes


def is_image(content: bytes) -> bool:
    """Whether Telegram could make a photo of it, by its first bytes."""
    return content.startswith(_IMAGES)
