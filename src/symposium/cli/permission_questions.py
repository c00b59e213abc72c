"""Ask the user at the terminal: a menu that takes a number, a letter, or a word."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Final

from localio.text import clipped, one_line, pieces
from symposium.client.permissions import (
    ChosenOption,
    Decision,
    Permission,
    ToolCallSummary,
    refused,
    summarize,
)

WIDTH: Final = 100
LINES_SHOWN: Final = 30
"""Lines of a change or a script that are shown at first."""

HEAD_SHOWN: Final = 6
"""Lines of a command or a title that are shown at first."""

WHOLE: Final = "?"
"""Input that shows everything, and the effect of each option."""

_MEANINGS: Final = {
    "allow_once": "allow this now; the agent asks again next time",
    "allow_always": "allow this now and from now on; the agent remembers it",
    "reject_once": "deny this now; the agent may ask again",
    "reject_always": "deny this now and from now on; the agent remembers it",
}
"""Effect of an option, by its kind."""

ReadLine = Callable[[str], Awaitable[str]]
"""Show a prompt and return the typed line.

Raises:
    EOFError: the input has ended.
"""


class TerminalDecider:
    """Ask about each permission with its options, one at a time; an empty line means no.

    Args:
        read_line: reads the answer.
        talk: shows a line unchanged.
        root: the directory that paths are relative to.
    """

    def __init__(
        self, read_line: ReadLine, talk: Callable[[str], None], root: Path | None = None
    ) -> None:
        self._read_line = read_line
        self._talk = talk
        self._root = root
        self._turn = asyncio.Lock()

    async def decide(self, permission: Permission) -> Decision:
        """Let the user choose."""
        names = [option.name for option in permission.options]
        kinds = [option.kind for option in permission.options]
        chosen = await self.choose(summarize(permission.tool_call, self._root), names, kinds)
        return refused(permission) if chosen is None else ChosenOption(permission.options[chosen])

    async def choose(
        self, summary: ToolCallSummary, options: Sequence[str], kinds: Sequence[str] = ()
    ) -> int | None:
        """Let the user choose an option; return its index, or None for no.

        Args:
            summary: the action that the agent requests.
            options: the names of the options.
            kinds: the ACP kind of each option, such as `allow_once`.
        """
        async with self._turn:
            names = [one_line(option, width=WIDTH) for option in options]
            for line in _in_short(summary):
                self._talk(line)
            for number, name in enumerate(names, start=1):
                self._talk(f"    {number}) {name}")
            return await self._chosen(names, kinds, summary)

    async def _chosen(
        self, names: Sequence[str], kinds: Sequence[str], summary: ToolCallSummary
    ) -> int | None:
        is_cut = _in_short(summary) != _whole(summary)
        more = f", {WHOLE} to see all" if is_cut else ""
        while True:
            try:
                line = await self._read_line(
                    f"  Choose 1-{len(names)}{more}, or press Enter for no: "
                )
            except EOFError:
                return None
            if not line.strip():
                return None
            if line.strip() == WHOLE:
                for each in (*_whole(summary), *_explained(names, kinds)):
                    self._talk(each)
                continue
            found = matching(line, names)
            if len(found) == 1:
                return found[0]
            problem = "matches several options" if found else "is not an option"
            self._talk(one_line(f"  {line.strip()!r} {problem}", width=WIDTH))


def _explained(names: Sequence[str], kinds: Sequence[str]) -> list[str]:
    """Format each option with its effect."""
    lines: list[str] = []
    for number, (name, kind) in enumerate(zip_longest(names, kinds, fillvalue=""), start=1):
        meaning = f": {_MEANINGS[kind]}" if kind in _MEANINGS else ""
        lines.append(f"    {number}) {name}{meaning}")
    return lines


def _in_short(summary: ToolCallSummary) -> list[str]:
    left = len(summary.lines) - LINES_SHOWN
    note = [f"    [… {left} more lines]"] if left > 0 else []
    shown = [clipped(f"    {line}", width=WIDTH) for line in summary.lines[:LINES_SHOWN]]
    return [*pieces(_head(summary), width=WIDTH)[:HEAD_SHOWN], *shown, *note]


def _whole(summary: ToolCallSummary) -> list[str]:
    """Format everything: the important part may be at the end of a long line."""
    lines = (_head(summary), *(f"    {line}" for line in summary.lines))
    return [piece for line in lines for piece in pieces(line, width=WIDTH)]


def _head(summary: ToolCallSummary) -> str:
    return f"? The agent wants to {summary.text}"


def matching(line: str, names: Sequence[str]) -> list[int]:
    """Find the names that a typed line means: by number, or by their beginning."""
    word = line.strip().casefold()
    if word.isdecimal():
        return [int(word) - 1] if 1 <= int(word) <= len(names) else []
    exact = [at for at, name in enumerate(names) if name.casefold() == word]
    return exact or [at for at, name in enumerate(names) if name.casefold().startswith(word)]
