"""Certificates are read once in a process, and are httpx2's own."""

from __future__ import annotations

import ssl

import httpx2

from bot.runtime.tls import trusted


def test_certificates_are_read_once_and_are_those_that_a_client_would_read() -> None:
    assert trusted() is trusted()
    assert trusted().verify_mode == ssl.CERT_REQUIRED
    assert trusted().check_hostname
    assert trusted().get_ca_certs() == httpx2.create_ssl_context().get_ca_certs()
