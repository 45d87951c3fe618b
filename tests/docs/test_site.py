"""Pages as the site has them."""

from __future__ import annotations

from scripts.site import led


def test_links_lead_to_where_the_site_has_it_and_words_stay_where_it_has_nothing() -> None:
    page = (
        "[in](memory.md#a) [beside](../CONTRIBUTING.md#to-add) [no page](../bot/agent/turn.py) [out](https://a.test/)\n"
    )
    assert led(page, "docs/rules.md") == (
        "[in](memory.md#a) [beside](contributing.md#to-add) no page [out](https://a.test/)\n"
    )
    assert led("[x](../../deploy/README.md)", "docs/decisions/0001.md") == "[x](../deploy.md)"
    assert led("[x](../docs/operations.md) ![p](../docs/pictures/a.png)", "deploy/README.md") == (
        "[x](operations.md) ![p](pictures/a.png)"
    )
    assert led("[x](docs/decisions/README.md)", "CONTRIBUTING.md") == "[x](decisions/README.md)"


def test_code_stays_as_it_is() -> None:
    code = "```\n[x](../bot/a.py)\n```\n"
    assert led(f"a\n{code}[b](../LICENSE)", "docs/rules.md") == f"a\n{code}b"
