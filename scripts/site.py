"""What a site of `docs/` needs beside its pages: `make site`, which reads this as `properdocs.yml` says.

The pages link to files of the repository, as people read them there. Three of these files become pages of the site; of
a link to any other the words stay, since the site does not have it.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from properdocs.config.defaults import ProperDocsConfig
    from properdocs.structure.files import Files
    from properdocs.structure.pages import Page

ROOT: Final = Path(__file__).parents[1]
BESIDE: Final = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md", "deploy/README.md": "deploy.md"}
"""Files of the repository that are pages of the site, and how these are called."""

_FENCE = re.compile(r"^(?P<fence>`{3,}|~{3,}).*?^(?P=fence)\s*$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?P<image>!?)\[(?P<words>[^\]]*)\]\((?P<path>[^)\s:#]+)(?P<anchor>#[^)\s]*)?\)")


def on_files(files: Files, config: ProperDocsConfig) -> Files:
    """Add the pages that stand beside `docs/`."""
    from properdocs.structure.files import File

    for path, page in BESIDE.items():
        files.append(File.generated(config, page, content=(ROOT / path).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, config: ProperDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Lead each link to where its file is on the site."""
    sources = {name: path for path, name in BESIDE.items()}
    return led(markdown, sources.get(page.file.src_uri) or f"docs/{page.file.src_uri}")


def led(markdown: str, source: str) -> str:
    """A page with its links as the site has them. ``source``: its path in the repository."""
    here = posixpath.dirname(_of_site(source) or "")

    def link(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), found["path"]))
        if target == "docs":
            target = "docs/index.md"
        page = _of_site(target)
        if page is None:
            return found["words"]
        return f"{found['image']}[{found['words']}]({posixpath.relpath(page, here or '.')}{found['anchor'] or ''})"

    parts, end = list[str](), 0
    for fence in _FENCE.finditer(markdown):
        parts += [_LINK.sub(link, markdown[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, _LINK.sub(link, markdown[end:])])


def _of_site(path: str) -> str | None:
    """What a file of the repository is called on the site, if it is there."""
    return path.removeprefix("docs/") if path.startswith("docs/") else BESIDE.get(path)
