"""The report of one prompt, in plain text or as JSON."""

from dataclasses import dataclass
from typing import Any, Final

from localio.text import one_line, plain_text
from peerwire.jsonrpc.values import as_object
from symposium.cli.exit_codes import ReportedFailure
from symposium.cli.output import Output, event_line
from symposium.cli.session_view import note_lines
from symposium.client.events import AgentPlan, Other, Text, ToolCall, read_event
from symposium.client.permissions import ChosenOption, Decision, Permission, summarize
from symposium.permissions.policy_notes import PolicyNote

WIDTH: Final = 100
"""Width of a line on stderr."""

SUMMARY_WIDTH: Final = 70
"""Width of a requested action: the decision follows in the same line."""

QUIET: Final = frozenset(
    {"usage_update", "session_info_update", "current_mode_update", "config_option_update"}
)
"""Kinds of updates that are not shown, also if malformed."""

OUTPUT_LINES: Final = 6
"""Number of the last output lines that are shown of a failed tool call."""


@dataclass(frozen=True, slots=True)
class _Call:
    """State of a tool call, merged from its updates.

    Attributes:
        output: its latest output.
        before: its earlier output, if different: a mod reports why it refused the call before the
            agent reports that it was refused.
    """

    title: str
    status: str
    output: str = ""
    before: str = ""

    def and_then(self, call: ToolCall) -> "_Call":
        """Merge an update, which may leave out unchanged fields."""
        output = call.output or self.output
        is_grown = output.startswith(self.output)
        before = self.before if is_grown else self.output
        return _Call(call.title or self.title, call.status or self.status, output, before)

    def lines(self) -> list[str]:
        """List the last lines of its output."""
        lines = [each for each in plain_text(f"{self.before}\n{self.output}").splitlines() if each]
        return lines if len(lines) <= OUTPUT_LINES else ["[…]", *lines[-OUTPUT_LINES:]]


class PlainReport:
    """Show one session's turn."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._calls: dict[str, _Call] = {}
        self._plan = ""
        self._is_thinking = False

    def opened(self, session_id: str) -> None:
        """Show nothing: the user does not need the id of the session."""

    def update(self, params: Any) -> None:
        """Show an update of the agent."""
        members = as_object(params)
        event = read_event(members.get("update"))
        match event:
            case Text("agent", text):
                self._is_thinking = False
                self._output.write(plain_text(text))
            case Text("thought"):
                self._thought()
            case ToolCall():
                self._tool_call(event)
            case AgentPlan():
                self._show_plan(event)
            case PolicyNote(text):
                for line in note_lines(text):
                    self._output.talk(line)
            case Other(kind, note) if kind not in QUIET:
                self._talk(kind, note)
            case _:
                pass

    def decided(self, permission: Permission, decision: Decision) -> None:
        """Show a requested action and the decision."""
        answer = decision.option.name if isinstance(decision, ChosenOption) else "no answer"
        shown = one_line(summarize(permission.tool_call).text, width=SUMMARY_WIDTH)
        self._talk("permission", f"{shown}: {answer}")

    def finished(self, stop_reason: str) -> None:
        """Show the stop reason, unless the turn ended normally."""
        self._output.end_line()
        if stop_reason != "end_turn":
            self._talk("stopped", stop_reason)

    def advised(self, advice: str) -> None:
        """Show advice on a separate line."""
        self._output.talk(f"symposium: {advice}")

    def failed(self, failure: ReportedFailure) -> None:
        """Show the failure of the command."""
        self._output.end_line()
        self._output.talk(failure.text())

    def _thought(self) -> None:
        if not self._is_thinking:
            self._talk("thinking", "")
        self._is_thinking = True

    def _tool_call(self, call: ToolCall) -> None:
        known = self._calls.get(call.id)
        before = known or _Call(f"call {call.id}", "pending")
        now = self._calls[call.id] = before.and_then(call)
        if known is None:
            # In a pipe, only a new line shows that a call lies between two texts.
            self._output.end_line()
        if known is None or (now.title, now.status) != (before.title, before.status):
            self._talk("tool", f"{now.title}: {now.status}")
        if now.status == "failed" and now != known:
            for line in now.lines():
                self._output.talk(one_line(f"    {line}", width=WIDTH))

    def _show_plan(self, plan: AgentPlan) -> None:
        done = sum(entry.status == "completed" for entry in plan.entries)
        current = [entry.content for entry in plan.entries if entry.status == "in_progress"]
        text = f"{done} of {len(plan.entries)} done" + (f", now: {current[0]}" if current else "")
        if text != self._plan:
            self._plan = text
            self._talk("plan", text)

    def _talk(self, subject: str, text: str) -> None:
        self._output.talk(one_line(f"[{subject}] {text}", width=WIDTH))


class JsonReport:
    """Write one session's turn; `seq` counts from 1 without gaps."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._seq = 0
        self._session: str | None = None

    def opened(self, session_id: str) -> None:
        self._session = session_id
        self._event("session", {"sessionId": session_id})

    def update(self, params: Any) -> None:
        """Write an update of the agent, unchanged."""
        members = as_object(params)
        self._event("update", members.get("update"))

    def decided(self, permission: Permission, decision: Decision) -> None:
        """Write a requested action and the decision."""
        call = permission.tool_call
        option = decision.option if isinstance(decision, ChosenOption) else None
        data = {
            "toolCallId": call.id,
            "title": call.title,
            "optionId": None if option is None else option.id,
            "kind": None if option is None else option.kind,
        }
        self._event("permission", data)

    def finished(self, stop_reason: str) -> None:
        self._event("result", {"stopReason": stop_reason})

    def advised(self, advice: str) -> None:
        """Write nothing: programs need no advice."""

    def failed(self, failure: ReportedFailure) -> None:
        """Write the failure of the command."""
        self._event("error", failure.body())

    def _event(self, kind: str, data: Any) -> None:
        self._seq += 1
        self._output.write(event_line(kind, data, seq=self._seq, session=self._session))
