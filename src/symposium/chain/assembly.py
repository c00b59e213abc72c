"""Build the links and routes of a chain from its blueprint."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, Protocol, TypeGuard

from msgspec import UNSET, Struct, field

from peerwire.acp.names import Dialect
from peerwire.jsonrpc.values import encode_value
from symposium.chain.blueprint import Blueprint, Component, InProcess, Program, Served
from symposium.chain.calls import FAULTS, ModCall, RouteEnd
from symposium.chain.ends import PlainEnd, SuccessorEnd, to_conductor
from symposium.chain.handshake import AS_AGENT, AS_PROXY, Initializer, VersionSelection
from symposium.chain.link import Link
from symposium.chain.messages import Answer, ChainMessage, Direction
from symposium.chain.mod import EVERY_METHOD, Interception, Mod
from symposium.chain.monitoring import Durations, timed
from symposium.chain.ordering import OrderedQueues
from symposium.chain.routing import Route, join


class PeerOfMod:
    """One direction of the chain, as seen by the mod at `position`."""

    def __init__(self, route: Route, position: int) -> None:
        self._route = route
        self._position = position

    async def request(self, method: str, params: Any = None) -> Any:
        """Send a request and wait for the result; canceling the wait cancels the request.

        Raises:
            RpcError: the answer is an error, or the chain has stopped.
        """
        waiting = _Waiting(asyncio.get_running_loop().create_future())
        message = self._message(method, params, is_request=True)
        call = ModCall(message, waiting, b"", self._route, place=self._position)
        call.is_urgent = self._holds_something()
        # Keep reading the neighbors, even if much waits for this mod: its answer may be behind it.
        answers = self._route.back.queues
        answers.expect(1)
        try:
            self._route.take(message, call, after=self._position)
            answer = await waiting.answer
        except asyncio.CancelledError:
            call.cancel()
            raise
        finally:
            answers.expect(-1)
        if answer.error is not None:
            raise answer.error
        return answer.result

    def notify(self, method: str, params: Any = None) -> None:
        self._route.take(self._message(method, params, is_request=False), after=self._position)

    def _holds_something(self) -> bool:
        # Two mods that hold a message and send requests past each other would deadlock.
        back = self._route.back
        mirrored = back.length - 1 - self._position
        return self._route.queues.holds(self._position) or back.queues.holds(mirrored)

    def _message(self, method: str, params: Any, *, is_request: bool) -> ChainMessage:
        return ChainMessage(
            method, UNSET if params is None else encode_value(params), is_request=is_request
        )


class _Waiting:
    def __init__(self, answer: asyncio.Future[Answer]) -> None:
        self.answer = answer

    def on_answer(self, call: ModCall, answer: Answer) -> None:
        del call
        if not self.answer.done():
            self.answer.set_result(answer)


_log = logging.getLogger(FAULTS)

_USUAL: Final = frozenset(
    {
        *("initialize", "session/new", "session/load", "session/resume", "session/fork"),
        *("session/close", "session/delete", "session/prompt", "session/cancel", "session/update"),
        *("session/request_permission", "fs/read_text_file", "fs/write_text_file"),
        *("terminal/create", EVERY_METHOD),
    }
)
"""Names accepted without a look-up, which would delay the start."""

_FREE: Final = ("_", "$/", "mcp/")
"""Prefixes of unassigned names, of JSON-RPC names, and of other protocols."""


def checked(component: InProcess) -> list[Interception]:
    """Interceptions of a mod; warns of misspelled ACP methods."""
    wanted = component.mod.interceptions()
    for method in dict.fromkeys(each.method for each in wanted):
        if method not in _USUAL and not method.startswith(_FREE):
            meant = _similar_method(method)
            if meant:
                _log.warning(
                    "mod %s intercepts `%s`, which is not a method of ACP; did you mean `%s`?",
                    component.name,
                    method,
                    meant,
                )
    return wanted


def _similar_method(method: str) -> str | None:
    from localio.text import near_names
    from peerwire.acp.methods import METHODS

    if method in METHODS:
        return None
    return next(iter(near_names(method, METHODS)), None)


TRACE: Final = "trace"
"""Name of the recorder's mods."""


class Watcher(Protocol):
    """Record every message of a traced chain, on each leg between two neighbors."""

    def leg(self, upper: str, lower: str) -> Mod:
        """A mod that records the messages between these two components."""
        ...


class Assembly(Struct):
    """An assembled chain.

    Attributes:
        links: out-of-process components from the client's side; the agent last, if any.
        mods: in-process mods, in the same order.
        entrance: route of the client's messages.
    """

    entrance: Route
    links: list[Link] = field(default_factory=list[Link])
    mods: list[InProcess] = field(default_factory=list[InProcess])


class AssemblyContext(Struct, frozen=True):
    """Dependencies for assembling a chain.

    Attributes:
        client: link to the client, which is also the last one in a chain without an agent.
        open_link: starts a component and returns its link.
        queues_for: creates the queues of a route that the given link feeds.
        selection: version for every `initialize`.
        watcher: recorder of every leg, if the chain is traced.
        client_end: route end on the client's side; default: the client's link.
        durations: measurements of each in-process mod, by identity.
    """

    client: Link
    open_link: Callable[[Program | Served, int], Link]
    queues_for: Callable[[Link], OrderedQueues]
    selection: VersionSelection
    watcher: Watcher | None = None
    client_end: RouteEnd | None = None
    durations: Mapping[int, Durations] = field(default_factory=dict[int, Durations])


def assemble(context: AssemblyContext, blueprint: Blueprint) -> Assembly:
    """Start all components concurrently and build the routes between them.

    Raises:
        RpcError: a component could not be started.
    """
    agent = [] if blueprint.agent is None else [blueprint.agent]
    components: list[Component] = [*blueprint.mods, *agent]
    # Before any component starts: `interceptions` of a mod may fail.
    wanted = {id(one.mod): checked(one) for one in components if is_mod(one)}
    stretches: list[list[InProcess]] = [[]]
    links = [context.client]
    place = 0
    for component in components:
        if isinstance(component, InProcess):
            stretches[-1].append(component)
            # Mods of the host have no position in the user's configuration.
            place += not component.is_hidden
        else:
            links.append(context.open_link(component, place))
            stretches.append([])
            place += 1
    if blueprint.agent is not None:
        stretches.pop()
    layer = _SpanBuilder(context, blueprint, links, wanted)
    entrance, *_ = [layer.span(at, stretch) for at, stretch in enumerate(stretches)]
    return Assembly(entrance, links[1:], [mod for stretch in stretches for mod in stretch])


def is_mod(component: Component) -> TypeGuard[InProcess]:
    return isinstance(component, InProcess)


class _SpanBuilder:
    """Builds the spans of one chain."""

    def __init__(
        self,
        context: AssemblyContext,
        blueprint: Blueprint,
        links: list[Link],
        wanted: dict[int, list[Interception]],
    ) -> None:
        self._context = context
        self._blueprint = blueprint
        self._links = links
        self._wanted = wanted
        self._proxies_before = 0

    def span(self, at: int, stretch: Sequence[InProcess]) -> Route:
        """Build the two routes below the link at this position; returns the one to the agent."""
        upper = self._links[at]
        is_last = at + 1 == len(self._links)
        lower = self._context.client if is_last else self._links[at + 1]
        mods = self._with_watchers(at, stretch)
        names = [mod.name for mod in mods]
        wanted = [self._interceptions(mod.mod) for mod in mods]
        to_agent = Route(
            Direction.TO_AGENT,
            wanted,
            self._lower_end(at, is_last=is_last),
            self._context.queues_for(upper),
            names=names,
        )
        client_end: RouteEnd = self._context.client_end or PlainEnd(upper)
        upper_end: RouteEnd = client_end if at == 0 else SuccessorEnd(upper)
        to_client = Route(
            Direction.TO_CLIENT,
            wanted[::-1],
            upper_end,
            self._context.queues_for(lower),
            names=names[::-1],
        )
        join(to_agent, to_client)
        if at > 0:
            upper.wrapped = to_agent
        if is_last:
            lower.wrapped = to_client
        else:
            lower.plain = to_client
        upper.feeders.append(lower)
        lower.writers.append(upper)
        for position, component in enumerate(mods):
            component.mod.agent = PeerOfMod(to_agent, position)
            component.mod.client = PeerOfMod(to_client, len(mods) - 1 - position)
        return to_agent

    def _lower_end(self, at: int, *, is_last: bool) -> RouteEnd:
        if is_last:
            return SuccessorEnd(self._context.client, to_conductor)
        link = self._links[at + 1]
        is_agent = self._blueprint.agent is not None and at + 2 == len(self._links)
        fixed = self._fixed_dialect(at)
        if fixed is not None:
            link.dialect = fixed
        dialects = AS_AGENT if is_agent else AS_PROXY if fixed is None else (fixed,)
        return PlainEnd(link, Initializer(self._context.selection, dialects=dialects))

    def _fixed_dialect(self, at: int) -> Dialect | None:
        programs = [
            component for component in self._blueprint.mods if not isinstance(component, InProcess)
        ]
        return programs[at].dialect if at < len(programs) else None

    def _interceptions(self, mod: Mod) -> list[Interception]:
        found = self._wanted.get(id(mod))
        if found is None:
            return mod.interceptions()
        durations = self._context.durations.get(id(mod))
        return found if durations is None else timed(found, durations)

    def _with_watchers(self, at: int, stretch: Sequence[InProcess]) -> list[InProcess]:
        watcher = self._context.watcher
        if watcher is None:
            return list(stretch)
        visible = [component for component in stretch if not component.is_hidden]
        hidden = [component for component in stretch if component.is_hidden]
        first = self._proxies_before
        self._proxies_before += len(visible) + 1
        proxies = [f"Proxy({first + index})" for index in range(len(visible))]
        upper = "Client" if at == 0 else f"Proxy({first - 1})"
        lower = "Agent" if self._ends_chain(at) else f"Proxy({first + len(visible)})"
        mods: list[InProcess] = []
        for pair, mod in zip(pairwise([upper, *proxies]), visible, strict=True):
            mods += [InProcess(TRACE, watcher.leg(*pair)), mod]
        # Hidden components belong to the lower neighbor, so the leg is recorded before them.
        return [*mods, InProcess(TRACE, watcher.leg([upper, *proxies][-1], lower)), *hidden]

    def _ends_chain(self, at: int) -> bool:
        return at + (1 if self._blueprint.agent is None else 2) == len(self._links)
