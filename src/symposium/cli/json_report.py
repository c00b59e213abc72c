"""A turn as NDJSON on stdout: one event a line, in one envelope (users §8.4)."""

from collections.abc import Mapping
from typing import Any, cast

from symposium.cli.ending import Failure
from symposium.cli.json_events import event_line
from symposium.cli.output import Output
from symposium.client.permissions import Chosen, Decision, Permission


class JsonReport:
    """Writes one session's turn; `seq` counts from 1 and has no holes."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._seq = 0
        self._session: str | None = None

    def opened(self, session_id: str) -> None:
        """The session is there."""
        self._session = session_id
        self._event("session", {"sessionId": session_id})

    def update(self, params: Any) -> None:
        """What the agent reports, as it wrote it."""
        members = cast("Mapping[str, Any]", params if isinstance(params, Mapping) else {})
        self._event("update", members.get("update"))

    def decided(self, permission: Permission, decision: Decision) -> None:
        """What was asked and how it was decided."""
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
        """The turn is over."""
        self._event("result", {"stopReason": stop_reason})

    def advised(self, advice: str) -> None:
        """Nothing: the events say what was refused, and programs need no advice."""

    def failed(self, failure: Failure) -> None:
        """The command has failed."""
        self._event("error", failure.body())

    def _event(self, kind: str, data: Any) -> None:
        self._seq += 1
        self._output.write(event_line(kind, data, seq=self._seq, session=self._session))
