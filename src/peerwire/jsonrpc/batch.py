"""The answers to one JSON-RPC batch: collected, and sent as one array when every entry is done (acp-host §1.7)."""

from collections.abc import Callable
from typing import TypeAlias

Send: TypeAlias = Callable[[bytes], None]
"""Takes one line for a peer."""


class BatchReply:
    """Holds one slot an entry; entries may finish in any order, and finish once."""

    def __init__(self, entries: int, send: Send) -> None:
        self._open = entries
        self._answers: dict[int, bytes] = {}
        self._send = send

    def slot(self, index: int) -> "Slot":
        """The place of entry `index`; a duplicate id in another entry has another slot."""
        return Slot(self, index)

    def settle(self, index: int, answer: bytes | None) -> None:
        """Entry `index` is done; a notification or a response has no answer."""
        if answer is not None:
            self._answers[index] = answer
        self._open -= 1
        if self._open == 0 and self._answers:
            self._send(b"[%b]" % b",".join(self._answers[at] for at in sorted(self._answers)))


class Slot:
    """One entry of a batch; what is told twice counts once."""

    def __init__(self, batch: BatchReply, index: int) -> None:
        self._batch = batch
        self._index = index
        self._settled = False

    def send(self, answer: bytes) -> None:
        """The entry's answer, as a line."""
        self._settle(answer)

    def done(self) -> None:
        """The entry is handled and owes no answer."""
        self._settle(None)

    def _settle(self, answer: bytes | None) -> None:
        if not self._settled:
            self._settled = True
            self._batch.settle(self._index, answer)
