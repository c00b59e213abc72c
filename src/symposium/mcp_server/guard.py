"""Access control of the HTTP server: local clients that have the token (users §7, E-4)."""

import hmac
import re
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, Final, TypeAlias

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

_HERE: Final = rb"(?:127\.0\.0\.1|localhost|\[::1\])(?::(?P<port>[1-9][0-9]{0,4}))?"
_HOST: Final = re.compile(_HERE, re.IGNORECASE)
_ORIGIN: Final = re.compile(rb"http://" + _HERE, re.IGNORECASE)

_LAST_PORT: Final = 65535
_FORBIDDEN: Final = 403
_NOT_FOUND: Final = 404
_NO_SUCH_PATH: Final = b'{"error":"unknown path; the server is at /mcp"}'
_BODY: Final = b'{"error":"forbidden: send the token, from this machine"}'


class Guard:
    """ASGI middleware that rejects a request without the token, on every route and method."""

    def __init__(self, app: App, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward an allowed request; answer any other with 403."""
        match scope["type"]:
            case "lifespan":
                await self._app(scope, receive, send)
            case "http" if not self.allows(scope["headers"]):
                await _refuse(send, _FORBIDDEN, _BODY)
            case "http" if not _is_plain(scope):
                await _refuse(send, _NOT_FOUND, _NO_SUCH_PATH)
            case "http":
                await self._app(scope, receive, send)
            case _:
                await send({"type": "websocket.close", "code": 1008})

    def allows(self, headers: Iterable[tuple[bytes, bytes]]) -> bool:
        """Whether a request with these headers is allowed; a repeated header is not."""
        found: dict[bytes, bytes] = {}
        for name, value in headers:
            key = name.lower()
            if key in found and key in (b"host", b"origin", b"authorization"):
                return False
            found[key] = value
        scheme, _, given = found.get(b"authorization", b"").partition(b" ")
        origin = found.get(b"origin")
        return (
            _is_here(_HOST, found.get(b"host", b""))
            and (origin is None or _is_here(_ORIGIN, origin))
            and scheme.lower() == b"bearer"
            and hmac.compare_digest(self._token, given.strip())
        )


def _is_here(shape: re.Pattern[bytes], value: bytes) -> bool:
    found = shape.fullmatch(value)
    return found is not None and int(found["port"] or 1) <= _LAST_PORT


def _is_plain(scope: Scope) -> bool:
    """Whether the path has no percent-encoding: `%2fmcp` is not `/mcp`."""
    raw = scope.get("raw_path")
    return raw is None or raw.partition(b"?")[0] == str(scope["path"]).encode()


async def _refuse(send: Send, status: int, body: bytes) -> None:
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
