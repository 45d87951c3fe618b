"""What stands before the messages of a request."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Head:
    """What stands before the messages of a request. Equal heads share a prompt cache, so they are kept by hash."""

    model: str
    max_tokens: int
    system: str
    tools: tuple[Mapping[str, Any], ...] = ()

    def as_json(self) -> dict[str, Any]:
        """For the book."""
        return {
            "model": self.model,
            "max_tokens": self.max_tokens,
            "system": self.system,
            "tools": [dict(tool) for tool in self.tools],
        }

    @classmethod
    def from_json(cls, data: Any) -> Head:
        """Back from the book."""
        return cls(data["model"], data["max_tokens"], data["system"], tuple(data["tools"]))

    @property
    def digest(self) -> str:
        """Names this head."""
        return hashlib.sha256(json.dumps(self.as_json(), sort_keys=True).encode()).hexdigest()
