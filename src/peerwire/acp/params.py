"""The params that an agent acts on, read from what the client wrote (acp-host §7.1).

Only what is interpreted is typed; members that no class names are left alone.
"""

from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from peerwire.jsonrpc.errors import INVALID_PARAMS, RpcError

_Kind = TypeVar("_Kind")


class Initialize(Struct, frozen=True, rename="camel"):
    """Of `initialize`; capabilities as the client declared them."""

    protocol_version: int
    client_capabilities: dict[str, Any] | None = None


class SetUp(Struct, frozen=True, rename="camel"):
    """Of `session/new`."""

    cwd: str
    mcp_servers: list[dict[str, Any]] | None = None


class SetUpAgain(SetUp, frozen=True, rename="camel", kw_only=True):
    """Of `session/load`, `session/resume` and `session/fork`."""

    session_id: str


class InSession(Struct, frozen=True, rename="camel"):
    """Of everything that only names its session."""

    session_id: str


class Prompt(InSession, frozen=True, rename="camel"):
    """Of `session/prompt`; blocks as the client wrote them."""

    prompt: list[dict[str, Any]]

    @property
    def text(self) -> str:
        """The text of its text blocks, one below the other, without blocks for the model alone."""
        texts = [
            block.get("text")
            for block in self.prompt
            if block.get("type") == "text" and not _is_for_the_model(block)
        ]
        return "\n".join(text for text in texts if isinstance(text, str))


class SetMode(InSession, frozen=True, rename="camel"):
    """Of `session/set_mode`."""

    mode_id: str


class SetConfigOption(InSession, frozen=True, rename="camel"):
    """Of `session/set_config_option`."""

    config_id: str
    value: Any


class ListSessions(Struct, frozen=True, rename="camel"):
    """Of `session/list`."""

    cwd: str | None = None
    cursor: str | None = None


def _is_for_the_model(block: dict[str, Any]) -> bool:
    match block:
        case {"annotations": {"audience": ["assistant"]}}:
            return True
        case _:
            return False


def read_params(params: Any, kind: type[_Kind]) -> _Kind:
    """What a request's params say.

    Raises:
        RpcError: `-32602`, they lack a member or it has a wrong type; `data` says which.
    """
    try:
        return msgspec.convert({} if params is None else params, kind)
    except msgspec.ValidationError as error:
        raise RpcError(INVALID_PARAMS, str(error)) from error
