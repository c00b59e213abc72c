"""Who may speak to a server over HTTP: whoever has the token, from this machine (users §7, E-4)."""

import hmac
import re
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, Final, TypeAlias

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

_HERE: Final = rb"(?:127\.0\.0\.1|localhost|\[::1\])(?::[0-9]{1,5})?"
_HOST: Final = re.compile(_HERE, re.IGNORECASE)
_ORIGIN: Final = re.compile(rb"http://" + _HERE, re.IGNORECASE)

_FORBIDDEN: Final = 403
_BODY: Final = b'{"error":"forbidden: this server answers its owner on this machine only"}'


class Guard:
    """An ASGI application before another; refuses on every route and method alike."""

    def __init__(self, app: App, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what is allowed, and answer the rest with 403."""
        match scope["type"]:
            case "lifespan":
                await self._app(scope, receive, send)
            case "http" if self.allows(scope["headers"]):
                await self._app(scope, receive, send)
            case "http":
                await _refuse(send)
            case _:
                await send({"type": "websocket.close", "code": 1008})

    def allows(self, headers: Iterable[tuple[bytes, bytes]]) -> bool:
        """Whether a request with these headers may go on; a header that is there twice may not."""
        found: dict[bytes, bytes] = {}
        for name, value in headers:
            key = name.lower()
            if key in found and key in (b"host", b"origin", b"authorization"):
                return False
            found[key] = value
        scheme, _, given = found.get(b"authorization", b"").partition(b" ")
        origin = found.get(b"origin")
        return (
            bool(_HOST.fullmatch(found.get(b"host", b"")))
            and (origin is None or bool(_ORIGIN.fullmatch(origin)))
            and scheme.lower() == b"bearer"
            and hmac.compare_digest(self._token, given.strip())
        )


async def _refuse(send: Send) -> None:
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(_BODY)).encode()),
    ]
    await send({"type": "http.response.start", "status": _FORBIDDEN, "headers": headers})
    await send({"type": "http.response.body", "body": _BODY})
