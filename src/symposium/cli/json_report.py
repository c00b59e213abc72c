"""Write a turn as JSON events to stdout, one per line, in one envelope (users §8.4)."""

from collections.abc import Mapping
from typing import Any, cast

from symposium.cli.ending import Failure
from symposium.cli.json_events import event_line
from symposium.cli.output import Output
from symposium.client.permissions import Chosen, Decision, Permission


class JsonReport:
    """Write one session's turn; `seq` counts from 1 without gaps."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._seq = 0
        self._session: str | None = None

    def opened(self, session_id: str) -> None:
        """Write the id of the session."""
        self._session = session_id
        self._event("session", {"sessionId": session_id})

    def update(self, params: Any) -> None:
        """Write an update of the agent, unchanged."""
        members = cast("Mapping[str, Any]", params if isinstance(params, Mapping) else {})
        self._event("update", members.get("update"))

    def decided(self, permission: Permission, decision: Decision) -> None:
        """Write a requested action and the decision."""
        call = permission.tool_call
        option = decision.option if isinstance(decision, Chosen) else None
        data = {
            "toolCallId": call.id,
            "title": call.title,
            "optionId": None if option is None else option.id,
            "kind": None if option is None else option.kind,
        }
        self._event("permission", data)

    def finished(self, stop_reason: str) -> None:
        """Write the stop reason."""
        self._event("result", {"stopReason": stop_reason})

    def advised(self, advice: str) -> None:
        """Write nothing: programs need no advice."""

    def failed(self, failure: Failure) -> None:
        """Write the failure of the command."""
        self._event("error", failure.body())

    def _event(self, kind: str, data: Any) -> None:
        self._seq += 1
        self._output.write(event_line(kind, data, seq=self._seq, session=self._session))
