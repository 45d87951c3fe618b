"""What is read from a cache that nobody marks: the longest beginning that was sent before.

https://platform.openai.com/docs/guides/prompt-caching, https://api-docs.deepseek.com/guides/kv_cache
"""

from tests.servers.chat.manners import Manner
from tests.servers.messages.cache import Prompt
from tests.servers.messages.wire import Json, Usage, count


class Prefixes:
    """Remembers every beginning of every prompt."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def account(self, read: Json, manner: Manner) -> Usage:
        """Split a prompt's tokens into what was read from the cache and what was not. ``read``: in the form of the
        Messages API."""
        if not any(message["content"] for message in read["messages"]):
            return Usage(input_tokens=count(read))
        prompt = Prompt.of(read)
        found = max((place.tokens for place in prompt.places if place.key in self._known), default=0)
        self._known.update(place.key for place in prompt.places)
        cached = found - found % manner.cached_by if found >= manner.cached_from else 0
        return Usage(input_tokens=prompt.tokens - cached, cache_read_input_tokens=cached)


def usage_of(usage: Usage, manner: Manner, reasoned: int = 0) -> dict[str, object]:
    """As the provider reports it."""
    said: dict[str, object] = {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.prompt_tokens + usage.output_tokens,
    }
    if manner.name == "ollama":
        return said
    cached = usage.cache_read_input_tokens
    if manner.name == "deepseek":
        return {**said, "prompt_cache_hit_tokens": cached, "prompt_cache_miss_tokens": usage.prompt_tokens - cached}
    if manner.name == "mistral":
        return said
    details = {"completion_tokens_details": {"reasoning_tokens": reasoned}}
    return {**said, "prompt_tokens_details": {"cached_tokens": cached}, **details}
