"""Handle the requests of a session: prompts, cancellation, and close."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from peerwire.errors import INVALID_REQUEST, RpcError
from symposium.chain.calls import Call
from symposium.chain.messages import Answer
from symposium.run_mode.askers import Closing, Turn, pass_new_session
from symposium.run_mode.cancelling import Cancelling
from symposium.run_mode.care import Waiting
from symposium.run_mode.chat_commands import CONFIG, RECAP, RETRY, SHOWING, text_line
from symposium.run_mode.config_mode import ConfigMode
from symposium.run_mode.conversation import Input
from symposium.run_mode.floor import Floor
from symposium.run_mode.overviews import overview
from symposium.run_mode.prompts import blocks_of, prompt_text, suit
from symposium.run_mode.reception import FORK, PROMPT
from symposium.run_mode.revival import Revivals
from symposium.run_mode.second_try import SecondTry
from symposium.run_mode.sessions import Session

_NOT_SET_UP: Final = "The session has no agent yet; send a message to set up Symposium"


class SessionDesk:
    """Handler of the editor's requests of a session."""

    def __init__(
        self,
        floor: Floor,
        config_mode: ConfigMode,
        revivals: Revivals,
        offered: Callable[[], Mapping[str, Any]],
    ) -> None:
        self.sessions = floor.sessions
        self.cancel = Cancelling(floor, revivals).cancel
        self._second_try = SecondTry(floor, revivals, self.pass_on)
        self._floor = floor
        self._config_mode = config_mode
        self._revivals = revivals
        self._offered = offered

    def prompt(self, call: Call, session: Session) -> None:
        """Handle a prompt: as a Symposium command or menu input, else forward it."""
        text = prompt_text(call.crossing.params)
        if session.menu is not None:
            session.menu.put(self._input(call, session, text))
        elif text in CONFIG and session.is_not_set_up:
            self._config_mode.set_up_again(session, self._input(call, session, text))
        elif text in CONFIG and session.open_turns:
            data = {"sessionId": session.id}
            call.fail(RpcError(INVALID_REQUEST, data, message="A turn is in progress"))
        elif text in CONFIG:
            self._config_mode.begin(session, self._input(call, session, text))
        elif text in SHOWING:
            self._floor.serve(call, self._show(call, session, text))
        elif text in RETRY:
            self._second_try.retry(call, session)
        elif text in RECAP:
            self._second_try.recap(call, session)
        elif self._floor.offers.takes(session, text):
            self._floor.serve(call, self._answer_offer(call, session, text))
        elif session.is_not_set_up:
            # A canceled set-up is offered again; the message waits for the agent.
            session.keep(blocks_of(call.crossing.params))
            self._config_mode.set_up_again(session, self._input(call, session, text))
        else:
            self.pass_on(call, session)

    def close(self, call: Call, session: Session) -> None:
        """End a session; a menu that is open in it is left first."""
        self._config_mode.leave(session)
        if session.chain is None:
            self.sessions.remove(session)
            call.settle(Answer(value={}))
            return
        call.asker = Closing(call.asker, lambda: self.sessions.remove(session))
        self.pass_on(call, session)

    def pass_on(self, call: Call, session: Session) -> None:
        """Give a request to the session's chain, under the id that its agent knows."""
        chain = session.chain
        if chain is None:
            if not self._revivals.keeps(
                Waiting(call, lambda: self.pass_on(call, session)), session
            ):
                data = {"sessionId": session.id}
                unknown = _NOT_SET_UP if session.is_not_set_up else "Unknown session"
                call.fail(RpcError(INVALID_REQUEST, data, message=unknown))
            return
        method = call.crossing.method
        session.rename(call.crossing)
        if method == FORK:
            pass_new_session(call, chain, self._floor)
            return
        if method == PROMPT:
            self._floor.offers.before_turn(session)
            call.asker = Turn(call, session, chain, self._config_mode.begin_login)
            note = suit(call.crossing, self._offered(), chain.greeting)
            if note is not None:
                self._floor.write(text_line(session.id, note))
        chain.give(call)

    def cancelled(self, session: Session) -> None:
        """`session/cancel` in config mode is the same as typing `CANCEL`."""
        if session.menu is not None:
            session.menu.put(Input("cancel", _nothing, _nothing, _always))

    def close_all(self) -> None:
        """The editor has gone: every dialogue ends, and saves nothing."""
        for session in self.sessions.all():
            self._config_mode.leave(session)

    async def _answer_offer(self, call: Call, session: Session, text: str) -> None:
        self._floor.write(text_line(session.id, await self._floor.offers.answer(session, text)))
        call.settle(Answer(value={"stopReason": "end_turn"}))

    async def _show(self, call: Call, session: Session, text: str) -> None:
        self._floor.write(text_line(session.id, await overview(text, session, self._floor) or ""))
        call.settle(Answer(value={"stopReason": "end_turn"}))

    def _input(self, call: Call, session: Session, text: str) -> Input:
        def answered() -> None:
            if session.chain is None or not session.kept:
                call.settle(Answer(value={"stopReason": "end_turn"}))
                return
            # What was asked before there was an agent is answered in the turn of the `SAVE`.
            kept, session.kept = session.kept, []
            call.crossing.replace(method=None, params={"sessionId": session.id, "prompt": kept})
            self.pass_on(call, session)

        def unheard() -> None:
            if self.sessions.find(session.id) is session:
                self.prompt(call, session)
            else:
                data = {"sessionId": session.id}
                call.fail(RpcError(INVALID_REQUEST, data, message="Unknown session"))

        blocks = blocks_of(call.crossing.params)
        return Input(
            text, answered, unheard, lambda: not call.is_settled, lambda: session.keep(blocks)
        )


def _nothing() -> None:
    pass


def _always() -> bool:
    return True
