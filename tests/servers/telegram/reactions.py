"""Which reactions a bot may set. https://core.telegram.org/bots/api#reactiontypeemoji"""

from tests.servers.telegram.wire import Json, bad_request

_ROWS = (
    "❤ 👍 👎 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮",
    "💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 ❤‍🔥 🌚 🌭 💯 🤣 ⚡",
    "🍌 🏆 💔 🤨 😐 🍓 🍾 💋 🖕 😈 😴 😭 🤓 👻 👨‍💻",
    "👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿",
    "🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 🤷‍♂ 🤷 🤷‍♀ 😡",
)
EMOJI = frozenset(emoji for row in _ROWS for emoji in row.split())


def check_reactions(reactions: object, allowed: frozenset[str] | None) -> list[Json]:
    """The reactions to set, none to take it back; `Rejected` for what a chat, or Telegram, does not have."""
    if reactions is None:
        return []
    if not isinstance(reactions, list):
        raise bad_request("expected an Array of ReactionType")
    for reaction in reactions:
        if not isinstance(reaction, dict) or reaction.get("type") not in ("emoji", "custom_emoji"):
            raise bad_request("can't parse ReactionType: invalid reaction type specified")
        if reaction.get("emoji") not in (EMOJI if allowed is None else EMOJI & allowed):
            raise bad_request("REACTION_INVALID")
    if len(reactions) > 1:
        raise bad_request("REACTIONS_TOO_MANY")
    return list(reactions)
