"""Dialog in the chat as one coroutine that reads inputs and shows texts."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from msgspec import Struct

Script: TypeAlias = Callable[["Conversation"], Awaitable[None]]
"""The dialogue; it returns when there is nothing left to hear."""


def _never() -> bool:
    return False


class Input(Struct, frozen=True):
    """One thing that was typed.

    Attributes:
        text: what.
        answered: called when the script has said all that it says about it.
        unheard: called instead if the script has ended before.
        is_wanted: whether the editor still waits for the answer.
        keep: saves it for the agent to come; returns whether it did.
    """

    text: str
    answered: Callable[[], None]
    unheard: Callable[[], None]
    is_wanted: Callable[[], bool]
    keep: Callable[[], bool] = _never


class Conversation:
    """Carries inputs to a script, in order.

    Attributes:
        say: shows a text.
        heard: how many inputs the script has heard.
        opened_in_turn: whether the user opened it with a prompt.
    """

    def __init__(self, say: Callable[[str], None], first: Input | None = None) -> None:
        self.say = say
        self.heard = 0
        self.opened_in_turn = first is not None
        self._current = first
        self._inputs: deque[Input] = deque()
        self._news = asyncio.Event()

    def put(self, given: Input) -> None:
        """Give the script an input, behind those that it has not heard yet."""
        self._inputs.append(given)
        self._news.set()

    async def hear(self) -> str:
        """The next input, trimmed; for the script."""
        self._answered()
        await self.something_typed()
        given = self._current = self._inputs.popleft()
        self.heard += 1
        return given.text.strip()

    async def something_typed(self) -> None:
        """Wait until there is an input to hear."""
        while True:
            while self._inputs and not self._inputs[0].is_wanted():
                self._inputs.popleft()
            if self._inputs:
                return
            self._news.clear()
            await self._news.wait()

    @property
    def is_first_turn(self) -> bool:
        """Whether the first prompt is answered; some editors show no text sent before it."""
        return self.heard == 1 and not self.opened_in_turn

    def keep(self) -> bool:
        """Keep what was heard last for the agent that is still to come; whether that can be."""
        return self._current is not None and self._current.keep()

    def end(self) -> Sequence[Input]:
        """Answer the last input after the script; return the unread inputs."""
        self._answered()
        unheard = [given for given in self._inputs if given.is_wanted()]
        self._inputs.clear()
        return unheard

    def _answered(self) -> None:
        given, self._current = self._current, None
        if given is not None:
            given.answered()
