"""Links and routes made from a blueprint, and what a mod can reach."""

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
    """One direction, as the mod at `position` along it sees it."""

    def __init__(self, way: Route, position: int) -> None:
        self._way = way
        self._position = position

    async def request(self, method: str, params: Any = None) -> Any:
        """Ask, and wait for the result; stopping to wait cancels the request.

        Raises:
            RpcError: the answer is an error, or the chain has ended.
        """
        waiting = _Waiting(asyncio.get_running_loop().create_future())
        crossing = self._crossing(method, params, is_request=True)
        call = ModCall(crossing, waiting, b"", self._way, place=self._position)
        call.is_urgent = self._holds_something()
        # What the neighbours send is read on meanwhile, however much of it waits for this mod.
        answers = self._way.back.lanes
        answers.expect(1)
        try:
            self._way.take(crossing, call, after=self._position)
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
        """Tell; nothing comes back."""
        self._way.take(self._crossing(method, params, is_request=False), after=self._position)

    def _holds_something(self) -> bool:
        # Two mods that hold a message and ask each past the other would deadlock.
        back = self._way.back
        mirrored = back.length - 1 - self._position
        return self._way.lanes.holds(self._position) or back.lanes.holds(mirrored)

    def _crossing(self, method: str, params: Any, *, is_request: bool) -> ChainMessage:
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
"""Names that need no looking up: a start is to cost nothing for them."""

_FREE: Final = ("_", "$/", "mcp/")
"""Prefixes of names that are unassigned, the wire's, or another protocol's."""


def checked(component: InProcess) -> list[Interception]:
    """The interceptions of a mod; warns of a name that is almost one of ACP's."""
    wanted = component.mod.interceptions()
    for method in dict.fromkeys(each.method for each in wanted):
        if method not in _USUAL and not method.startswith(_FREE):
            meant = _meant(method)
            if meant:
                _log.warning(
                    "mod %s wants `%s`, which is no method of ACP; did you mean `%s`?",
                    component.name,
                    method,
                    meant,
                )
    return wanted


def _meant(method: str) -> str | None:
    from localio.text import near_names  # noqa: PLC0415 - the same
    from peerwire.acp.methods import METHODS  # noqa: PLC0415 - see IMPORTS_LATE

    if method in METHODS:
        return None
    return next(iter(near_names(method, METHODS)), None)


TRACE: Final = "trace"
"""How the mods of a watcher are called."""


class Watcher(Protocol):
    """Sees every message of a chain that is traced, on each leg between two neighbours."""

    def leg(self, upper: str, lower: str) -> Mod:
        """A mod that records what passes between these two."""
        ...


class Assembly(Struct):
    """An assembled chain.

    Attributes:
        links: the out-of-process components, from the client's side; the agent last, if it has one.
        mods: the in-process mods, in the same order.
        entrance: the way that the client's messages take.
    """

    entrance: Route
    links: list[Link] = field(default_factory=list[Link])
    mods: list[InProcess] = field(default_factory=list[InProcess])


class AssemblyContext(Struct, frozen=True):
    """Requirements for assembling a chain.

    Attributes:
        client: the link that the chain begins at (and ends at, for a chain without agent).
        open_link: starts a component and gives its link.
        lanes: makes the lanes of one way, fed by the given link.
        selection: what every greeting asks for.
        watcher: sees every leg, if the chain is traced.
        client_end: stands at the client's end; the client's link where it is left out.
        durations: what each mod in process is measured by, by its identity.
    """

    client: Link
    open_link: Callable[[Program | Served, int], Link]
    lanes: Callable[[Link], OrderedQueues]
    selection: VersionSelection
    watcher: Watcher | None = None
    client_end: RouteEnd | None = None
    durations: Mapping[int, Durations] = field(default_factory=dict[int, Durations])


def assemble(workshop: AssemblyContext, blueprint: Blueprint) -> Assembly:
    """Start the components, all at once, and lay the ways between them.

    Raises:
        RpcError: one could not be started.
    """
    agent = [] if blueprint.agent is None else [blueprint.agent]
    components: list[Component] = [*blueprint.mods, *agent]
    # Asked before anything is started: a mod may fail.
    wanted = {id(one.mod): checked(one) for one in components if is_mod(one)}
    stretches: list[list[InProcess]] = [[]]
    links = [workshop.client]
    place = 0
    for component in components:
        if isinstance(component, InProcess):
            stretches[-1].append(component)
            # What the host puts in has no place that a person could count to.
            place += not component.is_hidden
        else:
            links.append(workshop.open_link(component, place))
            stretches.append([])
            place += 1
    if blueprint.agent is not None:
        stretches.pop()
    layer = _SpanBuilder(workshop, blueprint, links, wanted)
    entrance, *_ = [layer.span(at, stretch) for at, stretch in enumerate(stretches)]
    return Assembly(entrance, links[1:], [mod for stretch in stretches for mod in stretch])


def is_mod(component: Component) -> TypeGuard[InProcess]:
    """Whether a component is an object in this process."""
    return isinstance(component, InProcess)


class _SpanBuilder:
    """Lays the spans of one chain."""

    def __init__(
        self,
        workshop: AssemblyContext,
        blueprint: Blueprint,
        links: list[Link],
        wanted: dict[int, list[Interception]],
    ) -> None:
        self._workshop = workshop
        self._blueprint = blueprint
        self._links = links
        self._wanted = wanted
        self._proxies_before = 0

    def span(self, at: int, stretch: Sequence[InProcess]) -> Route:
        """Lay the two ways below the link at this place; the way towards the agent."""
        upper = self._links[at]
        is_last = at + 1 == len(self._links)
        lower = self._workshop.client if is_last else self._links[at + 1]
        mods = self._with_watchers(at, stretch)
        names = [mod.name for mod in mods]
        wanted = [self._interceptions(mod.mod) for mod in mods]
        to_agent = Route(
            Direction.TO_AGENT,
            wanted,
            self._lower_end(at, is_last=is_last),
            self._workshop.lanes(upper),
            names=names,
        )
        client_end: RouteEnd = self._workshop.client_end or PlainEnd(upper)
        upper_end: RouteEnd = client_end if at == 0 else SuccessorEnd(upper)
        to_client = Route(
            Direction.TO_CLIENT,
            wanted[::-1],
            upper_end,
            self._workshop.lanes(lower),
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
            return SuccessorEnd(self._workshop.client, to_conductor)
        link = self._links[at + 1]
        is_agent = self._blueprint.agent is not None and at + 2 == len(self._links)
        fixed = self._fixed_dialect(at)
        if fixed is not None:
            link.dialect = fixed
        dialects = AS_AGENT if is_agent else AS_PROXY if fixed is None else (fixed,)
        return PlainEnd(link, Initializer(self._workshop.selection, dialects=dialects))

    def _fixed_dialect(self, at: int) -> Dialect | None:
        programs = [
            component for component in self._blueprint.mods if not isinstance(component, InProcess)
        ]
        return programs[at].dialect if at < len(programs) else None

    def _interceptions(self, mod: Mod) -> list[Interception]:
        found = self._wanted.get(id(mod))
        if found is None:
            return mod.interceptions()
        durations = self._workshop.durations.get(id(mod))
        return found if durations is None else timed(found, durations)

    def _with_watchers(self, at: int, stretch: Sequence[InProcess]) -> list[InProcess]:
        watcher = self._workshop.watcher
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
        # What is hidden stands with the lower neighbour: the leg is recorded above it.
        return [*mods, InProcess(TRACE, watcher.leg([upper, *proxies][-1], lower)), *hidden]

    def _ends_chain(self, at: int) -> bool:
        return at + (1 if self._blueprint.agent is None else 2) == len(self._links)
