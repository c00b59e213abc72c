"""Asks a person at the terminal: a menu that takes a number, a letter or a word."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from symposium.client.permissions import Chosen, Decision, Permission, refused
from symposium.plain_text import one_line

WIDTH: Final = 100

ReadLine = Callable[[str], Awaitable[str]]
"""Shows a prompt and gives the line that was typed.

Raises:
    EOFError: there will be no more lines.
"""


class AskPerson:
    """Shows each permission with its options, one at a time; an empty line says no."""

    def __init__(self, read_line: ReadLine, talk: Callable[[str], None]) -> None:
        self._read_line = read_line
        self._talk = talk
        self._turn = asyncio.Lock()

    async def decide(self, permission: Permission) -> Decision:
        """Let the person choose."""
        async with self._turn:
            names = [one_line(option.name, width=WIDTH) for option in permission.options]
            call = permission.tool_call
            kind = f" ({call.kind})" if call.kind else ""
            self._talk(one_line(f"? The agent asks: {call.title or call.id}{kind}", width=WIDTH))
            for path in call.paths:
                self._talk(one_line(f"    {path}", width=WIDTH))
            for number, name in enumerate(names, start=1):
                self._talk(f"    {number}) {name}")
            return await self._choose(permission, names)

    async def _choose(self, permission: Permission, names: Sequence[str]) -> Decision:
        while True:
            try:
                line = await self._read_line(f"  Choose 1-{len(names)}, or nothing for no: ")
            except EOFError:
                return refused(permission)
            if not line.strip():
                return refused(permission)
            found = matching(line, names)
            if len(found) == 1:
                return Chosen(permission.options[found[0]])
            trouble = "could be several" if found else "is none of them"
            self._talk(one_line(f"  {line.strip()!r} {trouble}", width=WIDTH))


def matching(line: str, names: Sequence[str]) -> list[int]:
    """The places of the names that a person may mean: by number, or by how a name begins."""
    word = line.strip().casefold()
    if word.isdecimal():
        return [int(word) - 1] if 1 <= int(word) <= len(names) else []
    exact = [at for at, name in enumerate(names) if name.casefold() == word]
    return exact or [at for at, name in enumerate(names) if name.casefold().startswith(word)]
