"""What an application command may be: https://docs.discord.com/developers/interactions/application-commands"""

import re
from typing import Any

from tests.servers.discord.wire import Json, bad_length, invalid_form, required, too_long

CHAT_INPUT = 1
LONGEST_DESCRIPTION = 100
MOST_COMMANDS = 100
MOST_OPTIONS = 25
OPTION_KINDS = range(1, 12)
_NAME = re.compile(r"^[-_\w]{1,32}$")


def check_commands(commands: Any) -> None:
    """Raise `Refused` for the first rule that is broken."""
    if not isinstance(commands, list):
        raise invalid_form("body", "LIST_TYPE_CONVERT", "Only iterables may be used in a ListType")
    if len(commands) > MOST_COMMANDS:
        raise too_long("body", MOST_COMMANDS)
    for index, command in enumerate(commands):
        check_command(command, f"{index}.")
    names = [(command["name"], command.get("type", CHAT_INPUT)) for command in commands]
    for index, name in enumerate(names):
        if name in names[:index]:
            duplicate = "Application command names must be unique"
            raise invalid_form(f"{index}.name", "APPLICATION_COMMANDS_DUPLICATE_NAME", duplicate)


def check_command(command: Json, path: str = "") -> None:
    """Raise `Refused` for the first rule that is broken; `path` leads to the command."""
    if command.get("type", CHAT_INPUT) != CHAT_INPUT:
        if not 1 <= len(command.get("name") or "") <= 32:
            raise bad_length(f"{path}name", 1, 32)
        return
    _check_named(command, path)
    options = command.get("options") or []
    if len(options) > MOST_OPTIONS:
        raise too_long(f"{path}options", MOST_OPTIONS)
    optional = False
    for index, option in enumerate(options):
        place = f"{path}options.{index}."
        if option.get("type") not in OPTION_KINDS:
            raise invalid_form(f"{place}type", "BASE_TYPE_CHOICES", f"Value must be one of {{{[*OPTION_KINDS]}}}.")
        check_command({**option, "type": CHAT_INPUT}, place)
        if option.get("required") and optional:
            order = "Required options must be placed before non-required options"
            raise invalid_form(place.rstrip("."), "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID", order)
        optional = optional or not option.get("required")


def _check_named(thing: Json, path: str) -> None:
    name, description = thing.get("name"), thing.get("description")
    if name is None:
        raise required(f"{path}name")
    if not _NAME.match(name) or name != name.lower():
        problem = "Command name is invalid"
        raise invalid_form(f"{path}name", "APPLICATION_COMMAND_INVALID_NAME", problem)
    if description is None:
        raise required(f"{path}description")
    if not 1 <= len(description) <= LONGEST_DESCRIPTION:
        raise bad_length(f"{path}description", 1, LONGEST_DESCRIPTION)
