"""The tables. A change here needs a migration in `migrations/versions`; a test holds the two together.

Times are seconds since 1970 (UTC) as doubles; ids of rows that other tables name are random hex.
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Double,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

VERSION = "0030"
"""The newest migration's, which makes these tables."""

metadata = MetaData()

_big = BigInteger().with_variant(Integer, "sqlite")

agents = Table(
    "agents",
    metadata,
    Column("id", String(120), primary_key=True),
    Column("connector", String(40), nullable=False),
    Column("chat", String(120), nullable=False),
    Column("thread", String(120), nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("touched_at", Double, nullable=False),
    Column("paused", Boolean, nullable=False),  # after an undo: no automatic compaction below critical
    Column("cooldown", Integer, nullable=False),  # messages that automatic compaction still skips
    Column("calibration", Double, nullable=False),  # what the provider counts over what we guess
    Column("strategy", String(200), nullable=False, server_default=text("''")),
    Column("calibrated_for", Text, nullable=False, server_default=text("''")),
    Column("model", Text, nullable=False, server_default=text("''")),  # it chose, as MODEL would name it
    Column("starts", Integer, nullable=False, server_default=text("0")),  # of its actor since it last wrote anything
    Column("meter", JSON),  # how full its context was when it last changed
    Column("zone", String(64), nullable=False, server_default=text("''")),  # IANA name; empty: as all conversations
    Column("zone_of", String(120), nullable=False, server_default=text("''")),  # whose that is, in a private chat
    Column("quiet_at", Double),  # a compaction may be worth it then, before its prompt cache expires
    Index("agents_chat", "connector", "chat"),
    Index("agents_quiet", "quiet_at", sqlite_where=text("quiet_at IS NOT NULL"),
          postgresql_where=text("quiet_at IS NOT NULL")),
)  # fmt: skip

inbox = Table(
    "inbox",
    metadata,
    Column("id", _big, primary_key=True, autoincrement=True),
    Column("agent_id", String(120), nullable=False),
    Column("connector", String(40), nullable=False),
    Column("key", String(200), nullable=False),
    Column("kind", String(20), nullable=False),
    Column("position", _big, nullable=False),  # the platform's own order
    Column("person", String(120), nullable=False),
    Column("person_name", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("received_at", Double, nullable=False),
    Column("state", String(10), nullable=False),  # fetching (its files), waiting, taken (by a turn), done, parked
    Column("turn_id", String(40)),
    Column("ref", Text, nullable=False, server_default=text("''")),  # the platform's handle, for answers and reactions
    Column("speaker", Text, nullable=False, server_default=text("''")),  # named to the model, where several people talk
    Column("attachments", JSON, nullable=False, server_default=text("'[]'")),
    Column("marked", Boolean, nullable=False, server_default=text("false")),  # shows a mark that says: it waits
    Column("tries", Integer, nullable=False, server_default=text("0")),  # to answer it, before any turn had it
    Column("quote", Text, nullable=False, server_default=text("''")),  # of what it answers, where that is not plain
    Column("expects", Double, nullable=False, server_default=text("0")),  # seconds in which more of it may come
    Column("parked_at", Double),
    Column("reason", Text, nullable=False, server_default=text("''")),  # why it is parked
    Column("quoted_key", String(200), nullable=False, server_default=text("''")),  # of the message that is quoted
    Column("quoted_person", String(120), nullable=False, server_default=text("''")),  # who said that
    Column("sent_at", Double),  # as the platform says
    UniqueConstraint("connector", "key", name="inbox_key"),
    Index("inbox_waiting", "agent_id", "position", sqlite_where=text("state = 'waiting'"),
          postgresql_where=text("state = 'waiting'")),
    Index("inbox_turn", "turn_id"),
    Index("inbox_agent", "agent_id", "id"),
    Index("inbox_fetching", "connector", sqlite_where=text("state = 'fetching'"),
          postgresql_where=text("state = 'fetching'")),
    Index("inbox_parked", "parked_at", sqlite_where=text("state = 'parked'"),
          postgresql_where=text("state = 'parked'")),
)  # fmt: skip

skipped_updates = Table(
    "skipped_updates",  # what a platform brought and the inbox could not take
    metadata,
    Column("id", _big, primary_key=True, autoincrement=True),
    Column("connector", String(40), nullable=False),
    Column("content", Text, nullable=False),  # as ASCII JSON, which every database takes
    Column("reason", Text, nullable=False),
    Column("skipped_at", Double, nullable=False),
)

dismissed_events = Table(
    "dismissed_events",  # never to be stored: refused, forgotten, or deleted by who said it
    metadata,
    Column("id", _big, primary_key=True, autoincrement=True),
    Column("connector", String(40), nullable=False),
    Column("digest", String(32), nullable=False),  # of the event's key; nothing of what it said
    UniqueConstraint("connector", "digest", name="dismissed_events_digest"),
)

outages = Table(
    "outages",  # what does not work for people, as long as it lasts
    metadata,
    Column(
        "name", String(200), primary_key=True
    ),  # answers, answers:(one conversation), summaries, model:(one of a chain)
    Column("agent_id", String(120), nullable=False),  # where it was met last
    Column("since", Double, nullable=False),
    Column("last", Double, nullable=False),
    Column("told", Boolean, nullable=False),  # to those who run the program
)

admin_chats = Table(
    "admin_chats",  # where admins talk to us in private
    metadata,
    Column("connector", String(40), primary_key=True),
    Column("person", String(120), primary_key=True),
    Column("chat", String(120), nullable=False),
    Column("thread", String(120), nullable=False),
)

page_sessions = Table(
    "page_sessions",  # who is logged in to the page
    metadata,
    Column("token_hash", String(64), primary_key=True),
    Column("created_at", Double, nullable=False),
    Column("expires_at", Double, nullable=False),
)

volumes = Table(
    "volumes",  # what the book's processes share beside it
    metadata,
    Column("name", String(40), primary_key=True),  # agents: the folders of conversations
    Column("id", String(40), nullable=False),
)

installation = Table(
    "installation",  # one row: what tells this book from every other one
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("id", String(40), nullable=False),
)

learned_windows = Table(
    "learned_windows",  # windows of models, as refusals of their providers stated them
    metadata,
    Column("place", String(300), primary_key=True),  # the endpoint
    Column("model", String(200), primary_key=True),
    Column("tokens", BigInteger, nullable=False),
    Column("said", Text, nullable=False),  # the refusal
    Column("listed_tokens", BigInteger, nullable=False),  # what the provider listed then; 0: nothing
    Column("learned_at", Double, nullable=False),
)

people = Table(
    "people",
    metadata,
    Column("connector", String(40), primary_key=True),
    Column("person", String(120), primary_key=True),
    Column("name", Text, nullable=False),
    Column("chat", String(120), nullable=False),  # where they asked
    Column("thread", String(120), nullable=False),
    Column("state", String(10), nullable=False),  # pending, approved
    Column("code", String(20), nullable=False),
    Column("expires_at", Double, nullable=False),
    Column("changed_at", Double, nullable=False),
    Index("people_code", "code", unique=True, sqlite_where=text("state = 'pending'"),
          postgresql_where=text("state = 'pending'")),
)  # fmt: skip

person_zones = Table(
    "person_zones",  # where somebody lives, wherever they write
    metadata,
    Column("connector", String(40), primary_key=True),
    Column("person", String(120), primary_key=True),
    Column("zone", String(64), nullable=False),  # IANA name
)

closed_chats = Table(
    "closed_chats",  # they blocked the bot or threw it out
    metadata,
    Column("connector", String(40), primary_key=True),
    Column("chat", String(120), primary_key=True),
    Column("since", Double, nullable=False),
)

moved_chats = Table(
    "moved_chats",  # the platform gave a chat another id; its conversations keep the one that they began with
    metadata,
    Column("connector", String(40), primary_key=True),
    Column("moved_to", String(120), primary_key=True),
    Column("chat", String(120), nullable=False),
)

cursors = Table(
    "cursors",
    metadata,
    Column("connector", String(120), primary_key=True),
    Column("value", Text, nullable=False),
)

turns = Table(
    "turns",
    metadata,
    Column("id", String(40), primary_key=True),
    Column("agent_id", String(120), nullable=False),
    Column("state", String(10), nullable=False),
    Column("slot", _big, nullable=False),  # the outbox row of its final reply
    Column("recoveries", Integer, nullable=False),
    Column("started_at", Double, nullable=False),
    Column("ended_at", Double),
    Column("usage", JSON),
    Column("tries", Integer, nullable=False, server_default=text("0")),  # begun since it last came any further
    Column("context_tokens", Integer),  # the meter's total and limit at its end
    Column("context_limit", Integer),
    Column("timing", JSON),  # seconds, by what they were spent on
    Column("cause", String(20), nullable=False, server_default=text("''")),  # why it failed, as bot.errors says it
    Column("stopped_run", String(40), nullable=False, server_default=text("''")),  # a person stopped it
    Column("stopped_upto", Integer, nullable=False, server_default=text("0")),  # … of a context up to this entry
    Column("model", Text, nullable=False, server_default=text("''")),  # who gave the answer
    Index("turns_agent", "agent_id", "started_at"),
    Index("turns_started", "started_at"),
    Index("turns_running", "agent_id", sqlite_where=text("state = 'running'"),
          postgresql_where=text("state = 'running'")),
)  # fmt: skip

outbox = Table(
    "outbox",
    metadata,
    Column("id", _big, primary_key=True, autoincrement=True),
    Column("agent_id", String(120), nullable=False),
    Column("connector", String(40), nullable=False),
    Column("chat", String(120), nullable=False),
    Column("thread", String(120), nullable=False),
    Column("kind", String(10), nullable=False),  # reply, notice
    Column("text", Text, nullable=False),
    Column("buttons", JSON, nullable=False),
    Column("state", String(10), nullable=False),  # open, held (a file, until its turn has ended), ready, void, refused
    Column("version", Integer, nullable=False),  # raised by each change of the text
    Column("delivered", Integer, nullable=False),  # the version that people see
    Column("refs", JSON, nullable=False),  # the platform's ids of its parts
    Column("sending", Boolean, nullable=False),  # a first send is under way: after a crash it may have arrived
    Column("heard_upto", _big),  # the newest row of the inbox when that began
    Column("created_at", Double, nullable=False),
    Column("answers", Text, nullable=False, server_default=text("''")),  # the ref of what it answers
    Column("file", JSON),  # sent along: its path in the agent's folder, and its name
    Column("payload", Text, nullable=False, server_default=text("''")),  # what the text says, for machines
    Index("outbox_pending", "connector", "id", sqlite_where=text("state = 'ready' AND delivered < version"),
          postgresql_where=text("state = 'ready' AND delivered < version")),
    Index("outbox_chat", "connector", "chat", "id"),
)  # fmt: skip

entries = Table(
    "entries",
    metadata,
    Column("agent_id", String(120), primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("role", String(10), nullable=False),
    Column("blocks", JSON, nullable=False),
    Column("kind", String(10), nullable=False),
    Column("audience", String(10), nullable=False),
    Column("tokens", Integer, nullable=False),
    Column("turn_id", String(40)),
    Column("layer", Integer),
    Column("place", Integer),
    Column("anchor", JSON),
    Column("interrupted", Boolean, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("person", String(120), nullable=False, server_default=text("''")),  # who said or sent it
    Column("key", String(200), nullable=False, server_default=text("''")),  # of the message that it was on its platform
    Column("quoted_key", String(200), nullable=False, server_default=text("''")),  # of the message that it quotes
    Column("quoted_person", String(120), nullable=False, server_default=text("''")),  # who said that
    Column("said", Text, nullable=False, server_default=text("''")),  # when (bot.history.times)
    Index("entries_quoted_key", "quoted_key", sqlite_where=text("quoted_key <> ''"),
          postgresql_where=text("quoted_key <> ''")),
    Index("entries_quoted_person", "quoted_person", sqlite_where=text("quoted_person <> ''"),
          postgresql_where=text("quoted_person <> ''")),
    Index("entries_key", "key", sqlite_where=text("key <> ''"), postgresql_where=text("key <> ''")),
    Index("entries_person", "person", sqlite_where=text("person <> ''"), postgresql_where=text("person <> ''")),
)  # fmt: skip

layers = Table(
    "layers",
    metadata,
    Column("agent_id", String(120), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("kind", String(20), nullable=False),
    Column("upto", Integer, nullable=False),
    Column("floor", Integer, nullable=False),
    Column("hidden", JSON, nullable=False),
    Column("replaced", JSON, nullable=False),
    Column("run_id", String(40)),
    Column("created_at", Double, nullable=False),
    Column("removed_at", Double),  # taken off by an undo
)

compactions = Table(
    "compactions",
    metadata,
    Column("id", String(40), primary_key=True),
    Column("agent_id", String(120), nullable=False),
    Column("trigger", String(10), nullable=False),
    Column("strategy", String(40), nullable=False),
    Column("focus", Text, nullable=False),
    Column("state", String(10), nullable=False),
    Column("turn_id", String(40)),
    Column("status_slot", _big, nullable=False),
    Column("stack", JSON, nullable=False),
    Column("head", String(64), nullable=False),
    Column("model", Text, nullable=False),
    Column("limit_tokens", Integer, nullable=False),
    Column("job_id", String(40)),
    Column("jobs", Integer, nullable=False),
    Column("heartbeat_at", Double),
    Column("meter_before", JSON, nullable=False),
    Column("meter_after", JSON),
    Column("usage", JSON),  # the tokens that its result cost
    Column("reason", Text, nullable=False),
    Column("started_at", Double, nullable=False),
    Column("enqueued_at", Double, nullable=False),
    Column("finished_at", Double),
    Column("traced", Boolean, nullable=False),  # the trace stands in the daily file
    Column("occasion", String(20), nullable=False, server_default=text("''")),  # quiet: before the cache expired
    # Those that can be long come last: SQLite reads a row up to the columns that are asked for, and no further.
    Column("plan", JSON, nullable=False),
    Column("result", JSON(none_as_null=True)),  # what the worker found: an outcome, never an effect
    Column("inference", JSON),  # what was asked, written down before it was sent, until that is in the record
    Column("trace", Text),  # its section, where a version before 0027 wrote it
    Column("record", JSON(none_as_null=True)),  # its section (bot.store.traces.records)
    Index("compactions_open", "agent_id", unique=True, sqlite_where=text("state IN ('planned', 'running')"),
          postgresql_where=text("state IN ('planned', 'running')")),
    Index("compactions_agent", "agent_id", "started_at"),
    Index("compactions_started", "started_at"),
    Index("compactions_untraced", "agent_id", sqlite_where=text("traced = 0"), postgresql_where=text("NOT traced")),
)  # fmt: skip

heads = Table(
    "heads",
    metadata,
    Column("hash", String(64), primary_key=True),
    Column("content", JSON, nullable=False),
)

vectors = Table(
    "vectors",  # embeddings of entries, by the model that made them; what is lost is made again
    metadata,
    Column("agent_id", String(120), primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("model", String(120), primary_key=True),
    Column("vector", LargeBinary, nullable=False),  # float32, little-endian
)

indexed_agents = Table(
    "indexed_agents",  # their numbers in the index of words, `entry_words`, which each database makes in its own way
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("agent_id", String(120), nullable=False),
    Column("uncounted", Integer, nullable=False, server_default=text("0")),  # entries up to this one, the newest first
    UniqueConstraint("agent_id", name="indexed_agents_agent"),
)

memories = Table(
    "memories",  # how far an agent's memory has read its history
    metadata,
    Column("agent_id", String(120), primary_key=True),
    Column("upto", Integer, nullable=False),  # the newest entry that facts were looked for in
    Column("version", Integer, nullable=False),  # raised by every change of its facts
    Column("next_number", Integer, nullable=False),  # of a fact; none is used twice
    Column("line", JSON, nullable=False),  # what people were told of it, and in which message
    Column("told", JSON, nullable=False),  # what the next trace says of it
)

memory_facts = Table(
    "memory_facts",
    metadata,
    Column("agent_id", String(120), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("kind", String(20), nullable=False),
    Column("text", Text, nullable=False),
    Column("brief", Text, nullable=False),
    Column("seqs", JSON, nullable=False),  # of the entries that it stands in
    Column("key", Text, nullable=False),
    Column("status", String(20), nullable=False),
    Column("speaker", String(20), nullable=False),
    Column("weight", Double, nullable=False),
    Column("pinned", Boolean, nullable=False),
    Column("source", String(20), nullable=False),  # cfpm_auto, or person
    Column("forgotten", Boolean, nullable=False),  # a person does not want it back
)

memory_candidates = Table(
    "memory_candidates",  # what might have become a fact, and why it did or did not
    metadata,
    Column("id", _big, primary_key=True, autoincrement=True),
    Column("agent_id", String(120), nullable=False),
    Column("seq", Integer, nullable=False),
    Column("kind", String(20), nullable=False),
    Column("text", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("speaker", String(20), nullable=False),
    Column("decision", String(10), nullable=False),
    Column("reason", String(20), nullable=False),
    Column("created_at", Double, nullable=False),
    Index("memory_candidates_agent", "agent_id", "id"),
)

standing_rules = Table(
    "standing_rules",  # what people want followed for good: found in their words, pinned word for word, or forgotten
    metadata,
    Column("agent_id", String(120), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),  # as people name it; none is used twice
    Column("state", String(10), nullable=False),  # found, pinned, forgotten
    Column("text", Text, nullable=False),  # word for word; empty once it was taken back
    Column("person", String(120), nullable=False),  # who said it
    Column("key", String(200), nullable=False),  # of the message that it was said in, on its platform
    Column("seq", Integer, nullable=False),  # of the entry that it stands in; forgotten: what was said up to there
    Column("pinned_by", String(120), nullable=False),
    Column("pinned_name", Text, nullable=False),
    Column("pinned_at", Double),
    Column("note_seq", Integer, nullable=False),  # of the entry that told the model; 0: none
)

appointments = Table(
    "appointments",  # what is to be said, or whom the agent is to be woken for, at a time on somebody's wall
    metadata,
    Column("agent_id", String(120), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),  # as people name it; none is used twice
    Column("connector", String(40), nullable=False),
    Column("person", String(120), nullable=False),  # whose it is
    Column("person_name", Text, nullable=False),  # as they are addressed, where several people talk
    Column("kind", String(10), nullable=False),  # say, wake
    Column("text", Text, nullable=False),
    Column("state", String(10), nullable=False),  # asked, set, done, missed, cancelled, retired, broken
    Column("zone", String(64), nullable=False),
    Column("local", String(30), nullable=False),  # the wall time at which it is due next
    Column("rule", Text, nullable=False),  # RFC 5545; empty: once
    Column("at", Double),  # the instant itself, where that is what holds and not the wall
    Column("follows", Boolean, nullable=False),  # the zone is the person's, and changes with it
    Column("often", Text, nullable=False),  # the rule in words
    Column("urgent", Boolean, nullable=False),  # also in quiet hours
    Column("choices", JSON, nullable=False),  # what may be meant, until somebody says which
    Column("due_at", Double),  # the instant of the wall time
    Column("next_at", Double),  # when somebody has to look at it: then, or at the end of quiet hours
    Column("said_at", Double),  # when it came last
    Column("said", Integer, nullable=False),  # how often it came
    Column("unread", Boolean, nullable=False),  # it came, and the model does not know
    Column("made_at", Double, nullable=False),
    Column("changed_at", Double, nullable=False),
    Index("appointments_next", "next_at", sqlite_where=text("next_at IS NOT NULL"),
          postgresql_where=text("next_at IS NOT NULL")),
    Index("appointments_next_of", "agent_id", "next_at", sqlite_where=text("next_at IS NOT NULL"),
          postgresql_where=text("next_at IS NOT NULL")),
    Index("appointments_person", "connector", "person"),
    Index("appointments_unread", "agent_id", sqlite_where=text("unread"), postgresql_where=text("unread")),
    Index("appointments_over", "changed_at", sqlite_where=text("next_at IS NULL"),
          postgresql_where=text("next_at IS NULL")),
)  # fmt: skip

quiet_hours = Table(
    "quiet_hours",  # when people want to be left alone
    metadata,
    Column("connector", String(40), primary_key=True),
    Column("person", String(120), primary_key=True),
    Column("begins", Integer, nullable=False),  # minutes of the day, on the person's wall
    Column("ends", Integer, nullable=False),
)

ledger = Table(
    "ledger",  # what each request to a model cost
    metadata,
    Column("agent_id", String(120), primary_key=True),
    Column("id", String(60), primary_key=True),  # the first are the oldest
    Column("at", Double, nullable=False),  # when it was asked
    Column("day", String(8), nullable=False),  # in UTC, as bot.runtime.utc_day writes it
    Column("state", String(10), nullable=False),  # reserved, settled, estimated (it was cut off)
    Column("connector", String(40), nullable=False),
    Column("person", String(120), nullable=False),  # for whom; empty where that is not known any more
    Column("purpose", String(20), nullable=False),  # turn, summary, facts, embedding
    Column("model", String(200), nullable=False),
    Column("provider", String(40), nullable=False),
    Column("request", String(200), nullable=False),  # the provider's id of it
    Column("turn_id", String(40)),
    Column("run_id", String(40)),
    Column("input", Integer, nullable=False),  # tokens, from here on
    Column("cache_read", Integer, nullable=False),
    Column("cache_creation", Integer, nullable=False),
    Column("hourly", Integer, nullable=False),  # of those
    Column("output", Integer, nullable=False),
    Column("reasoning", Integer, nullable=False),  # of those
    Column("searches", Integer, nullable=False),
    Column("fetches", Integer, nullable=False),
    Column("price", Text, nullable=False),  # by which it was counted
    Column("cost", BigInteger),  # nano-dollars; none where no price is known
    Index("ledger_at", "at"),
    Index("ledger_reserved", "day", sqlite_where=text("state = 'reserved'"),
          postgresql_where=text("state = 'reserved'")),
)  # fmt: skip

spending = Table(
    "spending",  # the same, added up: it stays when rows of the ledger go
    metadata,
    Column("day", String(8), primary_key=True),
    Column("agent_id", String(120), primary_key=True),  # empty: of a conversation that was forgotten
    Column("connector", String(40), primary_key=True),
    Column("person", String(120), primary_key=True),  # empty: of nobody, or of somebody who was forgotten
    Column("purpose", String(20), primary_key=True),
    Column("model", String(200), primary_key=True),
    Column("requests", Integer, nullable=False),
    Column("estimated", Integer, nullable=False),  # of those: which were cut off
    Column("unpriced", Integer, nullable=False),  # of those: of which no price is known
    Column("input", BigInteger, nullable=False),  # tokens, from here on
    Column("cache_read", BigInteger, nullable=False),
    Column("cache_creation", BigInteger, nullable=False),
    Column("hourly", BigInteger, nullable=False),
    Column("output", BigInteger, nullable=False),
    Column("reasoning", BigInteger, nullable=False),
    Column("searches", BigInteger, nullable=False),
    Column("fetches", BigInteger, nullable=False),
    Column("cost", BigInteger, nullable=False),  # nano-dollars
    Index("spending_person", "connector", "person", "day"),
    Index("spending_agent", "agent_id", "day"),
)

spent_days = Table(
    "spent_days",  # the same of all together, which budgets of all are held against
    metadata,
    Column("day", String(8), primary_key=True),
    Column("part", Integer, primary_key=True, autoincrement=False),  # so that those who write wait for each other less
    Column("requests", Integer, nullable=False),
    Column("estimated", Integer, nullable=False),
    Column("unpriced", Integer, nullable=False),
    Column("tokens", BigInteger, nullable=False),
    Column("cost", BigInteger, nullable=False),  # nano-dollars
)

budgets = Table(
    "budgets",  # what may be spent, where that is another amount than the settings say
    metadata,
    Column("scope", String(10), primary_key=True),  # person, chat; day, month: of all together
    Column("connector", String(40), primary_key=True),
    Column("subject", String(120), primary_key=True),  # the person, or the conversation
    Column("amount", BigInteger),  # none: there is no limit
    Column("unit", String(10), nullable=False),  # money (nano-dollars), tokens
    Column("set_at", Double, nullable=False),
)

budget_notices = Table(
    "budget_notices",  # what was told of budgets, once each
    metadata,
    Column("scope", String(10), primary_key=True),
    Column("connector", String(40), primary_key=True),
    Column("subject", String(120), primary_key=True),
    Column("period", String(8), primary_key=True),  # the day, or the month
    Column("percent", Integer, primary_key=True, autoincrement=False),
)
