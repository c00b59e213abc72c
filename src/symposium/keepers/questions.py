"""What an agent has asked for and nobody has answered yet."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from symposium.agent_sessions.session import SessionError
from symposium.client.permissions import Chosen, Decision, Option, Permission


@dataclass(frozen=True, slots=True)
class _Open:
    permission: Permission
    answer: asyncio.Future[Option]


class Questions:
    """Decides nothing: each question waits for a person, wherever they look (users B-5).

    Args:
        asked: told a new question.
        settled: told one that is open no longer.
    """

    def __init__(
        self, asked: Callable[[dict[str, Any]], None], settled: Callable[[dict[str, Any]], None]
    ) -> None:
        self._asked = asked
        self._settled = settled
        self._open: dict[int, _Open] = {}
        self._answered: dict[int, str] = {}
        self._last = 0

    async def decide(self, permission: Permission) -> Decision:
        """Wait for the answer; cancelled with the turn."""
        self._last += 1
        number = self._last
        future = asyncio.get_running_loop().create_future()
        self._open[number] = _Open(permission, future)
        self._asked(_shown(number, permission))
        try:
            return Chosen(await future)
        finally:
            del self._open[number]
            self._settled({"question": number})

    def listed(self) -> list[dict[str, Any]]:
        """Those that are open, the oldest first."""
        return [_shown(number, each.permission) for number, each in self._open.items()]

    def answer(self, number: int, option_id: str, by: str) -> None:
        """Answer one.

        Raises:
            SessionError: it is not open, or has no such option.
        """
        found = self._open.get(number)
        if found is None or found.answer.done():
            by_whom = self._answered.get(number)
            said = f"already answered by {by_whom}" if by_whom else "is not open"
            raise SessionError(f"question {number} {said}", "")
        for option in found.permission.options:
            if option.id == option_id:
                self._answered[number] = by
                found.answer.set_result(option)
                return
        known = ", ".join(option.id for option in found.permission.options)
        raise SessionError(f"question {number} has no option {option_id!r}; it has {known}", "")


def _shown(number: int, permission: Permission) -> dict[str, Any]:
    call = permission.tool_call
    return {
        "question": number,
        "title": call.title,
        "kind": call.kind,
        "paths": list(call.paths),
        "options": [
            {"optionId": option.id, "name": option.name, "kind": option.kind}
            for option in permission.options
        ],
    }
