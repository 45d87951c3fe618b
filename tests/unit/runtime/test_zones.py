"""Zones by the names that people give them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from bot.errors import ConfigurationError
from bot.runtime.settings import load_settings
from bot.runtime.zones import UnknownZoneError, local_time, offset_text, understood, zone_info
from tests.docs.pages import ROOT

NAMES = {
    "Europe/Lisbon": "Europe/Lisbon",
    " europe/lisbon ": "Europe/Lisbon",
    "lisbon": "Europe/Lisbon",
    "New York": "America/New_York",
    "america/new york": "America/New_York",
    "São Paulo": "America/Sao_Paulo",
    "`Asia/Kolkata`": "Asia/Kolkata",
    "utc": "UTC",
}


@pytest.mark.parametrize(("written", "name"), NAMES.items(), ids=list(NAMES))
def test_a_zone_is_understood_however_people_write_it(written: str, name: str) -> None:
    assert understood(written) == name


@pytest.mark.parametrize(
    ("written", "near"),
    {"Europe/Lisbn": "Europe/Lisbon", "Berlim": "Europe/Berlin", "asia/calcuta": "Asia/Calcutta"}.items(),
)
def test_a_wrong_name_is_answered_with_one_that_is_like_it(written: str, near: str) -> None:
    with pytest.raises(UnknownZoneError, match=f"Did you mean {near}") as caught:
        understood(written)
    assert caught.value.near[0] == near


def test_a_city_of_several_zones_is_asked_back() -> None:
    with pytest.raises(UnknownZoneError, match=r"several zones: .*/Indiana/Indianapolis or America/Indianapolis\."):
        understood("Indianapolis")


@pytest.mark.parametrize("written", ["UTC+2", "+02:00", "gmt -3", "GMT−3"])
def test_an_offset_is_no_zone_since_it_says_nothing_of_summer_time(written: str) -> None:
    with pytest.raises(UnknownZoneError, match="Name a place"):
        understood(written)


@pytest.mark.parametrize("written", ["", "  ", "../../etc/passwd", "Europe", "Factory", "\x00", "x" * 5_000, "🌍"])
def test_what_is_no_zone_at_all_is_refused_in_a_short_sentence(written: str) -> None:
    with pytest.raises(UnknownZoneError) as caught:
        understood(written)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("name", ["Atlantis/Lost", "Europe", "../../etc/passwd", "", "\x00"])
def test_a_zone_that_the_data_no_longer_has_is_utc(name: str) -> None:
    assert offset_text(local_time(0, name)) == "UTC"
    assert zone_info(name).utcoffset(None) is not None


def test_clocks_show_what_the_rules_of_that_moment_say() -> None:
    winter, summer = 1_767_225_600, 1_783_000_000  # 2026-01-01, 2026-07-02
    assert offset_text(local_time(winter, "Europe/Lisbon")) == "UTC"
    assert offset_text(local_time(summer, "Europe/Lisbon")) == "UTC+01:00"
    assert offset_text(local_time(summer, "Asia/Kathmandu")) == "UTC+05:45"
    assert offset_text(local_time(summer + 0.25, "America/St_Johns")) == "UTC-02:30"


@pytest.mark.parametrize(
    ("variable", "name"), {"Asia/Tokyo": "Asia/Tokyo", "Etc/UTC": "UTC", ":/no/such/zone": "UTC"}.items()
)
def test_where_nothing_is_set_the_machine_s_zone_counts_and_utc_where_it_names_none(variable: str, name: str) -> None:
    ask = "from bot.runtime.zones import default_zone; print(default_zone(None), default_zone('Europe/Paris'))"
    asked = subprocess.run(
        [sys.executable, "-c", ask], env={"TZ": variable}, capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert asked.stdout.splitlines()[-1] == f"{name} Europe/Paris"


def test_the_setting_takes_a_name_and_refuses_what_is_none() -> None:
    assert load_settings(_env_file=None, timezone="europe/lisbon").timezone == "Europe/Lisbon"
    with pytest.raises(ConfigurationError, match=r"Europe/Lisbn is no time zone.*e\.g\. Europe/Lisbon\."):
        load_settings(_env_file=None, timezone="Europe/Lisbn")
