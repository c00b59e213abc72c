"""The envelope of bus messages: reading, writing, and error responses.

Version 2 adds `to` (receiver) and `ack` (confirm delivery); the broker adds `from` (real sender).
Payload bytes are forwarded unchanged (bus §1.2), except the outcome of a response to a peer of
version 1.
"""

import uuid
from typing import Annotated, Final

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from symposium.bus.protocol import BusMessage, PayloadError, payload_of, read_as

MAX_LINE: Final = 16 * 1024 * 1024
"""Maximum length of a line, in bytes (bus §7, row 14)."""

RESPONSE: Final = "response"

_Name = Annotated[str, Meta(min_length=1, max_length=128)]


class Sender(Struct, frozen=True, gc=False, rename="camel"):
    """Sender of a message, for routing.

    Attributes:
        working_directory: absolute path.
        taskspace_uuid: the taskspace of the sender, if any.
        shell_pid: the process id of the terminal's shell it runs under, if known.
    """

    working_directory: str
    taskspace_uuid: str | None = None
    shell_pid: int | None = None


class Address(Struct, frozen=True, gc=False, omit_defaults=True, forbid_unknown_fields=True):
    """Receiver of a message; if several peers match, one is chosen.

    Attributes:
        connection: this connection only.
        role: a peer with this role.
        taskspace: a peer in this taskspace.
    """

    connection: str | None = None
    role: str | None = None
    taskspace: str | None = None


class Envelope(Struct, frozen=True, gc=False):
    """Message on the bus: header and payload.

    Attributes:
        type: message type.
        id: a new UUID; in a response, the id of the request.
        sender: sender as claimed by the message.
        payload: JSON of the message's class.
        to: receiver; if unset, the message's class determines it.
        ack: whether the sender of an announcement wants a confirmation of delivery.
        from_: sending connection, set by the broker.
    """

    type: _Name
    id: _Name
    sender: Sender
    payload: Raw = Raw(b"{}")
    to: Address | UnsetType = UNSET
    ack: bool | UnsetType = UNSET
    from_: str | UnsetType = msgspec.field(default=UNSET, name="from")


class BusOutcome(Struct, frozen=True, gc=False, omit_defaults=True):
    """Payload of a response (bus §1.2).

    Attributes:
        success: whether the request succeeded.
        error: error message.
        data: reply, of the type named by the request's class.
        code: error code; version 2 only.
    """

    success: bool
    error: str | None = None
    data: Raw | UnsetType = UNSET
    code: str | None = None


class EnvelopeError(ValueError):
    """A line is not an envelope; the text names the problem and its place."""


_decode = msgspec.json.Decoder(Envelope).decode
_encode = msgspec.json.Encoder().encode


def read_envelope(line: bytes) -> Envelope:
    """Decode a line; unknown members are ignored.

    Raises:
        EnvelopeError: it is malformed.
    """
    try:
        if not line.isascii():
            line.decode()
        return _decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise EnvelopeError(f"malformed bus message: {error}") from error


def write_envelope(envelope: Envelope) -> bytes:
    """Encode an envelope, with every member of version 1."""
    return _encode(envelope)


def stamp(connection: str) -> bytes:
    """Prefix that marks a line as sent by this connection."""
    return b'{"from":"%b",' % connection.encode()


def stamped(line: bytes, envelope: Envelope, beginning: bytes) -> bytes:
    """Add the real sender to a line, and change nothing else.

    Args:
        line: line without leading white space.
        envelope: the decoded line.
        beginning: result of `stamp` for the sender.
    """
    if envelope.from_ is UNSET:
        return beginning + line[1:]
    # With two members of one name, readers may disagree on the sender.
    plain = write_envelope(msgspec.structs.replace(envelope, from_=UNSET))
    return beginning + plain[1:]


def version_one(envelope: Envelope) -> bytes:
    """Line for a peer of version 1, without members of version 2."""
    return _encode(Envelope(envelope.type, envelope.id, envelope.sender, envelope.payload))


def envelope_of(message: BusMessage, sender: Sender, *, to: Address | None = None) -> Envelope:
    """Envelope with a new id for a message."""
    where = UNSET if to is None else to
    return Envelope(message.about.type, str(uuid.uuid4()), sender, payload_of(message), where)


def success(data: Raw) -> BusOutcome:
    """Outcome of a successful request."""
    return BusOutcome(success=True, data=data)


def response(request_id: str, sender: Sender, outcome: BusOutcome) -> Envelope:
    return Envelope(RESPONSE, request_id, sender, Raw(_encode(outcome)))


def read_outcome(envelope: Envelope) -> BusOutcome:
    """Decode the outcome of a response.

    Raises:
        EnvelopeError: the payload is not an outcome.
    """
    try:
        return read_as(BusOutcome, envelope.payload)
    except PayloadError as error:
        text = f"malformed payload in response {envelope.id}: {error}"
        raise EnvelopeError(text) from error


def version_one_response(line: bytes) -> bytes:
    """Response without members unknown to version 1."""
    envelope = read_envelope(line)
    try:
        outcome = msgspec.structs.replace(read_outcome(envelope), code=None)
    except EnvelopeError:
        return version_one(envelope)
    payload = Raw(_encode(outcome))
    return version_one(msgspec.structs.replace(envelope, payload=payload))


class _Identified(Struct, frozen=True):
    """A line of which only the id is decoded."""

    id: _Name


_decode_id = msgspec.json.Decoder(_Identified).decode


def id_of(line: bytes) -> str:
    """Id of a malformed line, to answer its sender; empty if missing."""
    try:
        return _decode_id(line).id
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return early_id(line[:4096])


def early_id(head: bytes) -> str:
    """Id at the beginning of a line that is too long; empty if not found."""
    _, found, rest = head.partition(b'"id":"')
    name, ended, _ = rest.partition(b'"')
    return name.decode(errors="replace") if found and ended else ""


MAX_TEXT: Final = 1000
"""Maximum length of an error message, in characters."""

NO_ID: Final = "-"
"""Placeholder id in responses to a line without one."""

DAEMON_SENDER: Final = Sender("/tmp")  # noqa: S108 - same value as the reference's daemon


def refusal(request_id: str, code: str, text: str) -> bytes:
    """Error response as a line; long texts are truncated."""
    if len(text) > MAX_TEXT:
        text = f"{text[:MAX_TEXT]}…"
    outcome = BusOutcome(success=False, error=text, code=code)
    return write_envelope(response(request_id or NO_ID, DAEMON_SENDER, outcome))


def answer(request: Envelope, data: Raw) -> bytes:
    """Response of the broker itself, as a line."""
    outcome = BusOutcome(success=True, data=data)
    return write_envelope(response(request.id, DAEMON_SENDER, outcome))
