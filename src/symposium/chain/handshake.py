"""Version selection and the `initialize` exchange.

The agent receives the version that the client requested and may answer a lower one for the whole
chain. The agent receives `initialize`; a mod receives the proxy form of its version (acp-host
§1.2 R2, §2.2).
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
from symposium.chain.link import Link, begin_handshake, end_handshake
from symposium.chain.messages import Answer, ChainMessage


def is_flagged(params: object) -> bool:
    """Whether params or result of `initialize` contain the old `_meta.proxy`."""
    return as_object(as_object(params).get("_meta")).get("proxy") is True


def unflagged(params: Mapping[str, Any]) -> dict[str, Any]:
    """Params or result without `_meta.proxy`."""
    meta = {name: item for name, item in as_object(params["_meta"]).items() if name != "proxy"}
    rest = {name: item for name, item in params.items() if name != "_meta"}
    return {**rest, "_meta": meta} if meta else rest


def flagged(params: Mapping[str, Any]) -> dict[str, Any]:
    """Params or result with `_meta.proxy`."""
    return {**params, "_meta": {**as_object(params.get("_meta")), "proxy": True}}


HIGHEST_VERSION: Final = 2
"""Newest supported ACP version; replaces later ones in requests."""

VERSION_MISMATCH: Final = "protocol_version_mismatch"
"""Error `reason` for a component with another version than its chain."""

INITIALIZE_TIMEOUT: Final = 60.0
"""Seconds for a component's response to `initialize` (acp-host §3.4)."""


class VersionSelection(Struct):
    """Requested version of a chain, and the agent's response.

    Attributes:
        version: ACP version in every `initialize`.
        timeout: seconds for each component's response, without the time of its successor.
        agreed: version in the agent's response; None before it, or without an agent.
    """

    version: int
    timeout: float = INITIALIZE_TIMEOUT
    agreed: int | None = None

    def fault(self, answer: Answer) -> RpcError | None:
        """Error if the chain's response has another version than its agent's."""
        answered = answered_version(answer)
        if self.agreed is None or answered == self.agreed:
            return None
        data = {"reason": VERSION_MISMATCH, "component": "a mod"}
        hint = "a mod changed protocolVersion in the agent's answer; update or disable that mod"
        more = {"selected": self.agreed, "answered": answered, "hint": hint}
        return RpcError(INTERNAL_ERROR, {**data, **more})


def select_version(params: object) -> int:
    """Version for the chain: the client's, or the newest supported one if that is lower.

    Raises:
        RpcError: `protocolVersion` is missing, not an integer, or unsupported.
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
    """`protocolVersion` in an initialize result; None if invalid."""
    version = as_object(answer.result).get("protocolVersion")
    return version if isinstance(version, int) and not isinstance(version, bool) else None


def pin_version(message: ChainMessage, version: int) -> None:
    """Set the version in a request; unchanged if equal."""
    params = as_object(message.params)
    if params.get("protocolVersion") != version:
        message.replace(method=None, params={**params, "protocolVersion": version})


AS_AGENT: Final[tuple[Dialect | None, ...]] = (None,)
"""One attempt with plain `initialize`."""

AS_PROXY: Final[tuple[Dialect | None, ...]] = ATTEMPTS
"""Proxy forms of all versions; the next one is tried if a component does not know the last."""


class Initializer:
    """Send `initialize` to one component in each supported form, until an answer or timeout."""

    def __init__(self, selection: VersionSelection, *, dialects: Sequence[Dialect | None]) -> None:
        self._selection = selection
        self._dialects = dialects

    @property
    def is_for_agent(self) -> bool:
        """Whether the component is initialized as an agent."""
        return None in self._dialects

    def initialize(self, link: Link, call: ModCall) -> None:
        """Forward the request as the component's `initialize`; its answer settles the call."""
        pin_version(call.message, self._selection.version)
        handshake = _Handshake(link, call, self._selection, self._dialects)
        begin_handshake(link, handshake)
        handshake.attempt()


class _Handshake:
    """Handshake of one component; waits for the response to each attempt."""

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
        """Id of `initialize` on the previous connection."""
        return self._call.request_id

    def attempt(self) -> None:
        """Send the next form."""
        self._dialect = self._left.pop(0)
        method = INITIALIZE if self._dialect is None else ERAS[self._dialect].initialize
        message = self._call.message
        body = message.encoded()
        if self._is_flagged():
            body = encode_value(flagged(as_object(message.params)))
        self._call.far_id = self._link.ask(self)
        self._link.transport.send(wire.request(self._call.far_id, method, body, message.extra))

    def settle(self, answer: Answer) -> None:
        """Handle the response to one attempt."""
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
        end_handshake(self._link, fault)
        self._call.settle(answer if error is not None or fault is None else Answer(error=fault))

    def wait_for(self, call: ModCall) -> None:
        """Stop the timer while the component waits for its successor."""
        self._successors.add(call)
        self._stop_timer()

    def on_answer(self, call: ModCall, answer: Answer) -> None:
        """Restart the component's timer: the successor answered."""
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
            hint = f"use an agent that speaks version {selected} of ACP"
            if version > 0:  # a client cannot ask for others
                hint += f", or a client that asks for version {version}"
        else:
            selected = self._from_successor or selected
            if version == selected:
                return None
            hint = f"a mod must return the version of its successor ({selected}); update the mod"
        data = {"reason": VERSION_MISMATCH, "component": name, "selected": selected}
        return RpcError(INTERNAL_ERROR, {**data, "answered": version, "hint": hint})

    def _time_out(self) -> None:
        if self._call.far_id is not None:
            self._link.asked.pop(self._call.far_id, None)
        seconds = self._selection.timeout
        data = {"reason": "initialize_timeout", "component": self._link.name, "seconds": seconds}
        self.settle(Answer(error=RpcError(INTERNAL_ERROR, data)))
