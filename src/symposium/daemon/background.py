"""Puts the daemon behind the program that starts it, which learns whether it listens."""

import logging
import os
from collections.abc import Callable
from typing import Final

from localio.errors import ExplainedError
from peerwire.errors import Boundary
from symposium.errors import SymposiumError

READY: Final = b"READY"
RUNNING: Final = b"RUNNING"

_log = logging.getLogger(__name__)

Tell = Callable[[bytes], None]
"""Takes what is said to the program in front: `READY`, or why not."""


def in_background(work: Callable[[Tell], None]) -> bytes:
    """Run the work in a process of its own session; return what it says: `READY` or `RUNNING`.

    Call it before any thread or event loop is started.

    Raises:
        ExplainedError: the work said something else, or ended without a word.
    """
    read_end, write_end = os.pipe()
    if os.fork() == 0:
        os.close(read_end)
        _behind(work, write_end)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        said = pipe.read()
    if said not in {READY, RUNNING}:
        message, _, hint = said.decode(errors="replace").partition("\0")
        raise SymposiumError(message or "the daemon ended without a word", hint)
    return said


def _behind(work: Callable[[Tell], None], write_end: int) -> None:
    os.setsid()
    os.chdir("/")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    os.close(nowhere)
    said: list[bytes] = []

    def tell(words: bytes) -> None:
        if not said:
            said.append(words)
            os.write(write_end, words)
            os.close(write_end)

    try:
        # The one boundary of this process: whatever ends it is told to the program in front.
        with Boundary() as boundary:
            work(tell)
        match boundary.error:
            case None:
                pass
            case ExplainedError() as error:
                tell(f"{error.message}\0{error.hint}".encode())
            case error:
                _log.error("the daemon has failed", exc_info=error)
                kind = type(error).__name__
                tell(f"the daemon has failed: {kind}: {error}\0symposium daemon logs".encode())
    finally:
        # What the program in front has set up for its own end must not happen twice.
        os._exit(0)
