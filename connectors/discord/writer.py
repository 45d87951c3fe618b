"""Brings what is said to Discord: new messages, edits, answers to commands."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from hashlib import blake2s
from pathlib import Path

import discord

from bot.connector import Guard, unguarded
from bot.messages import Edit, OutFile, Say, Withdraw
from connectors.discord.commands import token_of
from connectors.discord.failures import (
    FAILURES,
    NO_ACCESS,
    NO_PERMISSION,
    NOT_OURS,
    TOO_LARGE,
    TOO_MANY_EDITS,
    UNKNOWN_MESSAGE,
    code_of,
    has_expired,
)
from connectors.discord.interactions import Interactions
from connectors.discord.places import Places, channel_of
from connectors.discord.recent import Recent
from connectors.discord.rest import Post, Posted, Rest
from connectors.text import for_discord, split

LONGEST_TEXT = 2000
"""Characters of one message. https://docs.discord.com/developers/resources/message#create-message"""
EMPTY_REPLY = "(empty reply)"
LOOKED_AT = 50
"""Messages that :meth:`Writer.find` looks at."""

_MORE = "\n…"
_CODE = re.compile(r"((?<!`)`[^`]+`(?!`))")
_CANNOT_BE_EDITED = frozenset({UNKNOWN_MESSAGE, NOT_OURS, TOO_MANY_EDITS})
_NO_ENTRY = frozenset({NO_ACCESS, NO_PERMISSION})
_MOST_SHOWN = 2000
_MOST_BEGUN = 500


class Writer:
    """Remembers what messages show, so that nothing is sent twice or for nothing; all of it may be forgotten."""

    def __init__(self, rest: Rest, places: Places, interactions: Interactions) -> None:
        self._rest = rest
        self._places = places
        self._interactions = interactions
        self.guard: Guard = unguarded
        """See :class:`bot.connector.Guarded`."""
        self._begun: Recent[tuple[str, str], list[str]] = Recent(_MOST_BEGUN)
        """By token and text: the parts that are out of a message whose other parts have to wait."""
        self._shown: Recent[str, Post] = Recent(_MOST_SHOWN)
        self._gone: Recent[str, None] = Recent(_MOST_SHOWN)
        """Messages that were deleted, by us or by people."""
        self._answered: Recent[str, str] = Recent(_MOST_SHOWN)
        """By the interaction's token: which outbound is its answer."""
        self._tokens: Recent[str, str] = Recent(_MOST_SHOWN)
        """By message: the token of the interaction that it answers."""

    async def write(self, outbound: Say | Edit, refs: Sequence[str]) -> tuple[str, ...]:
        """Make the messages ``refs``, and new ones after them or none of the last ones, show the text.

        After a failure in the middle the same outbound goes on where it stopped.
        """
        if isinstance(outbound, Edit) and outbound.again:
            for shown in refs:
                self._shown.pop(shown, None)
        posts = posts_of(outbound)
        begun = outbound.token, outbound.text
        done = self._begun.get(begun, [])
        for part in range(len(done), len(posts)):
            ref = refs[part] if part < len(refs) else None
            if ref is None or not await self._edit(outbound, ref, posts[part]):
                ref = await self._send(outbound, posts, part)
            done.append(ref)
            self._begun[begun] = done
        for surplus in refs[len(posts) :]:
            await self._delete(channel_of(outbound.address), surplus)
        self._begun.pop(begun, None)
        return tuple(done)

    async def withdraw(self, outbound: Withdraw) -> None:
        """Take messages of ours away, and Discord's word that we think about a command."""
        channel = channel_of(outbound.address)
        for ref in outbound.refs:
            await self._delete(channel, ref)
        token = token_of(outbound.answers)
        if not token:
            return
        try:
            await self._interactions.can_be_answered(token)  # only then is Discord's word there
            thinking = await self._rest.answered(token)
            if thinking.loading:
                await self._delete(channel, str(thinking.id))
        except discord.HTTPException as error:
            if error.code != UNKNOWN_MESSAGE and not has_expired(error):
                raise

    async def find(self, say: Say, after: str | None, known: frozenset[str]) -> tuple[str, ...] | None:
        """Look for a message that went out just before a crash. Missing parts of it are sent."""
        me = await self._rest.me()
        # The answer to a command is as old as Discord's word that we are thinking.
        earliest = int(after) if after and after.isdecimal() and not token_of(say.answers) else 0
        candidates = [
            posted
            for posted in await self._rest.newest(channel_of(say.address), LOOKED_AT)
            if posted.author == me and posted.id > earliest and str(posted.id) not in known and not posted.loading
        ]
        found: list[str] = []
        for post in posts_of(say):
            match = next((one for one in candidates if one.content == post.content.strip()), None)
            if match is None:
                break
            candidates = candidates[candidates.index(match) + 1 :]
            found.append(str(match.id))
        if not found:
            return None
        self._begun[say.token, say.text] = found
        return await self.write(say, ())

    async def _edit(self, outbound: Say | Edit, ref: str, post: Post) -> bool:
        """Whether there is such a message, and it now shows this."""
        if self._shown.get(ref) == post:
            return True
        try:
            await self._edit_where_allowed(channel_of(outbound.address), ref, post)
        except discord.HTTPException as error:
            if error.code not in _CANNOT_BE_EDITED:
                raise
            self._forget(ref)
            return False
        self._shown[ref] = post
        return True

    async def _edit_where_allowed(self, channel: int, ref: str, post: Post) -> None:
        try:
            await self._rest.edit(channel, int(ref), post)
        except discord.Forbidden as error:
            if error.code not in _NO_ENTRY or ref not in self._tokens:
                raise
            await self._rest.edit_answer(self._tokens[ref], int(ref), post)

    async def _delete(self, channel: int, ref: str) -> None:
        try:
            await self._rest.delete(channel, int(ref))
        except discord.HTTPException as error:
            if error.code != UNKNOWN_MESSAGE:
                raise
        self._forget(ref)

    def _forget(self, ref: str) -> None:
        self._gone[ref] = None
        self._shown.pop(ref, None)

    async def _send(self, outbound: Say | Edit, posts: Sequence[Post], part: int) -> str:
        """A new message; a file goes with the last part."""
        await self.guard()
        post = posts[part]
        file = outbound.file if isinstance(outbound, Say) and part == len(posts) - 1 else None
        posted = None
        if file is not None:
            problem = await asyncio.to_thread(self._problem_with, file, channel_of(outbound.address))
            if problem is None:
                try:
                    posted = await self._post(outbound, post, part, file)
                except discord.HTTPException as error:
                    if error.code != TOO_LARGE and error.status != 413:  # noqa: PLR2004
                        raise
                    problem = f"{file.name} is too large for Discord"
            if problem is not None:
                note = f"\n\n({discord.utils.escape_markdown(problem)}.)"
                post = Post((post.content[: LONGEST_TEXT - len(note)] + note).strip(), post.buttons)
        if posted is None:
            posted = await self._post(outbound, post, part, None)
        ref = str(posted.id)
        if post.is_shown_by(posted):
            self._shown[ref] = post
        else:  # it came with an earlier try, by its nonce, and showed what there was then
            await self._edit(outbound, ref, post)
        return ref

    def _problem_with(self, file: OutFile, channel: int) -> str | None:
        try:
            size = Path(file.path).stat().st_size
        except OSError:
            return f"{file.name} is not there any more"
        place = self._places.known(channel)
        if place and place.largest_file is not None and size > place.largest_file:
            return f"{file.name} is too large for Discord: {size / 1e6:,.1f} MB"
        return None

    async def _post(self, outbound: Say | Edit, post: Post, part: int, file: OutFile | None) -> Posted:
        token = token_of(outbound.answers)
        if token and part == 0:
            posted = await self._answer(outbound, token, post, file)
            if posted is not None:
                return posted
        try:
            return await self._create(outbound, post, part, file)
        except discord.Forbidden as error:
            if error.code not in _NO_ENTRY or not token:
                raise
            posted = await self._rest.follow_up(token, post, file)
            self._tokens[str(posted.id)] = token
            return posted

    async def _create(self, outbound: Say | Edit, post: Post, part: int, file: OutFile | None) -> Posted:
        channel = channel_of(outbound.address)
        replies_to = None
        if part == 0 and outbound.answers.isdecimal() and not await self._is_direct(channel):
            replies_to = int(outbound.answers)
        instead_of = ""
        while True:
            nonce = _nonce(outbound.token, part, instead_of)
            posted = await self._rest.create(channel, post, nonce=nonce, replies_to=replies_to, file=file)
            if str(posted.id) not in self._gone:
                return posted
            instead_of = str(posted.id)

    async def _answer(self, outbound: Say | Edit, token: str, post: Post, file: OutFile | None) -> Posted | None:
        """Put it where Discord says that we are thinking; None where something stands there, or it is too late."""
        try:
            if not await self._is_ours_to_answer(outbound.token, token):
                return None
            self._answered[token] = outbound.token
            posted = await self._rest.answer(token, post, file)
        except discord.HTTPException as error:
            if not has_expired(error):
                raise
            self._answered[token] = ""
            return None
        self._tokens[str(posted.id)] = token
        return posted

    async def _is_ours_to_answer(self, outbound: str, token: str) -> bool:
        if token in self._answered:
            return self._answered[token] == outbound
        acknowledged = await self._interactions.can_be_answered(token)
        if acknowledged is None:
            return (await self._rest.answered(token)).loading
        return acknowledged

    async def _is_direct(self, channel: int) -> bool:
        try:
            return (await self._places.find(channel)).direct
        except FAILURES as error:
            if code_of(error) == 0:
                raise
            return False  # sending says what is wrong


def posts_of(outbound: Say | Edit) -> list[Post]:
    """The messages that it becomes: just one as long as it is being written. Buttons stand under the last one."""
    # Half of a surrogate pair, which a model can utter, cannot be sent.
    text = outbound.text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    limit = LONGEST_TEXT - len(_MORE)
    texts = split(_as_it_is(text), limit, measure=len) if outbound.notice else for_discord(text, limit)
    if outbound.partial and len(texts) > 1:
        texts = [texts[0] + _MORE]
    if not texts:
        has_file = isinstance(outbound, Say) and outbound.file
        texts = ["" if has_file else EMPTY_REPLY]
    return [*(Post(text) for text in texts[:-1]), Post(texts[-1], outbound.buttons)]


def _as_it_is(text: str) -> str:
    """Escaped so that people see no formatting. By line, without what it begins with: discord.py would escape that.

    What stands between backticks is to be copied, so it is code: whoever copies an escaped text gets the escapes, too.
    """
    lines = (line.partition(line.lstrip()) if line.strip() else (line, "", "") for line in text.split("\n"))
    return "\n".join(indent + "".join(_escaped(part) for part in _CODE.split(rest)) for indent, rest, _ in lines)


def _escaped(part: str) -> str:
    return part if _CODE.fullmatch(part) else discord.utils.escape_markdown(part)


def _nonce(token: str, part: int, instead_of: str) -> str:
    """At most 25 characters, the same for every try."""
    return blake2s(f"{token}\x1f{part}\x1f{instead_of}".encode(), digest_size=12).hexdigest()
