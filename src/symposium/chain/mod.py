"""The mod API: Mod, its outcomes, and the specs of mods and agents.

A mod receives only the methods that it intercepts; other messages cost nothing. It has two
neighbors, the client's side and the agent's side, and does not know their number or kind. No I/O.
"""

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, Final, Literal, TypeAlias, TypeVar

from msgspec import Struct, field

from peerwire.errors import RpcError
from peerwire.jsonrpc.handlers import Peer
from peerwire.jsonrpc.transport import Transport
from symposium.chain.messages import UNCHANGED, Answer, ChainMessage, Direction

Kind: TypeAlias = Literal["adapter", "component"]


class Needs(Struct, frozen=True):
    """Required and provided primitives by name, such as `ide_operations` (acp-host §3.2).

    Attributes:
        kind: an adapter supplies a primitive that the editor lacks; a component uses primitives.
        requires: primitives that must exist before it.
        provides: primitives that it adds.
        enriches: improved primitives, by the original primitive.
        is_optional: whether the chain works without it.
    """

    kind: Kind = "component"
    requires: tuple[str, ...] = ()
    provides: tuple[str, ...] = ()
    enriches: Mapping[str, str] = field(default_factory=dict[str, str])
    is_optional: bool = False


NO_NEEDS: Final = Needs()
"""A component that works with any editor."""


EVERY_METHOD: Final = "*"
"""Matches all methods."""


class Reply(Struct, frozen=True, gc=False):
    """Answer a request; later components do not receive it."""

    result: Any = None


class Refuse(Struct, frozen=True, gc=False):
    """Answer a request with an error."""

    error: RpcError


class Drop(Struct, frozen=True, gc=False):
    """Discard a notification; the next component never sees it."""


class Deferred(Struct, frozen=True, gc=False):
    """Answer a request when `work` is done, without delaying later messages.

    For long work that does not depend on the order of messages, such as a tool call. An async
    handler delays its session instead. `work` is canceled with the request.
    """

    work: "Coroutine[Any, Any, Reply | Refuse]"


Revision: TypeAlias = Reply | Refuse | None
"""Revision of an answer by a mod: another result, an error, or None for unchanged."""

Then: TypeAlias = Callable[[Answer], Revision | Awaitable[Revision]]


class Forward(Struct, frozen=True, gc=False):
    """Forward the message.

    Attributes:
        params: new params; default: the original bytes.
        method: new method; default: unchanged.
        then: for a request, called with a successful answer.
        catch: for a request, called with an error answer.
        cancelled: for a request, called when its sender cancels it; the answer still follows.
    """

    params: Any = UNCHANGED
    method: str | None = None
    then: Then | None = None
    catch: Then | None = None
    cancelled: Callable[[], None] | None = None


Outcome: TypeAlias = Forward | Reply | Refuse | Drop | Deferred
Handler: TypeAlias = Callable[[ChainMessage], Outcome | Awaitable[Outcome]]


class _Unattached:
    async def request(self, method: str, params: Any = None) -> Any:
        del params
        raise RuntimeError(f"cannot send {method}: this mod is not part of a chain yet")

    def notify(self, method: str, params: Any = None) -> None:
        del params
        raise RuntimeError(f"cannot send {method}: this mod is not part of a chain yet")


class Mod:
    """Base class of mods; one object serves one chain.

    Attributes:
        client: the components toward the editor.
        agent: the components toward the agent.
    """

    client: Peer = _Unattached()
    agent: Peer = _Unattached()

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
        """Do background work from the response to `initialize` on; canceled at the end."""

    async def aclose(self) -> None:
        """Release resources; called once when the chain stops."""


class Interception(Struct, frozen=True):
    """An intercepted method in one direction, and its handler."""

    direction: Direction
    method: str
    handler: Handler


class _Mark(Struct, frozen=True):
    direction: Direction
    method: str


_MARKS: Final = "__intercepts__"
_F = TypeVar("_F", bound=Callable[..., Any])


def from_client(*methods: str) -> Callable[[_F], _F]:
    """Mark a method as the handler of messages toward the agent; `"*"` is every method."""
    return _marking(Direction.TO_AGENT, methods)


def from_agent(*methods: str) -> Callable[[_F], _F]:
    """Mark a method as the handler of messages toward the client; `"*"` is every method."""
    return _marking(Direction.TO_CLIENT, methods)


def _marking(direction: Direction, methods: tuple[str, ...]) -> Callable[[_F], _F]:
    def mark(handler: _F) -> _F:
        marks: tuple[_Mark, ...] = getattr(handler, _MARKS, ())
        setattr(handler, _MARKS, marks + tuple(_Mark(direction, method) for method in methods))
        return handler

    return mark


class ComponentSpec(Struct, frozen=True):
    """Description of a mod for the catalog.

    Attributes:
        name: name in `--proxy` and in the config.
        summary: one line for menus and the reference.
        make: creates the mod, once per chain.
        options: supported settings, with one line of help each.
        needs: required editor capabilities, and added ones.
        suits: file patterns; the mod is useful in workspaces with a match. Empty: everywhere.
        tokens: estimated number of tokens that it adds to the context of each session.
    """

    name: str
    summary: str
    make: Callable[[], Mod]
    options: Mapping[str, str] = field(default_factory=dict[str, str])
    needs: Needs = NO_NEEDS
    suits: tuple[str, ...] = ()
    tokens: int = 0


class AgentSpec(Struct, frozen=True):
    """Description of a built-in agent.

    Attributes:
        name: name in `--agent` and in the config.
        summary: one line for menus and the reference.
        serve: serves one peer until its end.
    """

    name: str
    summary: str
    serve: Callable[[Transport], Awaitable[None]]
