"""Commands after an agent's restart: send the unanswered message, or a summary."""

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
"""Forward a prompt to the session's chain."""


class SecondTry:
    """Handle `/symposium:retry` and `/symposium:recap`; each becomes a turn of the agent."""

    def __init__(self, floor: Floor, revivals: Revivals, pass_on: PassOn) -> None:
        self._floor = floor
        self._revivals = revivals
        self._pass_on = pass_on

    def retry(self, call: Call, session: Session) -> None:
        """Send the interrupted prompt; first restart the agent if recovery has stopped."""
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
        """Send a summary to the agent; keep the interrupted prompt for a later retry."""
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
        """Queue or refuse the call if the session has no agent; return whether it did."""
        return self._revivals.keeps(Waiting(call, lambda: again(call, session)), session)

    def _say_and_end(self, call: Call, session: Session, text: str) -> None:
        self._floor.write(text_line(session.id, text))
        call.settle(Answer(value={"stopReason": "end_turn"}))
