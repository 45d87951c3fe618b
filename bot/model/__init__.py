"""The model, behind :class:`Model`. What is asked, and when, is decided by agents and workers.

`anthropic` has it on the Messages API, with `reply_stream` and `cache_marks` (pure, and apart: docs/cost.md and its
bench read them by themselves); only there is an SDK known. `scripted` is for tests. What any wire needs is beside
them: `calls` (the line, retries, troubles), `limits`, `provider_errors`, `overflow`.
"""

from bot.model.base import (
    CUT_OFF,
    DEFAULT_ANSWER,
    DEFAULT_WINDOW,
    Head,
    Limits,
    Load,
    Model,
    Reply,
    SettingNames,
    Trouble,
    Wait,
)

__all__ = [
    "CUT_OFF",
    "DEFAULT_ANSWER",
    "DEFAULT_WINDOW",
    "Head",
    "Limits",
    "Load",
    "Model",
    "Reply",
    "SettingNames",
    "Trouble",
    "Wait",
]
