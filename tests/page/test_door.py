"""The page's door: who is let in, for how long, and what another site can make a browser do."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, text, update
from structlog.testing import capture_logs

from bot.errors import ConfigurationError, StoreUnavailable
from bot.page.access.keys import Keys
from bot.page.access.login_rate import OF_ONE
from bot.page.access.shut import why_shut
from bot.runtime.settings import PageSettings, Settings, load_settings
from bot.store import Database, inbox
from bot.store.schema import page_sessions
from tests.page.conftest import PASSWORD, browser_of, csrf_of, log_in

TOKEN = "t0ken-" * 8
PAGES = (
    "/",
    "/compactions",
    "/search?q=a",
    "/parked",
    "/people",
    "/conversations/room-1",
    "/compactions/ab",
    "/overview.json",
)


async def test_nobody_sees_a_page_before_they_have_logged_in(page: Any) -> None:
    async with browser_of(page(password=PASSWORD)) as client:
        for path in PAGES:
            answer = await client.get(path)
            assert answer.status_code == 303
            assert answer.headers["location"].startswith("/login")
        assert (await client.get("/live/overview", headers={"accept": "text/event-stream"})).status_code == 401
        assert (await client.post("/parked/1/retry")).status_code == 401


async def test_whoever_gives_the_password_comes_to_the_page_that_they_asked_for(page: Any) -> None:
    async with browser_of(page(password=PASSWORD)) as client:
        asked = await client.get("/compactions?day=2026-11-21")
        form = await client.get(asked.headers["location"])
        assert 'value="/compactions?day=2026-11-21"' in form.text
        answer = await log_in(client, next="/compactions?day=2026-11-21")
        assert answer.headers["location"] == "/compactions?day=2026-11-21"
        assert (await client.get("/compactions")).status_code == 200


@pytest.mark.parametrize(
    "path", ["//evil.example", "https://evil.example", "/\\evil.example", "/a\r\nSet-Cookie: a=b", ""]
)
async def test_a_login_leads_nowhere_but_to_this_site(page: Any, path: str) -> None:
    async with browser_of(page(password=PASSWORD)) as client:
        assert (await log_in(client, next=path)).headers["location"] == "/"


async def test_the_book_holds_only_the_hash_of_what_a_browser_holds(logged_in: Any, database: Database) -> None:
    async with logged_in() as client:
        held = client.cookies["palimpsest"]
        async with database.read() as tx:
            kept = [row.token_hash for row in await tx.execute(select(page_sessions))]
        assert len(kept) == 1
        assert held not in kept
        client.cookies.set("palimpsest", kept[0], domain="127.0.0.1", path="/")
        client.cookies = {"palimpsest": kept[0]}
        assert (await client.get("/")).status_code == 303


async def test_a_session_ends_by_itself_after_its_hours(logged_in: Any, database: Database) -> None:
    async with logged_in() as client:
        assert (await client.get("/")).status_code == 200
        async with database.write() as tx:
            await tx.execute(update(page_sessions).values(expires_at=database.clock() - 1))
        assert (await client.get("/")).status_code == 303


async def test_after_the_log_out_the_old_cookie_opens_nothing(logged_in: Any) -> None:
    async with logged_in() as client:
        held = client.cookies["palimpsest"]
        home = await client.get("/")
        assert (await client.post("/logout", data={"csrf": csrf_of(home.text)})).status_code == 303
        client.cookies.clear()
        assert (await client.get("/", headers={"cookie": f"palimpsest={held}"})).status_code == 303


async def test_a_login_makes_a_new_session_and_ends_the_one_that_was_there(page: Any) -> None:
    async with browser_of(page(password=PASSWORD)) as client:
        planted = "chosen-by-somebody-else"
        answer = await client.post("/login", data={"password": PASSWORD}, headers={"cookie": f"palimpsest={planted}"})
        first = answer.cookies["palimpsest"]
        assert first != planted
        home = await client.get("/")
        again = await client.post("/login", data={"password": PASSWORD, "csrf": csrf_of(home.text)})
        assert again.cookies["palimpsest"] != first
        client.cookies.clear()
        assert (await client.get("/", headers={"cookie": f"palimpsest={first}"})).status_code == 303


async def test_a_new_password_ends_all_sessions(page: Any) -> None:
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(browser_of(page(password=PASSWORD)))
        await log_in(client)
        held = client.cookies["palimpsest"]
        other = await stack.enter_async_context(browser_of(page(password="another good password")))
        assert (await other.get("/", headers={"cookie": f"palimpsest={held}"})).status_code == 303
        same = await stack.enter_async_context(browser_of(page(password=PASSWORD)))
        assert (await same.get("/", headers={"cookie": f"palimpsest={held}"})).status_code == 200, "a restart ends none"


async def test_a_form_that_does_not_carry_the_mark_of_its_session_does_nothing(logged_in: Any) -> None:
    async with logged_in() as client, logged_in() as other:
        home, others = await client.get("/"), await other.get("/")
        for data in ({}, {"csrf": "x"}, {"csrf": csrf_of(others.text)}):
            assert (await client.post("/logout", data=data)).status_code == 403
        assert (await client.get("/")).status_code == 200
        assert (await client.post("/logout", headers={"x-csrf-token": csrf_of(home.text)})).status_code == 303


@pytest.mark.parametrize(
    ("hops", "caller"),
    [
        ("203.0.113.7, ::ffff:10.0.0.8", "203.0.113.7"),  # a proxy of ours, as one that listens on IPv6 writes it
        ("203.0.113.7, unknown", "10.0.0.9"),  # what is no address is nobody's: the proxy itself counts
    ],
)
async def test_whoever_comes_through_a_chain_of_proxies_is_told_from_them(page: Any, hops: str, caller: str) -> None:
    app, headers = page(password=PASSWORD, proxies=("10.0.0.0/24",)), {"x-forwarded-for": hops}
    async with browser_of(app, address="10.0.0.9", headers={**headers, "x-forwarded-proto": "http, https"}) as client:
        with capture_logs() as logged:
            answer = await client.post("/login", data={"password": "wrong"})
    assert "strict-transport-security" in answer.headers
    assert [line["address"] for line in logged if "address" in line] == [caller]


async def test_without_a_password_the_page_is_open_to_this_machine_by_its_own_names_alone(page: Any) -> None:
    app = page()
    for host in ("127.0.0.1:8080", "localhost:8080", "[::1]:8080", "palimpsest.localhost"):
        async with browser_of(app, f"http://{host}") as client:
            assert (await client.get("/")).status_code == 200
    for host in ("evil.example", "127.0.0.1.evil.example", "evil.example:8080", "localhost.evil.example"):
        async with browser_of(app, f"http://{host}") as client:
            assert (await client.get("/")).status_code == 421
    async with browser_of(app) as client:
        for name in ("x-forwarded-for", "forwarded", "via", "x-forwarded-host"):
            assert (await client.get("/", headers={name: "203.0.113.7"})).status_code == 403


async def test_without_a_password_another_site_can_still_send_no_form(page: Any) -> None:
    async with browser_of(page()) as client:
        mark = csrf_of((await client.get("/")).text)
        form = {"theme": "dark", "next": "/"}
        assert (await client.post("/theme", data=form)).status_code == 403
        sent = await client.post("/theme", data={**form, "csrf": mark}, headers={"origin": "http://127.0.0.1:3000"})
        assert sent.status_code == 403
        assert (await client.post("/theme", data={**form, "csrf": mark})).status_code == 303
        assert 'data-theme="dark"' in (await client.get("/")).text


async def test_the_page_answers_only_to_the_names_that_were_given(page: Any) -> None:
    app = page(password=PASSWORD, hosts=frozenset({"bot.example.org"}))
    async with browser_of(app, "http://bot.example.org") as client:
        assert (await client.get("/login")).status_code == 200
    async with browser_of(app, "http://evil.example") as client:
        assert (await client.get("/login")).status_code == 421


async def test_a_book_that_takes_nothing_is_said_on_the_first_page_and_in_the_log(
    page: Any, database: Database
) -> None:
    async with database.write() as tx:
        pages = (await tx.execute(text("PRAGMA page_count"))).scalar_one()
        await tx.execute(text(f"PRAGMA max_page_count={pages}"))
    with pytest.raises(StoreUnavailable):
        async with database.write() as tx:
            await inbox.set_cursor(tx, "telegram", "x" * 100_000)
    async with browser_of(page()) as client:
        (problem,) = (await client.get("/overview.json")).json()["problems"][:1]
        assert problem["level"] == "critical"
        assert "does not take what it is given: database or disk is full: make room" in problem["sentence"]


async def test_a_request_that_the_book_cannot_serve_is_logged(page: Any, database: Database) -> None:
    app = page(password=PASSWORD)
    await database.close()
    with capture_logs() as logged:
        async with browser_of(app) as client:
            assert (await log_in(client)).status_code == 503
    assert [(line["event"], line["reason"]) for line in logged] == [("store_unavailable", "the database is closed")]


async def test_a_script_passes_with_the_token_and_needs_no_form(page: Any) -> None:
    app = page(token=TOKEN)
    async with browser_of(app, headers={"authorization": f"Bearer {TOKEN}"}) as client:
        assert (await client.get("/overview.json")).json()["last_24_hours"]["compactions"] == 0
        assert (await client.get("/compactions.json")).json() == []
        assert (await client.post("/parked/99/retry")).status_code == 404
    async with browser_of(app, headers={"authorization": "Bearer wrong"}) as client:
        assert (await client.get("/overview.json")).status_code == 401
        for _ in range(OF_ONE):
            answer = await client.get("/overview.json")
        assert answer.status_code == 429


async def test_every_answer_tells_browsers_to_run_nothing_and_to_show_it_in_no_frame(logged_in: Any) -> None:
    async with logged_in() as client:
        for path in ("/", "/login", "/nowhere", "/static/page.css", "/static/nowhere.css", "/conversations/none"):
            headers = (await client.get(path)).headers
            policy = headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "script-src 'self';" in policy
            assert "frame-ancestors 'none'" in policy
            assert "unsafe" not in policy
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["x-frame-options"] == "DENY"
        assert (await client.get("/")).headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "path",
    [
        "/static/../settings.py", "/static/..%2f..%2fsettings.py", "/static/%2e%2e/templates/base.html",
        "/static//etc/passwd", "/static/page.css%00.js", "/conversations/..%2f..%2fetc%2fpasswd",
        "/conversations/%2e%2e", "/compactions/..%2f..%2fdata", "/conversations/room-1%00", "/compactions/%ff",
    ],
)  # fmt: skip
async def test_a_path_leads_to_what_is_named_there_or_nowhere(logged_in: Any, path: str) -> None:
    async with logged_in() as client:
        answer = await client.get(path)
        assert answer.status_code in (303, 404)
        assert "root:" not in answer.text
        assert "import" not in answer.text


async def test_a_form_of_many_megabytes_is_not_read(logged_in: Any) -> None:
    async with logged_in() as client:
        assert (await client.post("/theme", data={"theme": "x" * 5_000_000})).status_code == 413


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("PAGE__PASSWORD", "short", "at least 12"),
        ("PAGE__TOKEN", "x" * 31, "at least 32"),
        ("PAGE__PROXIES", "proxy.example", "no address"),
        ("PAGE__SESSION_HOURS", "0", "a number above 0"),
    ],
)
def test_a_setting_that_cannot_be_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, told: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError, match=told) as refused:
        load_settings(_env_file=None)
    assert name in str(refused.value)
    assert value not in str(refused.value) or name in ("PAGE__PROXIES", "PAGE__SESSION_HOURS")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, ""),
        ({"http_bind": "[::1]:8080"}, ""),
        ({"http_bind": "0.0.0.0:8080"}, "PAGE__PASSWORD"),
        ({"http_bind": ":8080"}, "PAGE__PASSWORD"),
        ({"http_bind": "0.0.0.0:8080", "page": PageSettings.model_validate({"password": PASSWORD})}, ""),
        ({"page": PageSettings(local=False)}, "PAGE__LOCAL"),
        ({"telegram_webhook_url": "https://bot.example.org/telegram"}, "forwards"),
    ],
)
def test_the_page_is_off_where_strangers_could_open_it(changes: dict[str, Any], told: str) -> None:
    reason = why_shut(Settings(_env_file=None, data_dir=Path("data"), **changes))
    assert told in reason
    assert bool(told) == bool(reason)


def test_an_empty_password_opens_nothing() -> None:
    assert not Keys().log_in("")
    assert not Keys(token=TOKEN).log_in("")
    assert not Keys(password=PASSWORD).is_token("")
    assert Keys(password="пароль-пароль-🦊").log_in("пароль-пароль-🦊")
