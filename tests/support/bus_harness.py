"""Bus without sockets: a broker, and peers that write lines and store what they receive."""

import json
from collections.abc import Iterable
from typing import Any

from peerwire.jsonrpc.transport import OversizedLine
from symposium.bus.broker import Broker
from symposium.bus.broker_requests import BusHistory
from symposium.bus.peers import SocketKind
from symposium.bus.routing import Action, Close, Deliver, Warn

NOW = 1_700_000_000.0

SENDER = {"workingDirectory": "/project", "taskspaceUuid": None, "shellPid": None}


class Scene:
    """A broker and its peers by name; a message is a dict or the bytes of a line."""

    def __init__(self, history: BusHistory | None = None) -> None:
        self.broker = Broker(lambda: self.uptime, boot="boot", history=history)
        self.now = NOW
        self.uptime = 100.0
        self.raw: dict[str, list[bytes]] = {}
        self.closed: dict[str, str] = {}
        self.warned: list[str] = []
        self._ids = 0

    def join(self, name: str, role: str, **told: Any) -> str:
        """Connect a peer and send its hello."""
        self.connect(name)
        sender = told.pop("sender", SENDER)
        payload = {"protocol": 2, "role": role, "name": name, **told}
        self.say(name, "hello", payload, sender=sender)
        # A peer that handles roll calls receives one right after the response.
        answer = next(each for each in self.received(name) if each["type"] == "response")
        assert answer["payload"]["success"], self.received(name)
        self.raw[name].clear()
        return name

    def connect(self, name: str, socket_kind: SocketKind = SocketKind.BUS) -> str:
        """Connect a peer without a hello."""
        self.raw[name] = []
        self.broker.connected(name, socket_kind, self.now)
        return name

    def legacy(self, *names: str) -> None:
        """Connect peers of version 1."""
        for name in names:
            self.connect(name, SocketKind.COMPAT)

    def say(
        self,
        name: str,
        type_: str,
        payload: object = None,
        *,
        to: dict[str, str] | None = None,
        sender: dict[str, Any] | None = None,
        id_: str = "",
    ) -> str:
        """Write a message; return its id."""
        self._ids += 1
        request_id = id_ or f"id-{self._ids}"
        message = {
            "type": type_,
            "id": request_id,
            "sender": sender or SENDER,
            "payload": {} if payload is None else payload,
        }
        if to is not None:
            message["to"] = to
        self.write(name, json.dumps(message).encode())
        return request_id

    def write(self, name: str, line: bytes | OversizedLine) -> None:
        self.do(self.broker.receive(name, line, self.now))

    def answer(self, name: str, request: dict[str, Any], data: object = None) -> None:
        """Answer a received message."""
        reply: object = data if data is not None else {}
        self.say(name, "response", {"success": True, "data": reply}, id_=request["id"])

    def leave(self, name: str) -> None:
        """Disconnect a peer."""
        self.do(self.broker.disconnected(name))

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds
        self.uptime += seconds
        self.do(self.broker.expire())

    def do(self, actions: Iterable[Action]) -> None:
        """Perform actions of the broker."""
        for action in actions:
            match action:
                case Deliver(connections, line):
                    for each in connections:
                        self.raw.setdefault(each, []).append(line)
                case Close(connection, reason):
                    self.closed[connection] = reason
                case Warn(text):
                    self.warned.append(text)

    def received(self, name: str) -> list[dict[str, Any]]:
        """All messages that a peer received."""
        return [json.loads(line) for line in self.raw[name]]

    def types(self, name: str) -> list[str]:
        """The types of all messages that a peer received."""
        return [each["type"] for each in self.received(name)]

    def outcome(self, name: str) -> dict[str, Any]:
        """Return the payload of the only response of a peer, and forget its messages."""
        (response,) = [each for each in self.received(name) if each["type"] == "response"]
        self.raw[name].clear()
        return response["payload"]

    def code(self, name: str) -> str:
        """Return the code of the only error of a peer."""
        outcome = self.outcome(name)
        assert outcome["success"] is False
        assert outcome["error"], "an error has a message"
        return outcome["code"]
