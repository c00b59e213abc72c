"""A message between a peer and the daemon itself is decoded once."""

import msgspec
import pytest

from symposium.bus.broker import Broker
from symposium.bus.envelope import (
    BusOutcome,
    Sender,
    envelope_of,
    response,
    success,
    write_envelope,
)
from symposium.bus.handlers import HandlerTable, RequestContext
from symposium.bus.messages.agents import LogProgress, Recorded
from symposium.bus.messages.broker import PROTOCOL, Hello
from symposium.bus.peers import BusPeer, SocketKind
from symposium.bus.protocol import Role, payload_of
from symposium.bus.routing import Deliver

HERE = Sender("/here")
LOG = LogProgress(project_path="/p", taskspace_uuid="u", message="m")


def seated(broker: Broker, name: str, role: Role, answers: HandlerTable) -> None:
    peer = BusPeer(name, SocketKind.BUS, 0.0, name)
    peer.accept_hello(Hello(protocol=PROTOCOL, role=role, name=name, handles=answers.handles))
    broker.peers.add(peer)


@pytest.fixture
def broker() -> Broker:
    async def log(message: LogProgress, asked: RequestContext) -> Recorded:
        pytest.fail(f"the broker calls no handler: {message} from {asked}")

    answers = HandlerTable()
    answers.on_request(LogProgress, log)
    made = Broker(lambda: 0.0)
    seated(made, "daemon", Role.DAEMON, answers)
    seated(made, "c1", Role.CLI, HandlerTable())
    return made


@pytest.mark.requirement("bus.read-once")
@pytest.mark.parametrize("claimed", [None, "c2"])
def test_the_daemon_gets_a_request_as_the_broker_has_read_it_with_its_true_sender(
    claimed: str | None, broker: Broker
) -> None:
    sent = envelope_of(LOG, HERE)
    if claimed is not None:
        sent = msgspec.structs.replace(sent, from_=claimed)

    (action,) = broker.receive("c1", write_envelope(sent), 0.0)

    assert isinstance(action, Deliver)
    assert action.connections == ("daemon",)
    assert action.envelope == msgspec.structs.replace(sent, from_="c1")


@pytest.mark.requirement("bus.read-once")
def test_an_answer_of_the_daemon_is_passed_on_without_reading_its_line(broker: Broker) -> None:
    sent = envelope_of(LOG, HERE)
    broker.receive("c1", write_envelope(sent), 0.0)
    answer = response(sent.id, HERE, success(payload_of(Recorded(watchers=2))))

    (action,) = broker.receive("daemon", answer, 0.0)

    assert isinstance(action, Deliver)
    assert action.connections == ("c1",)
    document = msgspec.json.decode(action.line)
    assert document["payload"] == {"success": True, "data": {"watchers": 2}}
    assert document["from"] == "daemon"


@pytest.mark.requirement("bus.read-once")
def test_messages_of_an_unknown_connection_are_ignored(broker: Broker) -> None:
    answer = response("1", HERE, BusOutcome(success=True))

    assert broker.receive("nobody", answer, 0.0) == ()
