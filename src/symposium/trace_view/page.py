"""A trace as one HTML page that needs nothing but itself.

What messages say is data to the page: it stands in blocks that no browser runs, with `<` escaped,
and reaches the screen as text only. A policy in the page forbids everything else: scripts and
styles but the page's own, and any request.
"""

from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b, sha256
from html import escape
from importlib.resources import files
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, Any, Final

from peerwire.jsonrpc.values import encode_value
from symposium.errors import SymposiumError
from symposium.trace_view.events import Event, Kind, lane_order
from symposium.trace_view.preview import preview, short_line
from symposium.trace_view.reading import Damage, TraceReader

LONGEST_BODY: Final = 64 * 1024
"""Bytes of a body that the page holds; the file has the rest."""

_KINDS: Final = {Kind.REQUEST: 0, Kind.RESPONSE: 1, Kind.NOTIFICATION: 2}
_PROTOCOLS: Final = {"": 0, "acp": 1, "mcp": 2}


def write_page(trace: Path, page: Path) -> Damage:
    """Write the page of a trace, in the place of any that is there; what could not be shown.

    Raises:
        NotFoundError: there is no such trace.
        NotATraceError: the file holds no event.
        ExplainedError: the page cannot be written.
    """
    reader = TraceReader(trace)
    try:
        # As private as the trace: what a conversation says is nobody else's affair.
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
    """What the page needs to list the events; bodies are looked up by their number."""

    lanes: _Names = field(default_factory=_Names)
    methods: _Names = field(default_factory=_Names)
    sessions: _Names = field(default_factory=_Names)
    rows: list[list[Any]] = field(default_factory=list[list[Any]])
    row_of_line: dict[int, int] = field(default_factory=dict[int, int])

    def add(self, event: Event, body: int) -> None:
        """List an event whose body has this number."""
        if event.kind is Kind.REQUEST:
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
        """All of it, for the page."""
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
    if len(body) <= LONGEST_BODY:
        return body.decode(errors="replace").replace("\n", " ").encode()
    head = body[:LONGEST_BODY].decode(errors="replace")
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
