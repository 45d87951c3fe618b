"""Secrets are taken out of what is written down, and nothing else is."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.runtime.redact import redact

TELEGRAM = "110201543:" + "AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsa" + "w1"
ANTHROPIC = "sk-" + "ant-api03-" + "Zx9" * 20
DISCORD = "MTk4NjIyNDgzNDcxOTI1MjQ4" + ".Cl2FMQ." + "ZnCjm1XVW7vRze4b7Cq4se7kKWs"
JWT = "eyJ" + "hbGciOiJIUzI1NiJ9.eyJ" + "zdWIiOiIxMjM0In0." + "dozjgNryP4J3jVmNHl0w5N"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQ\nEAx/y=\n-----END RSA PRIVATE KEY-----"

SECRETS = [
    (f"key {ANTHROPIC} here", "key [redacted] here"),
    ("OPENAI_API_KEY=sk-" + "proj-" + "aB3" * 12, "OPENAI_API_KEY=[redacted]"),
    ("push with ghp_" + "a1B2" * 9, "push with [redacted]"),
    ("xoxb-" + "123456789012-abcdefABCDEF", "[redacted]"),
    ("AKIA" + "IOSFODNN7EXAMPLE", "[redacted]"),
    ("AIza" + "SyA-1234567890abcdefghijklmnopqrstu", "[redacted]"),
    ("hf_" + "abcdefghijABCDEFGHIJ1234", "[redacted]"),
    (f"https://api.telegram.org/bot{TELEGRAM}/getMe", "https://api.telegram.org/[redacted]/getMe"),
    (f"the token is {TELEGRAM}.", "the token is [redacted]."),
    (f"login with {DISCORD}", "login with [redacted]"),
    (JWT, "[redacted]"),
    ("Authorization: Bearer abcdef0123456789abcdef", "Authorization: Bearer [redacted]"),
    (PEM, "-----BEGIN RSA PRIVATE KEY-----[redacted]-----END RSA PRIVATE KEY-----"),
    ("postgresql://bot:hunter2@db:5432/palimpsest", "postgresql://bot:[redacted]@db:5432/palimpsest"),
    ("redis://:s3cr3t@cache:6379/0", "redis://:[redacted]@cache:6379/0"),
    ("password=hunter2", "password=[redacted]"),
    ("PGPASSWORD='correct horse'", "PGPASSWORD='[redacted]'"),
    ('{"password": "correct horse", "user": "ann"}', '{"password": "[redacted]", "user": "ann"}'),
    ('"token": "8f14e45fceea167a5a36dedd4bea2543"', '"token": "[redacted]"'),
    ("api_key: 9aX31bb2z", "api_key: [redacted]"),
    ("client_secret = GOCSPX-abcdefghijk1", "client_secret = [redacted]"),
    ("?access_token=ya30abcdef99&x=1", "?access_token=[redacted]&x=1"),
    ("x-api-key: abcdef123456", "x-api-key: [redacted]"),
]

ORDINARY = [
    "commit 3f786850e387550fdab836ed7e6dc881de23001b",
    "id 123e4567-e89b-12d3-a456-426614174000",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "The token limit is 8000 tokens; max_tokens=4096, tokens: 12345678",
    "Tell me a secret: what is it?",
    "Please reset my password: I forgot it.",
    "password: required",
    'token: str | None = None, password="..."',
    "token = os.environ",
    "api_key=<your key>",
    "ask-me-anything-about-this-long-subject",
    "risk-adjusted-return-on-capital-2024",
    "Basic understanding of mathematics",
    "https://example.com/a:b@c is odd, http://localhost:8080/x",
    "10:30 the meeting 12:45",
    "Bearer of good news, internationalization",
    "/home/ann/reports/2026-11-21/summary.pdf",
    "flight HAT136, reservation 4WQ150, user mia_li_3668",
    "secret: none",
    "ghp_short, sk-1",
]


@pytest.mark.parametrize(("text", "expected"), SECRETS)
def test_a_secret_is_taken_out_and_its_name_stays(text: str, expected: str) -> None:
    assert redact(text) == expected


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(("text", "expected"), SECRETS)
def test_redacting_twice_changes_nothing(text: str, expected: str) -> None:
    assert redact(redact(text)) == expected


def test_our_own_secrets_are_taken_out_wherever_they_stand() -> None:
    assert redact("a=tiger-lily;xtiger-lilyx", ["tiger-lily", ""]) == "a=[redacted];x[redacted]x"


def test_of_two_own_secrets_the_longer_goes_first() -> None:
    assert redact("tiger-lily-pond", ["tiger-lily", "tiger-lily-pond"]) == "[redacted]"


def test_an_own_secret_that_is_as_short_as_a_word_is_left_alone() -> None:
    assert redact("the cat", ["cat"]) == "the cat"


@given(st.text(alphabet="abcAB019 =:\"'@/._-\n[]", max_size=300), st.lists(st.text(max_size=12), max_size=3))
def test_redacting_any_text_twice_is_redacting_it_once(text: str, secrets: list[str]) -> None:
    once = redact(text)
    assert redact(once) == once
    redact(text, secrets)


@given(st.lists(st.sampled_from([text for text, _ in SECRETS] + ORDINARY), max_size=6))
def test_redacting_any_mixture_twice_is_redacting_it_once(pieces: list[str]) -> None:
    once = redact(" ".join(pieces))
    assert redact(once) == once


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "password",
        "sk-",
        "eyJ",
        "://",
        "a:",
        "-----BEGIN PRIVATE KEY-----",
        "1",
        "token=",
        "Bearer ",
        " ",
        "N",
    ],
)
def test_hostile_repetition_takes_linear_time(piece: str) -> None:
    text = piece * (300_000 // len(piece))
    began = time.perf_counter()
    redact(text)
    assert time.perf_counter() - began < 5
