"""Reads a trace line by line, joins answers to what was asked, and passes over what is no event."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from symposium.errors import NotFoundError, SymposiumError
from symposium.trace_view.events import Event, Kind, PairKey, lane_order, pair_key, parse_event

MAX_LINE: Final = 128 * 1024 * 1024
"""Bytes of the longest line that is read: twice the longest message, for its escapes."""

MOST_NAMED: Final = 5
"""Broken lines that are named by their number; the others are counted."""

MOST_OPEN: Final = 100_000
"""Requests without an answer that are remembered; of a longer list the oldest is forgotten."""


class NotATraceError(SymposiumError):
    """The file holds no event."""


@dataclass(slots=True)
class Damage:
    """What of a file could not be shown.

    Attributes:
        lines: numbers of the first lines that are no events.
        count: how many there are.
        is_cut: whether the last line ends in the middle: the writer lives, or was killed.
    """

    lines: list[int] = field(default_factory=list[int])
    count: int = 0
    is_cut: bool = False

    def note(self, number: int) -> None:
        """Add a line."""
        self.count += 1
        if len(self.lines) < MOST_NAMED:
            self.lines.append(number)

    def __str__(self) -> str:
        """For people; empty if nothing is wrong."""
        said: list[str] = []
        if self.count:
            named = ", ".join(map(str, self.lines)) + (", …" if self.count > MOST_NAMED else "")
            what = "line is no event and was" if self.count == 1 else "lines are no events and were"
            said.append(f"{self.count} {what} passed over: {named}")
        if self.is_cut:
            said.append("the last line is cut off: the trace may still be being written")
        return "; ".join(said)


class TraceReader:
    """One pass over a file; `damage` is known when it has ended."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damage = Damage()
        self._open: dict[PairKey, Event] = {}

    def events(self) -> Iterator[Event]:
        """Every event, in the order of the file; answers know what they answer.

        Raises:
            NotFoundError: there is no such file.
            NotATraceError: it holds no event.
            OSError: it cannot be read.
        """
        is_empty = True
        for number, line in self._lines():
            event = parse_event(number, line)
            if event is not None:
                is_empty = False
                yield self._joined(event)
            elif line.endswith(b"\n"):
                if line.strip():
                    self.damage.note(number)
            else:
                self.damage.is_cut = True
        if is_empty and (self.damage.count or self.damage.is_cut):
            raise NotATraceError(
                f"{self.path} is no trace: none of its lines is an event",
                "a trace is what `symposium run-with --trace-dir DIR` writes into DIR",
            )

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        if self.path.is_dir():
            raise NotATraceError(
                f"{self.path} is a directory", "name one of the `.jsons` files in it"
            )
        try:
            file = self.path.open("rb")
        except FileNotFoundError as error:
            message = f"there is no file {self.path}"
            raise NotFoundError(
                message, "traces are in the directory given as --trace-dir"
            ) from error
        with file:
            number = 0
            while line := file.readline(MAX_LINE):
                number += 1
                yield number, line

    def _joined(self, event: Event) -> Event:
        match event.kind:
            case Kind.REQUEST:
                self._open[pair_key(event)] = event
                if len(self._open) > MOST_OPEN:
                    del self._open[next(iter(self._open))]
                return event
            case Kind.RESPONSE:
                asked = self._open.pop(pair_key(event), None)
                if asked is None:
                    return event
                return replace(
                    event,
                    method=asked.method,
                    protocol=asked.protocol,
                    session=event.session or asked.session,
                    answers=asked.line,
                    took=event.ts - asked.ts,
                )
            case Kind.NOTIFICATION:
                return event


def lanes_of(path: Path) -> list[str]:
    """The components that a trace tells of, as they stand in the chain.

    Raises:
        NotFoundError: there is no such file.
        NotATraceError: it holds no event.
    """
    names: set[str] = set()
    for event in TraceReader(path).events():
        names.update((event.sender, event.receiver))
    return sorted(names, key=lane_order)
