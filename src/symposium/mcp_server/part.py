"""What a part of an MCP server offers, in MCP's own words: tools, resources, prompts, completions.

Values are JSON as MCP writes it. What a part does not know it answers with None, and the next part
is asked. Knows nothing of the SDK.
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
        revision: of MCP, as it is spoken.
        news: tells it how far the request is, if it wants to know.
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
        """The result of `tools/call`; None for a tool of somebody else's.

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
        """The result of `resources/read`; None for a resource of somebody else's."""
        ...

    def prompts(self) -> Sequence[Json]:
        """Its prompts, as `prompts/list` has them."""
        ...

    async def prompt(self, name: str, params: Mapping[str, Any], caller: Caller) -> Json | None:
        """The result of `prompts/get`; None for a prompt of somebody else's.

        Raises:
            RpcError: it is refused.
        """
        ...

    def complete(self, ref: Mapping[str, Any], argument: str, begun: str) -> Sequence[str] | None:
        """What an argument may be; None where it is somebody else's to say."""
        ...


def unknown(what: str, name: str, known: Sequence[str]) -> RpcError:
    """The refusal of a name that nobody knows."""
    message = f"Unknown {what}: {name[:200]}"
    return RpcError(INVALID_PARAMS, {what: name[:200], "known": sorted(known)}, message=message)


def not_found(uri: str, revision: str) -> RpcError:
    """The refusal of a resource that is not there, in the words of a revision."""
    code = INVALID_PARAMS if revision in STATELESS else RESOURCE_NOT_FOUND
    return RpcError(code, {"uri": uri[:2000]}, message=f"Resource not found: {uri[:200]}")
