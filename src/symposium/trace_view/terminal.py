"""A trace as lines of text: a lane for each component, an arrow for each message."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from symposium.trace_view.events import Event, Kind
from symposium.trace_view.preview import preview, short_line

LANE: Final = 10
"""Characters of a lane: the longest usual name is `Proxy(10)`."""

NARROW_LANE: Final = 5
"""Characters of a lane where there are more than `MOST_WIDE`."""

MOST_WIDE: Final = 7

METHOD: Final = 60
"""Characters of a method that are shown; a peer may write any."""

COLORS: Final = ("cyan", "magenta", "yellow", "green", "blue", "bright_red")


@dataclass(frozen=True, slots=True)
class Glyphs:
    """What arrows are drawn with."""

    lane: str
    request: str
    response: str
    notification: str
    right: str
    left: str
    error: str


DRAWN: Final = Glyphs("│", "─", "┄", "═", "▶", "◀", "✗")
ASCII: Final = Glyphs("|", "-", ".", "=", ">", "<", "x")


@dataclass(frozen=True, slots=True)
class Line:
    """One line: what is to be in a pair's colour, and what is not.

    Attributes:
        text: the line.
        color: its colour, the same for a request and its answer; empty for a notification.
        is_error: whether it tells of an error.
    """

    text: str
    color: str = ""
    is_error: bool = False


class Listing:
    """Draws events, one after the other."""

    def __init__(self, lanes: Sequence[str], glyphs: Glyphs, *, width: int | None = None) -> None:
        self._places = {name: place for place, name in enumerate(lanes)}
        self._glyphs = glyphs
        self._width = width
        self._lane = LANE if len(lanes) <= MOST_WIDE else NARROW_LANE
        self._before: float | None = None

    def heads(self) -> Iterator[Line]:
        """The names above the lanes."""
        names = "".join(_fitting(name, self._lane).center(self._lane) for name in self._places)
        yield Line(f"{'time':>10} {'+':>8}  {names}".rstrip())

    def line(self, event: Event) -> Line:
        """One event."""
        since = 0.0 if self._before is None else event.ts - self._before
        self._before = event.ts
        start = f"{event.ts:>9.3f}s {_span(since):>8}  {self._arrow(event)} {self._about(event)}"
        words = preview(event)
        text = f"{start}  {words}" if words else start
        if self._width is not None and len(text) > self._width:
            text = f"{text[: self._width - 1]}…"
        color = COLORS[hash_of(event.id) % len(COLORS)] if event.id else ""
        return Line(text, color, event.is_error)

    def _about(self, event: Event) -> str:
        method = short_line(event.method, METHOD) or "?"
        number = short_line(event.id, 12).strip('"')
        match event.kind:
            case Kind.REQUEST:
                said = f"{method} #{number}"
            case Kind.NOTIFICATION:
                said = method
            case Kind.RESPONSE:
                took = f" after {_span(event.took).lstrip('+')}" if event.answers else ""
                mark = f"{self._glyphs.error} " if event.is_error else ""
                said = f"{mark}= {method} #{number}{took}"
        return said if event.protocol != "mcp" else f"mcp {said}"

    def _arrow(self, event: Event) -> str:
        centre = self._lane // 2
        cells = list(" " * (self._lane * len(self._places)))
        for place in self._places.values():
            cells[place * self._lane + centre] = self._glyphs.lane
        start, end = (
            self._places[name] * self._lane + centre for name in (event.sender, event.receiver)
        )
        stroke = {
            Kind.REQUEST: self._glyphs.request,
            Kind.RESPONSE: self._glyphs.response,
            Kind.NOTIFICATION: self._glyphs.notification,
        }[event.kind]
        low, high = sorted((start, end))
        for cell in range(low + 1, high):
            cells[cell] = stroke
        if start < end:
            cells[end - 1] = self._glyphs.right
        elif start > end:
            cells[end + 1] = self._glyphs.left
        return "".join(cells)


def hash_of(text: str) -> int:
    """A small number of a text, the same in every process."""
    return sum(text.encode(errors="replace"))


def _fitting(name: str, lane: int) -> str:
    name = short_line(name)
    if len(name) < lane:
        return name
    short = name.replace("Proxy(", "P").rstrip(")").replace("Client", "C").replace("Agent", "A")
    return short_line(short, lane - 1)


def _span(seconds: float) -> str:
    return f"+{seconds * 1000:.1f}ms" if abs(seconds) < 1 else f"+{seconds:.2f}s"
