"""What an agent has asked for and nobody has answered yet."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

from symposium.agent_sessions.session import SessionError
from symposium.client.permissions import Chosen, Decision, Option, Permission, diff_text, wish_of

MOST_SHOWN: Final = 16 * 1024
"""Characters of a change, or of a command, that go with a question."""


@dataclass(frozen=True, slots=True)
class _Open:
    permission: Permission
    answer: asyncio.Future[Option]
    at: str


class Questions:
    """Decides nothing: each question waits for a person, wherever they look (users B-5).

    Args:
        asked: told a new question.
        settled: told one that is open no longer.
        root: the directory that files are named from.
        last: the number before the first: those of an earlier keeper are not given again.
    """

    def __init__(
        self,
        asked: Callable[[dict[str, Any]], None],
        settled: Callable[[dict[str, Any]], None],
        root: Path,
        last: int = 0,
    ) -> None:
        self._root = root
        self._asked = asked
        self._settled = settled
        self._open: dict[int, _Open] = {}
        self._answered: dict[int, str] = {}
        self._last = last

    async def decide(self, permission: Permission) -> Decision:
        """Wait for the answer; cancelled with the turn."""
        self._last += 1
        number = self._last
        future = asyncio.get_running_loop().create_future()
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._open[number] = _Open(permission, future, at)
        self._asked(_shown(number, permission, self._root))
        try:
            return Chosen(await future)
        finally:
            del self._open[number]
            self._settled({"question": number})

    def listed(self) -> list[dict[str, Any]]:
        """Those that wait for an answer, the oldest first."""
        opened = self._open.items()
        return [
            {**_shown(number, each.permission, self._root), "askedAt": each.at}
            for number, each in opened
            if not each.answer.done()
        ]

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


def _shown(number: int, permission: Permission, root: Path) -> dict[str, Any]:
    call = permission.tool_call
    wish = wish_of(call, root)
    lines = _bounded(wish.lines)
    return {
        "question": number,
        "title": call.title,
        "wish": wish.text[:MOST_SHOWN],
        "lines": lines,
        "isCut": len(lines) < len(wish.lines),
        "kind": call.kind,
        "paths": list(call.paths),
        "command": call.command[:MOST_SHOWN],
        "diff": diff_text(call)[:MOST_SHOWN],
        "options": [
            {"optionId": option.id, "name": option.name, "kind": option.kind}
            for option in permission.options
        ],
    }


def _bounded(lines: Sequence[str]) -> list[str]:
    sizes = accumulate(len(line) + 1 for line in lines)
    return [line for line, size in zip(lines, sizes, strict=True) if size <= MOST_SHOWN]
