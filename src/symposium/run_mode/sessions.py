"""Sessions of an editor: state and transcript."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct, field

from peerwire.jsonrpc.values import as_object, decode_value, encode_value
from symposium.chain.calls import ModCall
from symposium.chain.messages import ChainMessage
from symposium.config.user_config import Config
from symposium.run_mode.chat import Dialog
from symposium.run_mode.editor_route_end import renamed
from symposium.run_mode.failure_text import MESSAGE_NOT_SAVED, MESSAGE_SAVED
from symposium.run_mode.open_chain import OpenChain

MAX_TURNS: Final = 40
"""Number of latest turns in a transcript."""

MAX_PROMPT: Final = 1000
"""Characters kept of the start of a prompt."""

MAX_ANSWER: Final = 1500
"""Characters kept of the end of an answer."""

MAX_DIGEST: Final = 8000
"""Maximum characters of a summary."""

MAX_KEPT: Final = 16 * 1024 * 1024
"""Bytes of the prompts of a session that wait for an agent."""

_CUT: Final = "[…]"

_TEXT: Final = b'"agent_message_chunk"'


class _Turn(Struct, frozen=True):
    asked: str
    said: str


class Transcript(Struct):
    """Text of the latest turns of one session."""

    _turns: deque[_Turn] = field(default_factory=lambda: deque[_Turn](maxlen=MAX_TURNS))

    def turn_ended(self, asked: str, recent: Iterable[bytes], session: str) -> None:
        """Store a turn.

        Args:
            asked: the text of the prompt.
            recent: lines of the agent since the prompt.
            session: the agent's id of the session.
        """
        said = "".join(_texts(recent, session))
        if asked or said:
            self._turns.append(_Turn(_beginning(asked), _end(said)))

    def digest(self) -> str:
        """Summary of limited length with the complete latest turns; empty without turns."""
        parts: list[str] = []
        room = MAX_DIGEST - len(_CUT) - 2
        for turn in reversed(self._turns):
            part = f"User: {turn.asked}\n\nAgent: {turn.said or '(no text)'}\n"
            if len(part) + 1 > room:
                parts.append(f"{_CUT}\n")
                break
            room -= len(part) + 1
            parts.append(part)
        return "\n".join(reversed(parts))


def recap(digest: str) -> str:
    """Make the prompt that gives the agent a summary of the conversation."""
    return (
        "You were restarted and have lost the context of this conversation. Below is an excerpt "
        "of it, recorded by the program between you and the editor; long parts are cut. "
        "Read it, do nothing else yet, and answer in one sentence.\n\n"
        f"<conversation>\n{digest}</conversation>"
    )


def _texts(recent: Iterable[bytes], session: str) -> Sequence[str]:
    mark = session.encode()
    found: list[str] = []
    for line in recent:
        if _TEXT not in line or mark not in line:
            continue
        params = as_object(as_object(decode_value(line)).get("params"))
        text = _text_of(params.get("update"))
        if params.get("sessionId") == session and text:
            found.append(text)
    return found


def _text_of(update: Any) -> str:
    text = as_object(as_object(update).get("content")).get("text")
    return text if isinstance(text, str) else ""


def _beginning(text: str) -> str:
    return text if len(text) <= MAX_PROMPT else f"{text[:MAX_PROMPT]}{_CUT}"


def _end(text: str) -> str:
    return text if len(text) <= MAX_ANSWER else f"{_CUT}{text[-MAX_ANSWER:]}"


AgentStatus: TypeAlias = Literal["well", "restarting", "stopped"]
"""State of a session's agent: running, restarting, or stopped until the user restarts it."""


class QueuedRequest(Struct, frozen=True):
    """A request that waits for the restart of the agent.

    Attributes:
        call: the request.
        go: resumes the request.
    """

    call: ModCall
    go: Callable[[], None]


class SessionState(Struct):
    """State of a session that survives an agent restart.

    Attributes:
        health: the state of the agent.
        config: the config of its agent, after a crash.
        death: reason of the crash, as text for the user.
        origin: the unchanged params of the request that opened the session.
        turns: the unanswered prompts, with their content blocks.
        interrupted: the content blocks of the prompt that a crash interrupted.
        held: answers that wait until the user is informed of the crash.
        is_informed: whether the user is informed.
        waiting: requests that wait for the restart of the agent, in order.
        memory: the transcript of the session.
    """

    health: AgentStatus = "well"
    config: Config | None = None
    death: str = ""
    origin: bytes = b""
    turns: dict[ModCall, Sequence[Any]] = field(default_factory=dict[ModCall, Sequence[Any]])
    interrupted: Sequence[Any] | None = None
    held: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])
    is_informed: bool = False
    waiting: list[QueuedRequest] = field(default_factory=list[QueuedRequest])
    memory: Transcript = field(default_factory=Transcript)

    def defer_answer(self, answer: Callable[[], None]) -> None:
        """Forward an answer after the user is informed; at once if they already are."""
        if self.is_informed:
            answer()
        else:
            self.held.append(answer)

    def release_answers(self) -> None:
        """Forward the held answers after the user was informed."""
        self.is_informed = True
        held, self.held = self.held, []
        for answer in held:
            answer()

    def resume_waiting(self) -> None:
        """Resume the waiting requests."""
        waiting, self.waiting = self.waiting, []
        for one in waiting:
            if not one.call.is_settled:
                one.go()


class Session(Struct):
    """One session as the editor knows it.

    Attributes:
        id: the id that the editor uses.
        chain: the session's chain; None during setup, or after the chain crashed.
        inner_id: the id that the agent uses; differs after setup, or if two agents chose the same.
        menu: the open dialog, if the session is in config mode.
        setup: the `session/new` request that waits for an agent.
        kept: content blocks of prompts from before the agent started.
        kept_bytes: size of these blocks as JSON.
        open_turns: number of unanswered prompts.
        state: state that survives an agent restart.
    """

    id: str
    chain: OpenChain | None = None
    inner_id: str = ""
    menu: Dialog | None = None
    setup: ChainMessage | None = None
    kept: list[Any] = field(default_factory=list[Any])
    kept_bytes: int = 0
    open_turns: int = 0
    state: SessionState = field(default_factory=SessionState)

    @property
    def is_not_set_up(self) -> bool:
        """Whether its setup was canceled before it had an agent."""
        return self.setup is not None and self.menu is None and self.chain is None

    def keep(self, blocks: list[Any]) -> str | None:
        """Save a prompt for a later agent; return the text that reports it.

        Returns:
            None if the session has an agent, or the prompt is empty.
        """
        if self.setup is None or not any(_says_something(block) for block in blocks):
            return None
        added = [{"type": "text", "text": "\n\n"}, *blocks] if self.kept else blocks
        size = len(encode_value(added)) + (self.kept_bytes if self.kept else 0)
        if size > MAX_KEPT:
            return MESSAGE_NOT_SAVED
        self.kept, self.kept_bytes = [*self.kept, *added], size
        return MESSAGE_SAVED

    def rename(self, message: ChainMessage) -> None:
        """Insert the agent's session id into a message if the ids differ."""
        if self.inner_id != self.id:
            message.replace(method=None, params=renamed(message.params, self.inner_id))


class Sessions:
    """All sessions by the id that the editor uses.

    Attributes:
        on_begun: called when a session has its agent and no open dialog.
        on_named: called when an agent and the editor have different ids of a session.
    """

    def __init__(self) -> None:
        self.on_begun: Callable[[Session], None] = _nothing
        self.on_named: Callable[[Session], None] = _nothing
        self._by_id: dict[str, Session] = {}

    def find(self, session_id: str | None) -> Session | None:
        """Return the session of that id, or None."""
        return None if session_id is None else self._by_id.get(session_id)

    def add(self, session: Session) -> None:
        self._by_id[session.id] = session
        if session.chain is not None:
            session.chain.attach_session(session.inner_id, session.id)
            self._tell_names(session)
            self.on_begun(session)

    def delegate(self, session: Session, chain: OpenChain, inner_id: str) -> None:
        """Attach a session without an agent to a chain."""
        session.chain, session.inner_id = chain, inner_id
        chain.attach_session(inner_id, session.id)
        self._tell_names(session)
        if session.menu is None:
            self.on_begun(session)

    def remove(self, session: Session) -> None:
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
