"""The message history: bounded, without secrets, and only for the user's programs."""

import json
from typing import Any

import pytest
from tests.support.bus_harness import SENDER, Scene

from symposium.bus.broker_requests import MAX_STORED_LINE, BusHistory

SECRET = "sk-" + "a1" * 16


def asked(scene: Scene, payload: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    scene.raw["me"].clear()
    scene.say("me", "history", payload or {})
    return scene.outcome("me")["data"]


@pytest.fixture
def scene() -> Scene:
    found = Scene()
    found.join("me", "cli")
    found.join("mcp", "mcp-server")
    return found


@pytest.mark.requirement("bus.history-private")
def test_history_is_shown_without_secrets(scene: Scene) -> None:
    scene.say("mcp", "log", {"level": "info", "message": f"key {SECRET}"})
    scene.say("mcp", "log", {"level": "info", "message": SECRET + "x" * MAX_STORED_LINE})
    found = asked(scene)

    assert len(found) == 2
    assert SECRET not in json.dumps(found)
    assert json.loads(found[0]["line"])["payload"]["message"] == "key [redacted]"


@pytest.mark.requirement("bus.history-private")
def test_secret_in_a_history_line_is_known_by_the_name_of_its_member(scene: Scene) -> None:
    scene.say("mcp", "log", {"level": "info", "message": "m", "token": ["abc def"]})
    (found,) = asked(scene)

    assert json.loads(found["line"])["payload"]["token"] == ["[redacted]"]


@pytest.mark.requirement("bus.history-bounds")
def test_line_truncated_within_a_character_is_shown() -> None:
    history = BusHistory()
    history.add(0.0, "c", "c", b"x" + "\u00e9".encode() * MAX_STORED_LINE, is_legacy=False)
    (entry,) = history

    assert history.logged(entry).line.endswith("\u00e9\ufffd")


@pytest.mark.requirement("bus.history-bounds")
def test_long_line_is_truncated_with_its_size() -> None:
    scene = Scene()
    scene.join("me", "cli")
    scene.say("me", "log", {"level": "info", "message": "x" * 2 * MAX_STORED_LINE})
    (found,) = asked(scene)

    assert len(found["line"]) == MAX_STORED_LINE
    assert found["size"] > 2 * MAX_STORED_LINE


@pytest.mark.requirement("bus.history-bounds")
def test_bytes_are_bounded_too() -> None:
    history = BusHistory(messages=2)
    for count in range(10):
        history.add(count, "c", "c", b"x" * 2 * MAX_STORED_LINE, is_legacy=False)

    assert [each.at for each in history] == [8, 9]
    assert sum(len(each.line) for each in history) == 2 * MAX_STORED_LINE


@pytest.mark.requirement("bus.history-private")
def test_disabled_history_stores_nothing() -> None:
    scene = Scene(BusHistory(messages=0))
    scene.join("me", "cli")
    scene.say("me", "polo")

    assert asked(scene) == []
    assert len(scene.broker.history) == 0


@pytest.mark.requirement("bus.history-filters")
def test_history_can_be_filtered(scene: Scene) -> None:
    there = {**SENDER, "taskspaceUuid": "AB"}
    scene.say("mcp", "polo")
    scene.say("me", "goodbye")
    scene.say("mcp", "goodbye", sender=there)

    def types(payload: dict[str, Any]) -> list[str]:
        return [json.loads(each["line"])["type"] for each in asked(scene, payload)]

    assert types({}) == ["polo", "goodbye", "goodbye"]
    assert types({"types": ["polo"]}) == ["polo"]
    assert types({"connection": "me"}) == ["goodbye"]
    assert types({"taskspace_uuid": "ab"}) == ["goodbye"]
    assert types({"last": 1}) == ["goodbye"]
    assert types({"last": 9}) == ["polo", "goodbye", "goodbye"]


@pytest.mark.requirement("bus.traffic")
def test_watcher_receives_each_message_once_without_secrets(scene: Scene) -> None:
    scene.join("watcher", "observer", subscribes=["*"])
    scene.join("app", "app", handles=["signal_user"])
    scene.raw["watcher"].clear()
    scene.say("mcp", "log", {"level": "info", "message": SECRET})
    scene.say("mcp", "who")

    (seen,) = scene.received("watcher")
    assert seen["type"] == "traffic"
    passed = seen["payload"]["passed"]
    assert (passed["by"], passed["name"]) == ("mcp", "mcp")
    assert SECRET not in passed["line"]


@pytest.mark.requirement("bus.traffic")
@pytest.mark.parametrize(
    "line", [b'{"type":"polo","id":"i","sender":{"workingDirectory":"/"}}', b"unreadable"]
)
def test_traffic_of_version_1_is_shown_and_still_relayed(scene: Scene, line: bytes) -> None:
    scene.say("me", "subscribe", {"types": ["*"]})
    scene.legacy("v1", "v2")
    scene.raw["me"].clear()
    scene.write("v1", line)

    (seen,) = scene.received("me")
    assert (seen["type"], seen["payload"]["passed"]["line"]) == ("traffic", line.decode())
    assert scene.raw["v2"] == [line]
