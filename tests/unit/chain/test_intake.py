"""What becomes of a line, by the state of its peer."""

import json
from typing import Any

import pytest

from peerwire.jsonrpc.transport import Listener
from symposium.chain.conductor import Nowhere
from symposium.chain.intake import Intake
from symposium.chain.link import Link, PeerState
from symposium.chain.messages import Crossing, Direction
from symposium.chain.ordering import Lanes
from symposium.chain.routing import Way, join


class FakeTransport:
    """Notes what is written."""

    def __init__(self) -> None:
        self.written: list[Any] = []
        self.backlog = 0

    def start(self, listener: Listener) -> None:
        assert listener

    def send(self, line: bytes) -> None:
        self.written.append(json.loads(line))

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    async def drain(self) -> None: ...

    async def aclose(self, *, grace: float = 1.0) -> None:
        assert grace


class FakeOwner:
    """Is told nothing here."""

    def link_ended(self, link: Link, error: Exception | None) -> None:
        raise AssertionError(link, error)

    def link_overflowed(self, link: Link) -> None:
        raise AssertionError(link)


class Breaks(Nowhere):
    """Fails, as only a fault of ours does."""

    def ask(self, call: Any) -> None:
        raise ZeroDivisionError(call)

    def notify(self, crossing: Crossing) -> None:
        raise ZeroDivisionError(crossing)


def peer(far: Nowhere) -> tuple[Intake, Link, FakeTransport]:
    transport = FakeTransport()
    link = Link("peer", transport, FakeOwner())

    def lanes() -> Lanes:
        return Lanes(lambda work: pytest.fail(str(work)), lambda _: None)

    link.plain = Way(Direction.TO_CLIENT, (), far, lanes())
    join(Way(Direction.TO_AGENT, (), Nowhere(), lanes()), link.plain)
    return Intake(link), link, transport


@pytest.mark.requirement("conductor.state-draining-in")
@pytest.mark.parametrize("name", [b"1", b'"x"'])
def test_a_draining_peer_may_ask_nothing_more_and_its_answers_are_taken(name: bytes) -> None:
    intake, link, transport = peer(Nowhere())
    link.state = PeerState.DRAINING
    answers: list[Any] = []

    class Waiter:
        request_id = b"1"

        def settle(self, answer: Any) -> None:
            answers.append(answer.result)

    key = link.ask(Waiter())
    intake.lines_received([b'{"jsonrpc":"2.0","id":%b,"method":"m","params":{}}' % name])
    intake.lines_received([b'{"jsonrpc":"2.0","id":%b,"result":"taken"}' % key])

    assert [one["error"]["data"] for one in transport.written] == [{"reason": "shutting_down"}]
    assert answers == ["taken"]


@pytest.mark.requirement("conductor.internal-fault")
@pytest.mark.parametrize("name", [b"1", b'"x"'])
def test_a_fault_of_ours_is_one_requests_answer(
    name: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    intake, link, transport = peer(Breaks())
    link.state = PeerState.READY
    intake.lines_received([b'{"jsonrpc":"2.0","id":%b,"method":"m","params":{}}' % name])
    intake.lines_received([b'{"jsonrpc":"2.0","method":"_proxy/successor","params":{}}'])

    assert [one["error"]["code"] for one in transport.written] == [-32603]
    assert (link.serving, link.open) == ({}, {})
    assert "could not route a message of peer" in caplog.text
