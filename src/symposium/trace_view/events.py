"""One event of a trace as it is shown, whichever host wrote it (acp-host §2.7)."""

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from peerwire.jsonrpc.values import decode_value, members


class Kind(Enum):
    """What kind of message an event is; the values are those of `type` in the file."""

    REQUEST = "request"
    RESPONSE = "response"
    NOTIFICATION = "notification"


@dataclass(frozen=True, slots=True)
class Event:
    """One message between two neighbours.

    Attributes:
        line: the number of its line in the file, from 1.
        kind: what it is.
        ts: seconds since the trace began.
        sender: who it came from: `Client`, `Proxy(0)`, `Agent`.
        receiver: who it went to.
        id: the JSON text of the id that a request and its response share; empty for a notification.
        method: what was asked or told; for a response, what it answers, empty if that is not there.
        session: the session it belongs to, or empty.
        protocol: `acp` or `mcp`; for a response, that of its request, empty if that is not there.
        body: the JSON of the params, the result or the error.
        raw: the line, without its newline.
        is_error: whether a response is an error.
        answers: for a response, the line of its request; 0 if that is not there.
        took: for a response, seconds since its request.
    """

    line: int
    kind: Kind
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
    type: Kind
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
"""Where the agent stands in the order of lanes, and after it whoever has an unknown name."""


def lane_name(label: str) -> str:
    """The one name of a component that has two: `proxy:0` is `Proxy(0)`, `agent` is `Agent`."""
    documented = _DOCUMENTED.fullmatch(label)
    if documented is not None:
        return f"Proxy({documented[1]})"
    return _CAPITALS.get(label, label)


def lane_order(name: str) -> tuple[int, str]:
    """A key that sorts components as they stand in the chain."""
    if name == "Client":
        return (-1, "")
    numbered = _NUMBERED.fullmatch(name)
    if numbered is not None:
        return (int(numbered[1]), "")
    return (LAST, "") if name == "Agent" else (LAST + 1, name)


def parse_event(number: int, line: bytes) -> Event | None:
    """The event on a line; None where it is none."""
    try:
        written = _decode(line)
    except msgspec.DecodeError:
        written = _decode_slowly(line)
    except RecursionError:
        return None
    if written is None:
        return None
    body = written.payload if written.type is Kind.RESPONSE else written.params
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
    """What the fast decoder refuses and JSON allows: lone surrogates."""
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
    """What a request and its response have in common: who asked, who was asked, and the id."""
    if event.kind is Kind.RESPONSE:
        return (event.receiver, event.sender, event.id)
    return (event.sender, event.receiver, event.id)
