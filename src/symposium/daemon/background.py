"""Puts the daemon behind the program that starts it, which learns whether it listens."""

import os
import sys
from collections.abc import Callable
from typing import Final

from symposium.errors import SymposiumError

READY: Final = b"READY"
RUNNING: Final = b"RUNNING"

Tell = Callable[[bytes], None]
"""Takes what is said to the program in front: `READY`, or why not."""


def in_background(work: Callable[[Tell], None]) -> bytes:
    """Run the work in a process of its own session; return what it says: `READY` or `RUNNING`.

    Call it before any thread or event loop is started.

    Raises:
        SymposiumError: the work said something else, or ended without a word.
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
        work(tell)
    except SymposiumError as error:
        tell(f"{error.message}\0{error.hint}".encode())
    except OSError as error:
        tell(f"{error.filename or ''}: {error.strerror or error}".encode())
    finally:
        # What the program in front has set up for its own end must not happen twice.
        sys.stdout.flush()
        os._exit(0)
