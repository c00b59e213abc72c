"""What a user sends after an agent's end: the message it left open, or what was said before."""

from collections.abc import Callable
from typing import TypeAlias

from symposium.chain.calls import Call
from symposium.chain.messages import Answer
from symposium.run_mode.care import Waiting
from symposium.run_mode.chat_commands import text_line
from symposium.run_mode.floor import Floor
from symposium.run_mode.memory import recap
from symposium.run_mode.revival import Revivals
from symposium.run_mode.revival_text import NOTHING_SAID, NOTHING_TO_SEND
from symposium.run_mode.sessions import Session

PassOn: TypeAlias = Callable[[Call, Session], None]
"""Gives a prompt to the session's chain."""


class SecondTry:
    """Takes `/symposium:retry` and `/symposium:recap`; each becomes a turn of the agent's."""

    def __init__(self, floor: Floor, revivals: Revivals, pass_on: PassOn) -> None:
        self._floor = floor
        self._revivals = revivals
        self._pass_on = pass_on

    def retry(self, call: Call, session: Session) -> None:
        """Send the interrupted prompt; start the agent before, if it was given up."""
        care = session.care
        if care.health == "stopped":
            self._revivals.start_again(session)
        if self._waits(call, session, self.retry):
            return
        if care.interrupted is None:
            self._say_and_end(call, session, NOTHING_TO_SEND)
            return
        params = {"sessionId": session.id, "prompt": list(care.interrupted)}
        call.crossing.replace(method=None, params=params)
        self._pass_on(call, session)

    def recap(self, call: Call, session: Session) -> None:
        """Tell the agent what was said; the interrupted prompt can still be sent afterwards."""
        if self._waits(call, session, self.recap):
            return
        digest = session.care.memory.digest()
        if not digest:
            self._say_and_end(call, session, NOTHING_SAID)
            return
        blocks = [{"type": "text", "text": recap(digest)}]
        call.crossing.replace(method=None, params={"sessionId": session.id, "prompt": blocks})
        interrupted = session.care.interrupted
        self._pass_on(call, session)
        session.care.interrupted = interrupted

    def _waits(self, call: Call, session: Session, again: PassOn) -> bool:
        """Whether the session has no agent at the moment: the call waits, or is refused."""
        return self._revivals.keeps(Waiting(call, lambda: again(call, session)), session)

    def _say_and_end(self, call: Call, session: Session, text: str) -> None:
        self._floor.write(text_line(session.id, text))
        call.settle(Answer(value={"stopReason": "end_turn"}))
