"""Events of a turn in JSON: envelope, number, and session."""

import json
from typing import Any

import pytest

from symposium.cli.exit_codes import ExitCode, ReportedFailure
from symposium.cli.output import Output
from symposium.cli.prompt_reports import JsonReport
from symposium.client.events import ToolCall
from symposium.client.permissions import ChosenOption, Declined, Option, Permission

YES = Option("y", "Yes", "allow_once")
ASKED = Permission(ToolCall("7", "edit", None), (YES,))


def events(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.requirement("cli.json-permission")
def test_permission_event_has_the_chosen_option_or_null(capsys: pytest.CaptureFixture[str]) -> None:
    report = JsonReport(Output(on_broken=str))
    report.decided(ASKED, ChosenOption(YES))
    report.decided(ASKED, Declined())

    call = {"toolCallId": "7", "title": "edit"}
    assert [event["data"] for event in events(capsys)] == [
        {**call, "optionId": "y", "kind": "allow_once"},
        {**call, "optionId": None, "kind": None},
    ]


@pytest.mark.requirement("cli.prompt-json")
def test_events_count_from_one_and_name_an_open_session(
    capsys: pytest.CaptureFixture[str],
) -> None:
    report = JsonReport(Output(on_broken=str))
    report.update({"update": {"a": 1}})
    report.opened("s1")
    report.update(["no object"])
    report.advised("use --yes")
    report.finished("end_turn")
    report.failed(ReportedFailure(ExitCode.TIMEOUT, "late", "it is late", ""))

    written = events(capsys)
    assert [event["seq"] for event in written] == [1, 2, 3, 4, 5]
    assert [event["session"] for event in written] == [None, "s1", "s1", "s1", "s1"]
    assert [event["type"] for event in written] == [
        "update",
        "session",
        "update",
        "result",
        "error",
    ]
    assert [event["data"] for event in written][:4] == [
        {"a": 1},
        {"sessionId": "s1"},
        None,
        {"stopReason": "end_turn"},
    ]
    assert written[4]["data"]["code"] == "TIMEOUT"
