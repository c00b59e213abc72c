"""Login of a session whose agent requires it."""

import asyncio
from typing import Any, Final

from localio.text import plain_text
from peerwire.errors import AUTH_REQUIRED, RpcError
from peerwire.jsonrpc.values import as_object, encode_value
from symposium.chain.messages import ChainMessage
from symposium.client.auth_methods import AuthMethod, auth_methods, login_text
from symposium.config.user_config import Config
from symposium.run_mode.chat import Dialog
from symposium.run_mode.connection import EditorConnection
from symposium.run_mode.failure_text import StartProblem, of_chain
from symposium.run_mode.menu.pickers import numbered
from symposium.run_mode.open_chain import HostRequest, OpenChain
from symposium.run_mode.session_answers import LoginRequired

RETRY_WORDS: Final = frozenset({"", "again", "retry", "/symposium:retry", "symposium:retry"})
_LEAVE_WORDS: Final = frozenset({"cancel", "back"})

_LEFT: Final = "You are not logged in, and your message was not sent. The session stays open.\n"
_WAITING: Final = "Waiting for the agent. `cancel` stops waiting.\n"


class LoginMenu:
    """Login menu of one agent."""

    def __init__(self, chain: OpenChain) -> None:
        self._chain = chain
        self._methods = auth_methods(chain.initialize_result, chain.command)

    def text(self) -> str:
        """Format the login methods and the available inputs."""
        return login_text(self._methods, self._chain.command)

    def chosen(self, word: str) -> AuthMethod | None:
        """Return the method with this number."""
        at = numbered(word, len(self._methods))
        return None if at is None else self._methods[at]

    async def log_in(self, talk: Dialog, method: AuthMethod) -> bool:
        """Log in by a method; return whether the agent reports success."""
        if not method.is_ours:
            how = f"To log in with {method.name}, {method.opens[:1].lower()}{method.opens[1:]}\n"
            if method.command:
                how = (
                    f"To log in with {method.name}, run this command in a terminal:\n\n"
                    f"    {method.command}\n\nThen type `retry` here.\n"
                )
            talk.say(how)
            return False
        talk.say(_WAITING)
        error = await self._unless_typed(talk, method.id)
        if error is None:
            talk.say(f"Logged in with {method.name}.\n")
            return True
        talk.say(f"{error}\n\n{self.text()}")
        return False

    async def _unless_typed(self, talk: Dialog, method_id: str) -> str | None:
        """Ask the agent; return the error, or None on success."""
        params = encode_value({"methodId": method_id})
        request = HostRequest(ChainMessage("authenticate", params, is_request=True))
        async with asyncio.TaskGroup() as tasks:
            asked = tasks.create_task(request.answer(self._chain.entrance))
            typed = tasks.create_task(talk.something_typed())
            await asyncio.wait((asked, typed), return_when=asyncio.FIRST_COMPLETED)
            typed.cancel()
            if not asked.done():
                asked.cancel()
        if asked.cancelled():
            return "Canceled the login."
        error = asked.result().error
        return None if error is None else f"The login failed: {plain_text(str(error))}"


def login_menu(connection: EditorConnection, config: Config) -> LoginMenu | None:
    """Return the login menu of a config's agent; None if it is not running."""
    chains = [
        chain for chain in connection.supervisor.chains() if chain.config.key() == config.key()
    ]
    return LoginMenu(chains[0]) if chains else None


def start_problem(connection: EditorConnection, error: RpcError, config: Config) -> StartProblem:
    """Describe why a session has no agent, with the login methods if it needs a login."""
    problem = of_chain(error, config, connection.settings.config)
    counter = login_menu(connection, config) if error.code == AUTH_REQUIRED else None
    return problem if counter is None else StartProblem(problem.reason, counter.text())


async def logging_in(talk: Dialog, refusal: LoginRequired) -> None:
    """Run the login dialog of a session.

    The refused prompt is sent after the dialog, in the turn that ends it.
    """
    session, counter = refusal.session, LoginMenu(refusal.chain)
    reason = plain_text(reason_of(refusal.error))
    talk.say(f"**The agent requires a login:** {reason}\n\n{counter.text()}")
    while True:
        text = await talk.read()
        word = text.lower()
        method = counter.chosen(word)
        if word in _LEAVE_WORDS:
            talk.say(_LEFT)
            return
        if method is None:
            is_again = word in RETRY_WORDS
            instead = [{"type": "text", "text": text}]
            session.kept = list(refusal.blocks) if is_again else instead
            return
        if await counter.log_in(talk, method):
            session.kept = list(refusal.blocks)
            return


def reason_of(error: RpcError) -> str:
    """Format the agent's own text of the error."""
    data = as_object(error.data)
    more: Any = data.get("details") or data.get("message") or error.data
    return f"{error.message}: {more}" if isinstance(more, str) and more else error.message
