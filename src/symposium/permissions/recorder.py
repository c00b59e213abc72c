"""Records each permission that an agent asks for, and who decided."""

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
"""How the mod is called in errors."""

Entry: TypeAlias = Mapping[str, Any]
"""One line of the record."""

RecordEntry: TypeAlias = Callable[[Callable[[], Entry]], None]
"""Takes what makes an entry: nothing is read while anybody waits for the answer."""

Chooser: TypeAlias = Callable[[Mapping[str, Any]], str]
"""Given a question that no rule of a mod has answered: who has; `user`, or `rule:<name>`."""

POLICY_META: Final = "symposium/policy"
"""The member of `_meta` by which a mod that answers says which rule it went by."""

DECIDED: Final = "_symposium/decided"
"""By this a mod tells us, towards the agent, what it has refused or asked of its own accord: the
question that was or would have been asked, the answer, and the rule. It is not forwarded."""


def decided_by_user(_: Mapping[str, Any]) -> str:
    """The user of the editor."""
    return "user"


class PermissionObserver(Mod):
    """Changes nothing; what passes here is what the agent asked and what it was answered."""

    def __init__(
        self, agent: str, take_down: RecordEntry, chooser: Chooser = decided_by_user
    ) -> None:
        self._agent = agent
        self._take_down = take_down
        self._chooser = chooser

    @from_agent("session/request_permission")
    def asked(self, message: ChainMessage) -> Forward:
        """Forward the question unchanged and wait for the answer."""
        answered = partial(self._answered, message)
        return Forward(then=answered, catch=answered)

    @from_client(DECIDED)
    def decided(self, message: ChainMessage) -> Drop:
        """Take down a decision that no question of the agent's led to."""
        self._take_down(partial(self._entry, message))
        return Drop()

    def _entry(self, message: ChainMessage) -> Entry:
        told = as_object(message.params)
        question, result = as_object(told.get("question")), as_object(told.get("result"))
        named = {name: told.get(name) for name in ("method", "rule")}
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


SOON: Final = 0.02
"""Seconds until a decision is on the disk: what a power failure, or a kill, may cost."""

_log = logging.getLogger(__name__)


def with_audit(
    agent: str, secrets: Sequence[str], chooser: Chooser = decided_by_user
) -> Callable[[], Sequence[InProcess]]:
    """Makes the mod that sees the questions of an agent.

    Args:
        agent: the name of the agent; empty for a chain without one.
        secrets: values that must not be written.
        chooser: tells who chose an answer.
    """
    take_down = _taking_down(secrets)
    return lambda: [
        InProcess(
            PERMISSION_OBSERVER, PermissionObserver(agent, take_down, chooser), is_hidden=True
        )
    ]


def _taking_down(secrets: Sequence[str]) -> RecordEntry:
    return _Record(secrets).take_down


class _Record:
    """Writes what was decided soon after, many at a time: an answer does not wait for a disk.

    Args:
        secrets: what must not be written.
    """

    def __init__(self, secrets: Sequence[str]) -> None:
        self._secrets = secrets
        self._waiting: list[Callable[[], Entry]] = []
        self._write: Callable[[Sequence[Entry]], None] | None = None
        atexit.register(self.flush)

    def take_down(self, entry: Callable[[], Entry]) -> None:
        """Take an entry; it is written within `SOON`, or when this process ends."""
        if not self._waiting:
            asyncio.get_running_loop().call_later(SOON, self.flush)
        self._waiting.append(entry)

    def flush(self) -> None:
        """Write what waits."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        write = self._write = self._write or self._open()
        try:
            write([{"host": os.getpid(), **made()} for made in waiting])
        except OSError as error:
            _log.warning("a permission is not on record: %s", error)

    def _open(self) -> Callable[[Sequence[Entry]], None]:
        from localio.redaction import Redactor, secret_values  # noqa: PLC0415 - the same
        from symposium.permissions.audit import AuditLog  # noqa: PLC0415 - see IMPORTS_LATE

        redactor = Redactor((*self._secrets, *secret_values(os.environ)))
        log = AuditLog(paths().audit, redactor)
        return lambda entries: log.write(*entries)
