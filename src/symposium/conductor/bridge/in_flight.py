"""The requests of one MCP client that are under way, so that the client can take one back."""

import asyncio
from collections.abc import Awaitable, Mapping
from typing import Any, Final, cast

from peerwire.errors import REQUEST_CANCELLED, RpcError
from peerwire.jsonrpc.messages import id_key
from peerwire.jsonrpc.values import encode_value

CANCELLED: Final = "notifications/cancelled"
"""MCP's way to take a request back; it names an id that does not travel through the chain."""


class TakenBackError(RpcError):
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
            raise TakenBackError(REQUEST_CANCELLED) from error
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
