"""One turn of a conversation, which a person may cut short."""

import asyncio
import signal
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from symposium.client.conversation import Conversation

CANCEL_GRACE: Final = 5.0
"""Seconds that an agent gets to end a cancelled turn; some never do (peers: openhands)."""

CANCELLED: Final = "cancelled"


class Turn:
    """Runs a turn until it ends, or is stopped and has had time to end.

    Attributes:
        stops: how often `stop` was called.
    """

    def __init__(self, conversation: Conversation, session_id: str) -> None:
        self._conversation = conversation
        self._session_id = session_id
        self._scope = asyncio.timeout(None)
        self.stops = 0

    async def run(self, text: str, attached: Sequence[Mapping[str, Any]] = ()) -> str:
        """The agent's reason to stop."""
        try:
            async with self._scope:
                return await self._conversation.prompt(self._session_id, text, attached)
        except TimeoutError:
            if not self._scope.expired():
                raise
            return CANCELLED

    def stop(self) -> None:
        """Cancel the turn; the second time, wait for the agent no longer."""
        loop = asyncio.get_running_loop()
        self.stops += 1
        if self.stops > 1:
            self._scope.reschedule(loop.time())
            return
        self._conversation.cancel(self._session_id)
        self._scope.reschedule(loop.time() + CANCEL_GRACE)


@contextmanager
def on_interrupt(act: Callable[[], None]) -> Generator[None]:
    """Inside the block, Ctrl-C calls this instead of ending the program."""
    loop = asyncio.get_running_loop()
    before = signal.getsignal(signal.SIGINT)
    loop.add_signal_handler(signal.SIGINT, act)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, before)
