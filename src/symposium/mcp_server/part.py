"""Interface of a part of an MCP server: tools, resources, prompts, completions.

Values are JSON in the form of MCP. A part returns None for an unknown name; then the next part is
asked. This module does not depend on the SDK.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias

from peerwire.errors import INVALID_PARAMS, RpcError
from symposium.mcp_server.tool import News

Json: TypeAlias = dict[str, Any]

RESOURCE_NOT_FOUND: Final = -32002
"""Until revision 2025-11-25; from 2026-07-28 on it is one of the invalid params."""

STATELESS: Final = ("2026-07-28",)
"""Revisions without `initialize`."""


class Caller(Protocol):
    """The client of one request.

    Attributes:
        revision: negotiated revision of MCP.
        news: reports progress of the request, if the client wants it.
        context: what the SDK knows of the request; of no use to what knows nothing of the SDK.
    """

    @property
    def revision(self) -> str: ...
    @property
    def news(self) -> News: ...
    @property
    def context(self) -> Any: ...


class Part(Protocol):
    """Some of what a server offers."""

    def tools(self) -> Sequence[Json]:
        """Its tools, as `tools/list` has them."""
        ...

    async def call_tool(self, name: str, params: Mapping[str, Any], caller: Caller) -> Json | None:
        """The result of `tools/call`; None for a tool of another part.

        Raises:
            RpcError: the call is refused.
        """
        ...

    def resources(self) -> Sequence[Json]:
        """Its resources, as `resources/list` has them."""
        ...

    def templates(self) -> Sequence[Json]:
        """Its templates, as `resources/templates/list` has them."""
        ...

    async def read(self, uri: str, caller: Caller) -> Json | None:
        """The result of `resources/read`; None for a resource of another part."""
        ...

    def prompts(self) -> Sequence[Json]:
        """Its prompts, as `prompts/list` has them."""
        ...

    async def prompt(self, name: str, params: Mapping[str, Any], caller: Caller) -> Json | None:
        """The result of `prompts/get`; None for a prompt of another part.

        Raises:
            RpcError: it is refused.
        """
        ...

    def complete(self, ref: Mapping[str, Any], argument: str, begun: str) -> Sequence[str] | None:
        """Completions of an argument; None for an argument of another part."""
        ...


def unknown(what: str, name: str, known: Sequence[str]) -> RpcError:
    """The error for an unknown name."""
    message = f"Unknown {what}: {name[:200]}"
    return RpcError(INVALID_PARAMS, {what: name[:200], "known": sorted(known)}, message=message)


def not_found(uri: str, revision: str) -> RpcError:
    """The error for a missing resource, with the code of a revision."""
    code = INVALID_PARAMS if revision in STATELESS else RESOURCE_NOT_FOUND
    return RpcError(code, {"uri": uri[:2000]}, message=f"Resource not found: {uri[:200]}")
