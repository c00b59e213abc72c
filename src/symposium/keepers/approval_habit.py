"""Whether an agent asks for permission before each tool call that can change files.

One that asks needs no stop: its worktree is saved while its question is open. Everything that
leaves a doubt counts as not asking: no question yet, a call that ran without one, a permission for
all further calls, another mode.
"""

from collections.abc import Mapping
from typing import Any, Final, cast

from msgspec import DecodeError, json

from peerwire.jsonrpc.values import as_object

HARMLESS: Final = frozenset({"read", "search", "think", "fetch"})
"""Kinds of tools that change no file (ACP, tool calls)."""

_ASK: Final = "session/request_permission"
_ASKS: Final = f'"{_ASK}"'.encode()
_ANSWERS: Final = b'"optionId"'
_CHANGES_MODE: Final = (b'"session/set_mode"', b'"session/set_config_option"')
_MODE_CHANGED: Final = b'"current_mode_update"'
_CALL: Final = b'"tool_call'


class ApprovalHabit:
    """That of one agent, from its start; `heard` and `sent` are given its lines in order.

    Attributes:
        is_asking: whether it has asked for each call so far, and for one at least.
    """

    def __init__(self) -> None:
        self.is_asking = False
        self._runs_unasked = False
        self._asked: set[str] = set()
        self._announced: str | None = None
        self._always: dict[str, frozenset[str]] = {}

    def heard(self, line: bytes) -> None:
        """Learn from a line that the agent wrote."""
        if self._runs_unasked:
            return
        if _ASKS in line:
            self._has_asked(_members(line))
        elif _MODE_CHANGED in line:
            self.is_asking = False
        elif _CALL in line:
            self._has_called(as_object(_members(line).get("params")))

    def sent(self, line: bytes) -> None:
        """Learn from a line that the agent is sent."""
        if any(sign in line for sign in _CHANGES_MODE):
            self.is_asking = False
        if not self._always or _ANSWERS not in line:
            return
        message = _members(line)
        options = self._always.pop(str(message.get("id")), frozenset())
        outcome = as_object(as_object(message.get("result")).get("outcome"))
        if outcome.get("optionId") in options:
            self._no_more()

    def begin_turn(self) -> None:
        """A call that was announced and never asked for has run by now."""
        if self._announced is not None:
            self._no_more()

    def _has_asked(self, message: Mapping[str, Any]) -> None:
        if message.get("method") != _ASK:
            return
        params = as_object(message.get("params"))
        id_ = str(as_object(params.get("toolCall")).get("toolCallId"))
        if self._announced not in {None, id_}:
            self._no_more()
            return
        self._announced = None
        self._asked.add(id_)
        options = params.get("options")
        self._always[str(message.get("id"))] = frozenset(
            str(as_object(each).get("optionId"))
            for each in (cast("list[Any]", options) if isinstance(options, list) else [])
            if as_object(each).get("kind") == "allow_always"
        )
        self.is_asking = True

    def _has_called(self, params: Mapping[str, Any]) -> None:
        update = as_object(params.get("update"))
        if update.get("sessionUpdate") not in {"tool_call", "tool_call_update"}:
            return
        id_ = str(update.get("toolCallId"))
        if id_ in self._asked or update.get("kind") in HARMLESS:
            return
        is_begun = update.get("status") in {"in_progress", "completed", "failed"}
        if is_begun or self._announced not in {None, id_}:
            self._no_more()
        else:
            self._announced = id_

    def _no_more(self) -> None:
        self._runs_unasked = True
        self.is_asking = False
        self._always.clear()


def _members(line: bytes) -> Mapping[str, Any]:
    try:
        return as_object(json.decode(line))
    except DecodeError:
        # Not for us to report: the receiver of the line does.
        return {}
