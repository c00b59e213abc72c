"""The mod API: Mod, its outcomes, and how a catalog lists mods and agents.

A mod sees nothing it did not ask for, and pays for nothing it does not see. It knows its two
neighbours, the client's side and the agent's side, and neither their number nor their kind. Knows
no I/O.
"""

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, Final, Literal, Protocol, TypeAlias, TypeVar

from msgspec import Struct, field

from peerwire.errors import RpcError
from peerwire.jsonrpc.transport import Transport
from symposium.chain.messages import UNCHANGED, Answer, ChainMessage, Direction

Kind: TypeAlias = Literal["adapter", "component"]


class Needs(Struct, frozen=True):
    """Primitives by name, as in `ide_operations` (acp-host §3.2).

    Attributes:
        kind: an adapter supplies a primitive that the editor lacks; a component uses primitives.
        requires: what must be there before it.
        provides: what is there after it.
        enriches: what it makes of a primitive, by the primitive.
        is_optional: whether the chain may go without it.
    """

    kind: Kind = "component"
    requires: tuple[str, ...] = ()
    provides: tuple[str, ...] = ()
    enriches: Mapping[str, str] = field(default_factory=dict[str, str])
    is_optional: bool = False


NO_NEEDS: Final = Needs()
"""A component that works with any editor."""


EVERY_METHOD: Final = "*"
"""All methods, where a mod names the ones it intercepts."""


class Reply(Struct, frozen=True, gc=False):
    """Answer a request here; the rest of the chain never sees it."""

    result: Any = None


class Refuse(Struct, frozen=True, gc=False):
    """Answer a request here with an error."""

    error: RpcError


class Drop(Struct, frozen=True, gc=False):
    """Let a notification end here."""


class Deferred(Struct, frozen=True, gc=False):
    """Answer a request here when `work` is done, and let what comes behind it go on meanwhile.

    For what takes long and has nothing to do with the order of messages, as a tool's call does. A
    handler that waits by itself holds its session up instead. `work` is cancelled with the request.
    """

    work: "Coroutine[Any, Any, Reply | Refuse]"


Revision: TypeAlias = Reply | Refuse | None
"""Outcome of a mod for an answer: another result, an error, or None for unchanged."""

Then: TypeAlias = Callable[[Answer], Revision | Awaitable[Revision]]


class Forward(Struct, frozen=True, gc=False):
    """Let the message travel on.

    Attributes:
        params: the new params; left out, the bytes that came go on untouched.
        method: a new method; left out, the same.
        then: for a request, called with its answer on the way back if that is a result.
        catch: the same, if it is an error.
        cancelled: for a request, called when its asker cancels it; the answer still arrives.
    """

    params: Any = UNCHANGED
    method: str | None = None
    then: Then | None = None
    catch: Then | None = None
    cancelled: Callable[[], None] | None = None


Outcome: TypeAlias = Forward | Reply | Refuse | Drop | Deferred
Handler: TypeAlias = Callable[[ChainMessage], Outcome | Awaitable[Outcome]]


class Neighbour(Protocol):
    """One direction of the chain as seen by a mod: everything up to that end."""

    async def request(self, method: str, params: Any = None) -> Any:
        """Ask, and wait for the result.

        Raises:
            RpcError: the answer is an error, or the chain has ended.
        """
        ...

    def notify(self, method: str, params: Any = None) -> None:
        """Tell; nothing comes back."""
        ...


class _Unattached:
    async def request(self, method: str, params: Any = None) -> Any:
        del params
        raise RuntimeError(f"cannot ask {method}: this mod is not part of a chain yet")

    def notify(self, method: str, params: Any = None) -> None:
        del params
        raise RuntimeError(f"cannot tell {method}: this mod is not part of a chain yet")


class Mod:
    """The class to derive a mod from; one object serves one chain.

    Attributes:
        client: the neighbours towards the editor.
        agent: the neighbours towards the agent.
    """

    client: Neighbour = _Unattached()
    agent: Neighbour = _Unattached()

    def interceptions(self) -> "list[Interception]":
        """Interceptions of this mod: its methods marked with `from_client` and `from_agent`."""
        found: list[Interception] = []
        for name in dir(type(self)):
            marks: tuple[_Mark, ...] = getattr(getattr(type(self), name), _MARKS, ())
            found += [
                Interception(mark.direction, mark.method, getattr(self, name)) for mark in marks
            ]
        return found

    async def run(self) -> None:
        """Work of its own from `initialize` answered to the chain's end; cancelled then."""

    async def aclose(self) -> None:
        """Give back what the mod holds; called once when the chain ends."""


class Interception(Struct, frozen=True):
    """One method that a mod wants to see in one direction, and the handler that takes it."""

    direction: Direction
    method: str
    handler: Handler


class _Mark(Struct, frozen=True):
    direction: Direction
    method: str


_MARKS: Final = "__intercepts__"
_F = TypeVar("_F", bound=Callable[..., Any])


def from_client(*methods: str) -> Callable[[_F], _F]:
    """Mark a mod's method as the handler of messages towards the agent; `"*"` is every method."""
    return _marking(Direction.TO_AGENT, methods)


def from_agent(*methods: str) -> Callable[[_F], _F]:
    """Mark a mod's method as the handler of messages towards the client; `"*"` is every method."""
    return _marking(Direction.TO_CLIENT, methods)


def _marking(direction: Direction, methods: tuple[str, ...]) -> Callable[[_F], _F]:
    def mark(handler: _F) -> _F:
        marks: tuple[_Mark, ...] = getattr(handler, _MARKS, ())
        setattr(handler, _MARKS, marks + tuple(_Mark(direction, method) for method in methods))
        return handler

    return mark


class ComponentSpec(Struct, frozen=True):
    """A mod as a catalog lists it.

    Attributes:
        name: what a person writes in `--proxy` and in the config.
        summary: one line for menus and the reference.
        make: makes the mod, one for each chain.
        options: names of settings the mod understands, with a line on each.
        needs: what it needs of the editor, and what it adds.
        suits: patterns of file names; it is of use where one is in the workspace. Empty: anywhere.
        tokens: about how many tokens it adds to the context of each session.
    """

    name: str
    summary: str
    make: Callable[[], Mod]
    options: Mapping[str, str] = field(default_factory=dict[str, str])
    needs: Needs = NO_NEEDS
    suits: tuple[str, ...] = ()
    tokens: int = 0


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
