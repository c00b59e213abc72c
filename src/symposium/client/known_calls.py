"""Cache of reported tool calls: a question may name a call without its details."""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

from peerwire.jsonrpc.values import as_object

MOST: Final = 100
"""Maximum number of cached calls; the oldest are dropped first."""

_UPDATES: Final = frozenset({"tool_call", "tool_call_update"})
_OVER: Final = frozenset({"completed", "failed"})


class KnownCalls:
    """Cache of the calls that have not ended."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str], dict[str, Any]] = OrderedDict()

    def heard(self, params: Any) -> None:
        """Store the tool call of a `session/update`."""
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
        """Complete the tool call in a question's params from the cache."""
        call = as_object(question.get("toolCall"))
        known = self._known.get(_key(question, call), {})
        return {**question, "toolCall": {**known, **_said(call)}}


def _key(session: Mapping[str, Any], call: Mapping[str, Any]) -> tuple[str, str]:
    return str(session.get("sessionId")), str(call.get("toolCallId"))


def _said(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members with a value; an empty one does not replace an earlier value."""
    return {name: value for name, value in call.items() if value not in (None, [], {}, "")}
