"""Sees that a cancelled turn ends: its questions at once, the turn soon, or its agent with it."""

import asyncio
from collections.abc import Sequence

from peerwire.errors import INTERNAL_ERROR, RpcError
from symposium.chain.calls import Call
from symposium.chain.messages import Answer, Crossing
from symposium.run_mode.floor import Floor
from symposium.run_mode.open_chain import OpenChain
from symposium.run_mode.revival import CANCELLED, Revivals
from symposium.run_mode.sessions import Session


class Cancelling:
    """Handle `session/cancel` in a session without an open dialog."""

    def __init__(self, floor: Floor, revivals: Revivals) -> None:
        self._floor = floor
        self._revivals = revivals

    def cancel(self, crossing: Crossing, session: Session) -> None:
        """Pass it on, answer what is open with `cancelled`, and look after the turn."""
        chain = session.chain
        if chain is None:
            self._revivals.cancelled(session)
            return
        turns = list(session.care.turns)
        session.rename(crossing)
        chain.tell(crossing)
        chain.end.permissions.withdraw(session.inner_id)
        if turns:
            grace = self._floor.settings.revival.cancel_grace
            asyncio.get_running_loop().call_later(grace, self._see_to_it, session, chain, turns)

    def _see_to_it(self, session: Session, chain: OpenChain, turns: Sequence[Call]) -> None:
        still = [turn for turn in turns if turn in session.care.turns]
        if not still or chain.death is not None:
            return
        for turn in still:
            turn.settle(Answer(value=CANCELLED))
        data = {"reason": "cancel_ignored", "component": chain.running.agent_name}
        chain.running.give_up(RpcError(INTERNAL_ERROR, data))
