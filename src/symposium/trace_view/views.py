"""A trace as text and as one HTML page.

Messages are data in the page: browsers do not run their blocks, `<` is escaped, and they are shown
as text only. A policy in the page forbids other scripts and styles than its own, and any request.
"""

from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b, sha256
from html import escape
from importlib.resources import files
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, Any, Final

from peerwire.jsonrpc.values import encode_value
from symposium.errors import SymposiumError
from symposium.trace_view.trace_events import (
    Damage,
    Event,
    EventKind,
    TraceReader,
    lane_order,
    preview,
    short_line,
)

MAX_BODY: Final = 64 * 1024
"""Bytes of a body that the page holds; the file has the rest."""

_KINDS: Final = {EventKind.REQUEST: 0, EventKind.RESPONSE: 1, EventKind.NOTIFICATION: 2}
_PROTOCOLS: Final = {"": 0, "acp": 1, "mcp": 2}


def write_page(trace: Path, page: Path) -> Damage:
    """Write the page of a trace, replacing an earlier one; return lines that could not be shown.

    Raises:
        NotFoundError: there is no such trace.
        NotATraceError: the file contains no event.
        ExplainedError: the page cannot be written.
    """
    reader = TraceReader(trace)
    try:
        # As private as the trace: conversations are readable for their user only.
        with NamedTemporaryFile(dir=page.parent, prefix=f".{page.name}.", delete=False) as file:
            draft = Path(file.name)
            try:
                _write(file, reader)
                file.flush()
                draft.replace(page)
            except BaseException:
                draft.unlink()
                raise
    except OSError as error:
        message = f"cannot write {page}: {error.strerror or error}"
        raise SymposiumError(message, "name another file with -o") from error
    return reader.damage


@dataclass(slots=True)
class _Names:
    """Texts by number, each once."""

    numbers: dict[str, int] = field(default_factory=dict[str, int])

    def number(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers))


@dataclass(slots=True)
class _Index:
    """Data that lists the events; bodies are looked up by number."""

    lanes: _Names = field(default_factory=_Names)
    methods: _Names = field(default_factory=_Names)
    sessions: _Names = field(default_factory=_Names)
    rows: list[list[Any]] = field(default_factory=list[list[Any]])
    row_of_line: dict[int, int] = field(default_factory=dict[int, int])

    def add(self, event: Event, body: int) -> None:
        """List an event whose body has this number."""
        if event.kind is EventKind.REQUEST:
            self.row_of_line[event.line] = len(self.rows)
        self.rows.append(
            [
                event.line,
                _KINDS[event.kind],
                round(event.ts, 6),
                self.lanes.number(short_line(event.sender)),
                self.lanes.number(short_line(event.receiver)),
                self.methods.number(short_line(event.method)),
                self.sessions.number(event.session),
                _PROTOCOLS.get(event.protocol, 0),
                body,
                self.row_of_line.get(event.answers, -1),
                int(event.is_error),
                event.id,
                preview(event),
            ]
        )

    def body(self, name: str, damage: Damage) -> dict[str, Any]:
        """Return the whole timeline as JSON data for the page."""
        lanes = list(self.lanes.numbers)
        return {
            "file": name,
            "lanes": lanes,
            "order": sorted(range(len(lanes)), key=lambda number: lane_order(lanes[number])),
            "methods": list(self.methods.numbers),
            "sessions": list(self.sessions.numbers),
            "damage": str(damage),
            "rows": self.rows,
        }


def _write(file: IO[bytes], reader: TraceReader) -> None:
    style, script = _asset("page.css"), _asset("page.js")
    head, _, rest = _asset("page.html").partition("<!--bodies-->")
    between, _, tail = rest.partition("<!--index-->")
    head = head.replace("<!--policy-->", escape(_policy(style, script)))
    head = head.replace("<!--title-->", escape(short_line(reader.path.name)))
    head = head.replace("/*style*/", style)
    index = _Index()
    file.write(head.encode())
    for body in _bodies(reader, index):
        file.write(body.replace(b"<", b"\\u003c"))
    file.write(between.encode())
    written = encode_value(index.body(short_line(reader.path.name), reader.damage))
    file.write(written.replace(b"<", b"\\u003c"))
    file.write(tail.replace("/*script*/", script).encode())


def _bodies(reader: TraceReader, index: _Index) -> Iterator[bytes]:
    """Each different body, a line each: most messages cross several legs unchanged."""
    known: dict[bytes, int] = {}
    for event in reader.events():
        digest = blake2b(event.body, digest_size=16).digest()
        is_new = digest not in known
        number = known.setdefault(digest, len(known))
        index.add(event, number)
        if is_new:
            yield (b"\n" if number else b"") + _shown(event.body)


def _shown(body: bytes) -> bytes:
    if len(body) <= MAX_BODY:
        return body.decode(errors="replace").replace("\n", " ").encode()
    head = body[:MAX_BODY].decode(errors="replace")
    return b"!%d %b" % (len(body), encode_value(head))


def _policy(style: str, script: str) -> str:
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _asset(name: str) -> str:
    return files("symposium.trace_view").joinpath(name).read_text(encoding="utf-8")


LANE: Final = 10
"""Characters of a lane: the longest usual name is `Proxy(10)`."""

NARROW_LANE: Final = 5
"""Characters of a lane where there are more than `MAX_WIDTH`."""

MAX_WIDTH: Final = 7

METHOD: Final = 60
"""Characters of a method that are shown; a peer may write any."""

COLORS: Final = ("cyan", "magenta", "yellow", "green", "blue", "bright_red")


@dataclass(frozen=True, slots=True)
class Glyphs:
    """Characters that draw lanes and arrows, in Unicode or ASCII."""

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
class TraceLine:
    """Line of the output, with the color of its pair.

    Attributes:
        text: the line.
        color: the same for a request and its answer; empty for a notification.
        is_error: whether the line shows an error.
    """

    text: str
    color: str = ""
    is_error: bool = False


class TraceListing:
    """Draw events, one after the other."""

    def __init__(self, lanes: Sequence[str], glyphs: Glyphs, *, width: int | None = None) -> None:
        self._places = {name: place for place, name in enumerate(lanes)}
        self._glyphs = glyphs
        self._width = width
        self._lane = LANE if len(lanes) <= MAX_WIDTH else NARROW_LANE
        self._before: float | None = None

    def heads(self) -> Iterator[TraceLine]:
        """The names above the lanes."""
        names = "".join(_fitting(name, self._lane).center(self._lane) for name in self._places)
        yield TraceLine(f"{'time':>10} {'+':>8}  {names}".rstrip())

    def line(self, event: Event) -> TraceLine:
        since = 0.0 if self._before is None else event.ts - self._before
        self._before = event.ts
        start = f"{event.ts:>9.3f}s {_span(since):>8}  {self._arrow(event)} {self._about(event)}"
        words = preview(event)
        text = f"{start}  {words}" if words else start
        if self._width is not None and len(text) > self._width:
            text = f"{text[: self._width - 1]}…"
        color = COLORS[hash_of(event.id) % len(COLORS)] if event.id else ""
        return TraceLine(text, color, event.is_error)

    def _about(self, event: Event) -> str:
        method = short_line(event.method, METHOD) or "?"
        number = short_line(event.id, 12).strip('"')
        match event.kind:
            case EventKind.REQUEST:
                said = f"{method} #{number}"
            case EventKind.NOTIFICATION:
                said = method
            case EventKind.RESPONSE:
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
            EventKind.REQUEST: self._glyphs.request,
            EventKind.RESPONSE: self._glyphs.response,
            EventKind.NOTIFICATION: self._glyphs.notification,
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
