"""Discord: asked, without a session."""

from __future__ import annotations

from bot.app.doctor.case import Case
from bot.app.doctor.discord import PERMISSIONS, check_discord
from tests.doctor.conftest import MakeCase, said, the_one
from tests.servers.discord.server import DiscordServer


def patient(case: MakeCase, discord: DiscordServer, **settings: object) -> Case:
    """Somebody whose Discord is this one."""
    return case(**{
        "discord_token": discord.token, "discord_api_base": discord.api_base, "discord_gateway": discord.gateway,
        **settings,
    })  # fmt: skip


async def test_without_a_token_it_is_off(case: MakeCase) -> None:
    assert await said(check_discord, case()) == ["ok: DISCORD_TOKEN is not set: Discord is off."]


async def test_all_is_well_and_no_session_was_opened(case: MakeCase, discord: DiscordServer) -> None:
    lines = await said(check_discord, patient(case, discord))
    assert lines == ["ok: The token is that of palimpsest.", "ok: The gateway at 127.0.0.1 answers."]
    assert discord.sockets.identifies == 0
    assert discord.unknown_calls == []


async def test_a_wrong_token_is_a_problem_and_not_repeated(case: MakeCase, discord: DiscordServer) -> None:
    finding = await the_one(check_discord, patient(case, discord, discord_token="a-wrong.token.of-mine"), "problem")
    assert finding.sentence == "Discord does not know the token."
    assert "developers/applications" in finding.advice
    assert "a-wrong.token.of-mine" not in str(finding)


async def test_a_missing_intent_is_a_problem_that_says_where_to_switch_it_on(
    case: MakeCase, discord: DiscordServer
) -> None:
    discord.message_content_allowed = False
    finding = await the_one(check_discord, patient(case, discord), "problem")
    assert "Message Content Intent" in finding.sentence
    assert "https://discord.com/developers/applications/4200/bot" in finding.advice


async def test_a_bot_in_no_server_gets_the_address_that_invites_it(case: MakeCase, discord: DiscordServer) -> None:
    discord.guilds.clear()  # type: ignore[attr-defined]
    finding = await the_one(check_discord, patient(case, discord), "warning")
    assert f"client_id=4200&scope=bot+applications.commands&permissions={PERMISSIONS}" in finding.advice


async def test_an_api_that_does_not_answer_is_a_problem(case: MakeCase) -> None:
    async with DiscordServer() as gone:
        pass
    assert (
        "DISCORD_API_BASE cannot be reached" in (await the_one(check_discord, patient(case, gone), "problem")).sentence
    )


async def test_a_base_without_the_version_is_a_problem(case: MakeCase, discord: DiscordServer) -> None:
    wrong = patient(case, discord, discord_api_base=discord.api_base.removesuffix("/v10"))
    assert "/api/v10" in (await the_one(check_discord, wrong, "problem")).advice


async def test_a_gateway_that_does_not_answer_is_a_problem(case: MakeCase, discord: DiscordServer) -> None:
    async with DiscordServer() as gone:
        pass
    finding = await the_one(check_discord, patient(case, discord, discord_gateway=gone.gateway), "problem")
    assert "DISCORD_GATEWAY cannot be reached" in finding.sentence


async def test_without_a_gateway_of_ones_own_discord_is_asked_for_it(case: MakeCase, discord: DiscordServer) -> None:
    lines = await said(check_discord, patient(case, discord, discord_gateway=None))
    assert lines[-1] == "ok: The gateway at 127.0.0.1 answers."
