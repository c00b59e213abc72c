"""Record each permission request of an agent, and who decided it."""

import asyncio
import atexit
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

from peerwire.jsonrpc.values import as_object
from symposium.chain.blueprint import InProcess
from symposium.chain.messages import Answer, ChainMessage
from symposium.chain.mod import Drop, Forward, Mod, from_agent, from_client
from symposium.config.paths import paths

PERMISSION_OBSERVER: Final = "witness"
"""Name of the mod in errors."""

Entry: TypeAlias = Mapping[str, Any]
"""Entry of the audit log."""

RecordEntry: TypeAlias = Callable[[Callable[[], Entry]], None]
"""Receives a function that makes an entry, so that the answer is not delayed."""

Chooser: TypeAlias = Callable[[Mapping[str, Any]], str]
"""Returns who answered a request that no mod's rule did: `user`, or `rule:<name>`."""

POLICY_META: Final = "symposium/policy"
"""Member of `_meta` with the rule of a mod's answer."""

DECIDED: Final = "_symposium/decided"
"""Message from a mod about its own decision, sent toward the agent: the question, the answer, and
the rule. It is not forwarded."""


def decided_by_user(_: Mapping[str, Any]) -> str:
    """Attribute the decision to the editor's user."""
    return "user"


class PermissionObserver(Mod):
    """Observe permission requests and their answers; change nothing."""

    def __init__(self, agent: str, record: RecordEntry, chooser: Chooser = decided_by_user) -> None:
        self._agent = agent
        self._take_down = record
        self._chooser = chooser

    @from_agent("session/request_permission")
    def asked(self, message: ChainMessage) -> Forward:
        """Forward the request unchanged and record its answer."""
        answered = partial(self._answered, message)
        return Forward(then=answered, catch=answered)

    @from_client(DECIDED)
    def decided(self, message: ChainMessage) -> Drop:
        """Record a decision without a request of the agent."""
        self._take_down(partial(self._entry, message))
        return Drop()

    def _entry(self, message: ChainMessage) -> Entry:
        params = as_object(message.params)
        question, result = as_object(params.get("question")), as_object(params.get("result"))
        named = {name: params.get(name) for name in ("method", "rule")}
        return {**named, **self._line(question, result)}

    def _answered(self, message: ChainMessage, answer: Answer) -> None:
        self._take_down(partial(self._entry_of_answer, message, answer))

    def _entry_of_answer(self, message: ChainMessage, answer: Answer) -> Entry:
        result = as_object(None if answer.error else answer.result)
        return self._line(as_object(message.params), result)

    def _line(self, params: Mapping[str, Any], result: Mapping[str, Any]) -> Entry:
        question = {name: params.get(name) for name in ("sessionId", "toolCall", "options")}
        return {"agent": self._agent, **question, **self._decision(params, result)}

    def _decision(self, params: Mapping[str, Any], result: Mapping[str, Any]) -> Entry:
        outcome = as_object(result.get("outcome"))
        kind = outcome.get("outcome")
        if not isinstance(kind, str):
            return {"outcome": "unanswered", "chosen": None, "by": "nobody"}
        ruled = as_object(as_object(result.get("_meta")).get(POLICY_META))
        rule = ruled.get("rule", "policy") if ruled else None
        by = f"rule:{rule}" if ruled else self._chooser(params)
        return {"outcome": kind, "chosen": outcome.get("optionId"), "by": by}


FLUSH_DELAY: Final = 0.02
"""Maximum seconds until a decision is on disk; a power failure or a kill may lose it."""

_log = logging.getLogger(__name__)


def with_audit(
    agent: str, secrets: Sequence[str], chooser: Chooser = decided_by_user
) -> Callable[[], Sequence[InProcess]]:
    """Factory of the mod that records an agent's permission requests.

    Args:
        agent: name of the agent; empty for a chain without one.
        secrets: values to remove.
        chooser: returns who chose an answer.
    """
    record = _recording(secrets)
    return lambda: [
        InProcess(PERMISSION_OBSERVER, PermissionObserver(agent, record, chooser), is_hidden=True)
    ]


def _recording(secrets: Sequence[str]) -> RecordEntry:
    return _Record(secrets).record


class _Record:
    """Write entries in batches with a short delay, so that answers do not wait for the disk.

    Args:
        secrets: values to remove.
    """

    def __init__(self, secrets: Sequence[str]) -> None:
        self._secrets = secrets
        self._waiting: list[Callable[[], Entry]] = []
        self._write: Callable[[Sequence[Entry]], None] | None = None
        atexit.register(self.flush)

    def record(self, entry: Callable[[], Entry]) -> None:
        """Add an entry; written within `FLUSH_DELAY`, or when this process ends."""
        if not self._waiting:
            asyncio.get_running_loop().call_later(FLUSH_DELAY, self.flush)
        self._waiting.append(entry)

    def flush(self) -> None:
        """Write the pending entries."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        write = self._write = self._write or self._open()
        try:
            write([{"host": os.getpid(), **made()} for made in waiting])
        except OSError as error:
            _log.warning("could not record a permission: %s", error)

    def _open(self) -> Callable[[Sequence[Entry]], None]:
        from localio.redaction import Redactor, secret_values
        from symposium.permissions.audit_log import AuditLog

        redactor = Redactor((*self._secrets, *secret_values(os.environ)))
        log = AuditLog(paths().audit, redactor)
        return lambda entries: log.write(*entries)
