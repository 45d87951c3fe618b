"""The page and its chat: whether they are on, and why not."""

from __future__ import annotations

import socket

import pytest

from bot.app.doctor.page import check_page
from tests.doctor.conftest import MakeCase, the_one

PASSWORD = {"password": "a password of the tests"}


async def test_a_page_for_this_machine_alone_is_fine_and_it_is_said_how_to_shut_it(
    case: MakeCase, free_port: int
) -> None:
    finding = await the_one(check_page, case(http_bind=f"127.0.0.1:{free_port}"), "ok")
    assert f"http://127.0.0.1:{free_port}/ and its chat at /chat, open to everybody on this machine" in finding.sentence
    assert "PAGE__LOCAL=false" in finding.advice


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"http_bind": "0.0.0.0:8080"}, "set PAGE__PASSWORD to have the page there"),
        ({"http_bind": "127.0.0.1:8080", "page": {"local": False}}, "PAGE__LOCAL is off"),
    ],
)
async def test_a_page_that_is_off_is_told_with_the_reason(
    case: MakeCase, changes: dict[str, object], reason: str
) -> None:
    finding = await the_one(check_page, case(**changes), "ok")
    assert finding.sentence.startswith("The page and the chat in the browser are off. ")
    assert reason in finding.sentence


async def test_a_password_that_travels_without_tls_is_warned_of(case: MakeCase, free_port: int) -> None:
    finding = await the_one(check_page, case(http_bind=f"0.0.0.0:{free_port}", page=PASSWORD), "warning")
    assert "TLS" in finding.sentence
    assert PASSWORD["password"] not in finding.sentence
    behind = case(http_bind=f"0.0.0.0:{free_port}", page={**PASSWORD, "proxies": "10.0.0.1"})
    await the_one(check_page, behind, "ok")


async def test_where_something_else_has_the_address_it_is_said_that_the_page_cannot_be_there(case: MakeCase) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        finding = await the_one(check_page, case(http_bind=f"127.0.0.1:{port}"), "warning")
    assert finding.sentence.startswith(f"The page cannot be at http://127.0.0.1:{port}/")
    assert f"HTTP_BIND=127.0.0.1:{port + 1 if port < 65_535 else 8081} chooses" in finding.advice
