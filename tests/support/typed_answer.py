"""Terminal for a command in this process, with a user who answers one question."""

import os
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress


@contextmanager
def typed(question: str, answer: bytes) -> Generator[bytearray]:
    """Make this process's input and errors a terminal; answer after the question is shown."""
    shown = bytearray()
    master, slave = os.openpty()
    stdin, streams = os.dup(0), (sys.stdin, sys.stderr)

    def user() -> None:
        # Without the question, the read ends when the last side of the terminal is closed.
        with suppress(OSError):
            while question.encode() not in shown:
                shown.extend(os.read(master, 4096))
            os.write(master, answer)

    thread = threading.Thread(target=user)
    thread.start()
    os.dup2(slave, 0)
    try:
        with open(0, closefd=False) as into, open(slave, "w", closefd=False) as errors:
            sys.stdin, sys.stderr = into, errors
            yield shown
    finally:
        sys.stdin, sys.stderr = streams
        os.dup2(stdin, 0)
        os.close(slave)
        thread.join()
        os.close(master)
        os.close(stdin)
