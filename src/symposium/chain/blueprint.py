"""Description of a chain, made before any part of it runs."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from peerwire.acp.names import Dialect
from peerwire.jsonrpc.transport import Transport
from peerwire.transports.command import Command
from symposium.chain.mod import Mod

StartWork: TypeAlias = Callable[[Coroutine[Any, Any, None]], object]
"""Starts work that ends with the chain at the latest."""

OnStderr: TypeAlias = Callable[[bytes], None]

Opener: TypeAlias = Callable[[StartWork, OnStderr | None], Transport]
"""Starts a program; raises `SpawnError` if it cannot be started."""


class InProcess(Struct, frozen=True):
    """A mod in the host's own process, called directly and only for what it intercepts.

    Attributes:
        name: how errors and the trace call it.
        mod: the object; it serves this one chain.
        is_hidden: part of the host, not of the user's chain (the bridge): no leg of the trace.
    """

    name: str
    mod: Mod
    is_hidden: bool = False


class Program(Struct, frozen=True):
    """A component that is a program of its own, in any language.

    Attributes:
        name: how errors and the trace call it.
        command: what to start.
        dialect: the era it speaks, where it must not be found out by asking.
        opener: starts it in a way of its own; the command is then for people.
    """

    name: str
    command: Command
    dialect: Dialect | None = None
    opener: Opener | None = None


class Served(Struct, frozen=True):
    """A component that speaks the wire inside the host's process: a built-in agent, or a test's.

    Attributes:
        name: how errors and the trace call it.
        serve: serves one peer until it ends; given the component's own end of the transport.
        dialect: the era it speaks, for a proxy.
    """

    name: str
    serve: Callable[[Transport], Awaitable[None]]
    dialect: Dialect | None = None


Component: TypeAlias = InProcess | Program | Served


class Blueprint(Struct, frozen=True):
    """The components of one chain, from the client's side to the agent's.

    Attributes:
        mods: the proxies, in order.
        agent: what stands at the end; None makes the chain itself a proxy, whose successor the
            outer conductor has.
        params: the params of `initialize` to go on with, where the instantiator has edited them.
    """

    mods: Sequence[Component]
    agent: Program | Served | None
    params: Mapping[str, Any] | None = None


Instantiator: TypeAlias = Callable[[Any], Blueprint | Awaitable[Blueprint]]
"""Chooses the components; called once with the params of the client's `initialize` (§2.2)."""
