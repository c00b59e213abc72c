"""JSON-RPC 2.0 messages: decoding and encoding.

`id`, `params`, `result`, and `error` stay raw bytes, so that no data in them can be lost. This
module is independent of ACP.
"""

import re
from codecs import utf_8_decode
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias, cast

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from peerwire.errors import INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR, RpcError
from peerwire.jsonrpc.transport import LARGE, was_checked
from peerwire.jsonrpc.values import Body, decode_value, early_id, encode_value, items, members

NULL_ID: Final = b"null"
MAX_BATCH: Final = 10_000
"""Maximum entries of a batch; each needs some hundred bytes in addition to its text."""

QUOTED_LINE: Final = 1024
"""Maximum bytes of an unreadable line that its error quotes (acp-host §1.6)."""

_MEMBERS: Final = frozenset({"jsonrpc", "id", "method", "params", "result", "error"})
_ID_STARTS: Final = frozenset(b'"-0123456789n')
_STRUCTURE_STARTS: Final = frozenset(b"{[n")
"""First bytes of params; some peers write null for a method without any."""

_PIECE: Final = 64 * 1024
"""Bytes of a line that are checked at a time."""

_SHORT: Final = 128
"""Maximum characters of a text in the cache of JSON strings."""

_KEPT: Final = 512
"""Maximum texts in the cache of JSON strings."""


class Message(Struct, frozen=True, gc=False):
    """A request (method and id), a notification (method), or a response (an id and no method)."""

    id: Raw | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


class Malformed(Struct, frozen=True):
    """A line that is not a valid message.

    Attributes:
        error: the problem.
        answer: whether to send that error. A line that resembles a response gets no answer, or two
            peers could answer each other endlessly; the request with this id then fails.
        id: its id, if found, for the error response.
    """

    error: RpcError
    answer: bool
    id: bytes = NULL_ID


class Batch(Struct, frozen=True):
    """A JSON array of messages; each entry is kept as a separate line (acp-host §1.7)."""

    lines: tuple[bytes, ...]


Incoming: TypeAlias = Message | Batch | Malformed

_decode = msgspec.json.Decoder(Message).decode


def decode(line: bytes) -> Incoming:
    """Decode one line; returns `Malformed` instead of raising."""
    try:
        # The fast decoder does not check the UTF-8 of bodies.
        if not (len(line) > LARGE and was_checked(line)) and not line.isascii():
            check_utf8(line)
        return _decode(line)
    except (ValueError, RecursionError):
        return _decode_slowly(line)


def check_utf8(line: bytes) -> None:
    """Validate UTF-8 in pieces, without decoding a large text as a whole.

    Raises:
        UnicodeDecodeError: it is not UTF-8.
    """
    if len(line) <= _PIECE:
        line.decode()
        return
    view, at = memoryview(line), 0
    while at < len(view):
        end = at + _PIECE
        _, taken = utf_8_decode(view[at:end], "strict", end >= len(view))
        at += taken


def _decode_slowly(line: bytes) -> Incoming:
    try:
        return _by_first_character(line.decode().lstrip(" \t\r\n")[:1], line)
    except RecursionError:
        return _too_deep(line)
    except ValueError as reason:
        data = {"line": quote(line), "reason": str(reason)}
        return Malformed(RpcError(PARSE_ERROR, data), answer=True)


def _by_first_character(start: str, line: bytes) -> Incoming:
    match start:
        case "":
            return Malformed(RpcError(PARSE_ERROR, "a blank line"), answer=False)
        case "[":
            entries = items(line, MAX_BATCH + 1)
            if len(entries) > MAX_BATCH:
                data = {"reason": "batch_too_long", "limit": MAX_BATCH}
                return Malformed(RpcError(INVALID_REQUEST, data), answer=True)
            return Batch(tuple(bytes(entry) for entry in entries))
        case "{":
            return _from_members(members(line))
        case _:
            # Raises for a line that is no JSON at all, which is another error.
            decode_value(line)
            data = {"line": quote(line), "reason": "not a JSON object"}
            return Malformed(RpcError(INVALID_REQUEST, data), answer=True)


def _from_members(written: dict[str, Raw]) -> Message | Malformed:
    method = decode_value(written["method"]) if "method" in written else UNSET
    if method is UNSET or isinstance(method, str):
        return Message(
            id=written.get("id", UNSET),
            method=method,
            params=written.get("params", UNSET),
            result=written.get("result", UNSET),
            error=written.get("error", UNSET),
        )
    is_response = "result" in written or "error" in written
    request_id = written.get("id", UNSET)
    name = NULL_ID if request_id is UNSET or not _is_id(request_id) else bytes(request_id)
    return Malformed(
        RpcError(INVALID_REQUEST, "method must be a string"), answer=not is_response, id=name
    )


def _too_deep(line: bytes) -> Malformed:
    request_id, is_response = early_id(line[:QUOTED_LINE], line[-QUOTED_LINE:]) or (NULL_ID, False)
    error = RpcError(PARSE_ERROR, {"line": quote(line), "reason": "nested too deeply"})
    return Malformed(error, answer=not is_response, id=request_id)


def check(message: Message) -> Malformed | None:
    """Check that an object is a valid request, notification, or response; None if it is."""
    if message.method is UNSET:
        return _check_response(message)
    request_id = message.id
    if request_id is not UNSET and not _is_id(request_id):
        return Malformed(
            RpcError(INVALID_REQUEST, "an id is a string, a number or null"), answer=True
        )
    if message.result is not UNSET or message.error is not UNSET:
        return _illegal(request_id, "a request or notification carries no result or error")
    params = message.params
    if params is not UNSET and memoryview(params)[0] not in _STRUCTURE_STARTS:
        return _illegal(request_id, "params must be an object or an array")
    return None


def _illegal(request_id: Raw | UnsetType, reason: str) -> Malformed:
    # A notification gets no response, not even an error.
    error = RpcError(INVALID_REQUEST, reason)
    return (
        Malformed(error, answer=False)
        if request_id is UNSET
        else Malformed(error, answer=True, id=bytes(request_id))
    )


def _check_response(message: Message) -> Malformed | None:
    request_id, result, error = message.id, message.result, message.error
    if request_id is UNSET:
        is_response = result is not UNSET or error is not UNSET
        return Malformed(
            RpcError(INVALID_REQUEST, "neither a method nor an id"), answer=not is_response
        )
    if not _is_id(request_id):
        return Malformed(
            RpcError(INVALID_REQUEST, "an id is a string, a number or null"), answer=False
        )
    if result is not UNSET and error is not UNSET and b"null" not in (bytes(result), bytes(error)):
        reason = "a response with both a result and an error"
        return Malformed(RpcError(INTERNAL_ERROR, reason), answer=False, id=bytes(request_id))
    return None


def _is_id(raw: Raw) -> bool:
    return memoryview(raw)[0] in _ID_STARTS


def quote(line: bytes) -> str:
    """Start of a line to quote in an error, at most 1 KiB."""
    return line[:QUOTED_LINE].decode(errors="replace")


_WHOLE: Final = re.compile(rb"(-?[0-9]+)\.0+")


def id_key(raw: Body) -> bytes:
    r"""Key shared by all spellings of one id: `"a"` is `"\u0061"`, and `7` is `7.0`."""
    text = bytes(raw)
    if text.isdigit():
        return text
    if b"\\" in text:
        return encode_value(decode_value(text))
    whole = _WHOLE.fullmatch(text)
    return text if whole is None else whole[1]


class _Quoted(dict[str, bytes]):
    """Cache of JSON strings by their text; limited, because peers choose the texts."""

    def __missing__(self, text: str) -> bytes:
        written = encode_value(text)
        if len(text) <= _SHORT and len(self) < _KEPT:
            self[text] = written
        return written


quoted: Final[Callable[[str], bytes]] = _Quoted().__getitem__
"""A string as JSON."""

_USUAL_START: Final = b'{"jsonrpc":"2.0"'
_FRAME: Final = len(_USUAL_START) + len(b"}")
_METHOD, _ID, _PARAMS, _RESULT, _ERROR = (
    len(b',"%b":' % name) for name in (b"method", b"id", b"params", b"result", b"error")
)


def extra_members(message: Message, line: bytes) -> bytes:
    """Members of the envelope that JSON-RPC does not define; usually empty.

    A hop that rebuilds the envelope must append them (acp-host §7.3, T2 and T3).
    """
    # If the known members account for every byte, there are no others.
    size = _FRAME
    if (method := message.method) is not UNSET:
        size += _METHOD + len(quoted(method))
    if (request_id := message.id) is not UNSET:
        size += _ID + len(request_id)
    if (params := message.params) is not UNSET:
        size += _PARAMS + len(params)
    if (result := message.result) is not UNSET:
        size += _RESULT + len(result)
    if (error := message.error) is not UNSET:
        size += _ERROR + len(error)
    if size == len(line) and line.startswith(_USUAL_START):
        return b""
    others = [(name, written) for name, written in members(line).items() if name not in _MEMBERS]
    return b"".join(b",%b:%b" % (encode_value(name), written) for name, written in others)


def notification(method: str, params: Body | UnsetType = UNSET, extra: bytes = b"") -> bytes:
    if params is UNSET:
        return b'{"jsonrpc":"2.0","method":%b%b}' % (quoted(method), extra)
    return b"".join(
        (b'{"jsonrpc":"2.0","method":', quoted(method), b',"params":', params, extra, b"}")
    )


def request(
    request_id: Body, method: str, params: Body | UnsetType = UNSET, extra: bytes = b""
) -> bytes:
    """Encode a request; `request_id` is the JSON text of its id."""
    if params is UNSET:
        return b'{"jsonrpc":"2.0","id":%b,"method":%b%b}' % (request_id, quoted(method), extra)
    return b"".join(
        (
            b'{"jsonrpc":"2.0","id":',
            request_id,
            b',"method":',
            quoted(method),
            b',"params":',
            params,
            extra,
            b"}",
        )
    )


def result_response(request_id: Body, result: Body, extra: bytes = b"") -> bytes:
    # Join instead of format, which would copy a large result twice.
    return b"".join(result_pieces(request_id, result, extra))


def result_pieces(request_id: Body, result: Body, extra: bytes = b"") -> tuple[Body, ...]:
    """A response in pieces, which a transport can write without a copy of the result."""
    return (b'{"jsonrpc":"2.0","id":', request_id, b',"result":', result, extra, b"}")


def error_response(request_id: Body, error: Body, extra: bytes = b"") -> bytes:
    """Encode a response with an error object."""
    return b'{"jsonrpc":"2.0","id":%b,"error":%b%b}' % (request_id, error, extra)


def rpc_error(body: Body) -> RpcError:
    """Convert the error object of a response to an exception."""
    try:
        error = decode_value(body)
    except ValueError as reason:
        error = str(reason)
    if not isinstance(error, Mapping):
        data = {"reason": "the peer's error is not an object", "error": error}
        return RpcError(INTERNAL_ERROR, data)
    found = cast("Mapping[str, Any]", error)
    code, message = found.get("code"), found.get("message")
    return RpcError(
        code if isinstance(code, int) else INTERNAL_ERROR,
        found.get("data"),
        message=message if isinstance(message, str) else None,
    )


def error_body(error: RpcError) -> bytes:
    """Encode the error object as JSON; `data` that is not valid JSON becomes text."""
    try:
        return encode_value(error.body())
    except (TypeError, ValueError):
        shown = ascii(error.data)
        return encode_value(RpcError(error.code, shown, message=error.message).body())
