"""Hears in an agent's lines which tool calls begin and which are over."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from msgspec import DecodeError, Raw, Struct, json

from peerwire.jsonrpc.values import as_object

_SIGN: Final = b'"tool_call'
"""What stands in every line of interest, however it is written: no line is read without it."""

_OVER: Final = frozenset({"completed", "failed"})
"""Statuses of a call that does nothing any more (ACP, tool calls)."""

_LONGEST: Final = 200
"""Characters of a title in a reason."""

_MOST: Final = 1000
"""Calls that may be open; an agent that never ends them is not followed for ever."""


class _Notice(Struct):
    method: str = ""
    params: Raw = Raw(b"null")


@dataclass(frozen=True, slots=True)
class Heard:
    """Something that is worth a snapshot.

    Attributes:
        reason: for people.
        is_first: whether a call begins while no other is open: what has changed just now, it did.
    """

    reason: str
    is_first: bool


class ToolCalls:
    """Those of one agent."""

    def __init__(self) -> None:
        self._open: dict[str, str] = {}

    def heard(self, line: bytes) -> Heard | None:
        """What a line that the agent wrote says of its tool calls; None if nothing new."""
        if _SIGN not in line:
            return None
        try:
            notice = json.decode(line, type=_Notice)
            update = as_object(as_object(json.decode(notice.params)).get("update"))
        except DecodeError:
            # Not ours to judge: whoever is to act on it says so.
            return None
        is_call = update.get("sessionUpdate") in {"tool_call", "tool_call_update"}
        return self._changed(update) if is_call and notice.method == "session/update" else None

    def forget(self) -> None:
        """A turn begins: what was left open is over."""
        self._open.clear()

    def _changed(self, update: Mapping[str, Any]) -> Heard | None:
        id_ = str(update.get("toolCallId"))
        before = self._open.get(id_)
        status = str(update.get("status") or before or "pending")
        title = str(update.get("title") or id_)[:_LONGEST]
        if status in _OVER:
            self._open.pop(id_, None)
            return Heard(f"after tool call {title}", is_first=False)
        if status == before:
            return None
        if len(self._open) >= _MOST:
            self._open.clear()
        self._open[id_] = status
        return Heard(f"tool call {title}", is_first=len(self._open) == 1)
