"""Standard input whose reads return what was typed piece by piece, as those of a terminal do."""

import os
import socket
from collections.abc import Generator
from contextlib import contextmanager


class StdinPieces:
    """The other end of standard input."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock

    def type(self, *pieces: bytes) -> None:
        """Make each piece the result of one read; an empty piece ends the input."""
        for each in pieces:
            self._socket.send(each)


@contextmanager
def stdin_pieces() -> Generator[StdinPieces]:
    """Replace descriptor 0 for the block."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    before = os.dup(0)
    os.dup2(theirs.fileno(), 0)
    try:
        with ours, theirs:
            yield StdinPieces(ours)
    finally:
        os.dup2(before, 0)
        os.close(before)
