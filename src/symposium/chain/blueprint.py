"""Description of a chain before it starts."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from peerwire.acp.names import Dialect
from peerwire.jsonrpc.transport import Transport
from peerwire.transports.command import Command
from symposium.chain.mod import Mod

StartWork: TypeAlias = Callable[[Coroutine[Any, Any, None]], object]
"""Starts work that is canceled when the chain stops."""

OnStderr: TypeAlias = Callable[[bytes], None]

Opener: TypeAlias = Callable[[StartWork, OnStderr | None], Transport]
"""Starts a program; raises `SpawnError` if it cannot be started."""


class InProcess(Struct, frozen=True):
    """An in-process mod; called directly, only for the methods it intercepts.

    Attributes:
        name: name in errors and in the trace.
        mod: the mod; it serves only this chain.
        is_hidden: belongs to the host, not to the user's chain (the bridge); not in the trace.
    """

    name: str
    mod: Mod
    is_hidden: bool = False


class Program(Struct, frozen=True):
    """A component in its own process, in any language.

    Attributes:
        name: name in errors and in the trace.
        command: command line.
        dialect: fixed version of its proxy messages; None to negotiate it.
        opener: starts it in another way; the command is then only displayed.
    """

    name: str
    command: Command
    dialect: Dialect | None = None
    opener: Opener | None = None


class Served(Struct, frozen=True):
    """A component in this process that uses the wire protocol: a built-in agent, or a test's.

    Attributes:
        name: name in errors and in the trace.
        serve: serves one peer until its end, over the given transport.
        dialect: version of its proxy messages.
    """

    name: str
    serve: Callable[[Transport], Awaitable[None]]
    dialect: Dialect | None = None


Component: TypeAlias = InProcess | Program | Served


class Blueprint(Struct, frozen=True):
    """The components of one chain, from the client's side to the agent.

    Attributes:
        mods: mods in order.
        agent: last component; None makes the chain itself a proxy in an outer chain.
        params: edited params of `initialize`; None for the original ones.
    """

    mods: Sequence[Component]
    agent: Program | Served | None
    params: Mapping[str, Any] | None = None


Instantiator: TypeAlias = Callable[[Any], Blueprint | Awaitable[Blueprint]]
"""Selects the components; called once with the params of the client's `initialize` (§2.2)."""
