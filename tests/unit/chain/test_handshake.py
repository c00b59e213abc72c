"""Handshake with one component: timer, attempts, and version."""

import json
from collections.abc import Coroutine
from typing import Any

import pytest
from msgspec import Raw
from tests.support.set_clock import SetClock, on_set_clock

from peerwire.acp.names import ERAS, INITIALIZE, Dialect
from peerwire.errors import INTERNAL_ERROR, METHOD_NOT_FOUND, RpcError
from peerwire.jsonrpc.transport import Listener
from symposium.chain.calls import ModCall
from symposium.chain.conductor import ClosedEnd
from symposium.chain.handshake import AS_AGENT, AS_PROXY, Initializer, VersionSelection
from symposium.chain.link import Link, PeerState
from symposium.chain.messages import Answer, ChainMessage, Direction
from symposium.chain.ordering import OrderedQueues
from symposium.chain.routing import Route, join


class Paper:
    """A transport that only remembers."""

    backlog = 0

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []

    def start(self, listener: Listener) -> None: ...

    def send(self, line: bytes) -> None:
        self.lines.append(json.loads(line))

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    async def drain(self) -> None: ...

    async def aclose(self, *, grace: float = 1.0) -> None: ...


class NoOwner:
    def link_ended(self, link: Link, error: Exception | None) -> None: ...

    def link_overflowed(self, link: Link) -> None: ...


def no_tasks(work: Coroutine[Any, Any, None]) -> Any:
    raise AssertionError(work)


def route(direction: Direction) -> Route:
    return Route(direction, (), ClosedEnd(), OrderedQueues(no_tasks, lambda _: None))


class Asker:
    """Notes the answers."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []

    def on_answer(self, call: ModCall, answer: Answer) -> None:
        assert call.is_settled
        self.answers.append(answer)


class Greeted:
    """A component that is being greeted, and the client that waits for it."""

    def __init__(self, dialects: Any = AS_PROXY, version: int = 1) -> None:
        self.paper, self.asker = Paper(), Asker()
        self.link = Link("mod", self.paper, NoOwner())
        self.selection = VersionSelection(version, timeout=10)
        self.call = self.request(b'{"protocolVersion":%d}' % version)
        Initializer(self.selection, dialects=dialects).initialize(self.link, self.call)

    def request(self, params: bytes = b"{}") -> ModCall:
        there, back = route(Direction.TO_AGENT), route(Direction.TO_CLIENT)
        join(there, back)
        return ModCall(
            ChainMessage(INITIALIZE, Raw(params), is_request=True), self.asker, b"1", there
        )

    def answer(self, answer: Answer) -> None:
        self.link.asked.pop(b"%d" % self.link.last_id).settle(answer)

    def reasons(self) -> list[Any]:
        return [one.error and one.error.data for one in self.asker.answers]


TIMED_OUT = {"reason": "initialize_timeout", "component": "mod", "seconds": 10}
VERSION_ONE = Answer(value={"protocolVersion": 1})


@pytest.mark.requirement("conductor.init-timeout")
def test_component_has_its_full_timeout_and_no_more() -> None:
    async def run(clock: SetClock) -> None:
        greeted = Greeted()
        await clock.advance(9.9)
        assert greeted.asker.answers == []
        await clock.advance(0.2)
        assert greeted.reasons() == [TIMED_OUT]
        assert greeted.link.state is PeerState.FAILED
        assert greeted.link.asked == {}, "a late response is no answer"

    on_set_clock(run)


@pytest.mark.requirement("conductor.init-timeout")
def test_a_greeted_component_is_not_failed_when_its_time_would_be_up() -> None:
    async def run(clock: SetClock) -> None:
        greeted = Greeted()
        greeted.answer(VERSION_ONE)
        await clock.advance(100)
        assert greeted.link.state is PeerState.READY
        assert [answer.result for answer in greeted.asker.answers] == [{"protocolVersion": 1}]

    on_set_clock(run)


@pytest.mark.requirement("conductor.init-timeout")
def test_the_time_of_a_component_stops_while_its_successor_is_greeted() -> None:
    async def run(clock: SetClock) -> None:
        greeted = Greeted()
        handshake = greeted.link.handshake
        assert handshake is not None
        successor, other = greeted.request(), greeted.request()
        await clock.advance(9)
        handshake.wait_for(successor)
        await clock.advance(100)
        handshake.on_answer(other, VERSION_ONE)
        await clock.advance(100)
        assert greeted.asker.answers == []
        handshake.on_answer(successor, VERSION_ONE)
        await clock.advance(9)
        handshake.on_answer(successor, VERSION_ONE)
        await clock.advance(2)
        assert greeted.reasons() == [TIMED_OUT], "its time runs once, from the first answer"

    on_set_clock(run)


@pytest.mark.requirement("conductor.init-timeout")
def test_all_attempts_share_one_time() -> None:
    async def run(clock: SetClock) -> None:
        greeted = Greeted()
        await clock.advance(9)
        greeted.answer(Answer(error=RpcError(METHOD_NOT_FOUND)))
        await clock.advance(2)
        assert greeted.reasons() == [TIMED_OUT]
        assert len(greeted.paper.lines) == 2

    on_set_clock(run)


@pytest.mark.requirement("conductor.init-version-mod-differs")
@pytest.mark.parametrize(
    ("answered", "selected"), [(1, None), (2, 1), (None, "protocol_version_missing")]
)
def test_a_mod_must_answer_with_the_version_of_its_successor(answered: Any, selected: Any) -> None:
    async def run(_: SetClock) -> None:
        greeted = Greeted(version=2)
        handshake = greeted.link.handshake
        assert handshake is not None
        successor = greeted.request()
        handshake.wait_for(successor)
        handshake.on_answer(successor, VERSION_ONE)
        greeted.answer(Answer(value={"protocolVersion": answered}))
        (answer,) = greeted.asker.answers
        data: Any = None if answer.error is None else answer.error.data
        if selected is None:
            assert data is None
        elif isinstance(selected, str):
            assert data["reason"] == selected
            assert data["component"] == "mod"
        else:
            assert (data["selected"], data["answered"]) == (selected, answered)
            assert "update the mod" in data["hint"]

    on_set_clock(run)


@pytest.mark.requirement("conductor.init-version-answer-differs")
@pytest.mark.parametrize(
    ("answered", "is_fine"), [(0, False), (-1, False), (1, True), (2, True), (3, False)]
)
def test_an_agent_may_answer_any_version_up_to_the_one_asked_for(
    answered: int,
    is_fine: bool,  # noqa: FBT001 - the second half of a row
) -> None:
    async def run(_: SetClock) -> None:
        greeted = Greeted(AS_AGENT, version=2)
        greeted.answer(Answer(value={"protocolVersion": answered}))
        (answer,) = greeted.asker.answers
        if is_fine:
            assert answer.result == {"protocolVersion": answered}
            assert greeted.selection.agreed == answered
        else:
            assert answer.error is not None
            assert answer.error.code == INTERNAL_ERROR
            hint = "use an agent that speaks version 2 of ACP"
            if answered == 3:
                hint += ", or a client that asks for version 3"
            assert answer.error.data["hint"] == hint, "no client can ask for version 0"
            assert greeted.selection.agreed is None
            assert greeted.link.failure is answer.error

    on_set_clock(run)


@pytest.mark.requirement("conductor.init-version-mod-differs")
@pytest.mark.parametrize(
    ("agreed", "answered", "is_fault"), [(None, 2, False), (1, 1, False), (1, 2, True)]
)
def test_a_mod_that_changed_the_agents_version_is_named(
    agreed: int | None,
    answered: int,
    is_fault: bool,  # noqa: FBT001 - the last part of a row
) -> None:
    fault = VersionSelection(2, agreed=agreed).fault(Answer(value={"protocolVersion": answered}))
    assert (fault is not None) is is_fault
    if fault is not None:
        assert fault.data["reason"] == "protocol_version_mismatch"
        assert (fault.data["selected"], fault.data["answered"]) == (agreed, answered)


@pytest.mark.requirement("conductor.init-timeout")
def test_each_answer_to_a_component_starts_its_time_again() -> None:
    async def run(clock: SetClock) -> None:
        greeted = Greeted()
        handshake = greeted.link.handshake
        assert handshake is not None
        first, second = greeted.request(), greeted.request()
        handshake.wait_for(first)
        handshake.wait_for(second)
        handshake.on_answer(first, VERSION_ONE)
        await clock.advance(9)
        handshake.on_answer(second, VERSION_ONE)
        await clock.advance(9)
        assert greeted.asker.answers == []

    on_set_clock(run)


FLAGGED = {"protocolVersion": 1, "_meta": {"proxy": True}}


@pytest.mark.requirement("acp.init-form-p0-unconfirmed")
@pytest.mark.parametrize("dialect", list(Dialect))
def test_only_a_greeting_with_the_flag_must_be_answered_with_it(dialect: Dialect) -> None:
    async def run(_: SetClock) -> None:
        greeted = Greeted((dialect,))
        has_flag = ERAS[dialect].initialize == INITIALIZE
        (written,) = greeted.paper.lines
        assert written["method"] == ERAS[dialect].initialize
        assert written["params"] == (FLAGGED if has_flag else {"protocolVersion": 1})
        greeted.answer(VERSION_ONE)
        (answer,) = greeted.asker.answers
        if has_flag:
            assert answer.error is not None
            assert answer.error.data == "component mod is not a proxy"
        else:
            assert answer.result == {"protocolVersion": 1}
            assert greeted.link.dialect is dialect

    on_set_clock(run)


@pytest.mark.requirement("acp.init-form-p0-unconfirmed")
def test_the_flag_in_the_answer_of_a_component_stays_between_it_and_the_chain() -> None:
    async def run(_: SetClock) -> None:
        greeted = Greeted((Dialect.PACP_SPLIT,))
        greeted.answer(Answer(value=FLAGGED))
        (answer,) = greeted.asker.answers
        assert answer.result == {"protocolVersion": 1}

    on_set_clock(run)


@pytest.mark.requirement("conductor.initialize-failed")
def test_the_error_of_a_component_is_passed_with_equal_bytes() -> None:
    async def run(_: SetClock) -> None:
        greeted = Greeted()
        body = b'{"code":-32000,  "message":"log in","new":1}'
        greeted.answer(Answer(error_body=body))
        (answer,) = greeted.asker.answers
        assert answer.error_body == body
        assert len(greeted.paper.lines) == 1, "no further form is tried"

    on_set_clock(run)
