"""What is loaded before the first question, so that it does not wait."""

from __future__ import annotations

import os
import subprocess
import sys

from bot.runtime.providers import providers

PROGRAM = """
import asyncio, sys
from bot.app.loading import AGENTS, WORKER, clients, load
from bot.runtime.settings import load_settings
asyncio.run(load("agents", *AGENTS, *WORKER, *clients(load_settings(_env_file=None))))
print(*sorted({"anthropic", "httpx2"} & set(sys.modules)))
"""


def test_of_the_clients_those_are_loaded_that_a_model_is_asked_by() -> None:
    ours = {"MODEL", *(name for provider in providers().values() for name in provider.variables)}
    environment = {name: value for name, value in os.environ.items() if name not in ours}
    command, given = [sys.executable, "-c", PROGRAM], {**environment, "OPENAI_API_KEY": "a-key"}
    ran = subprocess.run(command, capture_output=True, text=True, check=True, env=given)
    assert ran.stdout.splitlines()[-1] == "httpx2"
