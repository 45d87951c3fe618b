"""A model behind one Protocol: asked in a line, tried again where that helps, its window learned, its troubles known.

`base` is the seam, `anthropic` has it on the Messages API, `scripted` for tests; `calls` (the line, and what is tried
again), `limits`, `provider_errors` and `overflow` are the same on every wire. No SDK is known but to its adapter. What
is asked, and when, is decided by agents and workers. `cache_marks` is small and apart: docs/cost.md and its bench read
it by itself.
"""

from bot.model.base import (
    CUT_OFF,
    DEFAULT_ANSWER,
    DEFAULT_WINDOW,
    Attempt,
    Head,
    Limits,
    Link,
    Load,
    Model,
    Payer,
    Reply,
    SettingNames,
    Trouble,
    Wait,
)

__all__ = [
    "CUT_OFF",
    "DEFAULT_ANSWER",
    "DEFAULT_WINDOW",
    "Attempt",
    "Head",
    "Limits",
    "Link",
    "Load",
    "Model",
    "Payer",
    "Reply",
    "SettingNames",
    "Trouble",
    "Wait",
]
