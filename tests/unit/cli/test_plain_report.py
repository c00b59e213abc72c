"""Plain output of a turn: data on stdout, notes on stderr."""

from typing import Any

import pytest

from symposium.cli.exit_codes import ExitCode, ReportedFailure
from symposium.cli.output import Output
from symposium.cli.prompt_reports import WIDTH, PlainReport
from symposium.client.events import ToolCall
from symposium.client.permissions import ChosenOption, Declined, Option, Permission

RULE = "Refused by the rule `no-force-push` of policy.toml: `git push -f`"


@pytest.fixture
def report() -> PlainReport:
    return PlainReport(Output(on_broken=str))


def said(text: str) -> Any:
    content = {"type": "text", "text": text}
    return {"update": {"sessionUpdate": "agent_message_chunk", "content": content}}


def called(status: str | None, *texts: str, **members: Any) -> Any:
    blocks = [{"type": "content", "content": {"type": "text", "text": each}} for each in texts]
    fields = {"status": status, "content": blocks or None, **members}
    given = {name: value for name, value in fields.items() if value is not None}
    return {"update": {"sessionUpdate": "tool_call_update", "toolCallId": "1", **given}}


@pytest.mark.requirement("showing.text-around-tools")
def test_tool_call_ends_the_line_of_the_text_before_it(
    report: PlainReport, capsys: pytest.CaptureFixture[str]
) -> None:
    report.update(said("hi "))
    report.update(said("there"))
    report.update(called("pending", title="look"))
    report.update(said("all "))
    report.update(called("completed"))
    report.update(said("done"))
    report.finished("end_turn")

    # The end of a known call adds no line break inside a sentence.
    assert capsys.readouterr().out == "hi there\nall done\n"


@pytest.mark.requirement("showing.text-around-tools")
def test_tool_call_adds_no_line_break_after_a_complete_line(
    report: PlainReport, capsys: pytest.CaptureFixture[str]
) -> None:
    report.update(called("pending"))
    report.update(said("hi\n"))
    report.update(called("pending", toolCallId="2"))
    report.update(said("done"))
    report.update(called("pending", toolCallId="3"))
    report.finished("end_turn")

    assert capsys.readouterr().out == "hi\ndone\n"


@pytest.mark.requirement("showing.failed-tools")
def test_failed_call_is_shown_with_the_rule_and_its_output(
    report: PlainReport, capsys: pytest.CaptureFixture[str]
) -> None:
    report.update(called("pending", title="git push -f"))
    report.update(called(None, RULE))
    report.update(called("failed", "the user rejected it"))

    assert capsys.readouterr().err.splitlines() == [
        "[tool] git push -f: pending",
        "[tool] git push -f: failed",
        f"    {RULE}",
        "    the user rejected it",
    ]


@pytest.mark.requirement("showing.failed-tools")
def test_output_after_a_failed_call_is_shown_once(
    report: PlainReport, capsys: pytest.CaptureFixture[str]
) -> None:
    report.update(called("failed", title="go"))
    report.update(called(None, "no such file"))
    report.update(called(None, "no such file"))

    assert capsys.readouterr().err == "[tool] go: failed\n    no such file\n"


@pytest.mark.requirement("showing.failed-tools")
def test_last_lines_of_a_growing_output_are_shown_once(
    report: PlainReport, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [f"line {number}" for number in range(20)]
    for count in (5, 15, 20):
        report.update(called("in_progress", "\n".join(lines[:count]), title="make"))
    report.update(called("failed"))

    shown = capsys.readouterr().err.splitlines()
    assert shown[0] == "[tool] make: in_progress"
    assert shown[2:] == ["    […]", *(f"    {line}" for line in lines[-6:])]


@pytest.mark.requirement("showing.failed-tools")
def test_output_of_a_successful_call_is_not_shown(
    report: PlainReport, capsys: pytest.CaptureFixture[str]
) -> None:
    report.update(called("completed", "lots of text", title="look"))

    assert capsys.readouterr().err == "[tool] look: completed\n"


@pytest.mark.requirement("showing.events")
def test_plan_is_shown_once_for_each_step(
    report: PlainReport, capsys: pytest.CaptureFixture[str]
) -> None:
    def planned(*statuses: str) -> Any:
        entries = [{"content": f"step {at}", "status": each} for at, each in enumerate(statuses)]
        return {"update": {"sessionUpdate": "plan", "entries": entries}}

    for statuses in (("in_progress", "pending"), ("in_progress", "pending"), ("completed",) * 2):
        report.update(planned(*statuses))

    assert capsys.readouterr().err.splitlines() == [
        "[plan] 0 of 2 done, now: step 0",
        "[plan] 2 of 2 done",
    ]


@pytest.mark.requirement("cli.chat-terminal-text", "showing.events")
def test_text_of_an_agent_is_shown_without_control_characters_and_cut(
    report: PlainReport, capsys: pytest.CaptureFixture[str]
) -> None:
    def noted(kind: str, **members: Any) -> Any:
        return {"update": {"sessionUpdate": kind, **members}}

    option = Option("y", "Yes\x1b", "allow_once")
    asked = Permission(ToolCall("1", "go\x1b\nthere", None, "other"), (option,))
    long = "x" * 300
    report.update(said("do\x1b[2Jne\n"))
    report.update(called("failed", f"out\x1b\nmore {long}", title="g\x1b\no"))
    report.update(noted("agent_thought_chunk", content={"type": "text", "text": "hm"}))
    report.update(noted("agent_thought_chunk", content={"type": "text", "text": "hm"}))
    report.decided(asked, ChosenOption(option))
    report.decided(asked, Declined())
    report.finished("max\x1b\n")
    report.advised("try this")
    report.failed(ReportedFailure(ExitCode.RUNTIME, "agent", "it failed", "restart it"))
    out, err = capsys.readouterr()

    assert out == "do␛[2Jne\n"
    assert err.splitlines() == [
        "[tool] g␛ o: failed",
        "    out␛",
        f"    more {long}"[: WIDTH - 1] + "…",
        "[thinking]",
        "[permission] do this: go␛ there: Yes␛",
        "[permission] do this: go␛ there: no answer",
        "[stopped] max␛",
        "symposium: try this",
        *ReportedFailure(ExitCode.RUNTIME, "agent", "it failed", "restart it").text().splitlines(),
    ]
