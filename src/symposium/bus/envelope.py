"""One line of the bus: read, write, and the codes of refusals.

Version 2 adds `to` (whom the sender means) and `ack` (say that it was delivered); the broker writes
`from` (who really sent it). Payloads stay the bytes they came as: the broker reads none (bus §1.2).
"""

import uuid
from typing import Annotated, Final

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from symposium.bus.protocol import BusMessage, PayloadError, payload_of, read_as

MAX_LINE: Final = 16 * 1024 * 1024
"""Bytes of the longest line (bus §7, row 14)."""

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
    """Intended receiver; if several match, one is chosen.

    Attributes:
        connection: exactly this connection.
        role: one that has said hello as this.
        taskspace: a peer in this taskspace.
    """

    connection: str | None = None
    role: str | None = None
    taskspace: str | None = None


class Envelope(Struct, frozen=True, gc=False):
    """One message.

    Attributes:
        type: which message class its payload is of.
        id: a fresh UUID; a response has its request's.
        sender: who says it sends.
        payload: the bytes of its body.
        to: whom it is for; by the message class if unset.
        ack: whether the sender wants to know that an announcement was delivered.
        from_: the connection that really sent it, written by the broker.
    """

    type: _Name
    id: _Name
    sender: Sender
    payload: Raw = Raw(b"{}")
    to: Address | UnsetType = UNSET
    ack: bool | UnsetType = UNSET
    from_: str | UnsetType = msgspec.field(default=UNSET, name="from")


class BusOutcome(Struct, frozen=True, gc=False, omit_defaults=True):
    """The payload of every response (bus §1.2).

    Attributes:
        success: whether what was asked has happened.
        error: why not.
        data: the reply, as the request's class says.
        code: which kind of error, for programs; version 2 only.
    """

    success: bool
    error: str | None = None
    data: Raw | UnsetType = UNSET
    code: str | None = None


class EnvelopeError(ValueError):
    """A line is no envelope; the text says what is missing, and where."""


_decode = msgspec.json.Decoder(Envelope).decode
_encode = msgspec.json.Encoder().encode


def read_envelope(line: bytes) -> Envelope:
    """The envelope that a line holds; members we do not know are left aside.

    Raises:
        EnvelopeError: it holds none.
    """
    try:
        if not line.isascii():
            line.decode()
        return _decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise EnvelopeError(f"this line is no bus message: {error}") from error


def write_envelope(envelope: Envelope) -> bytes:
    """The line of an envelope, with every member of version 1 present."""
    return _encode(envelope)


def stamp(connection: str) -> bytes:
    """Prefix of a line that this connection has sent."""
    return b'{"from":"%b",' % connection.encode()


def stamped(line: bytes, envelope: Envelope, beginning: bytes) -> bytes:
    """The line with who really sent it, which `stamp` has made; nothing else of it changes.

    Args:
        line: without white space before it.
        envelope: what it says.
        beginning: the sender's stamp.
    """
    if envelope.from_ is UNSET:
        return beginning + line[1:]
    # Two members of one name would leave it to each reader which one counts.
    plain = write_envelope(msgspec.structs.replace(envelope, from_=UNSET))
    return beginning + plain[1:]


def version_one(envelope: Envelope) -> bytes:
    """The line that a peer of version 1 is sent: nothing that the reference does not know."""
    return _encode(Envelope(envelope.type, envelope.id, envelope.sender, envelope.payload))


def envelope_of(message: BusMessage, sender: Sender, *, to: Address | None = None) -> Envelope:
    """Make an envelope for a message, with a fresh id."""
    where = UNSET if to is None else to
    return Envelope(message.about.type, str(uuid.uuid4()), sender, payload_of(message), where)


def success(data: Raw) -> BusOutcome:
    """The outcome of what was done."""
    return BusOutcome(success=True, data=data)


def response(request_id: str, sender: Sender, outcome: BusOutcome) -> Envelope:
    """The response to the request of this id."""
    return Envelope(RESPONSE, request_id, sender, Raw(_encode(outcome)))


def read_outcome(envelope: Envelope) -> BusOutcome:
    """Decode the outcome of a response.

    Raises:
        EnvelopeError: its payload is no outcome.
    """
    try:
        return read_as(BusOutcome, envelope.payload)
    except PayloadError as error:
        text = f"the response {envelope.id} has no readable payload: {error}"
        raise EnvelopeError(text) from error


class _Identified(Struct, frozen=True):
    """A line of which only the id must be right."""

    id: _Name


_decode_id = msgspec.json.Decoder(_Identified).decode


def id_of(line: bytes) -> str:
    """The id of a line that is no envelope, so that its sender can be answered; else empty."""
    try:
        return _decode_id(line).id
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return early_id(line[:4096])


def early_id(head: bytes) -> str:
    """The id in the beginning of a line that cannot be read whole; empty where none is found."""
    _, found, rest = head.partition(b'"id":"')
    name, ended, _ = rest.partition(b'"')
    return name.decode(errors="replace") if found and ended else ""


BAD_MESSAGE: Final = "bad_message"
BAD_PAYLOAD: Final = "bad_payload"
UNKNOWN_TYPE: Final = "unknown_type"
TOO_LONG: Final = "too_long"
HELLO_REQUIRED: Final = "hello_required"
BAD_HELLO: Final = "bad_hello"
FORBIDDEN: Final = "forbidden"
NO_HANDLER: Final = "no_handler"
TIMEOUT: Final = "timeout"
GONE: Final = "gone"
CANCELLED: Final = "cancelled"
TOO_MANY: Final = "too_many"
DUPLICATE: Final = "duplicate_id"
NOT_ASKED: Final = "not_asked"
FAILED: Final = "failed"
NOT_FOUND: Final = "not_found"
BAD_VALUE: Final = "bad_value"

MAX_TEXT: Final = 1000
"""Characters of a refusal's text."""

NO_ID: Final = "-"
"""Placeholder for the id of a line that has none."""

DAEMON_SENDER: Final = Sender("/tmp")  # noqa: S108 - what the reference's daemon says of itself


def refusal(request_id: str, code: str, text: str) -> bytes:
    """The line that says so; a text that quotes a long value is shortened."""
    if len(text) > MAX_TEXT:
        text = f"{text[:MAX_TEXT]}…"
    outcome = BusOutcome(success=False, error=text, code=code)
    return write_envelope(response(request_id or NO_ID, DAEMON_SENDER, outcome))


def answer(request: Envelope, data: Raw) -> bytes:
    """The line of an answer that the broker gives itself."""
    outcome = BusOutcome(success=True, data=data)
    return write_envelope(response(request.id, DAEMON_SENDER, outcome))
