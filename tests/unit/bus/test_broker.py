"""The broker between peers of version 2: hello, delivery, and permissions."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.bus_harness import NOW, SENDER, Scene

from peerwire.jsonrpc.transport import OversizedLine
from symposium.bus.peers import WINDOW_SECONDS
from symposium.bus.routing import MAX_OPEN

TASK = {"project_path": "/p", "taskspace_uuid": "t"}

TASKSPACE = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"


@pytest.fixture
def scene() -> Scene:
    return Scene()


def editor(scene: Scene, name: str, *folders: str, **presence: Any) -> str:
    scene.join(name, "editor", handles=["get_selection", "present_walkthrough"])
    scene.say(name, "presence", {"kind": "editor", "workspace_folders": folders, **presence})
    scene.raw[name].clear()
    return name


# Hello


@pytest.mark.requirement("bus.hello")
def test_hello_is_answered_with_a_name_and_the_version(scene: Scene) -> None:
    scene.connect("c1")
    scene.say("c1", "hello", {"protocol": 2, "role": "cli", "name": "me"}, id_="h")

    (welcome,) = scene.received("c1")
    assert welcome["id"] == "h"
    expected = {"connection": "c1", "protocol": 2, "boot": "boot", "previous_end": None}
    assert welcome["payload"]["data"] == expected


@pytest.mark.requirement("bus.hello")
@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        ({"protocol": 3, "role": "cli", "name": "x"}, "uses protocol 2, not 3"),
        ({"protocol": 2, "role": "daemon", "name": "x"}, "no peer may connect as daemon"),
        ({"protocol": 2, "role": "legacy", "name": "x"}, "no peer may connect as legacy"),
        ({"protocol": 2, "role": "king", "name": "x"}, "Invalid enum value 'king'"),
        ({"protocol": 2, "role": "cli"}, "missing required field `name`"),
        ({"protocol": 2, "role": "host", "name": "x", "subscribes": ["*"]}, "may not watch"),
    ],
)
def test_a_hello_that_cannot_be_accepted_ends_the_connection_with_the_reason(
    scene: Scene, payload: dict[str, Any], reason: str
) -> None:
    scene.connect("c1")
    scene.say("c1", "hello", payload)

    outcome = scene.outcome("c1")
    assert outcome["code"] == "bad_hello"
    assert reason in outcome["error"]
    assert reason in scene.closed["c1"]


@pytest.mark.requirement("bus.hello")
def test_second_hello_is_rejected(scene: Scene) -> None:
    scene.join("c1", "cli")
    scene.say("c1", "hello", {"protocol": 2, "role": "app", "name": "x"})

    assert scene.code("c1") == "bad_hello"


@pytest.mark.requirement("bus.no-role-no-levers")
@pytest.mark.parametrize("type_", ["delete_taskspace", "response", "reload_window", "who", "polo"])
def test_peer_without_hello_is_rejected(scene: Scene, type_: str) -> None:
    scene.join("app", "app", subscribes=["polo", "reload_window"])
    scene.connect("unknown")
    scene.say("unknown", type_, TASK)

    assert scene.code("unknown") == "hello_required"
    assert not scene.raw["app"]


# Delivery


@pytest.mark.requirement("bus.addressed", "bus.acknowledged")
def test_request_reaches_one_peer_and_its_response_the_sender(scene: Scene) -> None:
    scene.join("asker", "mcp-server")
    scene.join("engine", "app", handles=["signal_user"])
    scene.join("other", "cli", subscribes=["update_taskspace"])
    request_id = scene.say("asker", "signal_user", {**TASK, "message": "help"})

    (request,) = scene.received("engine")
    assert request["from"] == "asker"
    assert request["payload"] == {**TASK, "message": "help"}
    scene.answer("engine", request, {"watchers": 1})
    (response,) = scene.received("asker")
    assert (response["id"], response["from"]) == (request_id, "engine")
    assert response["payload"] == {"success": True, "data": {"watchers": 1}}
    assert not scene.raw["other"]


@pytest.mark.requirement("bus.public-requests")
@pytest.mark.parametrize("type_", ["log_progress", "signal_user"])
def test_a_subscriber_gets_a_copy_of_progress_and_signals_and_cannot_answer(
    scene: Scene, type_: str
) -> None:
    scene.join("asker", "mcp-server", subscribes=[type_])
    scene.join("engine", "app", handles=[type_], subscribes=[type_])
    scene.join("view", "app", subscribes=[type_])
    request_id = scene.say("asker", type_, {**TASK, "message": "half done"})
    (request,) = scene.received("engine")
    (copy,) = scene.received("view")
    scene.answer("view", copy, {"watchers": 9})
    scene.answer("engine", request, {"watchers": 1})
    (response,) = scene.received("asker")

    assert copy == request
    assert (copy["type"], copy["payload"]["message"]) == (type_, "half done")
    assert (response["id"], response["from"]) == (request_id, "engine")
    assert scene.code("view") == "forbidden"


@pytest.mark.requirement("bus.public-requests")
def test_a_subscriber_gets_no_copy_of_another_request(scene: Scene) -> None:
    scene.join("asker", "mcp-server")
    scene.join("engine", "app", handles=["update_taskspace"])
    scene.join("view", "app", subscribes=["update_taskspace"])
    scene.say("asker", "update_taskspace", {**TASK, "name": "x"})

    assert scene.types("engine") == ["update_taskspace"]
    assert not scene.raw["view"]


@pytest.mark.requirement("bus.addressed")
def test_request_goes_to_the_first_handler_once(scene: Scene) -> None:
    scene.join("asker", "mcp-server")
    scene.join("first", "app", handles=["signal_user"])
    scene.join("second", "app", handles=["signal_user"])
    scene.say("asker", "signal_user", {**TASK, "message": ""})

    assert scene.types("first") == ["signal_user"]
    assert scene.types("second") == []


@pytest.mark.requirement("bus.addressed")
@pytest.mark.parametrize(
    "to",
    [
        {"connection": "second"},
        {"role": "cli"},
        {"taskspace": "T2"},
        {"role": "cli", "taskspace": "t2"},
    ],
)
def test_request_goes_to_the_peer_in_its_address(scene: Scene, to: dict[str, str]) -> None:
    scene.join("asker", "mcp-server")
    scene.join("first", "app", handles=["signal_user"])
    there = {**SENDER, "taskspaceUuid": "t2"}
    scene.join("second", "cli", handles=["signal_user"], sender=there)
    scene.say("asker", "signal_user", {**TASK, "message": ""}, to=to)

    assert scene.types("second") == ["signal_user"]
    assert scene.types("first") == []


@pytest.mark.requirement("bus.addressed", "bus.no-handler")
def test_addressed_peer_without_a_handler_is_not_asked(scene: Scene) -> None:
    scene.join("asker", "mcp-server")
    scene.join("app", "app", handles=["signal_user"])
    scene.join("cli", "cli")
    scene.say("asker", "signal_user", {**TASK, "message": ""}, to={"connection": "cli"})

    assert scene.code("asker") == "no_handler"
    assert scene.types("app") == []


@pytest.mark.requirement("bus.no-handler")
def test_request_without_a_handler_is_rejected_at_once(scene: Scene) -> None:
    scene.join("asker", "mcp-server", handles=["signal_user"])
    scene.say("asker", "signal_user", {**TASK, "message": ""})

    assert scene.code("asker") == "no_handler"


@pytest.mark.requirement("bus.subscriptions")
def test_announcement_reaches_only_subscribers(scene: Scene) -> None:
    scene.join("mcp", "mcp-server")
    scene.join("editor", "editor", subscribes=["polo"])
    scene.join("app", "app")
    scene.say("mcp", "polo")

    assert scene.types("editor") == ["polo"]
    assert not scene.raw["app"]
    scene.say("app", "subscribe", {"types": ["goodbye"]})
    scene.say("mcp", "goodbye")
    assert scene.types("app") == ["response", "goodbye"]
    assert scene.types("editor") == ["polo"]


@pytest.mark.requirement("bus.subscriptions")
def test_start_of_a_server_is_announced_to_the_other_subscribers_only(scene: Scene) -> None:
    scene.join("editor", "editor", subscribes=["polo"])
    scene.connect("mcp")
    hello = {"protocol": 2, "role": "mcp-server", "name": "m", "subscribes": ["polo"]}
    scene.say("mcp", "hello", {**hello, "taskspace": TASK})

    assert scene.types("editor") == ["polo"]
    assert scene.types("mcp") == ["response"]


@pytest.mark.requirement("bus.subscriptions")
def test_addressed_announcement_reaches_only_that_peer(scene: Scene) -> None:
    scene.join("app", "app")
    scene.join("one", "editor", subscribes=["taskspace_roll_call"])
    scene.join("two", "editor")
    scene.say("app", "taskspace_roll_call", to={"connection": "two"})

    assert scene.types("two") == ["taskspace_roll_call"]
    assert scene.types("one") == []


@pytest.mark.requirement("bus.acknowledged")
def test_acknowledgment_has_the_number_of_receivers(scene: Scene) -> None:
    scene.join("mcp", "mcp-server")
    scene.join("editor", "editor", subscribes=["polo"])
    line = {"type": "polo", "id": "p", "sender": SENDER, "payload": {}, "ack": True}
    scene.write("mcp", json.dumps(line).encode())

    assert scene.outcome("mcp") == {"success": True, "data": {"delivered": 1}}


# Windows


@pytest.mark.requirement("bus.route-single", "bus.no-handler")
def test_window_message_reaches_the_window_of_the_senders_folder(scene: Scene) -> None:
    scene.join("mcp", "mcp-server")
    editor(scene, "outer", "/project")
    editor(scene, "inner", "/project/deep")
    scene.say("mcp", "get_selection", sender={"workingDirectory": "/project/deep/er"})
    scene.say("mcp", "get_selection", sender={"workingDirectory": "/project"})

    assert (scene.types("inner"), scene.types("outer")) == (["get_selection"], ["get_selection"])
    scene.say("mcp", "get_selection", sender={"workingDirectory": "/"})
    assert scene.code("mcp") == "no_handler"


@pytest.mark.requirement("bus.route-single", "bus.presence")
def test_last_focused_window_is_asked_and_a_silent_one_is_not(
    scene: Scene,
) -> None:
    scene.join("mcp", "mcp-server")
    editor(scene, "one", "/project", focus_uri="a")
    scene.now += 1
    editor(scene, "two", "/project", focus_uri="a")
    scene.say("mcp", "get_selection")
    assert scene.types("two") == ["get_selection"]

    scene.now += WINDOW_SECONDS + 1
    where = {"kind": "editor", "workspace_folders": ["/project"], "focus_uri": "a"}
    scene.say("one", "presence", where)
    scene.say("mcp", "get_selection")
    assert scene.types("one") == ["response", "get_selection"]


@pytest.mark.requirement("bus.route-pid")
def test_the_window_with_the_senders_terminal_is_asked(scene: Scene) -> None:
    scene.join("mcp", "mcp-server")
    editor(scene, "one", "/project", focus_uri="x")
    editor(scene, "two", "/project", terminals=[77])
    scene.say("mcp", "get_selection", sender={"workingDirectory": "/project", "shellPid": 77})

    assert scene.types("two") == ["get_selection"]


@pytest.mark.requirement("bus.addressed")
def test_feedback_reaches_the_mcp_server_of_the_same_taskspace(scene: Scene) -> None:
    there = {**SENDER, "taskspaceUuid": "t"}
    scene.join("mine", "mcp-server", handles=["user_feedback"], sender=there)
    scene.join("other", "mcp-server", handles=["user_feedback"])
    scene.join("editor", "editor", sender=there)
    feedback = {"review_id": "r", "feedback_type": "comment"}
    scene.say("editor", "user_feedback", feedback, sender=there)

    assert scene.types("mine") == ["user_feedback"]
    assert scene.types("other") == []


# Answers


@pytest.mark.requirement("bus.forged-response")
def test_only_the_assigned_peer_can_answer(scene: Scene) -> None:
    scene.join("asker", "mcp-server")
    scene.join("app", "app", handles=["signal_user"])
    scene.join("thief", "cli")
    request_id = scene.say("asker", "signal_user", {**TASK, "message": ""})
    scene.say("thief", "response", {"success": True}, id_=request_id)
    scene.say("asker", "response", {"success": True}, id_=request_id)

    assert scene.code("thief") == "forbidden"
    assert scene.code("asker") == "forbidden"
    (request,) = scene.received("app")
    scene.answer("app", request)
    assert scene.outcome("asker")["success"]


@pytest.mark.requirement("bus.forged-response")
def test_forged_answer_is_rejected_each_time_and_logged_once(scene: Scene) -> None:
    scene.join("asker", "mcp-server")
    scene.join("app", "app", handles=["signal_user"])
    scene.join("thief", "cli")
    request_id = scene.say("asker", "signal_user", {**TASK, "message": ""})
    news = {"request_id": request_id, "message": "nearly done"}
    for type_, payload in (("response", {"success": True}), ("progress", news)) * 2:
        scene.say("thief", type_, payload, id_=request_id if type_ == "response" else "")
    scene.say("thief", "cancel_request", {"request_id": request_id})

    refused = scene.received("thief")
    assert {(each["id"], each["payload"]["code"]) for each in refused} == {("-", "forbidden")}
    assert len(refused) == 5
    assert scene.warned == ["thief (thief, cli) sent a response to a signal_user of another peer"]
    assert scene.types("app") == ["signal_user"]
    assert scene.raw["asker"] == []


@pytest.mark.requirement("bus.forged-response")
def test_late_answer_is_rejected_and_late_progress_dropped(
    scene: Scene,
) -> None:
    scene.join("asker", "mcp-server")
    scene.join("app", "app", handles=["signal_user"])
    scene.say("asker", "signal_user", {**TASK, "message": ""})
    (request,) = scene.received("app")
    scene.answer("app", request)
    scene.raw["app"].clear()
    scene.say("app", "progress", {"request_id": request["id"], "message": "late"})
    assert scene.raw["app"] == []
    scene.answer("app", request)

    assert scene.code("app") == "not_asked"
    assert scene.warned == []


@pytest.mark.requirement("bus.answered-once")
def test_a_request_is_answered_once(scene: Scene) -> None:
    scene.join("asker", "mcp-server")
    scene.join("app", "app", handles=["signal_user"])
    scene.say("asker", "signal_user", {**TASK, "message": ""})
    (request,) = scene.received("app")
    scene.answer("app", request)
    scene.answer("app", request)

    assert scene.types("asker") == ["response"]


@pytest.mark.requirement("bus.budget")
def test_request_without_an_answer_times_out(scene: Scene) -> None:
    scene.join("asker", "mcp-server")
    scene.join("app", "app", handles=["signal_user", "spawn_taskspace"])
    scene.say("asker", "signal_user", {**TASK, "message": ""})
    scene.wait(1.9)
    assert not scene.raw["asker"]
    scene.wait(0.2)

    assert scene.code("asker") == "timeout"
    assert scene.types("app") == ["signal_user", "cancel_request"]
    request = scene.received("app")[0]
    scene.answer("app", request)
    assert not scene.raw["asker"], "too late"


@pytest.mark.requirement("bus.steady-clock")
@pytest.mark.parametrize("step", [86_400.0, -86_400.0])
def test_timeout_is_unaffected_by_the_system_clock(scene: Scene, step: float) -> None:
    scene.join("asker", "mcp-server")
    scene.join("app", "app", handles=["signal_user"])
    scene.say("asker", "signal_user", {**TASK, "message": ""})
    scene.now += step
    scene.wait(1)
    assert scene.types("asker") == [], "it has not been answered for yet"

    scene.wait(3600)
    assert scene.types("asker") == ["response"]


@pytest.mark.requirement("bus.long-names")
def test_long_name_is_rejected_with_a_short_error(scene: Scene) -> None:
    scene.connect("a")
    scene.say("a", "hello", {"protocol": 2, "role": "app", "name": "n" * 1_000_000})
    scene.connect("b")
    scene.say("b", "hello", {"protocol": 2, "role": "r" * 1_000_000, "name": "b"})

    assert scene.received("a")[-1]["payload"]["code"] == "bad_hello"
    assert "1000000 characters; at most 200" in scene.received("a")[-1]["payload"]["error"]
    assert scene.received("b")[-1]["payload"]["code"] == "bad_hello"
    assert len(scene.raw["b"][-1]) < 2000
    assert set(scene.closed) == {"a", "b"}


@pytest.mark.requirement("bus.budget")
def test_each_type_has_its_own_budget(scene: Scene) -> None:
    scene.join("asker", "mcp-server")
    scene.join("app", "app", handles=["signal_user", "delete_taskspace"])
    scene.say("asker", "delete_taskspace", TASK)
    scene.say("asker", "signal_user", {**TASK, "message": ""})

    assert scene.broker.open.next_deadline == scene.uptime + 2
    scene.wait(3600)
    assert scene.types("asker") == ["response"], "a person may take long to decide"


@pytest.mark.requirement("bus.latency")
def test_response_times_are_measured_by_type(scene: Scene) -> None:
    scene.join("asker", "mcp-server")
    scene.join("app", "app", handles=["signal_user"])
    for seconds in (0.5, 1.5):
        scene.say("asker", "signal_user", {**TASK, "message": ""})
        scene.uptime += seconds
        scene.answer("app", scene.received("app")[-1])

    took = scene.broker.open.response_times["signal_user"]
    assert (took.count, took.total, took.worst) == (2, 2.0, 1.5)


@pytest.mark.requirement("bus.answered-once")
def test_requests_to_a_disconnected_peer_fail(scene: Scene) -> None:
    scene.join("asker", "mcp-server")
    scene.join("app", "app", handles=["signal_user"])
    scene.say("asker", "signal_user", {**TASK, "message": ""})
    scene.leave("app")

    outcome = scene.outcome("asker")
    assert outcome["code"] == "gone"
    assert "app disconnected before it answered signal_user" in outcome["error"]


@pytest.mark.requirement("bus.cancelled")
def test_handler_is_notified_when_the_sender_disconnects(scene: Scene) -> None:
    scene.join("asker", "mcp-server")
    scene.join("app", "app", handles=["delete_taskspace"])
    request_id = scene.say("asker", "delete_taskspace", TASK)
    scene.leave("asker")

    cancel = scene.received("app")[-1]
    assert (cancel["type"], cancel["payload"]) == ("cancel_request", {"request_id": request_id})
    assert len(scene.broker.open) == 0


@pytest.mark.requirement("bus.cancelled")
def test_request_can_be_canceled_only_by_its_sender(scene: Scene) -> None:
    scene.join("asker", "mcp-server")
    scene.join("thief", "cli")
    scene.join("app", "app", handles=["delete_taskspace"])
    request_id = scene.say("asker", "delete_taskspace", TASK)
    scene.say("thief", "cancel_request", {"request_id": request_id})
    assert scene.types("app") == ["delete_taskspace"]
    scene.say("asker", "cancel_request", {"request_id": request_id})

    assert scene.types("app") == ["delete_taskspace", "cancel_request"]
    assert scene.code("asker") == "cancelled"


@pytest.mark.requirement("bus.progress")
def test_progress_reaches_the_sender_of_the_request(scene: Scene) -> None:
    scene.join("asker", "mcp-server")
    scene.join("thief", "cli")
    scene.join("app", "app", handles=["delete_taskspace"])
    request_id = scene.say("asker", "delete_taskspace", TASK)
    news = {"request_id": request_id, "message": "waiting for a person"}
    scene.say("thief", "progress", news)
    assert scene.raw["asker"] == []
    scene.say("app", "progress", news)
    scene.say("app", "progress", "no object")

    (progress,) = scene.received("asker")
    assert (progress["type"], progress["payload"]) == ("progress", news)


# Who may do what


@pytest.mark.requirement("bus.roles")
@pytest.mark.parametrize(
    ("role", "type_"),
    [
        ("cli", "reload_window"),
        ("app", "reload_window"),
        ("mcp-server", "taskspace_will_delete"),
        ("observer", "polo"),
        ("observer", "delete_taskspace"),
        ("mcp-server", "history"),
        ("mcp-server", "stop_daemon"),
        ("mcp-server", "user_feedback"),
        ("host", "presence_changed"),
    ],
)
def test_role_limits_message_types(scene: Scene, role: str, type_: str) -> None:
    everything = ["reload_window", "taskspace_will_delete", "polo", "presence_changed"]
    scene.join("app", "app", subscribes=everything, handles=["delete_taskspace", "stop_daemon"])
    scene.join("peer", role)
    scene.raw["app"].clear()
    scene.say("peer", type_, TASK)

    assert scene.code("peer") == "forbidden"
    assert not scene.raw["app"]


@pytest.mark.requirement("bus.roles")
def test_only_watching_roles_can_subscribe_to_the_traffic(scene: Scene) -> None:
    scene.join("mcp", "mcp-server")
    scene.say("mcp", "subscribe", {"types": ["*"]})

    assert scene.code("mcp") == "forbidden"


@pytest.mark.requirement("bus.answered-once")
def test_open_request_id_cannot_be_reused(scene: Scene) -> None:
    scene.join("asker", "mcp-server")
    scene.join("thief", "cli")
    scene.join("app", "app", handles=["signal_user"])
    scene.say("asker", "signal_user", {**TASK, "message": ""}, id_="x")
    scene.say("thief", "signal_user", {**TASK, "message": ""}, id_="x")

    assert scene.code("thief") == "duplicate_id"
    scene.answer("app", scene.received("app")[0])
    assert scene.types("asker") == ["response"]


@pytest.mark.requirement("bus.bounded-requests")
def test_open_requests_of_a_peer_are_limited(scene: Scene) -> None:
    scene.join("asker", "mcp-server")
    scene.join("app", "app", handles=["delete_taskspace"])
    for _ in range(MAX_OPEN):
        scene.say("asker", "delete_taskspace", TASK)
    assert not scene.raw["asker"]
    scene.say("asker", "delete_taskspace", TASK)

    assert scene.code("asker") == "too_many"
    scene.answer("app", scene.received("app")[0])
    scene.raw["asker"].clear()
    scene.say("asker", "delete_taskspace", TASK)
    assert not scene.raw["asker"]


# Presence


@pytest.mark.requirement("bus.presence")
def test_peers_are_listed_with_their_location(scene: Scene) -> None:
    scene.join("watcher", "app", subscribes=["presence_changed"])
    editor(scene, "ed", "/project", pid=5, taskspace_uuid="t", focus_uri="file:///a", terminals=[7])
    scene.say("watcher", "who", {"kind": "editor"})
    seen = scene.received("watcher")

    changes = [each["payload"]["change"] for each in seen if each["type"] == "presence_changed"]
    assert changes == ["came", "moved"]
    (found,) = seen[-1]["payload"]["data"]
    told = {"kind": "editor", "pid": 5, "taskspace_uuid": "t", "focus_uri": "file:///a"}
    assert found.items() >= told.items()
    assert (found["connection"], found["role"], found["terminals"]) == ("ed", "editor", [7])
    scene.raw["watcher"].clear()
    scene.say("ed", "presence", {"kind": "editor", "workspace_folders": ["/project"]})
    scene.say("ed", "presence", {"kind": "editor", "workspace_folders": ["/project"]})
    scene.leave("ed")
    changes = [each["payload"]["change"] for each in scene.received("watcher")]
    assert changes == ["moved", "gone"], "the same again is a heartbeat, and no news"


@pytest.mark.requirement("bus.presence")
def test_a_member_without_a_window_is_listed_with_the_process_of_its_hello(scene: Scene) -> None:
    scene.join("me", "cli", pid=41)
    scene.say("me", "who", {})

    (found,) = scene.received("me")[-1]["payload"]["data"]
    assert found["pid"] == 41


@pytest.mark.requirement("bus.presence")
@pytest.mark.parametrize("asked", [{"role": "editor"}, {"taskspace_uuid": "T"}, {"kind": "web"}])
def test_who_filters_peers(scene: Scene, asked: dict[str, str]) -> None:
    scene.join("me", "cli")
    scene.join("ed", "editor", sender={**SENDER, "taskspaceUuid": "t"})
    scene.say("ed", "presence", {"kind": "web"}, sender={**SENDER, "taskspaceUuid": "t"})
    scene.say("me", "who", asked)

    assert [each["name"] for each in scene.outcome("me")["data"]] == ["ed"]


@pytest.mark.requirement("bus.presence")
def test_later_peer_receives_later_requests(scene: Scene) -> None:
    scene.join("asker", "mcp-server")
    scene.say("asker", "signal_user", {**TASK, "message": ""})
    scene.say("asker", "polo")
    assert scene.code("asker") == "no_handler"
    scene.join("engine", "app", handles=["signal_user"], subscribes=["polo"])
    scene.say("asker", "signal_user", {**TASK, "message": ""})
    scene.say("asker", "polo")

    assert scene.types("engine") == ["signal_user", "polo"]
    scene.leave("engine")
    scene.raw["asker"].clear()
    scene.say("asker", "signal_user", {**TASK, "message": ""})
    assert scene.code("asker") == "no_handler"


@pytest.mark.requirement("bus.presence")
def test_subscription_applies_at_once_and_excludes_own_presence(scene: Scene) -> None:
    scene.join("one", "app", subscribes=["presence_changed"])
    scene.join("two", "app")
    scene.raw["one"].clear()
    scene.say("one", "presence", {"kind": "web"})
    assert "presence_changed" not in scene.types("one")
    scene.say("two", "subscribe", {"types": ["presence_changed"]})
    scene.say("one", "presence", {"kind": "editor"})

    assert scene.types("two").count("presence_changed") == 1


@pytest.mark.requirement("bus.presence")
@pytest.mark.parametrize(
    ("role", "code"), [("app", None), ("cli", None), ("mcp-server", "forbidden")]
)
def test_only_roles_of_the_user_may_subscribe_to_everything(
    scene: Scene, role: str, code: str | None
) -> None:
    scene.join("peer", role)
    scene.say("peer", "subscribe", {"types": ["*"]})
    assert scene.outcome("peer").get("code") == code
    scene.say("peer", "subscribe", {"types": ["polo"]})
    assert scene.outcome("peer")["success"]


@pytest.mark.requirement("bus.addressed")
@pytest.mark.parametrize(
    ("to", "receives"),
    [
        ({"connection": "ed"}, True),
        ({"connection": "ed", "role": "editor"}, True),
        ({"connection": "ed", "role": "cli"}, False),
        ({"connection": "ed", "taskspace": "t3"}, False),
        ({"connection": "nobody"}, False),
        ({"role": "editor"}, True),
    ],
)
def test_announcement_goes_to_peers_that_match_the_whole_address(
    scene: Scene, to: dict[str, str], *, receives: bool
) -> None:
    scene.join("mcp", "mcp-server")
    scene.join("ed", "editor", sender={**SENDER, "taskspaceUuid": "t2"}, subscribes=["polo"])
    scene.join("other", "cli", subscribes=["polo"])
    scene.connect("silent")
    scene.legacy("old")
    scene.say("mcp", "polo", to=to)

    assert ("polo" in scene.types("ed")) is receives
    assert [scene.types(each) for each in ("other", "silent", "old")] == [[], [], []]


@pytest.mark.requirement("bus.presence")
def test_peer_receives_requests_after_hello_and_a_server_no_news_of_itself(scene: Scene) -> None:
    scene.join("asker", "mcp-server", subscribes=["polo"])
    assert scene.types("asker") == []
    scene.connect("engine")
    scene.say("asker", "signal_user", {**TASK, "message": ""})
    assert scene.code("asker") == "no_handler"
    hello = {"protocol": 2, "role": "app", "name": "engine", "handles": ["signal_user"]}
    scene.say("engine", "hello", hello)
    scene.say("asker", "signal_user", {**TASK, "message": ""})

    assert scene.types("engine") == ["response", "signal_user"]


@pytest.mark.requirement("bus.cancelled")
def test_canceled_request_is_answered_once(scene: Scene) -> None:
    scene.join("asker", "mcp-server")
    scene.join("engine", "app", handles=["signal_user"])
    name = scene.say("asker", "signal_user", {**TASK, "message": ""})
    request = scene.received("engine")[0]
    scene.say("asker", "cancel_request", {"request_id": name})
    scene.answer("engine", request)

    assert scene.code("asker") == "cancelled"


@pytest.mark.requirement("bus.presence")
def test_peer_was_seen_at_connection_until_its_first_presence(scene: Scene) -> None:
    scene.join("ed", "editor")
    scene.wait(5)
    scene.join("me", "cli")
    for seen in (NOW, NOW + 7):
        scene.say("me", "who", {"role": "editor"})
        (found,) = scene.outcome("me")["data"]
        assert (found["since"], found["seen"]) == (NOW, seen)
        scene.wait(2)
        scene.say("ed", "presence", {"kind": "editor"})


# What is no message


@pytest.mark.requirement("bus.malformed")
def test_a_hundred_malformed_lines_get_an_error_each(scene: Scene) -> None:
    scene.join("peer", "cli")
    good = json.dumps({"type": "polo", "id": "i", "sender": SENDER}).encode()
    lines = [
        b"{",
        b"null",
        b"[]",
        b'"text"',
        b"#identify:me",
        b"\xff\xfe",
        b'{"type":"polo"}',
        b'{"type":1,"id":"i","sender":{"workingDirectory":"/"}}',
        b'{"type":"polo","id":"","sender":{"workingDirectory":"/"}}',
        b'{"type":"polo","id":"i","sender":{"workingDirectory":7}}',
        b'{"type":"polo","id":"i","sender":{"workingDirectory":"/"},"to":{"x":1}}',
        b'{"type":"polo","id":"i","sender":{"workingDirectory":"/"},"payload":}',
        b'{"type":"polo","id":"i","sender":{"workingDirectory":"\xff"}}',
        b'{"type":"polo","id":"i","sender":' + b"[" * 5000,
        b'{"type":"' + b"x" * 300 + b'","id":"i","sender":{"workingDirectory":"/"}}',
        *(good[:cut] for cut in range(1, len(good) - 1)),
    ]
    for line in (lines * 2)[:100]:
        scene.write("peer", line)
        assert scene.code("peer") == "bad_message", line


@pytest.mark.requirement("bus.window-registered")
def test_a_registered_window_is_asked_for_its_taskspace_without_a_presence(scene: Scene) -> None:
    scene.join("other", "editor", handles=["get_selection"])
    scene.join("window", "editor", handles=["get_selection"])
    scene.join("mcp", "mcp-server")
    scene.join("watcher", "cli", subscribes=["presence_changed"])
    scene.do(scene.broker.requests.register_window("window", TASKSPACE, "[SYMPOSIUM:1]"))
    there = {"workingDirectory": "/elsewhere", "taskspaceUuid": TASKSPACE.upper()}
    scene.say("mcp", "get_selection", sender=there)
    scene.say("watcher", "who", {"role": "editor", "kind": "editor"})

    moved, response = scene.received("watcher")
    (shown,) = response["payload"]["data"]
    assert scene.types("window") == ["get_selection"]
    assert scene.types("other") == []
    assert moved["payload"]["peer"]["taskspace_uuid"] == TASKSPACE
    assert (shown["connection"], shown["window_title"]) == ("window", "[SYMPOSIUM:1]")


@pytest.mark.requirement("bus.roll-call")
def test_a_peer_that_listens_for_roll_calls_is_asked_to_register_when_it_connects(
    scene: Scene,
) -> None:
    scene.connect("window")
    said = {"protocol": 2, "role": "editor", "name": "e", "subscribes": ["taskspace_roll_call"]}
    scene.say("window", "hello", said)
    scene.join("other", "editor")

    assert scene.types("window") == ["response", "taskspace_roll_call"]
    assert scene.types("other") == []


@pytest.mark.requirement("bus.window-registered")
def test_a_registered_window_is_forgotten_when_it_disconnects(scene: Scene) -> None:
    scene.join("window", "editor", handles=["get_selection"])
    scene.join("mcp", "mcp-server")
    scene.do(scene.broker.requests.register_window("window", TASKSPACE, "t"))
    scene.leave("window")
    scene.do(scene.broker.requests.register_window("window", TASKSPACE, "t"))
    scene.say("mcp", "get_selection", sender={"workingDirectory": "/", "taskspaceUuid": TASKSPACE})

    assert scene.code("mcp") == "no_handler"


@pytest.mark.requirement("bus.malformed")
@pytest.mark.parametrize("payload", [{"level": "loud", "message": "m"}, {"level": "info"}])
def test_a_log_of_another_shape_is_refused(scene: Scene, payload: dict[str, str]) -> None:
    scene.join("peer", "cli")
    scene.say("peer", "log", payload)

    assert scene.code("peer") == "bad_payload"


@pytest.mark.requirement("bus.malformed")
@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"polo","id":"mine","sender":7}',
        b'{"type": "polo", "id": "mine", "sender": {"workingDirectory": "/", "shellPid": "x"}}',
        b'{"payload":{"id":"other"},"type":"polo","id":"mine","sender":7}',
    ],
)
def test_error_names_the_message_id_if_readable(scene: Scene, line: bytes) -> None:
    scene.join("peer", "cli")
    scene.write("peer", line)

    (error,) = scene.received("peer")
    assert error["id"] == "mine"
    assert "$.sender" in error["payload"]["error"]


@pytest.mark.requirement("bus.malformed")
def test_unknown_type_is_rejected_with_similar_names(scene: Scene) -> None:
    scene.join("peer", "cli")
    scene.say("peer", "signal_usr")

    outcome = scene.outcome("peer")
    assert outcome["code"] == "unknown_type"
    assert "did you mean signal_user?" in outcome["error"]


@pytest.mark.requirement("bus.malformed")
@pytest.mark.parametrize("type_", ["subscribe", "presence", "who", "cancel_request", "history"])
def test_malformed_payload_for_the_broker_is_rejected(scene: Scene, type_: str) -> None:
    scene.join("peer", "cli")
    scene.say("peer", type_, [1])

    assert scene.code("peer") == "bad_payload"


@pytest.mark.requirement("bus.long-lines")
def test_long_line_is_rejected_with_its_id(scene: Scene) -> None:
    scene.join("peer", "cli")
    scene.write("peer", OversizedLine(b'{"type":"polo","id":"big","payload":"xxx', 16, b"xxx"))

    (error,) = scene.received("peer")
    assert (error["id"], error["payload"]["code"]) == ("big", "too_long")


@pytest.mark.requirement("bus.malformed")
@given(st.lists(st.binary(max_size=80), max_size=5))
def test_broker_handles_arbitrary_bytes(lines: list[bytes]) -> None:
    scene = Scene()
    scene.join("peer", "cli")
    scene.join("other", "app", subscribes=["polo"])
    for line in lines:
        scene.write("peer", line)
    scene.say("peer", "polo")

    assert scene.types("other")[-1] == "polo"


@pytest.mark.requirement("bus.malformed")
def test_blank_line_and_line_of_an_unknown_connection_are_ignored(scene: Scene) -> None:
    scene.join("peer", "cli")
    scene.write("peer", b"  ")
    scene.write("nobody", b"{}")
    scene.leave("nobody")

    assert not scene.raw["peer"]
