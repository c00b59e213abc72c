"""Holds an agent that speaks ACP: viewers give it prompts, answer its questions, and look on."""

import asyncio
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from localio.files import storage_error_text
from localio.redaction import learn, secret_values
from peerwire.errors import INVALID_PARAMS, INVALID_REQUEST, RpcError, invalid_params
from peerwire.jsonrpc.handlers import Request, RequestHandler
from peerwire.jsonrpc.values import as_object
from symposium.agent_sessions.keeper_client import ANSWER, CANCEL, QUESTIONS, SAY, WATCH
from symposium.agent_sessions.session import (
    AS_ASKED,
    SessionError,
    SessionSpec,
    SessionState,
    Status,
    secrets_of,
)
from symposium.agent_sessions.store import SessionStore
from symposium.client.permissions import Decision, Permission
from symposium.keepers.agent_life import AgentLife, Around
from symposium.keepers.audience import Audience
from symposium.keepers.before_tools import BeforeTools
from symposium.keepers.event_log import EventLog
from symposium.keepers.keeper import OnState, Viewer
from symposium.keepers.notes import Notes
from symposium.keepers.prompt_queue import PromptQueue
from symposium.keepers.purse import Purse
from symposium.keepers.questions import Questions


class AcpKeeper:
    """Made before the event loop runs; `run` is its life.

    Args:
        spec: which agent, and where.
        store: where sessions are.
        before_tools: done before a tool runs, and after it has.
        purse: what the agent spends.
        notes: announces what happens.
    """

    def __init__(
        self,
        spec: SessionSpec,
        store: SessionStore,
        before_tools: BeforeTools,
        purse: Purse,
        notes: Notes,
    ) -> None:
        directory = store.directory(spec.id)
        before = store.state(spec.id)
        state = replace(
            before, status=Status.RUNNING, keeper=os.getpid(), exit_code=None, reason=""
        )
        self._prompts = PromptQueue(directory)
        secrets = secrets_of(spec)
        learn(secrets)
        known = (*secrets, *secret_values(os.environ))
        self._audience = Audience(EventLog(directory, spec.id, known))
        self._notes = notes
        tell = self._tell
        self._before_tools = before_tools
        self._life = AgentLife(spec, state, self._prompts, tell, Around(before_tools, purse, notes))
        self._questions = Questions(
            partial(tell, "question"),
            partial(tell, "settled"),
            Path(spec.cwd),
            # Each question was told: there have been no more of them.
            self._audience.seq,
        )
        self._task: asyncio.Task[Any] | None = None
        self._is_stopping = False
        if self._prompts.interrupted is not None:
            tell("interrupted", {"text": self._prompts.interrupted})
        elif spec.prompt is not None and self._audience.seq == 0:
            self._prompts.add(spec.prompt)

    async def run(self, on_state: OnState) -> SessionState:
        """Hold the agent until it is ended, or dies too often; how it stands then."""
        self._task = asyncio.current_task()
        try:
            return await self._life.run(self, on_state)
        except asyncio.CancelledError:
            if not self._is_stopping:
                raise
            return replace(self._life.state, status=Status.EXITED, reason=AS_ASKED)

    def stop(self) -> None:
        """End the agent; what waits stays in the queue."""
        if self._task is not None and not self._is_stopping:
            self._is_stopping = True
            self._task.cancel()

    async def decide(self, permission: Permission) -> Decision:
        """Let a person decide; what the tool may destroy is kept before they can say yes."""
        if trouble := await self._before_tools.keep(f"asked: {permission.tool_call.title}"):
            self._tell("notice", {"text": trouble})
        return await self._questions.decide(permission)

    def describe(self) -> Mapping[str, Any]:
        """Whether it works and has a session, what waits, and what it asks."""
        return {
            "working": self._life.turn is not None,
            "open": self._life.is_open,
            "waiting": len(self._prompts),
            "questions": self._questions.listed(),
            "seq": self._audience.seq,
            "acpSession": self._life.state.acp_session,
            "announces": True,
        }

    def requests(self, viewer: Viewer) -> Mapping[str, RequestHandler]:
        """To say something, cancel, answer, and watch."""
        return {
            SAY: self._say,
            CANCEL: self._cancel,
            QUESTIONS: lambda _: {"questions": self._questions.listed()},
            ANSWER: self._answer,
            WATCH: partial(self._audience.watch, viewer),
        }

    def notifications(self, viewer: Viewer) -> Mapping[str, Callable[[Any], None]]:
        """Nothing."""
        del viewer
        return {}

    def _tell(self, kind: str, data: dict[str, Any]) -> None:
        """Record an event, and tell viewers and the bus.

        Raises:
            OSError: it cannot be recorded.
        """
        self._audience.tell(kind, data)
        self._notes.event(self._audience.seq, kind, data)

    def left(self, viewer: Viewer) -> None:
        """Tell them no more."""
        self._audience.left(viewer)

    def _say(self, request: Request) -> Mapping[str, Any]:
        text = as_object(request.params).get("text")
        if not isinstance(text, str) or not text.strip():
            raise RpcError(INVALID_PARAMS, message="the prompt is empty, or is no text")
        try:
            waiting = self._prompts.add(text)
        except SessionError as error:
            raise RpcError(INVALID_REQUEST, message=error.message) from error
        except OSError as error:
            text = f"the prompt was not saved: {storage_error_text(error)}"
            raise RpcError(INVALID_REQUEST, message=text) from error
        self._life.more.set()
        return {"waiting": waiting}

    def _cancel(self, _: Request) -> Mapping[str, Any]:
        turn = self._life.turn
        if turn is not None:
            turn.stop()
        return {"cancelled": turn is not None}

    def _answer(self, request: Request) -> Mapping[str, Any]:
        match request.params:
            case {"question": int(number), "optionId": str(option), **rest}:
                who = rest.get("by")
                try:
                    self._questions.answer(number, option, str(who or "somebody"))
                except SessionError as error:
                    raise RpcError(INVALID_REQUEST, message=error.message) from error
                return {}
            case _:
                raise invalid_params("question and optionId are wanted", request.params)
