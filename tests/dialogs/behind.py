"""The lines of a table about the model behind the bot: it is held, it goes on, and what it was told."""

from __future__ import annotations

from tests.dialogs.line import Line
from tests.dialogs.program import at_rest, in_the_book
from tests.dialogs.scene import NotSoError, Scene, Step
from tests.servers.messages.server import Brain, Reply


def holds(*, after: int | None = None, summaries: bool = False) -> Step:
    """From here on the model falls silent: before it says anything, or after that many pieces."""

    async def hold(scene: Scene) -> None:
        await at_rest(scene.resources)
        scene.held = True
        scene.model.hang((lambda request: request.is_summary) if summaries else None, after=after)

    return Line(f"(the model falls silent{' when asked for a summary' if summaries else ''})", hold)


def works() -> Step:
    """The bot is at work on something that takes long, and people do not wait for that."""

    async def let(scene: Scene) -> None:
        scene.held = True

    return Line("(it works on something)", let)


def goes_on() -> Step:
    """The model says what it held back, and speaks from here on."""

    async def release(scene: Scene) -> None:
        scene.held = False
        scene.model.release()

    return Line("(the model goes on)", release)


def asked() -> Step:
    """The model is at work on a request."""
    return Line("(the model is asked)", lambda scene: scene.model.wait_for(lambda model: model.running > 0))


def hung_up(times: int = 1) -> Step:
    """The program closed a request's connection before its end."""
    return Line("(its connection is closed)", lambda scene: scene.model.wait_for(lambda m: m.hangups == times))


def thinks(brain: Brain | str) -> Step:
    """The model answers so from here on; a text: this, to everything."""

    async def set_brain(scene: Scene) -> None:
        scene.model.brain = (lambda _: Reply(brain)) if isinstance(brain, str) else brain

    return Line(f"(the model will say: {brain if isinstance(brain, str) else 'as it is programmed'})", set_brain)


def heard(*texts: str, but_not: tuple[str, ...] = (), summary: bool = False) -> Step:
    """The last request to the model held these."""

    async def look(scene: Scene) -> None:
        requests = [record.request for record in scene.model.requests if record.request.is_summary == summary]
        said = requests[-1].all_text if requests else ""
        missing = [text for text in texts if text not in said]
        surplus = [text for text in but_not if text in said]
        if missing or surplus:
            raise NotSoError(f"the model was not told {missing}, and was told {surplus}, in: {said[-1000:]}")

    return Line(f"(the model was told {texts}{f' and not {but_not}' if but_not else ''})", look)


def sees(kind: str, *, times: int = 1) -> Step:
    """The last request to the model held so many blocks of a kind: `image`, `document`."""

    async def look(scene: Scene) -> None:
        messages = scene.model.requests[-1].request.messages
        kinds = [block["type"] for m in messages if not isinstance(m["content"], str) for block in m["content"]]
        if kinds.count(kind) != times:
            raise NotSoError(f"it was shown {kinds}")

    return Line(f"(the model sees: {times} {kind})", look)


def stored(text: str) -> Step:
    """What somebody said or changed has reached the book."""
    return Line(f"({text!r} is in the book)", lambda scene: in_the_book(scene.resources, text))


def requests(count: int) -> Step:
    """The model was asked so often in all."""

    async def look(scene: Scene) -> None:
        if len(scene.model.requests) != count:
            raise NotSoError(f"it was asked {len(scene.model.requests)} times")

    return Line(f"(the model was asked {count} times)", look)
