"""Sessions of a chain, and the latency of its mods.

Only requests that open or close sessions are intercepted, no streams.

An in-process mod is measured at its handlers, so other messages cost nothing. A mod that is a
program is measured by the requests that pass it.
"""

from collections import deque
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from time import perf_counter
from types import CoroutineType
from typing import Any, Final, cast

from msgspec import Struct

from peerwire.acp.names import INITIALIZE, SETUP_METHODS
from peerwire.jsonrpc.values import as_list, as_object
from symposium.chain.blueprint import Component, InProcess
from symposium.chain.capabilities import BRIDGE_COMPONENTS, Mode
from symposium.chain.messages import Answer, ChainMessage
from symposium.chain.mod import Forward, Handler, Interception, Mod, from_client

_CHAIN_SESSIONS: Final = "sessions"


class ChainSession(Struct, frozen=True):
    """An open session.

    Attributes:
        cwd: working directory.
        servers: declarations of its MCP servers, without secrets.
    """

    cwd: str
    servers: Sequence[Mapping[str, Any]]


class ChainSessions:
    """Open sessions of a chain.

    Attributes:
        sessions: sessions by the agent's ids.
        initialize_result: the agent's response to `initialize`; None before it.
        mode: mode of the bridge.
    """

    def __init__(self) -> None:
        self.sessions: dict[str, ChainSession] = {}
        self.initialize_result: object = None
        self.mode: Mode = "auto"

    def placed(
        self, mods: Sequence[Component], beside_agent: Sequence[InProcess]
    ) -> list[Component]:
        """Add the monitoring mods to a chain: before the bridge, and next to the agent."""
        bridge = [
            at for at, mod in enumerate(mods) if mod.name in BRIDGE_COMPONENTS and _is_hidden(mod)
        ]
        at = bridge[0] if bridge else len(mods)
        self.mode = "auto" if bridge else "off"
        above = InProcess(_CHAIN_SESSIONS, _Sessions(self), is_hidden=True)
        below = InProcess(_CHAIN_SESSIONS, _InitializeObserver(self), is_hidden=True)
        return [*mods[:at], above, *mods[at:], below, *beside_agent]


class _Sessions(Mod):
    def __init__(self, sessions: ChainSessions) -> None:
        self._sessions = sessions

    @from_client(*SETUP_METHODS)
    def _set_up(self, message: ChainMessage) -> Forward:
        if not message.is_request:
            return Forward()
        session = _session(as_object(message.params))
        named = None if message.method == "session/fork" else message.session_id

        def opened(answer: Answer) -> None:
            made = as_object(answer.result).get("sessionId", named)
            if isinstance(made, str):
                self._sessions.sessions[made] = session

        return Forward(then=opened)

    @from_client("session/close", "session/delete")
    def _ending(self, message: ChainMessage) -> Forward:
        named = message.session_id or ""

        def ended(_: Answer) -> None:
            self._sessions.sessions.pop(named, None)

        return Forward(then=ended)


class _InitializeObserver(Mod):
    def __init__(self, sessions: ChainSessions) -> None:
        self._sessions = sessions

    @from_client(INITIALIZE)
    def _initialize(self, message: ChainMessage) -> Forward:
        del message

        def initialized(answer: Answer) -> None:
            self._sessions.initialize_result = answer.result

        return Forward(then=initialized)


def _is_hidden(component: Component) -> bool:
    return isinstance(component, InProcess) and component.is_hidden


def _session(params: Mapping[str, Any]) -> ChainSession:
    listed: Any = params.get("mcpServers")
    entries = as_list(listed)
    # Headers and variables are not stored, so they cannot leak.
    servers = [
        {name: as_object(entry)[name] for name in ("name", "type") if name in as_object(entry)}
        for entry in entries
    ]
    return ChainSession(str(params.get("cwd") or ""), servers)


MAX_STORED: Final = 256
"""Maximum number of stored measurements per mod."""

ONE_IN: Final = 64
"""Sampling interval of notifications."""

MAX_INSIDE: Final = 64
"""Maximum number of tracked requests of one method in a program."""

_HALF: Final = 0.5
_HIGH_QUANTILE: Final = 0.95


class Latency(Struct, frozen=True):
    """Delay added by a mod, in milliseconds.

    Attributes:
        p50: median.
        p95: 95th percentile.
        count: number of measurements.
    """

    p50: float
    p95: float
    count: int


class Durations:
    """The latest measurements of one mod."""

    def __init__(self) -> None:
        self._seconds: deque[float] = deque(maxlen=MAX_STORED)

    def note(self, seconds: float) -> None:
        """Add one delay in seconds."""
        self._seconds.append(seconds)

    def latency(self) -> Latency | None:
        """Summary of the delays; None before the first one."""
        if not self._seconds:
            return None
        found = sorted(self._seconds)
        p50, p95 = (
            found[min(int(len(found) * part), len(found) - 1)] for part in (_HALF, _HIGH_QUANTILE)
        )
        return Latency(round(p50 * 1000, 3), round(p95 * 1000, 3), len(found))


def timed(interceptions: Sequence[Interception], durations: Durations) -> list[Interception]:
    """The same interceptions with measured handlers."""
    return [
        Interception(each.direction, each.method, _measured(each.handler, durations.note))
        for each in interceptions
    ]


def _measured(handler: Handler, note: Callable[[float], None]) -> Handler:
    passed = 0

    def measured(message: ChainMessage) -> Any:
        nonlocal passed
        if not message.is_request:
            passed += 1
            if passed % ONE_IN != 1:
                return handler(message)
        began = perf_counter()
        outcome = handler(message)
        if hasattr(outcome, "__await__"):
            return _Awaited(outcome, began, note)
        note(perf_counter() - began)
        return outcome

    return measured


class _Awaited:
    """Awaitable of an async handler; closes it if it is never awaited."""

    def __init__(self, work: Any, began: float, note: Callable[[float], None]) -> None:
        self._work: Awaitable[Any] = work
        self._began = began
        self._note = note

    def __await__(self) -> Generator[Any, Any, Any]:
        try:
            return (yield from self._work.__await__())
        finally:
            self._note(perf_counter() - self._began)

    def __del__(self) -> None:
        if isinstance(self._work, CoroutineType):
            cast("CoroutineType[Any, Any, Any]", self._work).close()


class Passing:
    """Open requests inside a mod that is a program."""

    def __init__(self) -> None:
        self.durations = Durations()
        self._inside: dict[str, deque[float]] = {}

    def entered(self, method: str) -> None:
        """Note a request sent to the mod."""
        self._inside.setdefault(method, deque(maxlen=MAX_INSIDE)).append(perf_counter())

    def left(self, method: str) -> None:
        """Note a request forwarded by the mod; matches the latest one of this method."""
        waiting = self._inside.get(method)
        if waiting:
            self.durations.note(perf_counter() - waiting.pop())


class LatencyTable(Struct, frozen=True):
    """Measurements of each mod in the user's configuration.

    Attributes:
        names: mods from the client's side, with their measurements.
        in_process: measurements of in-process mods, by identity.
    """

    names: Sequence[tuple[str, Durations | Passing]]
    in_process: Mapping[int, Durations]

    @classmethod
    def of(cls, mods: Sequence[Component]) -> "LatencyTable":
        """Table for a chain of these mods."""
        names: list[tuple[str, Durations | Passing]] = []
        in_process: dict[int, Durations] = {}
        for mod in mods:
            if not isinstance(mod, InProcess):
                names.append((mod.name, Passing()))
            elif not mod.is_hidden:
                in_process[id(mod.mod)] = durations = Durations()
                names.append((mod.name, durations))
        return cls(names, in_process)

    def programs(self) -> Sequence[Passing]:
        """Mods that are programs, in order."""
        return [measure for _, measure in self.names if isinstance(measure, Passing)]

    def latencies(self) -> Sequence[tuple[str, Latency | None]]:
        """Latency of each mod."""
        return [
            (name, (each.durations if isinstance(each, Passing) else each).latency())
            for name, each in self.names
        ]
