"""A chain shared by sessions, and requests of run mode to it."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final, cast

from peerwire.errors import RpcError
from symposium.chain.blueprint import Program
from symposium.chain.calls import ModCall, Requester
from symposium.chain.messages import Answer, ChainMessage
from symposium.chain.routing import Route
from symposium.chain.running_chain import RunningChain
from symposium.config.user_config import Config
from symposium.planning.planner import Plan
from symposium.run_mode.editor_route_end import EditorRouteEnd, MessageGate
from symposium.run_mode.settings import Composition

_LIST: Final = "session/list"
_CANCEL: Final = "session/cancel"


class OpenChain:
    """A chain that has answered `initialize`.

    Attributes:
        config: the config of the chain.
        mods: the names of its mods.
        command: the command of its agent; empty for an agent in this process.
        notes: notes for the user, shown once in each session.
        running: the running components.
        end: the chain's end of the editor connection.
        initialize_result: its result of `initialize`.
        entrance: the route of the editor's messages.
        to_agent: holds messages to the agent while the whole chain is paused.
        sessions: the editor's id of each session, by the agent's.
        death: the error that ended the chain; None while it runs.
        stopped: set when all processes of a crashed chain have stopped.
        on_empty: called when the last session has been released.
    """

    def __init__(self, config: Config, composition: Composition, running: RunningChain) -> None:
        self.config = config
        self.mods = composition.mods
        agent = composition.chain.agent
        self.command = agent.command.argv if isinstance(agent, Program) else ()
        self.notes = composition.notes
        self.running = running
        self.initialize_result: Mapping[str, Any] = {}
        self.to_agent = MessageGate()
        self.sessions: dict[str, str] = {}
        self.death: RpcError | None = None
        self.stopped = asyncio.Event()
        self.on_empty: Callable[[], None] = _nothing
        self._calls: dict[ModCall, None] = {}
        self._quiet = asyncio.Event()

    def open(self, entrance: Route, end: EditorRouteEnd) -> None:
        """Connect the chain to the editor.

        Args:
            entrance: the route of the editor's messages.
            end: the receiver of answers and of the agent's messages.
        """
        self.entrance = entrance
        self.end = end

    def planned(self, plan: Plan) -> None:
        """Store which mods the chain has and which were left out."""
        self.mods = [entry.id for entry in plan.chain]
        left_out = [
            f"_The mod `{each.component}` is left out: neither the editor nor a mod offers "
            f"{', '.join(each.missing)}._\n\n"
            for each in plan.degraded
        ]
        self.notes = [*self.notes, *left_out]

    @property
    def is_busy(self) -> bool:
        """Whether the chain has open requests."""
        return bool(self._calls)

    def send_request(self, call: ModCall) -> None:
        """Send a request with the agent's session id."""
        session = call.message.session_id
        call.asker = _Passing(call.asker, self, session)
        call.route = self.entrance
        call.rest = None
        self._calls[call] = None
        if not self.to_agent.hold(session, call.message.size, lambda: self._take(call)):
            self._take(call)

    def send_notification(self, message: ChainMessage) -> None:
        """Send a notification; `session/cancel` passes a paused chain."""

        def go() -> None:
            self.entrance.take(message)

        is_kept = message.method != _CANCEL and self.to_agent.hold(
            message.session_id, message.size, go
        )
        if not is_kept:
            go()

    def pass_answer(
        self, call: ModCall, answer: Answer, asker: Requester, session: str | None
    ) -> None:
        """Forward the answer to a request after earlier messages."""
        self._calls.pop(call, None)
        if not self._calls:
            self._quiet.set()
        if call.message.method == _LIST and self.end.outer_ids:
            answer = with_outer_ids(answer, self.end.outer_ids)
        self.end.pass_answer(session, answer.size, lambda: asker.on_answer(call, answer))

    def attach_session(self, inner_id: str, outer_id: str) -> None:
        self.sessions[inner_id] = outer_id
        if inner_id != outer_id:
            self.end.rename(inner_id, outer_id)

    def release(self, inner_id: str) -> None:
        """Detach a session from the chain."""
        self.sessions.pop(inner_id, None)
        self.end.forget(inner_id)
        if not self.sessions:
            self.on_empty()

    async def wait_idle(self, seconds: float) -> None:
        """Wait until no request is open, at most `seconds`."""
        self._quiet.clear()
        if self._calls:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._quiet.wait()

    def fail_open(self, error: RpcError) -> None:
        """Fail all open requests with an error."""
        for call in list(self._calls):
            call.fail(error)

    def _take(self, call: ModCall) -> None:
        if not call.is_settled:
            self.entrance.take(call.message, call)


class _Passing:
    """Requester behind a chain: the response waits where the agent's updates wait."""

    def __init__(self, asker: Requester, chain: OpenChain, session: str | None) -> None:
        self._asker = asker
        self._chain = chain
        self._session = session

    def on_answer(self, call: ModCall, answer: Answer) -> None:
        self._chain.pass_answer(call, answer, self._asker, self._session)


def with_outer_ids(answer: Answer, outer_ids: Mapping[str, str]) -> Answer:
    """Replace the agent's session ids in a list of sessions with the editor's."""
    result = answer.result
    listed = cast("dict[str, Any]", result).get("sessions") if _is_object(result) else None
    if not isinstance(listed, list):
        return answer
    entries = [_as_known(entry, outer_ids) for entry in cast("list[Any]", listed)]
    return Answer(value={**result, "sessions": entries})


def _as_known(entry: Any, outer_ids: Mapping[str, str]) -> Any:
    if not _is_object(entry):
        return entry
    known = cast("dict[str, Any]", entry)
    inner = known.get("sessionId")
    return {**known, "sessionId": outer_ids.get(str(inner), inner)}


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _nothing() -> None:
    pass


class HostRequest:
    """One request from run mode, and its response."""

    def __init__(self, message: ChainMessage) -> None:
        self._message = message
        self._answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._call: ModCall | None = None

    async def answer(self, route: Route) -> Answer:
        """Send the request along a route and wait; cancellation cancels the request."""
        call = self._call = ModCall(self._message, self, b"", route)
        route.take(self._message, call)
        try:
            return await self._answer
        except asyncio.CancelledError:
            call.cancel()
            raise

    def give_up(self, answer: Answer) -> None:
        """Settle the request: the component will not answer."""
        if self._call is not None:
            self._call.settle(answer)

    def on_answer(self, call: ModCall, answer: Answer) -> None:
        del call
        if not self._answer.done():
            self._answer.set_result(answer)
