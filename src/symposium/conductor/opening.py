"""One attempt to open a chain: from the client's `initialize` to its answer."""

import asyncio
import logging
from typing import Any, Protocol

from peerwire.acp.names import INITIALIZE, PROXY_INITIALIZE, Dialect
from peerwire.errors import INTERNAL_ERROR, INVALID_PARAMS, Boundary, RpcError
from peerwire.jsonrpc.values import as_object
from symposium.conductor.blueprint import Instantiator
from symposium.conductor.call import Call
from symposium.conductor.chain import Way
from symposium.conductor.component import UNCHANGED, Answer, Crossing
from symposium.conductor.gate import flagged, is_flagged, unflagged
from symposium.conductor.handshake import pin_version, select_version
from symposium.conductor.running_chain import RunningChain

_log = logging.getLogger(__name__)


class OpeningOwner(Protocol):
    """Who is told how an opening went, before the client is."""

    def opened(self, opening: "Opening", entrance: Way) -> None:
        """The chain has answered; from now on it may have the client's messages."""
        ...

    def opening_failed(self, opening: "Opening", error: RpcError) -> None:
        """The client gets this error, and the chain has to end."""
        ...


class Opening:
    """Stands between the client's `initialize` and its answer.

    Attributes:
        call: the client's request.
        chain: what is being opened.
        is_started: the components have been started, or have failed to.
    """

    def __init__(self, call: Call, chain: RunningChain, owner: OpeningOwner) -> None:
        self.call = call
        self.chain = chain
        self.is_started = False
        self._asker = call.asker
        self._owner = owner
        self._marks_answer = False
        call.asker = self

    async def run(self, instantiate: Instantiator) -> None:
        """Start the components and greet the first; the answer comes when it comes."""
        call = self.call
        entrance: Way | None = None
        with Boundary() as caught:
            version = self._select()
            entrance = await self.chain.start(instantiate, call.crossing, version)
        self.is_started = True
        if call.is_settled:
            # Cancelled meanwhile, or a component has died: nobody waits for this chain any more.
            await self.chain.end()
        elif entrance is None:
            call.fail(_as_answer(caught.error))
        else:
            call.way = entrance
            entrance.take(call.crossing, call)

    def answered(self, call: Call, answer: Answer) -> None:
        """Have the owner open the chain, or give it up; then answer the client."""
        answer = self.chain.checked(answer)
        if answer.error is not None:
            self._owner.opening_failed(self, answer.error)
        else:
            if isinstance(call.way, Way):
                self._owner.opened(self, call.way)
            # After the answer: nothing of theirs may come before it.
            asyncio.get_running_loop().call_soon(self.chain.opened)
            if self._marks_answer:
                answer = Answer(value=flagged(as_object(answer.result)))
        self._asker.answered(call, answer)

    def _select(self) -> int:
        """Bring the request into its canonical form; the version that it selects.

        Raises:
            RpcError: there is none.
        """
        crossing = self.call.crossing
        params = _params(crossing)
        if crossing.method != INITIALIZE:
            crossing.replace(method=INITIALIZE, params=UNCHANGED)
        elif is_flagged(params):
            self._marks_answer = True
            crossing.replace(method=None, params=unflagged(params))
        version = select_version(params)
        pin_version(crossing, version)
        return version


def shown_dialect(crossing: Crossing) -> Dialect | None:
    """The era that a conductor above us shows by how it greets us; None for an ordinary client."""
    if crossing.method in PROXY_INITIALIZE:
        return PROXY_INITIALIZE[crossing.method]
    return Dialect.PACP_SPLIT if is_flagged(_params(crossing)) else None


def _params(crossing: Crossing) -> Any:
    try:
        return crossing.params
    except ValueError as error:
        raise RpcError(INVALID_PARAMS, str(error)) from error


def _as_answer(error: Exception | None) -> RpcError:
    if isinstance(error, RpcError):
        return error
    _log.error("the chain could not be made", exc_info=error)
    return RpcError(INTERNAL_ERROR, {"reason": "chain_not_made", "fault": str(error)})
