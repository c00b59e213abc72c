"""What agents have asked the editor's user, until it is answered: seen, never changed.

The request passes byte for byte; what was chosen, and by whom, is told to whoever keeps the record.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from symposium.conductor.call import Asker, Call
from symposium.conductor.component import Answer
from symposium.conductor.gate import members_of

PERMISSION: Final = "session/request_permission"

CANCELLED: Final[Mapping[str, Any]] = {"outcome": {"outcome": "cancelled"}}
"""The answer to a question whose turn has been cancelled (acp-host §7.1)."""

Chooser: TypeAlias = Literal["user", "nobody"]
"""Who has given an answer: the editor's user, or nobody, where the agent or the editor has gone."""


@dataclass(frozen=True, slots=True)
class Decided:
    """A question that is not open any more.

    Attributes:
        session: the agent's id of the session; empty if it named none.
        params: the question.
        outcome: what the agent was answered; empty for an error.
        by: who chose.
    """

    session: str
    params: Mapping[str, Any]
    outcome: Mapping[str, Any]
    by: Chooser


class Permissions:
    """The open questions of one chain.

    Attributes:
        on_decided: told of each that is decided.
    """

    def __init__(self) -> None:
        self.on_decided: Callable[[Decided], None] = _nobody
        self._open: dict[Call, str] = {}

    def asked(self, call: Call) -> None:
        """Take note of a question that is on its way to the editor."""
        self._open[call] = call.crossing.session_id or ""
        call.asker = _Question(call.asker, self)

    def withdraw(self, session: str) -> None:
        """The session's turn is cancelled: nobody need answer what is open in it."""
        for call, asked_in in list(self._open.items()):
            if asked_in == session:
                call.settle(Answer(value=CANCELLED))

    def decided(self, call: Call, answer: Answer) -> None:
        """A question has its answer."""
        session = self._open.pop(call, "")
        outcome = members_of(None if answer.error else answer.result).get("outcome")
        by: Chooser = "nobody" if call.is_cancelled or answer.error else "user"
        params = members_of(call.crossing.params)
        self.on_decided(Decided(session, params, members_of(outcome), by))


class _Question:
    """Whoever asked for a permission."""

    def __init__(self, asker: Asker, permissions: Permissions) -> None:
        self._asker = asker
        self._permissions = permissions

    def answered(self, call: Call, answer: Answer) -> None:
        """Take the answer down, then give it: nothing is allowed that is not on record."""
        self._permissions.decided(call, answer)
        self._asker.answered(call, answer)


def _nobody(_: Decided) -> None:
    pass
