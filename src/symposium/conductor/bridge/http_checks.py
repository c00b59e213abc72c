"""Who may speak to an endpoint, by the head of the request alone (acp-host §8.2)."""

from collections.abc import Mapping
from typing import Final

import h11

from symposium.conductor.bridge.listener import is_same

FORBIDDEN: Final = 403
NOT_FOUND: Final = 404
UNAUTHORIZED: Final = 401

_HOSTS: Final = frozenset({b"127.0.0.1", b"localhost"})


def members(request: h11.Request) -> dict[bytes, bytes]:
    """The headers by name; of one that is there twice, the last."""
    return dict(request.headers)


def refusal(request: h11.Request, path: str, token: str) -> int | None:
    """The status to refuse a request with; None for one that may go on.

    What no program of the agent's sends comes first: a page in a browser shall not learn even that
    a path exists.
    """
    headers = members(request)
    if headers.get(b"origin", b"null") != b"null" or not _is_here(headers):
        return FORBIDDEN
    if request.target.partition(b"?")[0] != path.encode():
        return NOT_FOUND
    scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
    if scheme.lower() != b"bearer" or not is_same(token, given.strip()):
        return UNAUTHORIZED
    return None


def _is_here(headers: Mapping[bytes, bytes]) -> bool:
    name, _, port = headers.get(b"host", b"").partition(b":")
    return name.lower() in _HOSTS and (port.isdigit() or not port)
