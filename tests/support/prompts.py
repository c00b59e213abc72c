"""A user at the prompts of a chat in this process."""

import asyncio
import os
import signal
from collections.abc import Generator
from contextlib import contextmanager

from prompt_toolkit.application import create_app_session, get_app
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput
from tests.support.stdin_pieces import StdinPieces, stdin_pieces
from tests.support.terminals import Screen, at_terminal


class User(Screen):
    """A user at a terminal."""

    def __init__(self, screen: Screen, keys: PipeInput, lines: StdinPieces) -> None:
        super().__init__(screen.descriptor, screen.side)
        self.keys, self.lines = keys, lines
        self._before = signal.getsignal(signal.SIGINT)

    async def says(self, keys: str) -> None:
        """Press keys at the prompt, once it is shown."""
        async with asyncio.timeout(20):
            while not get_app().is_running:  # noqa: ASYNC110 - the prompt reports nothing
                await asyncio.sleep(0)
        self.keys.send_text(keys)

    async def interrupts(self) -> None:
        """Press Ctrl-C, once the chat takes it."""
        while signal.getsignal(signal.SIGINT) == self._before:  # noqa: ASYNC110 - nothing is shown
            await asyncio.sleep(0)
        os.kill(os.getpid(), signal.SIGINT)


@contextmanager
def at_prompts() -> Generator[User]:
    with (
        stdin_pieces() as lines,
        at_terminal() as screen,
        create_pipe_input() as keys,
        create_app_session(keys, DummyOutput()),
    ):
        yield User(screen, keys, lines)
