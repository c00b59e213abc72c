"""The declarations given to an agent, and the requests in flight."""

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
"""The environment variable by which the shim learns the token of its endpoint."""

_OURS: Final = frozenset({"type", "serverId"})


def http_declaration(declaration: Mapping[str, Any], url: str, token: str) -> dict[str, Any]:
    """Rewrite an ACP server declaration to one with a URL; keep its other members."""
    header = {"name": "Authorization", "value": f"Bearer {token}"}
    return {"type": "http", **_rest(declaration), "url": url, "headers": [header]}


def stdio_declaration(
    declaration: Mapping[str, Any], port: int, token: str, *, is_typed: bool
) -> dict[str, Any]:
    """Rewrite an ACP server declaration to one of the shim; its last argument is the port.

    Args:
        declaration: as the mod wrote it; what else is in it is kept.
        port: where the bridge listens.
        token: what the shim has to say first; in `env`, which other users do not see.
        is_typed: whether the form says that it is stdio, as version 2 demands.
    """
    return {
        **({"type": "stdio"} if is_typed else {}),
        **_rest(declaration),
        "command": sys.executable,
        # Isolated, and without site-packages: the shim needs the standard library only.
        "args": ["-I", "-S", str(SHIM), str(port)],
        "env": [{"name": TOKEN_VARIABLE, "value": token}],
    }


def _rest(declaration: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in declaration.items() if name not in _OURS}


CANCELLED: Final = "notifications/cancelled"
"""MCP's way to take a request back; it names an id that does not travel through the chain."""


class CancelledByPeerError(RpcError):
    """The client has taken its request back; it waits for no answer."""


class InFlight:
    """Requests by the ids that their client gave them; an id may be there more than once."""

    def __init__(self) -> None:
        self._scopes: dict[bytes, list[asyncio.Timeout]] = {}

    async def run(self, request_id: bytes, work: Awaitable[Any]) -> Any:
        """Wait for what a request brings.

        Raises:
            RpcError: it was refused.
            TakenBackError: the client has taken it back.
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
        """Stop the request that `notifications/cancelled` names; of two with one id, neither."""
        if not isinstance(params, Mapping):
            return
        named = cast("Mapping[str, Any]", params).get("requestId")
        scopes = self._scopes.get(id_key(encode_value(named)), ())
        if len(scopes) == 1:
            scopes[0].reschedule(asyncio.get_running_loop().time())
