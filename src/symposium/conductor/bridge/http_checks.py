"""Who may speak to an endpoint, by the head of the request alone (acp-host §8.2)."""

import re
from typing import Final

import h11

from symposium.conductor.bridge.listener import is_same

FORBIDDEN: Final = 403
NOT_FOUND: Final = 404
UNAUTHORIZED: Final = 401

_HOST: Final = re.compile(rb"(?:127\.0\.0\.1|localhost)(?::([1-9][0-9]{0,4}))?", re.IGNORECASE)
_LAST_PORT: Final = 65535
_SINGLE: Final = (b"host", b"origin", b"authorization")


def members(request: h11.Request) -> dict[bytes, bytes]:
    """The headers by name; of one that is there twice, the last."""
    return dict(request.headers)


def refusal(request: h11.Request, path: str, token: str) -> int | None:
    """The status to refuse a request with; None for one that may go on.

    What no program of the agent's sends comes first: a page in a browser shall not learn even that
    a path exists.
    """
    headers = members(request)
    names = [name for name, _ in request.headers]
    is_twice = any(names.count(name) > 1 for name in _SINGLE)
    is_foreign = headers.get(b"origin", b"null") != b"null"
    if is_twice or is_foreign or not _is_here(headers.get(b"host", b"")):
        return FORBIDDEN
    if request.target.partition(b"?")[0] != path.encode():
        return NOT_FOUND
    scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
    if scheme.lower() != b"bearer" or not is_same(token, given.strip()):
        return UNAUTHORIZED
    return None


def _is_here(host: bytes) -> bool:
    found = _HOST.fullmatch(host)
    return found is not None and int(found[1] or 1) <= _LAST_PORT
