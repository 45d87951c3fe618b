"""A person's private chat with the program in Telegram, and a model whose summaries can be told what to be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.servers.messages.server import MessagesRequest, MessagesServer, Record, Reply, remembering_brain
from tests.servers.messages.wire import MARK
from tests.servers.telegram.server import BotApiServer, SentMessage

PATIENCE = 60.0


class Brain:
    """Remembers what it reads; `summaries` are what it says instead where a conversation holds that text."""

    def __init__(self) -> None:
        self.summaries: dict[str, str] = {}

    def __call__(self, request: MessagesRequest) -> Reply:
        if request.is_summary:
            for text, summary in self.summaries.items():
                if text in request.all_text:
                    return Reply(summary)
        return remembering_brain(request)


@dataclass
class Talk:
    """One person, told apart from all others on the same model server by a name that each message of theirs has."""

    telegram: BotApiServer
    model: MessagesServer
    number: int
    name: str = field(init=False)

    def __post_init__(self) -> None:
        self.name = f"Person{self.number}"
        self._person = self.telegram.person(self.number, self.name)

    @property
    def agent_id(self) -> str:
        """The folder of the conversation."""
        return f"telegram-{self.number}"

    def is_mine(self, request: MessagesRequest) -> bool:
        """Whether a request is about this conversation."""
        return self.name in request.all_text

    def is_my_summary(self, request: MessagesRequest) -> bool:
        """Whether it asks for a summary of this conversation."""
        return self.is_mine(request) and request.is_summary

    def is_my_turn(self, request: MessagesRequest) -> bool:
        """Whether it asks for an answer in this conversation."""
        return self.is_mine(request) and not request.is_summary

    @property
    def turns(self) -> list[Record]:
        """The requests for an answer."""
        return [record for record in self.model.requests if self.is_my_turn(record.request)]

    @property
    def summaries(self) -> list[Record]:
        """The requests for a summary."""
        return [record for record in self.model.requests if self.is_my_summary(record.request)]

    @property
    def texts(self) -> list[str]:
        """What the chat shows of the program."""
        return self.telegram.texts(self.number)

    @property
    def statuses(self) -> list[SentMessage]:
        """The messages about compactions."""
        return [message for message in self.telegram.messages(self.number) if message.text.startswith("🗜")]

    def says(self, text: str) -> None:
        """Send a message."""
        self._person.says(f"{text} ({self.name})" if not text.startswith("/") else text)

    def presses(self, message: SentMessage, button: str) -> None:
        """Press the button under a message of the program that gives this command."""
        offered = [str(known.get("callback_data")) for known in message.buttons]
        self._person.presses(message.message_id, next(data for data in offered if f"{data} ".startswith(f"{button} ")))

    async def asks(self, text: str) -> str:
        """Send a message, and wait until the chat shows the whole answer of the model."""
        before, asked = len(self.texts), len(self.model.requests)
        self.says(text)
        await self.sees(lambda: self._answer(text, before, asked) is not None)
        return self._answer(text, before, asked) or ""

    async def told(self, text: str, expected: str) -> str:
        """Send something, and wait for a new message that holds this text."""
        before = len(self.telegram.messages(self.number))
        self.says(text)
        return await self.reads(expected, after=before)

    async def reads(self, expected: str, *, after: int = 0) -> str:
        """Wait until one of the messages after so many holds this text, and return it whole."""
        await self.sees(lambda: any(expected in shown for shown in self.texts[after:]))
        return next(shown for shown in self.texts[after:] if expected in shown)

    async def sees(self, condition: Callable[[], object]) -> None:
        """Wait until something is so in the chat."""
        await self.telegram.wait_for(lambda _: condition(), PATIENCE)

    async def says_much(self, characters: int, lines: int = 1) -> None:
        """So many messages of about that many characters each, and their answers."""
        for line in range(lines):
            words = f"Line {line} of {self.name} goes on and on about nothing that anybody has to remember. "
            await self.asks((words * (characters // len(words) + 1))[:characters])

    def _answer(self, text: str, before: int, asked: int) -> str | None:
        """What is shown after so many texts, and was answered to this one after so many requests."""
        done = [
            turn.reply.text
            for turn in self.turns
            if turn.outcome == "completed" and turn.reply and turn.request.index > asked
            if f"{text} ({self.name})" in turn.request.last_user_texts
        ]
        return next((reply for reply in done if reply in self.texts[before:]), None)


def conversation(record: Record) -> list[tuple[str, str]]:
    """Role and text of every message of a request."""
    return [
        (str(message["role"]), "\n".join(str(block.get("text", "")) for block in message["content"]))
        for message in record.request.messages
    ]


def said(record: Record) -> list[str]:
    """What people said in a request, without the marks that say when."""
    texts = [text.split("\n") for role, text in conversation(record) if role == "user"]
    return ["\n".join(line for line in lines if not MARK.fullmatch(line)) for lines in texts]


def goes_on(record: Record, before: Record, words: str) -> bool:
    """Whether a request is, word for word, the one before it and its answer, and then these words of a person."""
    assert before.reply
    page = [*conversation(before), ("assistant", before.reply.text)]
    return conversation(record)[:-1] == page and said(record)[-1] == words
