"""The local model: what answers when nobody named a model, so that a clone can be talked to at once."""

from __future__ import annotations

import http.client
import os
import sys
from pathlib import Path
from urllib.parse import urlsplit

import bot
from bot.app.embedded import EmbeddedError
from bot.app.embedded.brain import find_brain
from bot.app.embedded.detached import Detached, wait_until
from bot.app.embedded.shared_server import SharedServer

LOCAL_MODEL_NAME = "smollm2-135m-instruct"
LOCAL_CONTEXT = 8192
"""Tokens of one conversation: what the model was trained with. More only makes it babble."""
LOCAL_PROMPT = "You are a helpful AI assistant named Palimpsest, a small program. Give short answers."
"""As short as those it was trained with: it follows little more, and each word has to be read before an answer."""
LOCAL_INTRODUCTION = (
    "I am a tiny stand-in, here so that everything can be tried without a key: I read only what was said last, and "
    "much of what I say is wrong. For a real model: `palimpsest setup`."
)
START_PATIENCE = 120.0
"""Seconds to load the weights; about one on a warm disk."""
STOP_PATIENCE = 5.0


class LocalModel(SharedServer):
    """A child that speaks Anthropic's Messages API on 127.0.0.1; its URL is in `DATA_DIR/model/url`.

    It ends with its last member, and by itself when all of them were killed.
    """

    def __init__(self, data_dir: Path) -> None:
        super().__init__(data_dir.resolve() / "model", "the local model")
        self._server = Detached(self.folder, "server")
        self._url_file = self.folder / "url"

    def _find(self) -> str | None:
        try:
            url = self._url_file.read_text().strip()
        except FileNotFoundError:
            return None
        return url if _is_healthy(url) else None

    def _bring_up(self) -> str:
        if self._server.alive:
            found = self._wait()
            if found is not None:
                return found
            self._server.end(STOP_PATIENCE)
        self._spawn()
        found = self._wait()
        if found is None:
            self._server.end(STOP_PATIENCE)
            raise EmbeddedError(f"the local model does not start: {self._server.last_words}")
        return found

    def _shut_down(self) -> None:
        self._server.end(STOP_PATIENCE)
        self._url_file.unlink(missing_ok=True)

    def _wait(self) -> str | None:
        wait_until(lambda: self._find() is not None or not self._server.alive, START_PATIENCE)
        return self._find()

    def _spawn(self) -> None:
        brain = find_brain(self.folder.parent)
        port = _port_of(self._url_file)
        self._url_file.unlink(missing_ok=True)
        # -P and PYTHONPATH: our own package, wherever it is, what was fetched, and nothing that lies in the folder.
        program = [sys.executable, "-P", "-m", "bot.app.embedded.local_model_server"]
        places = [Path(bot.__file__).parents[1], *([brain.reader] if brain.reader else [])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, places))}
        self._server.spawn([*program, str(self.folder), str(brain.weights), str(port)], environment)


def _port_of(url_file: Path) -> int:
    """The port that was served last, so that clients find a restarted server; 0 if there is none."""
    try:
        return urlsplit(url_file.read_text().strip()).port or 0
    except (FileNotFoundError, ValueError):
        return 0


def _is_healthy(url: str) -> bool:
    place = urlsplit(url)
    if not place.hostname or not place.port:
        return False
    connection = http.client.HTTPConnection(place.hostname, place.port, timeout=5.0)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
