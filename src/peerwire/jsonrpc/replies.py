"""Replies to JSON-RPC messages: alone, or collected for a batch."""

from collections.abc import Callable
from typing import Protocol, TypeAlias

Send: TypeAlias = Callable[[bytes], None]
"""Function that sends one line to a peer."""


class ReplyTarget(Protocol):
    """Receiver of the reply to one message."""

    def send(self, answer: bytes) -> None:
        """Send the reply, an encoded line."""
        ...

    def done(self) -> None:
        """Mark the message as handled, without a reply."""
        ...


class SingleReply:
    """Target of a single message: its reply is sent immediately."""

    def __init__(self, send: Send) -> None:
        self._send = send

    def send(self, answer: bytes) -> None:
        self._send(answer)

    def done(self) -> None:
        """Do nothing: no other reply depends on it."""


class BatchReply:
    """Replies to one batch, sent as one array when every entry is handled.

    Entries may finish in any order; the array has their order.
    """

    def __init__(self, entries: int, send: Send) -> None:
        self._open = entries
        self._answers: dict[int, bytes] = {}
        self._send = send

    def slot(self, index: int) -> "Slot":
        """Return the target of entry `index`; entries with equal ids have separate slots."""
        return Slot(self, index)

    def settle(self, index: int, answer: bytes | None) -> None:
        """Mark entry `index` as handled; notifications and responses have no reply."""
        if answer is not None:
            self._answers[index] = answer
        self._open -= 1
        if self._open == 0 and self._answers:
            self._send(b"[%b]" % b",".join(self._answers[at] for at in sorted(self._answers)))


class Slot:
    """Target of one entry of a batch; a second reply is ignored."""

    def __init__(self, batch: BatchReply, index: int) -> None:
        self._batch = batch
        self._index = index
        self._settled = False

    def send(self, answer: bytes) -> None:
        """Store the reply of the entry."""
        self._settle(answer)

    def done(self) -> None:
        """Mark the entry as handled, without a reply."""
        self._settle(None)

    def _settle(self, answer: bytes | None) -> None:
        if not self._settled:
            self._settled = True
            self._batch.settle(self._index, answer)
