"""The compose file: its shape, and its services run as processes on the packages of the image."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any

import pytest

from bot.app.main import ROLES
from tests.deploy.files import DEPLOY, GRACE, ROOT, document, image_environment, interpolated, is_setting
from tests.ports import free_port
from tests.servers.messages.server import MessagesServer
from tests.servers.telegram.server import BotApiServer
from tests.wire.program import KEY, Program, Programs
from tests.wire.talk import Talk

COMPOSE = document(DEPLOY / "compose.yaml")
SERVICES: Mapping[str, dict[str, Any]] = COMPOSE["services"]
FILLED_IN = {"POSTGRES_PASSWORD": "hex", "ANTHROPIC_API_KEY": KEY, "TELEGRAM_TOKEN": "1:token"}
KNOWN = {
    "build", "cap_drop", "command", "depends_on", "env_file", "environment", "healthcheck", "image", "init", "ports",
    "profiles", "read_only", "restart", "security_opt", "shm_size", "stop_grace_period", "tmpfs", "user", "volumes",
}  # fmt: skip
"""Of the compose specification, what is used here."""


LONGEST = 150.0
"""Seconds for which a service is waited for: three of them load all of the program at once, on whatever is free."""


def seconds(duration: str) -> int:
    assert re.fullmatch(r"\d+s", duration)
    return int(duration.removesuffix("s"))


@pytest.mark.parametrize("name", SERVICES)
def test_each_service_is_made_of_what_compose_knows(name: str) -> None:
    service = SERVICES[name]
    assert set(service) <= KNOWN
    assert service["restart"] == "unless-stopped"
    assert set(service.get("depends_on", {})) <= set(SERVICES)
    for volume in service["volumes"]:
        source = volume.split(":")[0]
        assert source.startswith("./") or source in COMPOSE["volumes"]
    for port in service.get("ports", []):
        assert port.startswith("127.0.0.1:"), "nothing is open to the world unasked"
    for waited in service.get("depends_on", {}):
        assert "healthcheck" in SERVICES[waited]


@pytest.mark.parametrize("role", ROLES)
def test_each_role_is_walled_in_and_has_time_to_end(role: str) -> None:
    service = SERVICES[role]
    assert service["command"] == ["run", "--role", role]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["volumes"] == [f"data:{image_environment()['DATA_DIR']}"]
    shutdown = int(service["environment"]["SHUTDOWN_SECONDS"])
    assert seconds(service["stop_grace_period"]) >= shutdown + GRACE
    assert (DEPLOY / service["build"]["context"]).resolve() == ROOT
    assert all(is_setting(name) for name in service["environment"])
    assert ("TELEGRAM_TOKEN" in service["environment"]) == (role == "gateway"), "only the gateway gets tokens"


def test_its_example_of_an_env_file_names_what_it_reads() -> None:
    text = (DEPLOY / "compose.yaml").read_text()
    named = set(re.findall(r"^(?:# )?([A-Z_]+)=", (DEPLOY / ".env.example").read_text(), re.MULTILINE))
    assert set(re.findall(r"\$\{(\w+)", text)) - {"PALIMPSEST_VERSION"} == named
    with pytest.raises(AssertionError, match=r"Set it in deploy/\.env"):
        interpolated(SERVICES["agents"]["environment"]["DATABASE_URL"], {})


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A PYTHONPATH with the packages of the image, and nothing else of ours."""
    folder = tmp_path_factory.mktemp("image")
    lock = (DEPLOY / "requirements.lock").read_text()
    for name in re.findall(r"^([a-z0-9-]+)==", lock, re.MULTILINE):
        for top in _tops(name):
            if not (folder / top.name).exists():
                (folder / top.name).symlink_to(top)
    return f"{ROOT}:{folder}"


def _tops(name: str) -> Iterable[Path]:
    try:
        found = files(name) or []
    except PackageNotFoundError:  # only for another Python than this one
        return []
    return {Path(str(one.locate())).parents[len(one.parts) - 2] if len(one.parts) > 1 else Path(str(one.locate()))
            for one in found if one.parts[0] != ".."}  # fmt: skip


def environment_of(role: str, image: str, model: MessagesServer, book: Mapping[str, str]) -> dict[str, str]:
    """What the service is told, with the servers of this test in place of those in its network."""
    told = {name: interpolated(value, FILLED_IN) for name, value in SERVICES[role]["environment"].items()}
    assert told["DATABASE_URL"] == "postgresql://palimpsest:hex@postgres:5432/palimpsest"
    bind = f"127.0.0.1:{free_port()}"
    ours = {"HTTP_BIND": bind, "ANTHROPIC_BASE_URL": model.url, "PYTHONPATH": image}
    return {**image_environment(), **told, **book, **ours}


async def healthy(programs: Programs, role: str, environment: Mapping[str, str]) -> bool:
    """What the service's own check says."""
    kind, *command = SERVICES[role]["healthcheck"]["test"]
    assert (kind, command[0]) == ("CMD", "python")
    asked = await programs.execute([sys.executable, "-S", *command[1:]], **environment)
    return await asked.ends() == 0


async def become_healthy(programs: Programs, services: Mapping[str, Mapping[str, str]]) -> None:
    """The checks are asked again and again, as they are there: one after the other and with a pause, since each is a
    process too, and what is waited for needs the same processors."""
    for role, environment in services.items():
        async with asyncio.timeout(LONGEST):
            while not await healthy(programs, role, environment):  # noqa: ASYNC110  # the check is a process
                await asyncio.sleep(0.5)


async def started(programs: Programs, role: str, environment: Mapping[str, str]) -> Program:
    command = [sys.executable, "-S", "-m", "bot.app.cli.main", *SERVICES[role]["command"]]
    program = await programs.execute(command, **environment)
    await program.wait_for(lambda it: it.process.returncode is not None or it.logged("http_listens"), LONGEST)
    assert program.process.returncode is None, program.describe()
    return program


@pytest.mark.timeout(600)
async def test_its_services_start_at_once_on_an_empty_database_and_answer(
    tmp_path: Path, image: str, postgres_database: str, external_valkey: str
) -> None:
    book = {"DATABASE_URL": postgres_database, "REDIS_URL": external_valkey}
    async with MessagesServer(window=3_000, key=KEY) as model, BotApiServer() as telegram:
        platform = Programs(tmp_path, model, telegram)
        inside = Programs(tmp_path, model)
        try:
            told: dict[str, dict[str, str]] = {
                role: environment_of(role, image, model, book) | {"DATA_DIR": str(tmp_path)} for role in ROLES
            }
            told["gateway"]["TELEGRAM_TOKEN"] = telegram.token
            where = {role: platform if role == "gateway" else inside for role in ROLES}
            assert not await healthy(inside, "agents", told["agents"])
            roles = await asyncio.gather(*(started(where[role], role, told[role]) for role in ROLES))
            await become_healthy(inside, told)
            ada = Talk(telegram, model, 1001)
            await ada.asks("The colour is blue.")
            await ada.says_much(600, lines=3)
            ada.says("/compact")
            await ada.reads("🗜 Compacted: ")
            assert await ada.asks("What is the colour?") == "The colour is blue."
            assert await asyncio.gather(*(program.stop() for program in roles)) == [0, 0, 0]
            assert not [line for program in roles for line in program.err if '"level": "error"' in line]
        finally:
            await platform.close()
            await inside.close()
