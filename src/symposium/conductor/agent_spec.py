"""A built-in agent as a catalog lists it."""

from collections.abc import Awaitable, Callable

from msgspec import Struct

from peerwire.jsonrpc.transport import Transport


class AgentSpec(Struct, frozen=True):
    """An agent that needs no program of its own.

    Attributes:
        name: what a person writes in `--agent` and in the config.
        summary: one line for menus and the reference.
        serve: serves one peer until it ends.
    """

    name: str
    summary: str
    serve: Callable[[Transport], Awaitable[None]]
