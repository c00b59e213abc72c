"""Mod that records each session's timeline: prompts, plans, actions, and replies.

Text chunks of the agent are not decoded before the turn ends. Until then, the last quarter of a MiB
of them is buffered.
"""

import logging
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from peerwire.acp.names import SETUP_METHODS
from peerwire.jsonrpc.values import as_list, as_object
from symposium.chain.messages import Answer, ChainMessage
from symposium.chain.mod import ComponentSpec, Forward, Mod, from_agent, from_client
from symposium.documents.timelines import Timeline, TimelineStore, TurnObserver

_log = logging.getLogger(__name__)

MAX_BUFFERED: Final = 256 * 1024
"""Maximum bytes of chunks buffered until a turn ends."""

_CHUNK: Final = b'"agent_message_chunk"'


@dataclass(slots=True)
class _Session:
    """A recorded session.

    Attributes:
        is_replay: whether current updates are a replay, which the timeline already contains.
    """

    timeline: Timeline
    observer: TurnObserver = field(default_factory=TurnObserver)
    is_replay: bool = False


class TimelineMod(Mod):
    """Write timelines.

    Args:
        store: default: the one in the user's directory.

    Attributes:
        held: bytes of buffered chunks.
    """

    def __init__(self, store: TimelineStore | None = None) -> None:
        self._store = store or TimelineStore()
        self._agent = ""
        self._sessions: dict[str, _Session] = {}
        self._chunks: deque[ChainMessage] = deque()
        self.held = 0

    @from_client("initialize")
    def greeted(self, _: ChainMessage) -> Forward:
        """Store the name of the agent."""

        def named(answer: Answer) -> None:
            info = as_object(as_object(answer.result).get("agentInfo"))
            self._agent = str(info.get("title") or info.get("name") or "")

        return Forward(then=named)

    @from_client(*SETUP_METHODS)
    def opening(self, message: ChainMessage) -> Forward:
        """Open a new or existing timeline for the session."""
        cwd = str(as_object(message.params).get("cwd") or "")
        loaded = message.session_id if message.method == "session/load" else None
        if loaded is not None:
            self._follow(loaded, cwd, is_replay=True)

        def opened(answer: Answer) -> None:
            made = as_object(answer.result).get("sessionId") or message.session_id
            if isinstance(made, str):
                self._follow(made, cwd, is_replay=False)

        return Forward(then=opened)

    @from_client("session/prompt")
    def prompted(self, message: ChainMessage) -> Forward:
        """Record the prompt before the agent receives it, and later its result."""
        session = self._sessions.get(message.session_id or "")
        if session is None:
            return Forward()
        for kind, data in session.observer.prompted(as_object(message.params)):
            self._add(session, kind, data)

        def answered(answer: Answer) -> None:
            self._stopped(session, str(as_object(answer.result).get("stopReason")))

        def failed(answer: Answer) -> None:
            self._stopped(session, f"error: {answer.error}")

        return Forward(then=answered, catch=failed)

    @from_agent("session/update")
    def updated(self, message: ChainMessage) -> Forward:
        """Record updates of the agent."""
        if _CHUNK in message.line:
            self._chunks.append(message)
            self.held += message.size
            while self.held > MAX_BUFFERED:
                self.held -= self._chunks.popleft().size
        else:
            self._read(message)
        return Forward()

    @from_agent("session/request_permission")
    def asked(self, message: ChainMessage) -> Forward:
        """Record a permission request and the user's choice."""
        session = self._sessions.get(message.session_id or "")
        params = as_object(message.params)

        def answered(answer: Answer) -> None:
            chosen = as_object(as_object(answer.result).get("outcome")).get("optionId")
            options: Any = params.get("options")
            listed = as_list(options)
            names = {
                as_object(each).get("optionId"): as_object(each).get("name") for each in listed
            }
            title = as_object(params.get("toolCall")).get("title")
            if session is not None:
                self._add(session, "permission", {"title": title, "chosen": names.get(chosen)})

        return Forward(then=answered)

    @from_client("session/close", "session/delete")
    def ending(self, message: ChainMessage) -> Forward:
        """Stop recording the session; keep its timeline."""
        self._sessions.pop(message.session_id or "", None)
        return Forward()

    def _follow(self, session_id: str, cwd: str, *, is_replay: bool) -> None:
        session = self._sessions.get(session_id)
        if session is not None:
            if session.is_replay:
                self._read_chunks()
            session.is_replay = is_replay
            return
        try:
            timeline = self._store.open(session_id)
        except OSError as error:
            _log.warning("could not open a timeline: %s", error)
            return
        session = self._sessions[session_id] = _Session(timeline, is_replay=is_replay)
        self._add(session, "session", {"session": session_id, "cwd": cwd, "agent": self._agent})

    def _stopped(self, session: _Session, reason: str) -> None:
        self._read_chunks()
        for kind, data in session.observer.stopped(reason):
            self._add(session, kind, data)

    def _read_chunks(self) -> None:
        waiting, self._chunks, self.held = self._chunks, deque(), 0
        for chunk in waiting:
            self._read(chunk)

    def _read(self, message: ChainMessage) -> None:
        session = self._sessions.get(message.session_id or "")
        if session is None or session.is_replay:
            return
        for kind, data in session.observer.updated(
            as_object(as_object(message.params).get("update"))
        ):
            self._add(session, kind, data)

    def _add(self, session: _Session, kind: str, data: Mapping[str, Any]) -> None:
        try:
            session.timeline.add(kind, data)
        except OSError as error:
            _log.warning("could not write to a timeline: %s", error)


spec = ComponentSpec(
    name="timeline",
    summary="Records prompts, plans, actions, and replies of each session, for a handoff.",
    make=TimelineMod,
)
