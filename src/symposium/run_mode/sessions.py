"""The sessions of one editor connection: whose they are, and in which of their states (§4.4)."""

from collections.abc import Callable
from typing import Any

from msgspec import Struct, field

from peerwire.jsonrpc.values import as_object
from symposium.chain.messages import Crossing
from symposium.run_mode.care import Care
from symposium.run_mode.conversation import Conversation
from symposium.run_mode.editor_end import renamed
from symposium.run_mode.open_chain import OpenChain


class Session(Struct):
    """One session as the editor knows it.

    Attributes:
        id: the id that the editor uses.
        chain: who it is delegated to; None while it is being set up, or when its chain has died.
        inner_id: the id that the agent uses; differs where two agents chose the same one, or after
            a set-up.
        menu: the dialogue in progress, if the session is in config mode.
        setup: the `session/new` that waits until there is an agent to give it to.
        kept: content blocks that were sent before there was an agent, for it to answer.
        open_turns: prompts that are not answered yet.
        care: what does not end with its agent.
    """

    id: str
    chain: OpenChain | None = None
    inner_id: str = ""
    menu: Conversation | None = None
    setup: Crossing | None = None
    kept: list[Any] = field(default_factory=list[Any])
    open_turns: int = 0
    care: Care = field(default_factory=Care)

    @property
    def is_not_set_up(self) -> bool:
        """Whether its set-up was left before it had an agent."""
        return self.setup is not None and self.menu is None and self.chain is None

    def keep(self, blocks: list[Any]) -> bool:
        """Keep a prompt for the agent that is still to come; False where one is there already."""
        if self.setup is None or not any(_says_something(block) for block in blocks):
            return False
        if self.kept:
            self.kept.append({"type": "text", "text": "\n\n"})
        self.kept += blocks
        return True

    def rename(self, crossing: Crossing) -> None:
        """Put the agent's id for the session into a message, where the two differ."""
        if self.inner_id != self.id:
            crossing.replace(method=None, params=renamed(crossing.params, self.inner_id))


class Sessions:
    """All sessions by the id that the editor uses.

    Attributes:
        on_begun: called when a session has its agent, and no dialogue is open in it.
        on_named: called when an agent calls a session otherwise than the editor.
    """

    def __init__(self) -> None:
        self.on_begun: Callable[[Session], None] = _nothing
        self.on_named: Callable[[Session], None] = _nothing
        self._by_id: dict[str, Session] = {}

    def find(self, session_id: str | None) -> Session | None:
        """The session of that id, if it is known here."""
        return None if session_id is None else self._by_id.get(session_id)

    def add(self, session: Session) -> None:
        """Know a session from now on."""
        self._by_id[session.id] = session
        if session.chain is not None:
            session.chain.adopt(session.inner_id, session.id)
            self._tell_names(session)
            self.on_begun(session)

    def delegate(self, session: Session, chain: OpenChain, inner_id: str) -> None:
        """Attach a session without an agent to a chain."""
        session.chain, session.inner_id = chain, inner_id
        chain.adopt(inner_id, session.id)
        self._tell_names(session)
        if session.menu is None:
            self.on_begun(session)

    def remove(self, session: Session) -> None:
        """Forget a session."""
        self._by_id.pop(session.id, None)
        if session.chain is not None:
            session.chain.release(session.inner_id)

    def of(self, chain: OpenChain) -> list[Session]:
        """The sessions delegated to this chain."""
        return [session for session in self._by_id.values() if session.chain is chain]

    def _tell_names(self, session: Session) -> None:
        if session.inner_id != session.id:
            self.on_named(session)

    def all(self) -> list[Session]:
        """Every session, oldest first."""
        return list(self._by_id.values())


def _nothing(session: Session) -> None:
    del session


def _says_something(block: Any) -> bool:
    content = as_object(block)
    return content.get("type") != "text" or bool(str(content.get("text", "")).strip())
