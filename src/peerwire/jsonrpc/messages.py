"""One JSON-RPC 2.0 message: what arrived, told apart without reading its body; and the lines we write.

`id`, `params`, `result` and `error` stay the bytes they came as: nobody here interprets them, so nothing in them can
be lost. Knows nothing of ACP, of sessions, or of who is asking.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from peerwire.jsonrpc.errors import INVALID_REQUEST, PARSE_ERROR, RpcError
from peerwire.jsonrpc.scan import object_members
from peerwire.jsonrpc.values import Body, decode_value, encode_value

NULL_ID: Final = b"null"
QUOTED_LINE: Final = 1024
"""Bytes of an unreadable line that its error quotes (acp-host §1.6)."""

_MEMBERS: Final = frozenset({"jsonrpc", "id", "method", "params", "result", "error"})


class Message(Struct, frozen=True, gc=False):
    """A request (method and id), a notification (method), or a response (neither method nor doubt)."""

    id: Raw | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


@dataclass(frozen=True, slots=True)
class Malformed:
    """A line that is no message; `error` says why, `answer` whether its sender is owed that error."""

    error: RpcError
    answer: bool


@dataclass(frozen=True, slots=True)
class Batch:
    """A JSON array of messages; each member is kept as the bytes of its own line (acp-host §1.7)."""

    lines: tuple[bytes, ...]


Incoming: TypeAlias = Message | Batch | Malformed

_decode = msgspec.json.Decoder(Message).decode
_decode_array = msgspec.json.Decoder(list[Raw]).decode


def decode(line: bytes) -> Incoming:
    """What one line says. Never raises: a stranger's line is either a message or `Malformed`."""
    try:
        if not line.isascii():
            line.decode()
        return _decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return _decode_slowly(line, error)


def check(message: Message) -> Malformed | None:
    """Whether a decoded object is a legal request, notification or response; None if it is."""
    if message.method is UNSET:
        if message.id is not UNSET or message.result is not UNSET or message.error is not UNSET:
            return None
        return Malformed(RpcError(INVALID_REQUEST, "neither a method nor a response"), answer=True)
    if message.result is not UNSET or message.error is not UNSET:
        reason = "a request or notification carries no result or error"
        return Malformed(RpcError(INVALID_REQUEST, reason), answer=True)
    if message.params is not UNSET and bytes(memoryview(message.params)[:1]) not in b"{[n":
        return Malformed(RpcError(INVALID_REQUEST, "params must be an object or an array"), answer=True)
    return None


def _decode_slowly(line: bytes, error: Exception) -> Incoming:
    try:
        text = line.decode()
        head = text.lstrip(" \t\r\n")[:1]
        if head == "[":
            return Batch(tuple(bytes(item) for item in _array_members(line)))
        if head == "{":
            return _from_members(object_members(text))
        decode_value(line)
    except (ValueError, RecursionError) as reason:
        return Malformed(RpcError(PARSE_ERROR, {"line": quote(line), "reason": str(reason or error)}), answer=True)
    return Malformed(RpcError(INVALID_REQUEST, {"line": quote(line), "reason": "not a JSON object"}), answer=True)


def _array_members(line: bytes) -> list[Raw]:
    try:
        return _decode_array(line)
    except msgspec.DecodeError:
        return [Raw(encode_value(item)) for item in decode_value(line)]


def _from_members(members: dict[str, bytes]) -> Message | Malformed:
    raw = {name: Raw(body) for name, body in members.items() if name in _MEMBERS - {"jsonrpc", "method"}}
    method = decode_value(members["method"]) if "method" in members else UNSET
    if method is UNSET or isinstance(method, str):
        return Message(method=method, **raw)
    shaped_as_response = "result" in members or "error" in members
    return Malformed(RpcError(INVALID_REQUEST, "method must be a string"), answer=not shaped_as_response)


def quote(line: bytes) -> str:
    """The head of a line, as an error may show it: at most 1 KiB."""
    return line[:QUOTED_LINE].decode(errors="replace")


def id_key(raw: Body) -> bytes:
    r"""What two writings of one id have in common: `"a"` and `"\u0061"` are the same id."""
    text = bytes(raw)
    if b"\\" not in text:
        return text
    return encode_value(decode_value(text))


_EARLY_ID: Final = re.compile(rb'^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(-?[0-9]+|"[^"\\]*")\s*,\s*"(\w+)"')


def early_id(head: bytes) -> tuple[bytes, bool] | None:
    """The id near the start of a line too long to read, and whether it is a response's; None if none is found."""
    found = _EARLY_ID.match(head)
    return None if found is None else (found[1], found[2] in {b"result", b"error"})


@lru_cache(maxsize=512)
def quoted(text: str) -> bytes:
    """A string as JSON; kept, since methods are few and come again."""
    return encode_value(text)


def extra_members(message: Message, line: bytes) -> bytes:
    """Members of the envelope itself that JSON-RPC does not name, ready to be written after ours; mostly none.

    A hop that rebuilds the envelope would lose them (acp-host §7.3, T2 and T3).
    """
    known = _compact_size(message)
    if known == len(line):
        return b""
    members = object_members(line.decode())
    return b"".join(b",%b:%b" % (quoted(name), body) for name, body in members.items() if name not in _MEMBERS)


def _compact_size(message: Message) -> int:
    size = len(b'{"jsonrpc":"2.0"}')
    if message.method is not UNSET:
        size += len(b',"method":') + len(quoted(message.method))
    for name, body in ((2, message.id), (6, message.params), (6, message.result), (5, message.error)):
        if body is not UNSET:
            size += len(b',"":') + name + memoryview(body).nbytes
    return size


def notification(method: str, params: Body | UnsetType = UNSET, extra: bytes = b"") -> bytes:
    """The line of a notification."""
    if params is UNSET:
        return b'{"jsonrpc":"2.0","method":%b%b}' % (quoted(method), extra)
    return b'{"jsonrpc":"2.0","method":%b,"params":%b%b}' % (quoted(method), params, extra)


def request(request_id: Body, method: str, params: Body | UnsetType = UNSET, extra: bytes = b"") -> bytes:
    """The line of a request; `request_id` is the JSON text of its id."""
    if params is UNSET:
        return b'{"jsonrpc":"2.0","id":%b,"method":%b%b}' % (request_id, quoted(method), extra)
    return b'{"jsonrpc":"2.0","id":%b,"method":%b,"params":%b%b}' % (request_id, quoted(method), params, extra)


def result_response(request_id: Body, result: Body, extra: bytes = b"") -> bytes:
    """The line of a response that carries a result."""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b%b}' % (request_id, result, extra)


def error_response(request_id: Body, error: Body, extra: bytes = b"") -> bytes:
    """The line of a response that carries an error object."""
    return b'{"jsonrpc":"2.0","id":%b,"error":%b%b}' % (request_id, error, extra)
