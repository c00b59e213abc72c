"""Treatment of a line, by the state of its peer."""

import json
from typing import Any

import pytest

from peerwire.errors import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND
from peerwire.jsonrpc.transport import Listener, OversizedLine
from symposium.chain.conductor import ClosedEnd
from symposium.chain.intake import MAX_NOTIFIED, Intake
from symposium.chain.link import MAX_OPEN, OVERFLOW, Link, PeerState
from symposium.chain.messages import ChainMessage, Direction
from symposium.chain.ordering import OrderedQueues
from symposium.chain.routing import Route, join


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
    """Ignore the end of the connection."""

    def link_ended(self, link: Link, error: Exception | None) -> None:
        raise AssertionError(link, error)

    def link_overflowed(self, link: Link) -> None:
        raise AssertionError(link)


class Breaks(ClosedEnd):
    """Fail, as only a bug of Symposium does."""

    def ask(self, call: Any) -> None:
        raise ZeroDivisionError(call)

    def notify(self, message: ChainMessage) -> None:
        raise ZeroDivisionError(message)


def peer(far: ClosedEnd) -> tuple[Intake, Link, FakeTransport]:
    transport = FakeTransport()
    link = Link("peer", transport, FakeOwner())

    def queues() -> OrderedQueues:
        return OrderedQueues(lambda work: pytest.fail(str(work)), lambda _: None)

    link.plain = Route(Direction.TO_CLIENT, (), far, queues())
    join(Route(Direction.TO_AGENT, (), ClosedEnd(), queues()), link.plain)
    return Intake(link), link, transport


@pytest.mark.requirement("conductor.state-draining-in")
@pytest.mark.parametrize("name", [b"1", b'"x"'])
def test_draining_peer_cannot_send_requests_but_can_answer(name: bytes) -> None:
    intake, link, transport = peer(ClosedEnd())
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
def test_bug_in_symposium_fails_one_request(name: bytes, caplog: pytest.LogCaptureFixture) -> None:
    intake, link, transport = peer(Breaks())
    link.state = PeerState.READY
    intake.lines_received([b'{"jsonrpc":"2.0","id":%b,"method":"m","params":{}}' % name])
    intake.lines_received([b'{"jsonrpc":"2.0","method":"_proxy/successor","params":{}}'])

    assert [one["error"]["code"] for one in transport.written] == [-32603]
    assert (link.serving, link.open) == ({}, {})
    assert "could not route a message of peer" in caplog.text


class Notes(ClosedEnd):
    """Notes what arrives."""

    def __init__(self) -> None:
        self.came: list[str] = []
        self.calls: list[Any] = []

    def forward(self, message: Any, line: bytes) -> None:
        del line
        self.came.append(message.method)

    def notify(self, message: ChainMessage) -> None:
        self.came.append(message.method)

    def ask(self, call: Any) -> None:
        self.came.append(call.message.method)
        self.calls.append(call)
        call.far_id = b"9"

    def cancel(self, call: Any) -> None:
        self.came.append(f"cancel {call.message.method}")


class Waits:
    """Waits for one response."""

    request_id = b"1"

    def __init__(self) -> None:
        self.answers: list[Any] = []

    def settle(self, answer: Any) -> None:
        self.answers.append(answer)


def proxy() -> tuple[Intake, Link, FakeTransport, Notes, Notes]:
    """A peer with a successor: what it writes itself, and what it writes in envelopes."""
    plain, wrapped = Notes(), Notes()
    intake, link, transport = peer(plain)
    link.state = PeerState.READY

    def queues() -> OrderedQueues:
        return OrderedQueues(lambda work: pytest.fail(str(work)), lambda _: None)

    link.wrapped = Route(Direction.TO_AGENT, (), wrapped, queues())
    join(link.wrapped, Route(Direction.TO_CLIENT, (), ClosedEnd(), queues()))
    return intake, link, transport, plain, wrapped


def request(method: str, params: str = "{}", name: int = 1) -> bytes:
    line = f'{{"jsonrpc":"2.0","id":{name},"method":"{method}","params":{params}}}'
    return line.encode()


def notification(method: str, params: str = "{}") -> bytes:
    return f'{{"jsonrpc":"2.0","method":"{method}","params":{params}}}'.encode()


@pytest.mark.requirement("conductor.lanes")
@pytest.mark.parametrize("is_wrapped", [False, True])
def test_nothing_overtakes_what_waits_in_its_lane(*, is_wrapped: bool) -> None:
    intake, link, _, plain, wrapped = proxy()
    route, far = (link.wrapped, wrapped) if is_wrapped else (link.plain, plain)
    assert route is not None
    taken: list[str] = []
    route.take = lambda message, *_, **__: taken.append(message.method)  # type: ignore[method-assign]
    line = notification("next")
    if is_wrapped:
        line = notification("_proxy/successor", '{"method":"next","params":{}}')
    intake.lines_received([line])
    route.queues.idle = False
    intake.lines_received([line])

    assert (far.came, taken) == (["next"], ["next"])


@pytest.mark.requirement("conductor.intake")
def test_a_line_beyond_the_limit_is_answered_with_its_id_and_the_limit() -> None:
    intake, _, transport, plain, _ = proxy()
    head = b'{"jsonrpc":"2.0","id":7,"method":"m","params":{"x":"'
    intake.lines_received([OversizedLine(head, 1000, b'"}}'), notification("next")])

    (refusal,) = transport.written
    assert refusal["id"] == 7
    assert refusal["error"]["data"] == {"reason": "line_too_long", "limit": 1000, "peer": "peer"}
    assert plain.came == ["next"]


@pytest.mark.requirement("conductor.intake")
@pytest.mark.parametrize("what", ["requests", "bytes"])
def test_a_peer_that_has_asked_too_much_is_refused_with_both_limits(what: str) -> None:
    intake, link, transport, plain, _ = proxy()
    if what == "requests":
        link.open = {object(): 0 for _ in range(MAX_OPEN - 1)}  # type: ignore[misc] - only counted
    else:
        link.open_size = OVERFLOW - len("{}")
    intake.lines_received([request("fits", name=1)])
    assert (plain.came, transport.written) == (["fits"], [])
    link.open_size += what == "bytes"
    intake.lines_received([request("more", name=2), request("_proxy/successor", name=3)])

    assert plain.came == ["fits"]
    assert [one["id"] for one in transport.written] == [2, 3]
    for refusal in transport.written:
        assert refusal["error"]["data"] == {
            "reason": "too_many_open_requests",
            "peer": "peer",
            "limits": {"requests": MAX_OPEN, "bytes": OVERFLOW},
        }


@pytest.mark.requirement("conductor.intake")
def test_lines_that_are_no_messages_are_logged_up_to_a_limit(
    caplog: pytest.LogCaptureFixture,
) -> None:
    intake, _, transport, _, _ = proxy()
    intake.lines_received([b"no JSON"] * (MAX_NOTIFIED + 5))

    warnings = [each.getMessage() for each in caplog.records]
    assert len(warnings) == MAX_NOTIFIED + 1
    assert warnings[0].startswith("peer wrote an invalid message")
    assert warnings[-1] == "suppressing further warnings about peer"
    assert len(transport.written) == MAX_NOTIFIED + 5


@pytest.mark.requirement("conductor.intake")
def test_a_response_that_is_malformed_fails_the_request_that_it_answers() -> None:
    intake, link, transport, _, _ = proxy()
    waits = Waits()
    key = link.ask(waits)
    intake.lines_received([b'{"jsonrpc":"2.0","id":%b,"result":1,"error":{"code":1}}' % key])

    (answer,) = waits.answers
    assert answer.error.code == INTERNAL_ERROR
    assert (transport.written, link.asked) == ([], {})


@pytest.mark.requirement("conductor.intake")
def test_a_response_to_no_request_is_logged_only_if_its_id_was_never_used(
    caplog: pytest.LogCaptureFixture,
) -> None:
    intake, link, transport, _, _ = proxy()
    key = link.ask(Waits())
    response = b'{"jsonrpc":"2.0","id":%b,"result":1}'
    for name in (key, key, b"null", b"0", b"2", b'"%b"' % (b"x" * 100)):
        intake.lines_received([response % name])

    assert [each.getMessage() for each in caplog.records if each.levelname == "WARNING"] == [
        "peer answered id 0, which it was never asked",
        "peer answered id 2, which it was never asked",
        f'peer answered id "{"x" * 63}, which it was never asked',
    ]
    assert transport.written == []


@pytest.mark.requirement("conductor.intake")
@pytest.mark.parametrize(
    ("line", "reason"), [(b"[]", "an empty batch"), (b"[[1]]", "a batch inside a batch")]
)
def test_a_batch_that_is_empty_or_in_a_batch_is_refused(line: bytes, reason: str) -> None:
    intake, _, transport, _, _ = proxy()
    intake.lines_received([line, request("next")])

    answers: Any = transport.written[0]
    refusal: Any = answers[0] if line == b"[[1]]" else answers
    assert (refusal["id"], refusal["error"]["data"]) == (None, reason)


@pytest.mark.requirement("conductor.intake")
def test_an_envelope_of_a_peer_without_successor_is_refused_and_dropped(
    caplog: pytest.LogCaptureFixture,
) -> None:
    plain = Notes()
    intake, link, transport = peer(plain)
    link.state = PeerState.READY
    inside = '{"method":"m","params":{}}'
    intake.lines_received(
        [request("_proxy/successor", inside), notification("_proxy/successor", inside)]
    )

    (refusal,) = transport.written
    assert (refusal["error"]["code"], refusal["error"]["data"]) == (
        METHOD_NOT_FOUND,
        "_proxy/successor",
    )
    assert "dropped an envelope from peer, which is not a proxy" in caplog.text
    assert plain.came == []


@pytest.mark.requirement("conductor.intake")
def test_an_envelope_of_a_proxy_is_opened_and_one_without_a_method_is_refused(
    caplog: pytest.LogCaptureFixture,
) -> None:
    intake, link, transport, plain, wrapped = proxy()
    inside = '{"method":"m","params":{}}'
    intake.lines_received(
        [
            request("_proxy/successor", inside),
            notification("_proxy/successor", inside),
            request("_proxy/successor", "{}", name=2),
            notification("_proxy/successor", "{}"),
        ]
    )

    assert (plain.came, wrapped.came) == ([], ["m", "m"])
    (refusal,) = transport.written
    assert (refusal["id"], refusal["error"]["code"]) == (2, INVALID_PARAMS)
    assert refusal["error"]["data"].startswith("_proxy/successor needs params with the method")
    assert "peer sent an envelope without a method" in caplog.text
    cancel = '{"method":"$/cancel_request","params":{"requestId":1}}'
    intake.lines_received([notification("_proxy/successor", cancel)])
    assert wrapped.came == ["m", "m", "cancel m"]
    assert list(link.serving) == [b"1"], "the answer is owed nevertheless"


class Greeting:
    """Notes which calls a component waits for."""

    def __init__(self) -> None:
        self.waits: list[Any] = []

    def wait_for(self, call: Any) -> None:
        self.waits.append(call)

    def on_answer(self, call: Any, answer: Any) -> None: ...


@pytest.mark.requirement("conductor.intake")
def test_only_initialize_in_an_envelope_greets_the_successor() -> None:
    intake, link, _, plain, wrapped = proxy()
    link.handshake = greeting = Greeting()
    intake.lines_received([request("initialize"), request("session/new", name=2)])
    inside = '{"method":"%s","params":{}}'
    intake.lines_received([request("_proxy/successor", inside % "session/new", name=3)])
    assert greeting.waits == []
    intake.lines_received([request("_proxy/successor", inside % "initialize", name=4)])

    assert [call.request_id for call in greeting.waits] == [b"4"]
    assert plain.came == ["initialize", "session/new"]
    assert wrapped.came == ["session/new", "initialize"]
