"""Requests of an agent's MCP client that wait for a response, and their cancellation."""

import asyncio
from collections.abc import Awaitable, Mapping
from typing import Any, Final, cast

from peerwire.errors import REQUEST_CANCELLED, RpcError
from peerwire.jsonrpc.messages import id_key
from peerwire.jsonrpc.values import encode_value

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
