"""What a message's body may be: https://docs.discord.com/developers/resources/message#create-message"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.servers.discord.records import Flags, Message
from tests.servers.discord.wire import Json, Refused, Upload, bad_length, invalid_form, required, too_long

LONGEST_TEXT = 2000
LONGEST_NONCE = 25
MOST_EMBEDS = 10
LONGEST_EMBEDS = 6000
LONGEST_DESCRIPTION = 4096
MOST_ROWS = 5
MOST_BUTTONS = 5
LONGEST_CUSTOM_ID = 100
LONGEST_LABEL = 80
ROW, BUTTON = 1, 2
LINK = 5
STYLES = range(1, 6)
SETTABLE = Flags.SUPPRESS_EMBEDS | Flags.SUPPRESS_NOTIFICATIONS


@dataclass(frozen=True)
class Reference:
    """What a message replies to."""

    message_id: int
    must_exist: bool


@dataclass(frozen=True)
class Draft:
    """A message's body that breaks no rule; `kept` has the ids of the files that an edit leaves, if it says so."""

    text: str
    components: tuple[Json, ...]
    embeds: tuple[Json, ...]
    flags: Flags
    allowed_mentions: Json | None
    nonce: str | None = None
    enforce_nonce: bool = False
    reference: Reference | None = None
    kept: frozenset[int] | None = None
    descriptions: dict[int, str] = field(default_factory=dict)


def read_draft(payload: Json, uploads: Sequence[Upload], before: Message | None = None) -> Draft:
    """The body of a new message, or of an edit of `before`: what an edit does not name stays."""
    text = _text(payload) if "content" in payload or before is None else before.text
    components = before.components if before and "components" not in payload else _components(payload)
    embeds = before.embeds if before and "embeds" not in payload else _embeds(payload)
    kept, descriptions = _attachments(payload, uploads)
    files_left = {file.id for file in before.files} if before else set()
    if kept is not None:
        if unknown := kept - files_left:
            raise invalid_form("attachments", "ATTACHMENT_NOT_FOUND", f"Attachment {min(unknown)} not found")
        files_left &= kept
    if not (text or embeds or components or uploads or files_left):
        raise Refused(400, 50006, "Cannot send an empty message")
    return Draft(
        text=text,
        components=components,
        embeds=embeds,
        flags=_flags(payload, before),
        allowed_mentions=_allowed_mentions(payload),
        nonce=_nonce(payload),
        enforce_nonce=bool(payload.get("enforce_nonce")),
        reference=_reference(payload),
        kept=kept,
        descriptions=descriptions,
    )


def _text(payload: Json) -> str:
    content = payload.get("content")
    if content is None:
        return ""
    if not isinstance(content, str):
        raise invalid_form("content", "STRING_TYPE_CONVERT", "Could not interpret value as string.")
    if len(content) > LONGEST_TEXT:
        raise too_long("content", LONGEST_TEXT)
    return content.strip()


def _nonce(payload: Json) -> str | None:
    nonce = payload.get("nonce")
    if nonce is None:
        return None
    if len(str(nonce)) > LONGEST_NONCE:
        raise too_long("nonce", LONGEST_NONCE)
    return str(nonce)


def _flags(payload: Json, before: Message | None) -> Flags:
    old = before.flags if before else Flags.NONE
    if payload.get("flags") is None:
        return old
    return (old & ~SETTABLE) | (Flags(payload["flags"]) & SETTABLE)


def _reference(payload: Json) -> Reference | None:
    reference = payload.get("message_reference")
    if not reference:
        return None
    if reference.get("message_id") is None:
        raise required("message_reference.message_id")
    if reference.get("type", 0) != 0:
        raise invalid_form("message_reference.type", "BASE_TYPE_CHOICES", "Value must be one of {0}.")
    return Reference(int(reference["message_id"]), bool(reference.get("fail_if_not_exists", True)))


def _allowed_mentions(payload: Json) -> Json | None:
    allowed: Json | None = payload.get("allowed_mentions")
    if allowed is None:
        return None
    parse = allowed.get("parse") or []
    for index, kind in enumerate(parse):
        if kind not in ("roles", "users", "everyone"):
            choices = "Value must be one of ('users', 'roles', 'everyone')."
            raise invalid_form(f"allowed_mentions.parse.{index}", "BASE_TYPE_CHOICES", choices)
    for kind in ("users", "roles"):
        if kind in parse and allowed.get(kind):
            problem = f'parse:["{kind}"] and {kind}: [ids...] are mutually exclusive.'
            raise invalid_form("allowed_mentions", "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE", problem)
        if len(allowed.get(kind) or []) > 100:
            raise too_long(f"allowed_mentions.{kind}", 100)
    return allowed


def _attachments(payload: Json, uploads: Sequence[Upload]) -> tuple[frozenset[int] | None, dict[int, str]]:
    listed = payload.get("attachments")
    if listed is None:
        return None, {}
    indexes = {upload.index for upload in uploads}
    kept = frozenset(int(item["id"]) for item in listed if int(item["id"]) not in indexes)
    described = {int(item["id"]): str(item["description"]) for item in listed if item.get("description")}
    return kept, described


def _embeds(payload: Json) -> tuple[Json, ...]:
    embeds = tuple(payload.get("embeds") or ())
    if len(embeds) > MOST_EMBEDS:
        raise too_long("embeds", MOST_EMBEDS)
    for index, embed in enumerate(embeds):
        if len(embed.get("description") or "") > LONGEST_DESCRIPTION:
            raise too_long(f"embeds.{index}.description", LONGEST_DESCRIPTION)
    if sum(len(embed.get(name) or "") for embed in embeds for name in ("title", "description")) > LONGEST_EMBEDS:
        raise invalid_form("embeds", "MAX_EMBED_SIZE_EXCEEDED", f"Embed size exceeds maximum size of {LONGEST_EMBEDS}")
    return embeds


def _components(payload: Json) -> tuple[Json, ...]:
    """Rows of buttons: https://docs.discord.com/developers/components/reference#action-row"""
    rows = payload.get("components") or ()
    if len(rows) > MOST_ROWS:
        raise bad_length("components", 1, MOST_ROWS)
    known: set[str] = set()
    for index, row in enumerate(rows):
        if row.get("type") != ROW:
            raise invalid_form(f"components.{index}.type", "UNION_TYPE_CHOICES", 'Value of field "type" must be 1.')
        buttons = row.get("components") or []
        if not 1 <= len(buttons) <= MOST_BUTTONS:
            raise bad_length(f"components.{index}.components", 1, MOST_BUTTONS)
        for place, button in enumerate(buttons):
            _check_button(f"components.{index}.components.{place}", button, known)
    return tuple(rows)


def _check_button(path: str, button: Any, known: set[str]) -> None:
    if button.get("type") != BUTTON:
        raise invalid_form(f"{path}.type", "UNION_TYPE_CHOICES", 'Value of field "type" must be 2.')
    if button.get("style") not in STYLES:
        raise invalid_form(f"{path}.style", "BASE_TYPE_CHOICES", "Value must be one of {1, 2, 3, 4, 5}.")
    label, custom_id = button.get("label") or "", button.get("custom_id")
    if len(label) > LONGEST_LABEL:
        raise too_long(f"{path}.label", LONGEST_LABEL)
    if not label and not button.get("emoji"):
        raise invalid_form(path, "BUTTON_COMPONENT_LABEL_REQUIRED", "A label or emoji is required")
    if button["style"] == LINK:
        if not str(button.get("url") or "").startswith(("http://", "https://", "discord://")):
            raise invalid_form(f"{path}.url", "BASE_TYPE_REQUIRED", "A url is required")
        if custom_id is not None:
            both = "A custom id and url cannot both be specified"
            raise invalid_form(path, "BUTTON_COMPONENT_CUSTOM_ID_URL_MUTUALLY_EXCLUSIVE", both)
        return
    if not custom_id:
        raise invalid_form(f"{path}.custom_id", "BUTTON_COMPONENT_CUSTOM_ID_REQUIRED", "A custom id is required")
    if len(custom_id) > LONGEST_CUSTOM_ID:
        raise bad_length(f"{path}.custom_id", 1, LONGEST_CUSTOM_ID)
    if custom_id in known:
        duplicated = "Component custom id cannot be duplicated"
        raise invalid_form(f"{path}.custom_id", "COMPONENT_CUSTOM_ID_DUPLICATED", duplicated)
    known.add(custom_id)
