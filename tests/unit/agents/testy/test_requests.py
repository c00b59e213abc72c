"""Requests of the test agent to a client."""

from typing import Any

import pytest

from symposium.agents.testy.sessions import callbacks, elicitations, is_offered, terminal_steps
from symposium.agents.testy.updates import asking_call

EVERYTHING: dict[str, Any] = {
    "fs": {"readTextFile": True, "writeTextFile": True},
    "terminal": True,
    "elicitation": {"form": {}, "url": {}},
}


@pytest.mark.requirement("testy.client-requests", "cli.testy-full")
def test_every_client_method_is_requested() -> None:
    requests = [
        *callbacks("s", "/tmp", 1),
        *terminal_steps("s", "term-1"),
        *elicitations("s", 7, 1),
    ]

    methods = list(dict.fromkeys(request.method for request in requests))
    assert methods == [
        "session/request_permission",
        "fs/write_text_file",
        "fs/read_text_file",
        "terminal/create",
        "terminal/output",
        "terminal/wait_for_exit",
        "terminal/kill",
        "terminal/release",
        "elicitation/create",
    ]
    assert all(is_offered(request.needs, EVERYTHING) for request in requests)


@pytest.mark.requirement("testy.client-requests")
def test_written_file_is_read_and_permission_offers_every_kind() -> None:
    permission, write, read, create = (request.params for request in callbacks("s", "/tmp", 4))

    assert write["path"] == read["path"] == "/tmp/testy-4.txt"
    assert create["cwd"] == "/tmp"
    kinds = {option["kind"] for option in permission["options"]}
    assert kinds == {"allow_once", "allow_always", "reject_once", "reject_always"}
    assert {write["sessionId"], read["sessionId"], permission["sessionId"]} == {"s"}


@pytest.mark.requirement("testy.client-requests")
def test_terminal_is_released_last() -> None:
    steps = terminal_steps("s", "term-1")

    assert all(step.params == {"sessionId": "s", "terminalId": "term-1"} for step in steps)
    assert steps[-1].method == "terminal/release"


@pytest.mark.requirement("testy.client-requests")
def test_tool_call_of_an_elicitation_is_announced() -> None:
    start, end = asking_call(2)

    assert start["toolCallId"] == end["toolCallId"]
    assert {request.params.get("toolCallId") for request in elicitations("s", 0, 2)} == {
        None,
        start["toolCallId"],
    }


@pytest.mark.requirement("testy.client-requests")
def test_elicitations_cover_every_mode_and_scope() -> None:
    asked = [request.params for request in elicitations("s", 0, 2)]
    scope_names = {"sessionId", "toolCallId", "requestId"}

    assert [(params["mode"], params.keys() & scope_names) for params in asked] == [
        ("form", {"sessionId"}),
        ("form", {"sessionId", "toolCallId"}),
        ("form", {"requestId"}),
        ("url", {"sessionId"}),
        ("url", {"sessionId", "toolCallId"}),
        ("url", {"requestId"}),
    ]
    assert [params["requestId"] for params in asked if "requestId" in params] == [0, 0]
    urls = [params for params in asked if params["mode"] == "url"]
    assert len({params["elicitationId"] for params in urls}) == 3


@pytest.mark.requirement("cli.testy-fresh-ids")
def test_repeated_requests_have_new_ids() -> None:
    def ids(turn: int) -> set[str]:
        permission, *_ = callbacks("s", "/tmp", turn)
        asked = [request.params for request in elicitations("s", 1, turn)]
        return {
            permission.params["toolCall"]["toolCallId"],
            *(
                params[key]
                for params in asked
                for key in {"toolCallId", "elicitationId"} & params.keys()
            ),
        }

    assert len(ids(1)) == 5
    assert ids(1).isdisjoint(ids(2))


@pytest.mark.requirement("testy.client-requests")
@pytest.mark.parametrize(
    ("needs", "capabilities"),
    [
        ("", {}),
        ("terminal", {"terminal": True}),
        ("fs.readTextFile", {"fs": {"readTextFile": True}}),
        ("elicitation.url", {"elicitation": {"form": {}, "url": {}}}),
    ],
)
def test_declared_capability_is_offered(needs: str, capabilities: dict[str, Any]) -> None:
    assert is_offered(needs, capabilities)


@pytest.mark.requirement("testy.client-requests")
@pytest.mark.parametrize(
    ("needs", "capabilities"),
    [
        ("terminal", {"terminal": False}),
        ("terminal", {}),
        ("fs.readTextFile", {"fs": {"writeTextFile": True}}),
        ("fs.readTextFile", {"fs": True}),
        ("elicitation.url", {"elicitation": {"url": None}}),
        ("elicitation.url", {"elicitation": None}),
    ],
)
def test_absent_null_or_false_capability_is_not_offered(
    needs: str, capabilities: dict[str, Any]
) -> None:
    assert not is_offered(needs, capabilities)
