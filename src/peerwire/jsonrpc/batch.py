"""Where an answer goes: straight out, or into its place in a batch's answer (acp-host §1.7)."""

from collections.abc import Callable
from typing import Protocol, TypeAlias

Send: TypeAlias = Callable[[bytes], None]
"""Takes one line for a peer."""


class Place(Protocol):
    """Where the answer to one message goes."""

    def send(self, answer: bytes) -> None:
        """Take the answer, as a line."""
        ...

    def done(self) -> None:
        """Take note that the message is handled and owes no answer."""
        ...


class Alone:
    """The place of a message that came by itself: its answer goes straight out."""

    def __init__(self, send: Send) -> None:
        self._send = send

    def send(self, answer: bytes) -> None:
        """The answer, as a line."""
        self._send(answer)

    def done(self) -> None:
        """Nothing waits for it."""


class BatchReply:
    """The answers to one batch: collected, and sent as one array when every entry is done.

    Entries may finish in any order; the array has their order.
    """

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
