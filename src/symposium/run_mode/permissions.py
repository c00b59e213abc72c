"""Track open permission requests to the editor, which pass unchanged."""

from collections.abc import Mapping
from typing import Any, Final

from symposium.chain.calls import Asker, Call
from symposium.chain.messages import Answer

PERMISSION: Final = "session/request_permission"

CANCELLED: Final[Mapping[str, Any]] = {"outcome": {"outcome": "cancelled"}}
"""The answer to a question whose turn has been cancelled (acp-host §7.1)."""


class Permissions:
    """The open questions of one chain."""

    def __init__(self) -> None:
        self._open: dict[Call, str] = {}

    def asked(self, call: Call) -> None:
        """Take note of a question that is on its way to the editor."""
        self._open[call] = call.crossing.session_id or ""
        call.asker = _Question(call.asker, self._open)

    def withdraw(self, session: str) -> None:
        """Settle the open requests of a session whose turn is cancelled."""
        for call, asked_in in list(self._open.items()):
            if asked_in == session:
                call.settle(Answer(value=CANCELLED))


class _Question:
    """Requester of a permission."""

    def __init__(self, asker: Asker, open_questions: dict[Call, str]) -> None:
        self._asker = asker
        self._open = open_questions

    def answered(self, call: Call, answer: Answer) -> None:
        """It is not open any more."""
        self._open.pop(call, None)
        self._asker.answered(call, answer)
