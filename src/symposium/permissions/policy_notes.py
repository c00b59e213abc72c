"""Notes to clients about policy rules, as session updates: writing and parsing.

A note is a tool call or its update: every client displays these next to the agent's messages, and
none as a part of its answer. `_meta` names the rule.
"""

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from peerwire.jsonrpc.values import as_object
from symposium.chain.mod import Mod
from symposium.permissions.audit_entries import POLICY_META
from symposium.permissions.verdict import Verdict

_NOTE: Final = "note"


class PolicyNote(Struct, frozen=True):
    """A note about the rules to a session.

    Attributes:
        text: text for the user.
        rule: the rule, if any.
        is_refusal: whether the rule rejected something.
    """

    text: str
    rule: str | None = None
    is_refusal: bool = False


def read_note(update: Mapping[str, Any]) -> PolicyNote | None:
    """The note in an update; None if it is the agent's own update."""
    if "_meta" not in update:
        return None
    meta = as_object(as_object(update["_meta"]).get(POLICY_META))
    text, rule = meta.get("text"), meta.get("rule")
    if not isinstance(text, str):
        return None
    return PolicyNote(text, rule if isinstance(rule, str) else None, meta.get("effect") == "forbid")


class NoteWriter:
    """Send notes about the rules to the client of one chain.

    Args:
        mod: the mod whose client is notified.
    """

    def __init__(self, mod: Mod) -> None:
        self._mod = mod
        self._count = 0

    def refused(self, session_id: str | None, call_id: object, verdict: Verdict) -> None:
        """Report that a permission request of the agent was rejected."""
        if isinstance(call_id, str):
            self._send(session_id, refused_call(call_id, verdict))
        else:
            shown = {"kind": "other", "title": verdict.what or "A tool call"}
            self.refused_unseen(session_id, verdict, shown)

    def refused_unseen(
        self, session_id: str | None, verdict: Verdict, shown: Mapping[str, Any]
    ) -> None:
        """Report a rejection without a tool call from the agent: show a failed one."""
        new = {"sessionUpdate": "tool_call", "status": "failed", **shown}
        self._send(session_id, refused_call(self._new_id(), verdict) | new)

    def remark(self, session_id: str | None, text: str, rule: str | None = None) -> None:
        """Send a remark to the user."""
        shown = {"title": text, "kind": "other", "status": "completed"}
        named = {"sessionUpdate": "tool_call", "toolCallId": self._new_id()}
        self._send(session_id, {**named, **shown, "_meta": _meta(text, rule, _NOTE)})

    def _send(self, session_id: str | None, update: Mapping[str, Any]) -> None:
        if session_id is not None:
            params = {"sessionId": session_id, "update": update}
            self._mod.client.notify("session/update", params)

    def _new_id(self) -> str:
        self._count += 1
        return f"symposium-policy-{id(self):x}-{self._count}"


def refused_call(call_id: str, verdict: Verdict) -> dict[str, Any]:
    """Update for a rejected tool call; the agent itself reports its failure."""
    text = verdict.refusal()
    content, meta = _content(text), _meta(text, verdict.rule, verdict.effect)
    named = {"sessionUpdate": "tool_call_update", "toolCallId": call_id}
    return {**named, "content": content, "_meta": meta}


def _content(text: str) -> list[dict[str, Any]]:
    return [{"type": "content", "content": {"type": "text", "text": text}}]


def _meta(text: str, rule: str | None, effect: str) -> dict[str, Any]:
    return {POLICY_META: {"text": text, "rule": rule, "effect": effect}}
