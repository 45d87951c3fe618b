"""The pages hold together: whoever follows a link arrives, and every page is found from the first one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from scripts.site import BESIDE
from tests.docs.pages import DOCS, ROOT, Page, all_pages

PAGES = {str(page.path.relative_to(ROOT)): page for page in all_pages()}
OF_THE_SITE = {name: page for name, page in PAGES.items() if page.path.is_relative_to(DOCS)}

_MACHINE = re.compile(r"(?<![\w.])(?:/(?:home|Users|root|work)/|file://)[^\s`)]*")
_OURS = re.compile(r"^(?:bot|connectors|workers|tests|scripts|deploy)/[\w./-]+(?:\.py|\.md|/)$")
SHOWN = frozenset({"connectors/mailbox.py"})
"""Files that a page shows how to write."""
_ON_ONE_LINE = re.compile(r" +- (?:[^:]+: )?([\w./-]+\.md)")


def wrong_in(pages: Mapping[str, Page], wrong: Callable[[Page], Sequence[str]]) -> dict[str, Sequence[str]]:
    """What is wrong with each of these pages that has something wrong."""
    return {name: found for name, page in pages.items() if (found := wrong(page))}


def arrives(page: Page, link: str) -> bool:
    """Whether the file is there, and the anchor in it."""
    target = page.target(link)
    if target is None:
        return True
    path, anchor = target
    return path.exists() and path.is_relative_to(ROOT) and (not anchor or anchor in Page(path).anchors)


def test_every_relative_link_and_anchor_leads_somewhere() -> None:
    assert wrong_in(PAGES, lambda page: [link for link in page.links if not arrives(page, link)]) == {}


def test_every_code_block_has_an_end() -> None:
    assert wrong_in(PAGES, lambda page: [fence.code[:60] for fence in page.fences if not fence.is_closed]) == {}


def test_no_page_names_a_folder_of_somebodys_machine() -> None:
    assert wrong_in(PAGES, lambda page: _MACHINE.findall(page.text)) == {}


def test_a_page_has_one_title_and_begins_with_a_sentence() -> None:
    titles = {name: [level for level, _ in page.headings].count(1) for name, page in OF_THE_SITE.items()}
    assert titles == dict.fromkeys(OF_THE_SITE, 1)
    begins = {name: [token.type for token in page.tokens[:4:3]] for name, page in OF_THE_SITE.items()}
    assert begins == {name: ["heading_open", "paragraph_open"] for name in OF_THE_SITE}


def test_a_page_links_to_nothing_by_an_absolute_path() -> None:
    assert wrong_in(OF_THE_SITE, lambda page: [link for link in page.links if link.startswith("/")]) == {}


def test_every_file_of_the_docs_is_found_from_the_first_page() -> None:
    found, waiting = set[Path](), [DOCS / "index.md"]
    while waiting:
        path = waiting.pop()
        if path.is_dir():
            path /= "README.md"
        if path in found or not path.is_relative_to(DOCS):
            continue
        found.add(path)
        if path.suffix == ".md":
            page = Page(path)
            waiting += [target[0] for link in page.links if (target := page.target(link))]
    assert sorted(path for path in DOCS.rglob("*") if path.is_file() and path not in found) == []


def test_every_file_of_ours_that_a_page_names_exists() -> None:
    def missing(page: Page) -> list[str]:
        named = {path for code in page.code for path in _OURS.findall(code)}
        there = SHOWN | {path for path in named if (ROOT / path).exists() or (ROOT / "tests" / path).exists()}
        return sorted(named - there)

    assert wrong_in(PAGES, missing) == {}


def test_the_sites_navigation_has_every_page_once() -> None:
    nav = (ROOT / "properdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    listed = _ON_ONE_LINE.findall(nav)
    assert sorted(listed) == sorted(
        [*BESIDE.values(), *(str(page.path.relative_to(DOCS)) for page in OF_THE_SITE.values())]
    )


def test_what_is_wrong_with_a_page_is_found(tmp_path: Path) -> None:
    """The checks above can fail."""
    page = Page(tmp_path / "page.md")
    page.path.write_text(
        "# Ünï & `code_x`: (two)\n\n## Same\n\n## Same\n\n"
        "[a](#ünï--code_x-two) [b](#same-1) [c](#same-2) ![d](no.png)\n"
        '\n<img src="gone.svg">\n\n```\n[no link](x.md)\n```\n\n~~~python\nopen = 1\n',
        encoding="utf-8",
    )
    assert page.headings == [(1, "Ünï & code_x: (two)"), (2, "Same"), (2, "Same")]
    assert page.anchors == {"ünï--code_x-two", "same", "same-1"}
    assert page.links == ["#ünï--code_x-two", "#same-1", "#same-2", "no.png", "gone.svg"]
    assert [fence.is_closed for fence in page.fences] == [True, False]
    assert not arrives(page, "no.png")
    assert _MACHINE.findall("see /home/me/x, file:///etc, and https://a.example/home/page") == [
        "/home/me/x,",
        "file:///etc,",
    ]
