"""The chats that there are, from the side of the platform: made, given topics, moved."""

from tests.servers.telegram.chats import Chats
from tests.servers.telegram.person import Person
from tests.servers.telegram.updates import Updates
from tests.servers.telegram.wire import Chat

OWNER = 77


class Groups:
    """Makes people and groups, and does to groups what their owner does."""

    def __init__(self, chats: Chats, updates: Updates) -> None:
        self._chats = chats
        self._updates = updates

    def person(self, id: int, name: str, *, started: bool) -> Person:
        """Someone, with or without having started a private chat with the bot."""
        self._chats.chats.setdefault(id, Chat(id, "private", name, started=started))
        return Person(id, name, self._chats, self._updates)

    def group(self, id: int, title: str, *, type: str, forum: bool, member: bool) -> Chat:
        """A group, with or without the bot in it."""
        return self._chats.chats.setdefault(id, Chat(id, type, title, member=member, forum=forum))

    @property
    def _owner(self) -> Person:
        return Person(OWNER, "Owner", self._chats, self._updates)

    def topic(self, place: Chat | Person, name: str) -> int:
        """Open a topic in a forum or in a private chat; a service message says so."""
        if isinstance(place, Person):
            return place.opens_topic(name)
        if not (place.private or place.forum):
            place.forum = True
        return self._owner.opens_topic(name, chat=place)

    def migrate(self, group: Chat) -> Chat:
        """Turn a group into a supergroup with another id; a service message in each of the two says so."""
        new = self.group(
            -1_000_000_000_000 + group.id, group.title, type="supergroup", forum=False, member=group.member
        )
        new.admin = group.admin
        self._owner.sends({"migrate_to_chat_id": new.id}, chat=group)
        group.moved_to = new.id
        self._owner.sends({"migrate_from_chat_id": group.id}, chat=new)
        return new
