"""Serves an ACP agent: prompts and questions."""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

from localio.files import storage_error_text
from localio.redaction import learn, secret_values
from peerwire.errors import INVALID_PARAMS, INVALID_REQUEST, RpcError, invalid_params
from peerwire.jsonrpc.handlers import Request, RequestHandler
from peerwire.jsonrpc.values import as_object
from symposium.client.permissions import (
    ChosenOption,
    Decision,
    Option,
    Permission,
    diff_text,
    summarize,
)
from symposium.sessions.agent_runner import AgentRunner, TurnHooks
from symposium.sessions.budget import SpendingMeter
from symposium.sessions.client import ANSWER, CANCEL, QUESTIONS, SAY, WATCH
from symposium.sessions.event_log import EventLog, EventViewers
from symposium.sessions.notes import Notes
from symposium.sessions.server import OnState, PromptQueue, Viewer
from symposium.sessions.session import (
    AS_ASKED,
    ServerSessionState,
    SessionError,
    SessionSpec,
    SessionStore,
    Status,
    secrets_of,
)
from symposium.sessions.snapshots import ToolCallHooks

MAX_SHOWN: Final = 16 * 1024
"""Characters of a change, or of a command, that go with a question."""


@dataclass(frozen=True, slots=True)
class _Open:
    permission: Permission
    answer: asyncio.Future[Option]
    at: str


class Questions:
    """Decides nothing: each question waits for a person, wherever they look (users B-5).

    Args:
        asked: told a new question.
        settled: told one that is open no longer.
        root: the directory that files are named from.
        last: the number before the first: those of an earlier keeper are not given again.
    """

    def __init__(
        self,
        asked: Callable[[dict[str, Any]], None],
        settled: Callable[[dict[str, Any]], None],
        root: Path,
        last: int = 0,
    ) -> None:
        self._root = root
        self._asked = asked
        self._settled = settled
        self._open: dict[int, _Open] = {}
        self._answered: dict[int, str] = {}
        self._last = last

    async def decide(self, permission: Permission) -> Decision:
        """Wait for the answer; cancelled with the turn."""
        self._last += 1
        number = self._last
        future = asyncio.get_running_loop().create_future()
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._open[number] = _Open(permission, future, at)
        self._asked(_shown(number, permission, self._root))
        try:
            return ChosenOption(await future)
        finally:
            del self._open[number]
            self._settled({"question": number})

    def listed(self) -> list[dict[str, Any]]:
        """Those that wait for an answer, the oldest first."""
        opened = self._open.items()
        return [
            {**_shown(number, each.permission, self._root), "askedAt": each.at}
            for number, each in opened
            if not each.answer.done()
        ]

    def answer(self, number: int, option_id: str, by: str) -> None:
        """Answer one.

        Raises:
            SessionError: it is not open, or has no such option.
        """
        found = self._open.get(number)
        if found is None or found.answer.done():
            by_whom = self._answered.get(number)
            said = f"already answered by {by_whom}" if by_whom else "is not open"
            raise SessionError(f"question {number} {said}", "")
        for option in found.permission.options:
            if option.id == option_id:
                self._answered[number] = by
                found.answer.set_result(option)
                return
        known = ", ".join(option.id for option in found.permission.options)
        raise SessionError(f"question {number} has no option {option_id!r}; it has {known}", "")


def _shown(number: int, permission: Permission, root: Path) -> dict[str, Any]:
    call = permission.tool_call
    wish = summarize(call, root)
    lines = _bounded(wish.lines)
    return {
        "question": number,
        "title": call.title,
        "wish": wish.text[:MAX_SHOWN],
        "lines": lines,
        "isCut": len(lines) < len(wish.lines),
        "kind": call.kind,
        "paths": list(call.paths),
        "command": call.command[:MAX_SHOWN],
        "diff": diff_text(call)[:MAX_SHOWN],
        "options": [
            {"optionId": option.id, "name": option.name, "kind": option.kind}
            for option in permission.options
        ],
    }


def _bounded(lines: Sequence[str]) -> list[str]:
    sizes = accumulate(len(line) + 1 for line in lines)
    return [line for line, size in zip(lines, sizes, strict=True) if size <= MAX_SHOWN]


class AcpSessionServer:
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
        before_tools: ToolCallHooks,
        purse: SpendingMeter,
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
        self._audience = EventViewers(EventLog(directory, spec.id, known))
        self._notes = notes
        tell = self._tell
        self._before_tools = before_tools
        self._life = AgentRunner(
            spec, state, self._prompts, tell, TurnHooks(before_tools, purse, notes)
        )
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

    async def run(self, on_state: OnState) -> ServerSessionState:
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
