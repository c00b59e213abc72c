"""Peers of version 1: like the reference among themselves, limited toward version 2."""

import json
from typing import Any

import pytest
from tests.support.bus_harness import SENDER, Scene

from symposium.bus.broker_requests import BusHistory

TASK = {"project_path": "/p", "taskspace_uuid": "t"}
LINE = json.dumps({"type": "get_selection", "id": "1", "sender": SENDER, "payload": {}}).encode()


@pytest.fixture
def scene() -> Scene:
    found = Scene()
    found.legacy("v1", "v2")
    return found


def dump(scene: Scene, name: str) -> list[dict[str, Any]]:
    scene.raw[name].clear()
    scene.write(name, b"#debug_dump_messages")
    (line,) = scene.raw[name]
    return json.loads(line)


@pytest.mark.requirement("bus.v1-relay")
@pytest.mark.parametrize(
    "line",
    [
        LINE,
        b'{"type":"something_new","id":"1"}',
        b"not json at all",
        b'{"type": "polo",  "x":1}',
        b"\xff",
    ],
)
def test_a_line_reaches_every_peer_of_version_1_unchanged_its_sender_too(
    scene: Scene, line: bytes
) -> None:
    scene.write("v1", line)

    assert scene.raw == {"v1": [line], "v2": [line]}


@pytest.mark.requirement("bus.v1-relay")
def test_a_line_is_trimmed_and_a_blank_one_ignored(scene: Scene) -> None:
    scene.write("v1", b"  " + LINE + b" \r")
    scene.write("v1", b"   ")

    assert scene.raw["v2"] == [LINE]


@pytest.mark.requirement("bus.v1-relay")
def test_disconnected_peer_is_skipped(scene: Scene) -> None:
    scene.leave("v2")
    scene.write("v1", LINE)

    assert scene.raw["v1"] == [LINE]


@pytest.mark.requirement("bus.v1-log")
def test_a_log_is_remembered_and_never_relayed(scene: Scene) -> None:
    scene.say("v1", "log", {"level": "info", "message": "hello"})

    assert scene.raw == {"v1": [], "v2": []}
    assert "hello" in dump(scene, "v1")[0]["content"]


@pytest.mark.requirement("bus.v1-control")
def test_a_peer_names_itself_and_the_dump_goes_to_who_asks(scene: Scene) -> None:
    scene.write("v1", b"#identify:vscode(pid:1,cwd:/a/b)")
    scene.write("v1", LINE)
    scene.write("v1", b"#nonsense")
    entries = dump(scene, "v2")

    assert scene.raw["v1"] == [LINE], "control lines are not relayed"
    assert entries == [
        {
            "timestamp": int(scene.now * 1000),
            "from_identifier": "vscode(pid:1,cwd:/a/b)",
            "content": LINE.decode(),
        }
    ]


@pytest.mark.requirement("bus.v1-control")
def test_a_peer_without_a_name_has_its_number_and_an_empty_history_is_empty(scene: Scene) -> None:
    assert dump(scene, "v1") == []
    scene.write("v1", LINE)
    assert dump(scene, "v2")[0]["from_identifier"] == "v1"


@pytest.mark.requirement("bus.history-bounds")
def test_the_history_keeps_the_newest_up_to_its_cap() -> None:
    scene = Scene(BusHistory(messages=10))
    scene.legacy("v1")
    for count in range(20):
        scene.write("v1", b'{"n":%d}' % count)

    assert [each["content"] for each in dump(scene, "v1")] == [
        f'{{"n":{n}}}' for n in range(10, 20)
    ]


@pytest.mark.requirement("bus.v1-privacy")
def test_dump_for_version_1_excludes_messages_of_version_2(scene: Scene) -> None:
    scene.join("cli", "cli")
    scene.say("cli", "log", {"level": "info", "message": "among us"})

    assert dump(scene, "v1") == []


@pytest.mark.requirement("bus.v1-discovery")
@pytest.mark.parametrize("count", [0, 1, 2])
def test_marco_is_answered_for_every_mcp_server_of_version_2(scene: Scene, count: int) -> None:
    for number in range(count):
        there = {"workingDirectory": f"/w{number}", "taskspaceUuid": None, "shellPid": number + 1}
        scene.join(f"mcp{number}", "mcp-server", sender=there)
    scene.raw["v1"].clear()
    scene.say("v1", "marco")

    marco, *polos = scene.received("v1")
    assert marco["type"] == "marco"
    assert [each["type"] for each in polos] == ["polo"] * count
    assert [each["sender"]["shellPid"] for each in polos] == list(range(1, count + 1))
    assert all(each.keys() == {"type", "id", "sender", "payload"} for each in polos)


@pytest.mark.requirement("bus.v1-discovery")
def test_an_mcp_server_of_version_2_says_polo_and_goodbye(scene: Scene) -> None:
    scene.join("mcp", "mcp-server")
    scene.join("cli", "cli")
    scene.leave("mcp")
    scene.leave("cli")

    assert scene.types("v1") == ["polo", "goodbye"]


@pytest.mark.requirement("bus.v1-discovery")
def test_a_server_of_version_2_is_announced_once_to_each_peer_that_listens(scene: Scene) -> None:
    scene.join("app", "app", subscribes=["polo", "goodbye"])
    scene.join("mcp", "mcp-server", subscribes=["marco"])
    scene.say("v1", "marco")
    scene.leave("mcp")

    assert scene.types("v1") == ["polo", "marco", "polo", "goodbye"]
    assert scene.types("app") == ["polo", "goodbye"]
    assert [each["from"] for each in scene.received("app")] == ["mcp", "mcp"]
    assert scene.types("mcp") == [], "the broker answers marco for it"


@pytest.mark.requirement("bus.v1-crossing")
def test_a_request_of_version_1_is_answered_by_version_2(scene: Scene) -> None:
    scene.join("engine", "app", handles=["taskspace_state"])
    scene.say("v1", "taskspace_state", TASK, id_="q")
    (request,) = scene.received("engine")
    scene.answer("engine", request, {"name": "n"})

    assert scene.types("v1") == ["taskspace_state", "response"]
    response = scene.received("v1")[-1]
    assert response.keys() == {"type", "id", "sender", "payload"}
    assert (response["id"], response["payload"]) == ("q", {"success": True, "data": {"name": "n"}})
    assert scene.types("v2") == ["taskspace_state"], "the answer is for who asked"


@pytest.mark.requirement("bus.v1-crossing")
def test_an_error_for_version_1_has_no_code(scene: Scene) -> None:
    scene.join("engine", "app", handles=["taskspace_state"])
    scene.say("v1", "taskspace_state", TASK)
    scene.leave("engine")

    payload = scene.received("v1")[-1]["payload"]
    assert payload.keys() == {"success", "error"}


@pytest.mark.requirement("bus.v1-crossing")
def test_request_of_version_2_reaches_version_1_if_no_other_peer_handles_it(scene: Scene) -> None:
    scene.join("mcp", "mcp-server")
    scene.raw["v1"].clear()
    scene.raw["v2"].clear()
    request_id = scene.say("mcp", "get_selection")

    (asked,) = scene.received("v1")
    assert asked.keys() == {"type", "id", "sender", "payload"}
    assert scene.raw["v1"] == scene.raw["v2"]
    scene.answer("v2", asked, {"selectedText": "x"})
    scene.answer("v1", asked, {"selectedText": "late"})
    (response,) = scene.received("mcp")
    assert (response["id"], response["payload"]["data"]) == (request_id, {"selectedText": "x"})


@pytest.mark.requirement("bus.v1-crossing")
def test_version_1_does_not_receive_a_request_that_a_window_of_version_2_handles(
    scene: Scene,
) -> None:
    scene.join("mcp", "mcp-server")
    scene.join("ed", "editor", handles=["get_selection"])
    scene.say("ed", "presence", {"kind": "editor", "workspace_folders": ["/project"]})
    scene.raw["v1"].clear()
    scene.say("mcp", "get_selection")

    assert scene.raw["v1"] == []
    assert "get_selection" in scene.types("ed")


@pytest.mark.requirement("bus.v1-crossing")
def test_announcements_are_translated_between_versions(scene: Scene) -> None:
    scene.join("mcp", "mcp-server")
    scene.join("app", "app", subscribes=["polo"])
    scene.raw["v1"].clear()
    scene.say("v1", "polo")
    scene.say("mcp", "polo")

    assert [each["from"] for each in scene.received("app")] == ["v1", "mcp"]
    assert scene.types("v1") == ["polo", "polo"]


@pytest.mark.requirement("bus.no-role-no-levers")
@pytest.mark.parametrize("type_", ["delete_taskspace", "spawn_taskspace", "reload_window"])
def test_version_1_cannot_send_control_messages_of_version_2(scene: Scene, type_: str) -> None:
    scene.join("app", "app", handles=[type_], subscribes=[type_])
    scene.say("v1", type_, TASK)

    assert scene.raw["app"] == []
    assert scene.types("v2") == [type_], "among themselves they may say what they like"


@pytest.mark.requirement("bus.v1-refused-in-words")
@pytest.mark.parametrize("type_", ["delete_taskspace", "spawn_taskspace"])
def test_version_1_receives_an_error_if_no_other_peer_can_answer(scene: Scene, type_: str) -> None:
    scene.leave("v2")
    scene.say("v1", type_, TASK, id_="q")

    relayed, refusal = scene.received("v1")
    outcome = refusal["payload"]
    assert relayed["type"] == type_
    assert (refusal["type"], refusal["id"], outcome["success"]) == ("response", "q", False)
    assert "requires protocol version 2" in outcome["error"]
    assert "code" not in outcome


@pytest.mark.requirement("bus.v1-refused-in-words")
@pytest.mark.parametrize(
    ("type_", "is_alone"),
    [("delete_taskspace", False), ("reload_window", True), ("something_new", True)],
    ids=["another peer may answer", "no request", "unknown type"],
)
def test_version_1_receives_no_error_if_it_expects_no_answer_or_another_peer_may_answer(
    scene: Scene, type_: str, *, is_alone: bool
) -> None:
    if is_alone:
        scene.leave("v2")
    scene.say("v1", type_, TASK)

    assert scene.types("v1") == [type_]


@pytest.mark.requirement("bus.v1-crossing", "bus.cancelled")
def test_cancellation_is_not_sent_to_version_1(scene: Scene) -> None:
    scene.join("mcp", "mcp-server")
    request_id = scene.say("mcp", "get_selection")
    scene.say("mcp", "cancel_request", {"request_id": request_id})

    assert scene.code("mcp") == "cancelled"
    assert scene.types("v1") == ["polo", "get_selection"]


@pytest.mark.requirement("bus.no-role-no-levers", "bus.forged-response")
def test_version_1_cannot_answer_what_version_2_was_asked(scene: Scene) -> None:
    scene.join("asker", "mcp-server")
    scene.join("app", "app", handles=["signal_user"])
    request_id = scene.say("asker", "signal_user", {**TASK, "message": ""})
    scene.say("v1", "response", {"success": True}, id_=request_id)

    assert scene.raw["asker"] == []
    assert "forbidden" not in str(scene.raw["v1"]), "the reference knows no such error"
    assert scene.warned == []


@pytest.mark.requirement("bus.v1-crossing")
def test_types_of_version_2_are_not_sent_to_version_1(scene: Scene) -> None:
    scene.join("asker", "cli")
    scene.say("asker", "daemon_status")

    assert scene.code("asker") == "no_handler"
    assert scene.raw["v1"] == []


@pytest.mark.requirement("bus.hello")
def test_peer_of_the_compat_socket_speaks_version_2_after_hello(scene: Scene) -> None:
    scene.say("v1", "hello", {"protocol": 2, "role": "cli", "name": "me"})
    scene.raw["v1"].clear()
    scene.write("v2", LINE)

    assert scene.raw["v1"] == []
    scene.write("v1", b"#identify:x")
    assert scene.code("v1") == "bad_message"


@pytest.mark.requirement("bus.addressed", "bus.no-handler")
def test_addressed_request_is_not_sent_to_version_1(scene: Scene) -> None:
    scene.join("mcp", "mcp-server")
    scene.say("mcp", "get_selection", to={"connection": "none"})

    assert scene.code("mcp") == "no_handler"
    assert scene.types("v1") == ["polo"]


@pytest.mark.requirement("bus.v1-control")
def test_name_of_a_peer_that_is_not_utf_8_is_shown(scene: Scene) -> None:
    scene.write("v1", b"#identify:\xff")
    scene.write("v1", LINE)

    assert dump(scene, "v2")[0]["from_identifier"] == "\ufffd"


@pytest.mark.requirement("bus.v1-relay")
def test_peer_that_connects_later_receives_the_next_line(scene: Scene) -> None:
    scene.write("v1", LINE)
    scene.legacy("v3")
    scene.write("v1", LINE)

    assert scene.raw["v3"] == [LINE]
