"""The short way of a notification into an envelope and out of it: the bytes that came, moved once.

Only the usual writing goes this way: the members in our order, nothing between them. Whatever was
written otherwise goes the way that reads it member by member, and comes out the same.
"""

from typing import Final

import msgspec
from msgspec import UNSET

from peerwire.acp.names import CANONICAL, ERAS
from peerwire.jsonrpc.messages import Message, quoted

OPENING: Final = b'{"jsonrpc":"2.0","method":%b,"params":{' % quoted(
    ERAS[CANONICAL].to_proxy.notification
)
"""How the canonical envelope of a notification begins."""

_PLAIN: Final = b'{"jsonrpc":"2.0",'
_INNER: Final = len(OPENING) - 1
"""Where the message in an envelope begins."""

_END: Final = b"}"
_FRAME: Final = len(b'{"method":"","params":}')
"""Bytes of the message in an envelope besides its name and its params."""

_decode: Final = msgspec.json.Decoder(Message).decode


def opened(line: bytes) -> tuple[Message, bytes] | None:
    """The notification in a line that begins with `OPENING`, and the line it is by itself.

    None to go the long way: there is more in it, or less, or white space, or the name has escapes.
    """
    if not line.endswith(_END):
        return None
    inner = line[_INNER:-1]
    try:
        if not line.isascii():
            line.decode()
        message = _decode(inner)
    except (ValueError, RecursionError):
        return None
    method, params = message.method, message.params
    if method is UNSET or params is UNSET or len(inner) != _FRAME + len(method) + len(params):
        return None
    return message, _PLAIN + inner[1:]


def put_in(line: bytes) -> bytes | None:
    """A notification's line in the canonical envelope; None to go the long way."""
    if line.startswith(_PLAIN):
        return b"%b%b}" % (OPENING, line[len(_PLAIN) :])
    return None
