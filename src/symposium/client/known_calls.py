"""What an agent has said of its tool calls so far: a question may name one and say no more."""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

from peerwire.jsonrpc.values import as_object

MOST: Final = 100
"""Calls that are remembered; the oldest go first."""

_UPDATES: Final = frozenset({"tool_call", "tool_call_update"})
_OVER: Final = frozenset({"completed", "failed"})


class KnownCalls:
    """Remembers the calls that are not over."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str], dict[str, Any]] = OrderedDict()

    def heard(self, params: Any) -> None:
        """Take the params of a `session/update`."""
        session = as_object(params)
        update = as_object(session.get("update"))
        if update.get("sessionUpdate") not in _UPDATES:
            return
        key = _key(session, update)
        if update.get("status") in _OVER:
            self._known.pop(key, None)
            return
        self._known[key] = {**self._known.get(key, {}), **_said(update)}
        while len(self._known) > MOST:
            self._known.popitem(last=False)

    def completed(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """The params of a question, its tool call with what was said of it before."""
        call = as_object(question.get("toolCall"))
        known = self._known.get(_key(question, call), {})
        return {**question, "toolCall": {**known, **_said(call)}}


def _key(session: Mapping[str, Any], call: Mapping[str, Any]) -> tuple[str, str]:
    return str(session.get("sessionId")), str(call.get("toolCallId"))


def _said(call: Mapping[str, Any]) -> dict[str, Any]:
    """Its members; one that is left out, null or empty leaves what was said before."""
    return {name: value for name, value in call.items() if value not in (None, [], {}, "")}
