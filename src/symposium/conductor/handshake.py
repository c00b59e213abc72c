"""How a chain begins: the client's first request, and the greeting of each component.

The version that the client selected holds for the whole chain; a component is given `initialize` as the agent, or the
proxy form of its era as a mod (acp-host §1.2 R2, §2.2).
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from peerwire.acp.names import ATTEMPTS, ERAS, INITIALIZE, Dialect
from peerwire.jsonrpc import messages as wire
from peerwire.jsonrpc.errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    RpcError,
)
from peerwire.jsonrpc.values import encode_value
from symposium.conductor.call import Call
from symposium.conductor.component import Answer, Crossing
from symposium.conductor.link import Link, PeerState

HIGHEST_VERSION: Final = 2
"""The newest ACP version known here; a later one is asked for as this."""

INITIALIZE_TIMEOUT: Final = 60.0
"""Seconds a component has to answer its greeting (acp-host §3.4)."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What the client's first request fixed for the chain.

    Attributes:
        version: the ACP version that every component is asked for.
        timeout: seconds that each component has to answer.
    """

    version: int
    timeout: float = INITIALIZE_TIMEOUT


def select_version(params: Any) -> int:
    """The version that a chain will speak: the client's, or the highest known if that is later.

    Raises:
        RpcError: `protocolVersion` is missing, not a whole number, or unsupported.
    """
    version = params.get("protocolVersion") if isinstance(params, Mapping) else None
    if not isinstance(version, int) or isinstance(version, bool) or version < 0:
        raise RpcError(
            INVALID_PARAMS, "initialize.protocolVersion must be a valid ACP protocol version"
        )
    if version == 0:
        raise RpcError(INVALID_PARAMS, "unsupported ACP protocol version 0")
    return min(version, HIGHEST_VERSION)


def pin_version(crossing: Crossing, version: int) -> None:
    """Make a request ask for this version; one that does already stays as it came."""
    params = crossing.params
    if isinstance(params, dict) and params.get("protocolVersion") != version:
        crossing.replace(method=None, params={**params, "protocolVersion": version})


class Greeter:
    """Greets one component, in the eras it may understand, until it answers or its time is up."""

    def __init__(self, selection: Selection, *, dialects: Sequence[Dialect | None]) -> None:
        self._selection = selection
        self._dialects = dialects

    def greet(self, link: Link, call: Call) -> None:
        """Send the request on as the component's greeting; its answer settles the call."""
        pin_version(call.crossing, self._selection.version)
        link.keep_until_ready()
        _Greeting(link, call, self._selection, self._dialects).attempt()


AS_AGENT: Final[tuple[Dialect | None, ...]] = (None,)
"""One attempt, with plain `initialize`."""

AS_PROXY: Final[tuple[Dialect | None, ...]] = ATTEMPTS
"""The proxy forms of all eras, the next only when the last is not known to the component."""


class _Greeting:
    """One component's handshake; the waiter for the response of each attempt."""

    def __init__(
        self, link: Link, call: Call, selection: Selection, dialects: Sequence[Dialect | None]
    ) -> None:
        self._link = link
        self._call = call
        self._selection = selection
        self._left = list(dialects)
        self._dialect: Dialect | None = None
        self._timer = asyncio.get_running_loop().call_later(selection.timeout, self._time_out)

    def attempt(self) -> None:
        """Greet in the next era."""
        self._dialect = self._left.pop(0)
        method = INITIALIZE if self._dialect is None else ERAS[self._dialect].initialize
        crossing = self._call.crossing
        body = crossing.encoded()
        if self._is_flagged():
            params = crossing.params
            body = encode_value({**params, "_meta": {**(params.get("_meta") or {}), "proxy": True}})
        self._call.far_id = self._link.ask(self)
        self._link.transport.send(wire.request(self._call.far_id, method, body, crossing.extra))

    def settle(self, answer: Answer) -> None:
        """Take the response to one attempt."""
        error = answer.error
        if error is not None and error.code == METHOD_NOT_FOUND and self._left:
            self.attempt()
            return
        self._timer.cancel()
        fault = error or self._fault(answer.result)
        if fault is None:
            if self._dialect is not None and self._link.dialect is not Dialect.SACP:
                self._link.dialect = self._dialect
            self._link.state = PeerState.READY
        elif self._link.state is PeerState.INITIALIZING:
            self._link.state = PeerState.FAILED
        self._link.release()
        self._call.settle(answer if error is not None or fault is None else Answer(error=fault))

    def _is_flagged(self) -> bool:
        return self._dialect is not None and ERAS[self._dialect].initialize == INITIALIZE

    def _fault(self, result: Any) -> RpcError | None:
        name = self._link.name
        result = result if isinstance(result, Mapping) else {}
        meta = result.get("_meta")
        if self._is_flagged() and not (isinstance(meta, Mapping) and meta.get("proxy") is True):
            return RpcError(INVALID_REQUEST, f"component {name} is not a proxy")
        version = result.get("protocolVersion")
        if not isinstance(version, int) or isinstance(version, bool):
            data = {"reason": "protocol_version_missing", "component": name}
            return RpcError(
                INTERNAL_ERROR,
                {**data, "hint": "the answer to initialize must carry protocolVersion"},
            )
        if version != self._selection.version:
            selected = self._selection.version
            hint = f"ask for protocolVersion {version} instead of {selected}, or use an agent that speaks {selected}"
            data = {"reason": "protocol_version_mismatch", "component": name, "selected": selected}
            return RpcError(INTERNAL_ERROR, {**data, "answered": version, "hint": hint})
        return None

    def _time_out(self) -> None:
        if self._call.far_id is not None:
            self._link.asked.pop(self._call.far_id, None)
        self._left.clear()
        seconds = self._selection.timeout
        data = {"reason": "initialize_timeout", "component": self._link.name, "seconds": seconds}
        self.settle(Answer(error=RpcError(INTERNAL_ERROR, data)))
