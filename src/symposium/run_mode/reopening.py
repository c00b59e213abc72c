"""Reopen a session on a new chain: restored if the agent can, else as a new session."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from peerwire.errors import INTERNAL_ERROR, RpcError
from peerwire.jsonrpc.values import as_object, decode_value, encode_value
from symposium.chain.messages import Answer, Crossing
from symposium.run_mode.open_chain import OpenChain
from symposium.run_mode.own_request import OwnRequest
from symposium.run_mode.revival_text import Return
from symposium.run_mode.sessions import Session

_log = logging.getLogger(__name__)

_NEW: Final = "session/new"


@dataclass(frozen=True, slots=True)
class Reopened:
    """A session as its new agent has it.

    Attributes:
        how: how it came there.
        inner_id: what the agent calls it.
        result: what the agent answered.
    """

    how: Return
    inner_id: str
    result: Mapping[str, Any]


class Reopening:
    """One session's way to one chain."""

    def __init__(self, session: Session, chain: OpenChain, patience: float) -> None:
        self._session = session
        self._chain = chain
        self._patience = patience
        self._request: OwnRequest | None = None

    async def run(self) -> Reopened:
        """Have the agent take the session up; what it says of it waits until `settle`.

        Raises:
            RpcError: it did not, or has died meanwhile.
        """
        inner_id = self._session.inner_id
        for how in reopening_ways(self._chain.greeting):
            self._chain.end.mute(inner_id)
            is_back = False
            try:
                result = await self._ask(how, self._params(inner_id))
                is_back = True
            except RpcError as error:
                if self._chain.death is not None:
                    raise
                _log.warning("a session could not be brought back by %s: %s", how, error)
                continue
            finally:
                if not is_back:
                    self._chain.end.unmute(inner_id)
            return Reopened(how, inner_id, result)
        return await self._anew()

    def settle(self, reopened: Reopened) -> None:
        """Let through what the agent has said of the session meanwhile."""
        if reopened.how == "fresh":
            self._chain.end.turnstile.expected(reopened.inner_id)
        else:
            self._chain.end.unmute(reopened.inner_id)

    def died(self, death: RpcError) -> None:
        """Fail the request: the chain has ended."""
        if self._request is not None:
            self._request.give_up(Answer(error=death))

    async def _anew(self) -> Reopened:
        turnstile = self._chain.end.turnstile
        turnstile.expect()
        inner_id: object = None
        try:
            result = await self._ask(_NEW, self._params(None))
            inner_id = result.get("sessionId")
        finally:
            if not isinstance(inner_id, str):
                turnstile.expected(None)
        if not isinstance(inner_id, str):
            raise RpcError(INTERNAL_ERROR, {"reason": "session_without_id"})
        return Reopened("fresh", inner_id, result)

    def _params(self, inner_id: str | None) -> dict[str, Any]:
        origin = self._session.care.origin
        made_with = as_object(decode_value(origin) if origin else None)
        rest = {name: value for name, value in made_with.items() if name != "sessionId"}
        return rest if inner_id is None else {"sessionId": inner_id, **rest}

    async def _ask(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        request = OwnRequest(Crossing(method, encode_value(params), is_request=True))
        self._request = request
        try:
            async with asyncio.timeout(self._patience):
                answer = await request.answer(self._chain.entrance)
        except TimeoutError as error:
            data = {"reason": "no_answer", "method": method, "seconds": self._patience}
            raise RpcError(INTERNAL_ERROR, data) from error
        finally:
            self._request = None
        if answer.error is not None:
            raise answer.error
        return as_object(answer.result)


def reopening_ways(greeting: Mapping[str, Any]) -> Sequence[Return]:
    """The requests by which an agent takes up a session that another process has made.

    Resuming comes first: it replays nothing.
    """
    able = as_object(greeting.get("agentCapabilities"))
    resume = as_object(able.get("sessionCapabilities")).get("resume")
    ways: list[Return] = []
    if resume is not None and resume is not False:
        ways.append("session/resume")
    if able.get("loadSession"):
        ways.append("session/load")
    return ways
