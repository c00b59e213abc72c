"""Version selection, and the exchange of `initialize`.

The agent is asked for the version that the client asked for, and may answer a lower one: the chain
speaks that. A component is sent `initialize` as the agent, or the proxy form of its era as a mod
(acp-host §1.2 R2, §2.2).
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from peerwire.acp.names import ATTEMPTS, ERAS, INITIALIZE, Dialect
from peerwire.errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    REQUEST_CANCELLED,
    RpcError,
)
from peerwire.jsonrpc import messages as wire
from peerwire.jsonrpc.values import as_object, encode_value
from symposium.chain.calls import ModCall
from symposium.chain.link import Link, begin_greeting, end_greeting
from symposium.chain.messages import Answer, ChainMessage


def is_flagged(params: object) -> bool:
    """Whether the params of `initialize`, or its result, carry `_meta.proxy`, as of old."""
    return as_object(as_object(params).get("_meta")).get("proxy") is True


def unflagged(params: Mapping[str, Any]) -> dict[str, Any]:
    """The same params or result without that flag."""
    meta = {name: item for name, item in as_object(params["_meta"]).items() if name != "proxy"}
    rest = {name: item for name, item in params.items() if name != "_meta"}
    return {**rest, "_meta": meta} if meta else rest


def flagged(params: Mapping[str, Any]) -> dict[str, Any]:
    """The same params or result with that flag."""
    return {**params, "_meta": {**as_object(params.get("_meta")), "proxy": True}}


HIGHEST_VERSION: Final = 2
"""The newest ACP version known here; a later one is asked for as this."""

VERSION_MISMATCH: Final = "protocol_version_mismatch"
"""The `reason` of an error for a component that speaks another version than its chain."""

INITIALIZE_TIMEOUT: Final = 60.0
"""Seconds a component has to answer its greeting (acp-host §3.4)."""


class VersionSelection(Struct):
    """The version that the components of one chain are asked for, and the agent's answer.

    Attributes:
        version: the ACP version that every component is asked for.
        timeout: seconds that each component has to answer, not counting its successor's.
        agreed: the version that the agent answered; None before, and in a chain without an agent.
    """

    version: int
    timeout: float = INITIALIZE_TIMEOUT
    agreed: int | None = None

    def fault(self, answer: Answer) -> RpcError | None:
        """The error for a chain whose answer has another version than its agent's."""
        answered = answered_version(answer)
        if self.agreed is None or answered == self.agreed:
            return None
        data = {"reason": VERSION_MISMATCH, "component": "a mod"}
        hint = "a mod changed protocolVersion in the agent's answer; update or disable that mod"
        more = {"selected": self.agreed, "answered": answered, "hint": hint}
        return RpcError(INTERNAL_ERROR, {**data, **more})


def select_version(params: object) -> int:
    """The version that a chain will speak: the client's, or the highest known if that is later.

    Raises:
        RpcError: `protocolVersion` is missing, not a whole number, or unsupported.
    """
    version = as_object(params).get("protocolVersion")
    if not isinstance(version, int) or isinstance(version, bool) or version < 0:
        raise RpcError(
            INVALID_PARAMS, "initialize.protocolVersion must be a valid ACP protocol version"
        )
    if version == 0:
        raise RpcError(INVALID_PARAMS, "unsupported ACP protocol version 0")
    return min(version, HIGHEST_VERSION)


def answered_version(answer: Answer) -> int | None:
    """The `protocolVersion` of an initialize result; None without a valid one."""
    version = as_object(answer.result).get("protocolVersion")
    return version if isinstance(version, int) and not isinstance(version, bool) else None


def pin_version(crossing: ChainMessage, version: int) -> None:
    """Make a request ask for this version; one that does already is unchanged."""
    params = as_object(crossing.params)
    if params.get("protocolVersion") != version:
        crossing.replace(method=None, params={**params, "protocolVersion": version})


AS_AGENT: Final[tuple[Dialect | None, ...]] = (None,)
"""One attempt, with plain `initialize`."""

AS_PROXY: Final[tuple[Dialect | None, ...]] = ATTEMPTS
"""The proxy forms of all eras, the next only when the last is not known to the component."""


class Initializer:
    """Greets one component, in the eras it may understand, until it answers or its time is up."""

    def __init__(self, selection: VersionSelection, *, dialects: Sequence[Dialect | None]) -> None:
        self._selection = selection
        self._dialects = dialects

    @property
    def is_for_agent(self) -> bool:
        """Whether the component is greeted as an agent."""
        return None in self._dialects

    def greet(self, link: Link, call: ModCall) -> None:
        """Send the request on as the component's greeting; its answer settles the call."""
        pin_version(call.crossing, self._selection.version)
        greeting = _Greeting(link, call, self._selection, self._dialects)
        begin_greeting(link, greeting)
        greeting.attempt()


class _Greeting:
    """One component's handshake; the waiter for the response of each attempt."""

    def __init__(
        self,
        link: Link,
        call: ModCall,
        selection: VersionSelection,
        dialects: Sequence[Dialect | None],
    ) -> None:
        self._link = link
        self._call = call
        self._selection = selection
        self._left = list(dialects)
        self._dialect: Dialect | None = None
        self._successors: set[ModCall] = set()
        self._from_successor: int | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._start_timer()

    @property
    def request_id(self) -> bytes:
        """The id that `initialize` had on the hop before."""
        return self._call.request_id

    def attempt(self) -> None:
        """Greet in the next era."""
        self._dialect = self._left.pop(0)
        method = INITIALIZE if self._dialect is None else ERAS[self._dialect].initialize
        crossing = self._call.crossing
        body = crossing.encoded()
        if self._is_flagged():
            body = encode_value(flagged(as_object(crossing.params)))
        self._call.far_id = self._link.ask(self)
        self._link.transport.send(wire.request(self._call.far_id, method, body, crossing.extra))

    def settle(self, answer: Answer) -> None:
        """Take the response to one attempt."""
        error = answer.error
        if error is not None and error.code == METHOD_NOT_FOUND and self._left:
            if not self._call.is_cancelled:
                self.attempt()
                return
            error = RpcError(REQUEST_CANCELLED)
            answer = Answer(error=error)
        self._stop_timer()
        fault = error or self._fault(answer)
        if fault is None:
            if self._dialect is None:
                self._selection.agreed = answered_version(answer)
            if self._dialect is not None and self._link.dialect is not Dialect.SACP:
                self._link.dialect = self._dialect
            if self._is_flagged():
                answer = Answer(value=unflagged(answer.result))
        end_greeting(self._link, fault)
        self._call.settle(answer if error is not None or fault is None else Answer(error=fault))

    def wait_for(self, call: ModCall) -> None:
        """The component waits for its successor, whose time it is now."""
        self._successors.add(call)
        self._stop_timer()

    def go_on(self, call: ModCall, answer: Answer) -> None:
        """The successor has answered: the component's own time runs again."""
        if call in self._successors:
            self._successors.discard(call)
            self._from_successor = answered_version(answer)
            self._start_timer()

    def _start_timer(self) -> None:
        self._stop_timer()
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self._selection.timeout, self._time_out)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _is_flagged(self) -> bool:
        return self._dialect is not None and ERAS[self._dialect].initialize == INITIALIZE

    def _fault(self, answer: Answer) -> RpcError | None:
        name = self._link.name
        if self._is_flagged() and not is_flagged(answer.result):
            return RpcError(INVALID_REQUEST, f"component {name} is not a proxy")
        version = answered_version(answer)
        if version is None:
            data = {"reason": "protocol_version_missing", "component": name}
            hint = "the answer to initialize must carry protocolVersion"
            return RpcError(INTERNAL_ERROR, {**data, "hint": hint})
        selected = self._selection.version
        if self._dialect is None:
            if 0 < version <= selected:
                return None
            hint = (
                f"use an agent that speaks version {selected} of ACP,"
                f" or a client that asks for version {version}"
            )
        else:
            selected = self._from_successor or selected
            if version == selected:
                return None
            hint = f"a mod must pass on the version of its successor ({selected}); update the mod"
        data = {"reason": VERSION_MISMATCH, "component": name, "selected": selected}
        return RpcError(INTERNAL_ERROR, {**data, "answered": version, "hint": hint})

    def _time_out(self) -> None:
        if self._call.far_id is not None:
            self._link.asked.pop(self._call.far_id, None)
        seconds = self._selection.timeout
        data = {"reason": "initialize_timeout", "component": self._link.name, "seconds": seconds}
        self.settle(Answer(error=RpcError(INTERNAL_ERROR, data)))
