"""Trace events, the selection of some, and previews of messages."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from localio.text import one_line
from peerwire.acp.names import INITIALIZE, PROXY_INITIALIZE
from peerwire.jsonrpc.values import decode_value, members
from symposium.errors import NotFoundError, SymposiumError


class EventKind(Enum):
    """Kind of a message; the values are those of `type` in the file."""

    REQUEST = "request"
    RESPONSE = "response"
    NOTIFICATION = "notification"


@dataclass(frozen=True, slots=True)
class Event:
    """One message between two components.

    Attributes:
        line: the number of its line in the file, from 1.
        kind: request, response, or notification.
        ts: seconds since the trace began.
        sender: component that sent it: `Client`, `Proxy(0)`, `Agent`.
        receiver: component that got it.
        id: the JSON text of the id that a request and its response share; empty for a notification.
        method: its method; for a response, that of its request, empty if that is missing.
        session: the session it belongs to, or empty.
        protocol: `acp` or `mcp`; for a response, that of its request, empty if that is missing.
        body: the JSON of the params, the result or the error.
        raw: the line, without its newline.
        is_error: whether a response is an error.
        answers: for a response, the line of its request; 0 if that is missing.
        took: for a response, seconds since its request.
    """

    line: int
    kind: EventKind
    ts: float
    sender: str
    receiver: str
    id: str
    method: str
    session: str
    protocol: str
    body: bytes
    raw: bytes
    is_error: bool = False
    answers: int = 0
    took: float = 0.0


class _Written(Struct, frozen=True, gc=False, rename={"sender": "from", "receiver": "to"}):
    type: EventKind
    ts: float
    sender: str
    receiver: str
    id: Raw | UnsetType = UNSET
    method: str = ""
    session: str | None = None
    protocol: str = ""
    params: Raw | UnsetType = UNSET
    payload: Raw | UnsetType = UNSET
    is_error: bool = False


_decode = msgspec.json.Decoder(_Written).decode

_DOCUMENTED: Final = re.compile(r"proxy:(\d+)")
_NUMBERED: Final = re.compile(r"Proxy\((\d{1,6})\)")
_CAPITALS: Final = {"client": "Client", "agent": "Agent"}

LAST: Final = 1_000_000
"""Place of the agent in the order of lanes; components with unknown names follow."""


def lane_name(label: str) -> str:
    """The one name of a component that has two: `proxy:0` is `Proxy(0)`, `agent` is `Agent`."""
    documented = _DOCUMENTED.fullmatch(label)
    if documented is not None:
        return f"Proxy({documented[1]})"
    return _CAPITALS.get(label, label)


def lane_order(name: str) -> tuple[int, str]:
    """Key that sorts components by their place in the chain."""
    if name == "Client":
        return (-1, "")
    numbered = _NUMBERED.fullmatch(name)
    if numbered is not None:
        return (int(numbered[1]), "")
    return (LAST, "") if name == "Agent" else (LAST + 1, name)


def parse_event(number: int, line: bytes) -> Event | None:
    """The event on a line; None if the line holds none."""
    try:
        written = _decode(line)
    except msgspec.DecodeError:
        written = _decode_slowly(line)
    except RecursionError:
        return None
    if written is None:
        return None
    body = written.payload if written.type is EventKind.RESPONSE else written.params
    return Event(
        line=number,
        kind=written.type,
        ts=written.ts,
        sender=lane_name(written.sender),
        receiver=lane_name(written.receiver),
        id="" if written.id is UNSET else bytes(written.id).decode(errors="replace"),
        method=written.method,
        session=written.session or "",
        protocol=written.protocol,
        body=b"null" if body is UNSET else bytes(body),
        raw=line.rstrip(b"\r\n"),
        is_error=written.is_error,
    )


def _decode_slowly(line: bytes) -> _Written | None:
    """Decode lone surrogates, which JSON allows and the fast decoder refuses."""
    try:
        found = {name: Raw(text) for name, text in members(line).items()}
        plain = {
            name: decode_value(found[name])
            for name in found.keys() & {"type", "ts", "from", "to", "method", "session", "protocol"}
        }
        plain["is_error"] = "is_error" in found and bytes(found["is_error"]) == b"true"
        written = msgspec.convert(plain, _Written, strict=False)
    except (ValueError, RecursionError):
        return None
    bodies = {name: found.get(name, UNSET) for name in ("id", "params", "payload")}
    return msgspec.structs.replace(written, **bodies)


PairKey: TypeAlias = tuple[str, str, str]


def pair_key(event: Event) -> PairKey:
    """Key of a request and its response: sender and receiver of the request, and the id."""
    if event.kind is EventKind.RESPONSE:
        return (event.receiver, event.sender, event.id)
    return (event.sender, event.receiver, event.id)


MAX_LINE: Final = 128 * 1024 * 1024
"""Bytes of the longest line that is read: twice the longest message, for its escapes."""

MAX_NAMED: Final = 5
"""Broken lines that are named by their number; the others are counted."""

MAX_OPEN: Final = 100_000
"""Requests without an answer that are remembered; of a longer list the oldest is forgotten."""


class NotATraceError(SymposiumError):
    """The file contains no event."""


@dataclass(slots=True)
class Damage:
    """Lines of a file that could not be shown.

    Attributes:
        lines: numbers of the first unreadable lines.
        count: number of unreadable lines.
        is_cut: whether the last line is incomplete: its writer still runs, or was killed.
    """

    lines: list[int] = field(default_factory=list[int])
    count: int = 0
    is_cut: bool = False

    def note(self, number: int) -> None:
        """Count an unreadable line; its number is kept for the first ones."""
        self.count += 1
        if len(self.lines) < MAX_NAMED:
            self.lines.append(number)

    def __str__(self) -> str:
        """Text for the user; empty if nothing is wrong."""
        said: list[str] = []
        if self.count:
            named = ", ".join(map(str, self.lines)) + (", …" if self.count > MAX_NAMED else "")
            what = "line" if self.count == 1 else "lines"
            said.append(f"skipped {self.count} unreadable {what}: {named}")
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
            NotATraceError: it contains no event.
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
            case EventKind.REQUEST:
                self._open[pair_key(event)] = event
                if len(self._open) > MAX_OPEN:
                    del self._open[next(iter(self._open))]
                return event
            case EventKind.RESPONSE:
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
            case EventKind.NOTIFICATION:
                return event


def lanes_of(path: Path) -> list[str]:
    """Components of a trace, in the order of the chain.

    Raises:
        NotFoundError: there is no such file.
        NotATraceError: it contains no event.
    """
    names: set[str] = set()
    for event in TraceReader(path).events():
        names.update((event.sender, event.receiver))
    return sorted(names, key=lane_order)


@dataclass(frozen=True, slots=True)
class TraceSelection:
    """Filter for events; an empty field matches all events.

    Attributes:
        sessions: session ids or their prefixes.
        methods: shell patterns, such as `session/*`; a response has the method of its request.
        protocol: `acp` or `mcp`.
    """

    sessions: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    protocol: str = ""

    def has(self, event: Event) -> bool:
        """Whether an event matches the filter."""
        return (
            (not self.sessions or event.session.startswith(self.sessions))
            and (not self.methods or any(fnmatchcase(event.method, m) for m in self.methods))
            and (not self.protocol or event.protocol == self.protocol)
        )


MAX_PREVIEW: Final = 160
"""Characters of a preview."""


def short_line(text: str, limit: int = MAX_PREVIEW) -> str:
    """Untrusted text on one line, cut to a length."""
    # The rest cannot be shown.
    return one_line(text[: limit * 8].strip(), width=limit)


def preview(event: Event) -> str:
    """Summary of a message in a few words; empty if nothing short describes it."""
    try:
        body = decode_value(event.body)
    except ValueError:
        return ""
    if not isinstance(body, Mapping):
        return short_line(body) if isinstance(body, str) else ""
    members = cast("Mapping[str, Any]", body)
    if event.is_error:
        return short_line(f"error {members.get('code', '')}: {members.get('message', '')}")
    if event.kind is EventKind.RESPONSE:
        return short_line(_first(members, _OF_RESULTS))
    tell = _BY_METHOD.get(event.method)
    return short_line(tell(members) if tell else _first(members, _OF_PARAMS))


def _text(value: Any) -> str:
    match value:
        case str() | int():
            said = str(value)
        case [*items]:
            said = " ".join(filter(None, map(_text, items[:8])))
        case {"type": "content", "content": content}:
            said = _text(content)
        case (
            {"text": str(named)}
            | {"title": str(named)}
            | {"name": str(named)}
            | {"optionId": str(named)}
            | {"outcome": str(named)}
        ):
            said = named
        case {"type": str(kind)}:
            said = f"[{kind}]"
        case _:
            said = ""
    return said


def _update(params: Mapping[str, Any]) -> str:
    update = params.get("update")
    if not isinstance(update, Mapping):
        return ""
    members = cast("Mapping[str, Any]", update)
    kind = _text(members.get("sessionUpdate"))
    said = _joined(members, "title", "status", "content", "currentModeId", "availableCommands")
    return f"{kind}: {said}" if said else _plan(kind, members)


def _plan(kind: str, update: Mapping[str, Any]) -> str:
    match update.get("entries"):
        case [*entries]:
            steps = cast("list[Mapping[str, Any]]", [e for e in entries if isinstance(e, Mapping)])
            return f"{kind}: {', '.join(_text(step.get('content')) for step in steps)}"
        case _:
            return kind


def _initialize(params: Mapping[str, Any]) -> str:
    version = _text(params.get("protocolVersion"))
    said = [f"version {version}" if version else "", _text(params.get("clientInfo"))]
    return ", ".join(filter(None, said))


def _joined(members: Mapping[str, Any], *names: str) -> str:
    return ", ".join(filter(None, (_text(members.get(name)) for name in names)))


def _first(members: Mapping[str, Any], names: tuple[str, ...]) -> str:
    said: Iterator[str] = (_text(members.get(name)) for name in names)
    return next(filter(None, said), "")


_BY_METHOD: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    **dict.fromkeys((INITIALIZE, *PROXY_INITIALIZE), _initialize),
    "session/update": _update,
    "session/prompt": lambda params: _text(params.get("prompt")),
    "session/new": lambda params: _joined(params, "cwd", "mcpServers"),
    "session/load": lambda params: _joined(params, "cwd", "mcpServers"),
    "session/request_permission": lambda params: _joined(params, "toolCall", "options"),
    "terminal/create": lambda params: _joined(params, "command", "args"),
}

_OF_PARAMS: Final = (
    "name",
    "path",
    "uri",
    "message",
    "modeId",
    "configId",
    "requestId",
    "sessionId",
)
_OF_RESULTS: Final = (
    *("stopReason", "sessionId", "outcome", "agentInfo", "serverInfo", "connectionId"),
    *("content", "tools", "protocolVersion"),
)
