"""Server declarations for an agent, and its requests in flight."""

import asyncio
import sys
from collections.abc import Awaitable, Mapping
from pathlib import Path
from typing import Any, Final, cast

from peerwire.errors import REQUEST_CANCELLED, RpcError
from peerwire.jsonrpc.messages import id_key
from peerwire.jsonrpc.values import encode_value

SHIM: Final = Path(__file__).with_name("shim.py")

TOKEN_VARIABLE: Final = "SYMPOSIUM_MCP_TOKEN"  # noqa: S105 - the name of a variable, not its value
"""Environment variable with the endpoint's token, for the shim."""

_BRIDGE_KEYS: Final = frozenset({"type", "serverId"})


def http_declaration(declaration: Mapping[str, Any], url: str, token: str) -> dict[str, Any]:
    """Convert an ACP server declaration to one with a URL; other members stay."""
    header = {"name": "Authorization", "value": f"Bearer {token}"}
    return {"type": "http", **_rest(declaration), "url": url, "headers": [header]}


def stdio_declaration(
    declaration: Mapping[str, Any], port: int, token: str, *, is_typed: bool
) -> dict[str, Any]:
    """Convert an ACP server declaration to one that starts the shim with the port as argument.

    Args:
        declaration: declaration by the mod; other members stay.
        port: port of the bridge.
        token: first line sent by the shim; passed in `env`, which other users cannot read.
        is_typed: add `type: stdio`, which version 2 requires.
    """
    return {
        **({"type": "stdio"} if is_typed else {}),
        **_rest(declaration),
        "command": sys.executable,
        # Isolated and without site-packages: the shim needs only the standard library.
        "args": ["-I", "-S", str(SHIM), str(port)],
        "env": [{"name": TOKEN_VARIABLE, "value": token}],
    }


def _rest(declaration: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in declaration.items() if name not in _BRIDGE_KEYS}


CANCELLED: Final = "notifications/cancelled"
"""MCP's cancellation; its request id is valid on one connection only."""


class CancelledByPeerError(RpcError):
    """The client canceled its request and waits for no response."""


class InFlight:
    """Requests by the client's ids, which may repeat."""

    def __init__(self) -> None:
        self._scopes: dict[bytes, list[asyncio.Timeout]] = {}

    async def run(self, request_id: bytes, work: Awaitable[Any]) -> Any:
        """Wait for the result of a request.

        Raises:
            RpcError: the request failed.
            CancelledByPeerError: the client canceled it.
        """
        key = id_key(request_id)
        scope = asyncio.timeout(None)
        try:
            async with scope:
                self._scopes.setdefault(key, []).append(scope)
                return await work
        except TimeoutError as error:
            raise CancelledByPeerError(REQUEST_CANCELLED) from error
        finally:
            self._scopes[key].remove(scope)
            if not self._scopes[key]:
                del self._scopes[key]

    def cancel(self, params: object) -> None:
        """Cancel the request named by `notifications/cancelled`; none if the id is ambiguous."""
        if not isinstance(params, Mapping):
            return
        named = cast("Mapping[str, Any]", params).get("requestId")
        scopes = self._scopes.get(id_key(encode_value(named)), ())
        if len(scopes) == 1:
            scopes[0].reschedule(asyncio.get_running_loop().time())
