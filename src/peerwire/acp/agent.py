"""Params that an agent reads, and the turns of its sessions.

The types list only members that are used; others are ignored.
"""

import asyncio
from collections.abc import Awaitable
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

from peerwire.errors import INVALID_PARAMS, RpcError

_Kind = TypeVar("_Kind")


class Initialize(Struct, frozen=True, rename="camel"):
    """Params of `initialize`; capabilities as the client declared them."""

    protocol_version: int
    client_capabilities: dict[str, Any] | None = None


class SetUp(Struct, frozen=True, rename="camel"):
    """Params of `session/new`."""

    cwd: str
    mcp_servers: list[dict[str, Any]] | None = None


class SetUpAgain(SetUp, frozen=True, rename="camel", kw_only=True):
    """Params of `session/load`, `session/resume`, and `session/fork`."""

    session_id: str


class InSession(Struct, frozen=True, rename="camel"):
    """Params of methods that only name a session."""

    session_id: str


class Prompt(InSession, frozen=True, rename="camel"):
    """Params of `session/prompt`; blocks as the client wrote them."""

    prompt: list[dict[str, Any]]

    @property
    def text(self) -> str:
        """Text of its text blocks, joined by newlines, without blocks for the model only."""
        texts = [
            block.get("text")
            for block in self.prompt
            if block.get("type") == "text" and not _is_for_the_model(block)
        ]
        return "\n".join(text for text in texts if isinstance(text, str))


class SetMode(InSession, frozen=True, rename="camel"):
    """Params of `session/set_mode`."""

    mode_id: str


class SetConfigOption(InSession, frozen=True, rename="camel"):
    """Params of `session/set_config_option`."""

    config_id: str
    value: Any


class ListSessions(Struct, frozen=True, rename="camel"):
    """Params of `session/list`."""

    cwd: str | None = None
    cursor: str | None = None


def _is_for_the_model(block: dict[str, Any]) -> bool:
    match block:
        case {"annotations": {"audience": ["assistant"]}}:
            return True
        case _:
            return False


def read_params(params: Any, kind: type[_Kind]) -> _Kind:
    """Decode the params of a request.

    Raises:
        RpcError: `-32602`: a member is missing or has the wrong type; `data` names it.
    """
    try:
        return msgspec.convert({} if params is None else params, kind)
    except msgspec.ValidationError as error:
        raise RpcError(INVALID_PARAMS, str(error)) from error


CANCELLED: Final = "cancelled"
"""Stop reason of a turn that `session/cancel` ended (acp-host §1.8)."""


class Turns:
    """Running turns of one session; most clients run one turn at a time."""

    def __init__(self) -> None:
        self._scopes: set[asyncio.Timeout] = set()
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._is_cancelled = False

    @property
    def is_cancelled(self) -> bool:
        """Whether `cancel` was called and a turn running at that time has not ended."""
        return self._is_cancelled

    async def run(self, work: Awaitable[str]) -> str:
        """Run one turn.

        Returns:
            Its stop reason: the result of `work`, or `cancelled`.
        """
        scope = asyncio.timeout(None)
        try:
            async with scope:
                self._scopes.add(scope)
                self._quiet.clear()
                return await work
        except TimeoutError:
            if not scope.expired():
                raise
            return CANCELLED
        finally:
            self._scopes.discard(scope)
            if not self._scopes:
                self._quiet.set()
                self._is_cancelled = False

    def cancel(self) -> None:
        """Cancel every running turn at its next `await`."""
        self._is_cancelled = bool(self._scopes)
        for scope in self._scopes:
            scope.reschedule(asyncio.get_running_loop().time())

    async def quiet(self) -> None:
        """Wait until no turn runs."""
        await self._quiet.wait()
