"""The peer that a request reaches, and the properties that are shown of peers."""

import json

import pytest
from tests.support.bus_harness import SENDER, Scene

from symposium.bus.peers import WINDOW_SECONDS

ELSEWHERE = {**SENDER, "workingDirectory": "/elsewhere"}


@pytest.fixture
def scene() -> Scene:
    found = Scene()
    found.join("mcp", "mcp-server")
    found.join("window", "editor", handles=["get_selection", "close_walkthrough"])
    found.say("window", "presence", {"kind": "editor", "workspace_folders": ["/project"]})
    found.raw["window"].clear()
    return found


@pytest.mark.requirement("bus.route-directory", "bus.no-handler")
def test_only_window_is_not_asked_for_a_directory_outside_its_folders(scene: Scene) -> None:
    scene.say("mcp", "get_selection", sender=ELSEWHERE)

    assert scene.code("mcp") == "no_handler"
    assert scene.raw["window"] == []


@pytest.mark.requirement("bus.addressed")
def test_addressed_window_is_asked_for_every_directory(scene: Scene) -> None:
    scene.say("mcp", "get_selection", to={"connection": "window"}, sender=ELSEWHERE)

    assert scene.types("window") == ["get_selection"]


@pytest.mark.requirement("bus.presence", "bus.window-registered")
def test_registered_window_without_heartbeats_wins_against_a_silent_one(scene: Scene) -> None:
    there = {**SENDER, "taskspaceUuid": "t"}
    scene.say("window", "presence", {"kind": "editor", "taskspace_uuid": "t"})
    scene.raw["window"].clear()
    scene.join("registered", "editor", handles=["get_selection"])
    scene.do(scene.broker.requests.register_window("registered", "t", "title"))
    scene.now += WINDOW_SECONDS + 1
    scene.say("mcp", "get_selection", sender=there)

    assert scene.types("registered") == ["get_selection"]
    assert scene.raw["window"] == []


@pytest.mark.requirement("bus.presence")
def test_who_shows_each_request_type_that_a_peer_handles(scene: Scene) -> None:
    scene.join("cli", "cli")
    scene.say("cli", "who", {"role": "editor"})

    (shown,) = scene.outcome("cli")["data"]
    assert shown["handles"] == ["close_walkthrough", "get_selection"]


@pytest.mark.requirement("bus.acknowledged")
@pytest.mark.parametrize("ack", [True, False])
def test_log_message_is_acknowledged_only_if_asked_for(scene: Scene, *, ack: bool) -> None:
    message = {"type": "log", "id": "l", "sender": SENDER, "ack": ack}
    line = {**message, "payload": {"level": "info", "message": "m"}}
    scene.write("mcp", json.dumps(line).encode())

    answers = [each["payload"]["data"] for each in scene.received("mcp")]
    assert answers == ([{"delivered": 0}] if ack else [])
