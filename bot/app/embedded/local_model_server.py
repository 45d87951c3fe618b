"""The process of the local model: `python -m bot.app.embedded.local_model_server FOLDER WEIGHTS PORT`.

Started by `LocalModel`, and of no use alone. A process of its own, because llama.cpp writes to the terminal,
holds half a gigabyte, and is to be shared by several processes.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from bot.app.embedded.local_model import LOCAL_CONTEXT, LOCAL_MODEL_NAME
from bot.app.embedded.membership import Membership

LOOK_AROUND = 2.0
"""Seconds between two looks at whether anyone is still in."""
CONVERSATIONS = 2
"""How many are answered at once: one that talks and one that is summarised."""
CACHE = 512
"""MiB for the state of conversations that were answered before, so that they need not be read again."""


def main(folder: Path, weights: Path, port: int) -> None:
    asked_to_end = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: asked_to_end.set())
    try:
        server = _serve(weights, port)
    except RuntimeError as error:
        sys.exit(f"llama.cpp does not load {weights}: {error}")
    url_file = folder / "url"
    draft = folder / "url.new"
    draft.write_text(server.listening_address)
    draft.replace(url_file)
    membership = Membership(folder)
    while not asked_to_end.wait(LOOK_AROUND):
        if membership.lock_up_if_deserted():
            url_file.unlink(missing_ok=True)
            break
    os._exit(0)  # at once: llama.cpp would first finish what it is writing, for nobody


def _serve(weights: Path, port: int) -> Any:
    """Serves on `port`, or on one that the system chooses when that is taken; the model is loaded then."""
    import xllamacpp

    try:
        return xllamacpp.Server(_parameters(weights, port))
    except RuntimeError:
        if port == 0:
            raise
        return xllamacpp.Server(_parameters(weights, 0))


def _parameters(weights: Path, port: int) -> Any:
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights)
    parameters.model_alias = {LOCAL_MODEL_NAME}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = port
    parameters.n_ctx = LOCAL_CONTEXT * CONVERSATIONS  # llama.cpp deals it out to the conversations
    parameters.n_parallel = CONVERSATIONS
    parameters.ctx_shift = False  # an overflow is to be an error and not a silent loss of the beginning
    parameters.use_jinja = True
    # One thread: two wait for each other after every layer, and where the cores are busy that takes ten times as long.
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
    _sample_with_care(parameters.sampling)
    parameters.cache_ram_mib = CACHE
    parameters.verbosity = 2
    # Nothing but the API: the others on this machine need not see what is being said.
    parameters.ui = False
    parameters.endpoint_slots = False
    parameters.cors_origins = parameters.cors_methods = parameters.cors_headers = ""
    return parameters


def _sample_with_care(sampling: Any) -> None:
    """A model so small repeats itself for ever unless it is kept from it. What it has said weighs the more the oftener
    it was said, so that no loop lasts; a penalty that is the same from the first time on makes it avoid the words of
    the question, and answer in emojis."""
    sampling.temp = 0.1
    sampling.penalty_freq = 0.15
    sampling.penalty_last_n = 128
    sampling.dry_multiplier = 0.8
    sampling.dry_allowed_length = 3
    sampling.dry_penalty_last_n = 2048


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
