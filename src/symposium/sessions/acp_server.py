"""Session server for an ACP agent: prompts and permission questions."""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from localio.files import storage_error_text
from localio.redaction import learn, secret_values
from peerwire.errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    RpcError,
    invalid_params,
)
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
from symposium.sessions.session_announcements import Notes
from symposium.sessions.tool_call_snapshots import ToolCallHooks

MAX_SHOWN: Final = 16 * 1024
"""Longest diff or command in a question, in characters."""


@dataclass(frozen=True, slots=True)
class _Open:
    permission: Permission
    answer: asyncio.Future[Option]
    at: str


class Questions:
    """Open permission questions; each waits for the user, in any client (users B-5).

    Args:
        asked: called with each new question.
        settled: called when a question is no longer open.
        root: base directory of displayed paths.
        last: last number that an earlier server may have used.
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
        """Wait for the answer; canceled together with the turn."""
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
        """Open questions, oldest first."""
        opened = self._open.items()
        return [
            {**_shown(number, each.permission, self._root), "askedAt": each.at}
            for number, each in opened
            if not each.answer.done()
        ]

    def answer(self, number: int, option_id: str, by: str) -> None:
        """Answer a question.

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
    summary = summarize(call, root)
    lines = _bounded(summary.lines)
    return {
        "question": number,
        "title": call.title,
        "wish": summary.text[:MAX_SHOWN],
        "lines": lines,
        "isCut": len(lines) < len(summary.lines),
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
    """Create it before the event loop runs; `run` does all the work.

    Args:
        spec: the agent, and its directory.
        store: the user's sessions.
        before_tools: hooks before and after tool calls.
        spending: meter of the agent's spending.
        notes: announces events on the bus.
    """

    def __init__(
        self,
        spec: SessionSpec,
        store: SessionStore,
        before_tools: ToolCallHooks,
        spending: SpendingMeter,
        notes: Notes,
    ) -> None:
        directory = store.directory(spec.id)
        before = store.state(spec.id)
        state = replace(
            before, status=Status.RUNNING, server_pid=os.getpid(), exit_code=None, reason=""
        )
        self._prompts = PromptQueue(directory)
        secrets = secrets_of(spec)
        learn(secrets)
        known = (*secrets, *secret_values(os.environ))
        self._viewers = EventViewers(EventLog(directory, spec.id, known))
        self._notes = notes
        publish = self._publish
        self._before_tools = before_tools
        self._runner = AgentRunner(
            spec, state, self._prompts, publish, TurnHooks(before_tools, spending, notes)
        )
        self._questions = Questions(
            partial(publish, "question"),
            partial(publish, "settled"),
            Path(spec.cwd),
            # Each question was an event, so no number can be greater.
            self._viewers.seq,
        )
        self._task: asyncio.Task[Any] | None = None
        self._is_stopping = False
        if self._prompts.interrupted is not None:
            publish("interrupted", {"text": self._prompts.interrupted})
        elif spec.prompt is not None and self._viewers.seq == 0:
            self._prompts.add(spec.prompt)

    async def run(self, on_state: OnState) -> ServerSessionState:
        """Run the agent until it is stopped or fails too often; return the final state."""
        task = self._task = asyncio.current_task()
        assert task is not None
        try:
            return await self._runner.run(self, on_state)
        except asyncio.CancelledError:
            # `stop` has canceled this task once; another cancellation passes.
            if not self._is_stopping or task.uncancel():
                raise
            return replace(self._runner.state, status=Status.EXITED, reason=AS_ASKED)

    def stop(self) -> None:
        """Stop the agent; prompts stay in the queue."""
        if self._task is not None and not self._is_stopping:
            self._is_stopping = True
            self._task.cancel()

    async def decide(self, permission: Permission) -> Decision:
        """Ask the user; first save the worktree, which the tool may destroy."""
        if problem := await self._before_tools.save(f"asked: {permission.tool_call.title}"):
            self._publish("notice", {"text": problem})
        return await self._questions.decide(permission)

    def describe(self) -> Mapping[str, Any]:
        """Return activity, session, queue length, and open questions."""
        return {
            "working": self._runner.turn is not None,
            "open": self._runner.is_open,
            "waiting": len(self._prompts),
            "questions": self._questions.listed(),
            "seq": self._viewers.seq,
            "acpSession": self._runner.state.acp_session,
            "announces": True,
        }

    def requests(self, viewer: Viewer) -> Mapping[str, RequestHandler]:
        """Handlers to prompt, cancel, answer, and watch."""
        return {
            SAY: self._say,
            CANCEL: self._cancel,
            QUESTIONS: lambda _: {"questions": self._questions.listed()},
            ANSWER: self._answer,
            WATCH: partial(self._viewers.watch, viewer),
        }

    def notifications(self, viewer: Viewer) -> Mapping[str, Callable[[Any], None]]:
        del viewer
        return {}

    def _publish(self, kind: str, data: dict[str, Any]) -> None:
        """Record an event; send it to viewers and to the bus.

        Raises:
            OSError: the event cannot be recorded.
        """
        self._viewers.publish(kind, data)
        self._notes.event(self._viewers.seq, kind, data)

    def left(self, viewer: Viewer) -> None:
        self._viewers.left(viewer)

    def _say(self, request: Request) -> Mapping[str, Any]:
        text = as_object(request.params).get("text")
        if not isinstance(text, str) or not text.strip():
            raise RpcError(INVALID_PARAMS, message="the prompt is empty or not text")
        try:
            waiting = self._prompts.add(text)
        except SessionError as error:
            raise RpcError(INVALID_REQUEST, message=error.message) from error
        except OSError as error:
            text = f"the prompt was not saved: {storage_error_text(error)}"
            raise RpcError(INTERNAL_ERROR, {"reason": "storage"}, message=text) from error
        self._runner.more.set()
        return {"waiting": waiting}

    def _cancel(self, _: Request) -> Mapping[str, Any]:
        turn = self._runner.turn
        if turn is not None:
            turn.stop()
        return {"cancelled": turn is not None}

    def _answer(self, request: Request) -> Mapping[str, Any]:
        match request.params:
            case {"question": int(number), "optionId": str(option), **rest}:
                who = rest.get("by")
                try:
                    self._questions.answer(number, option, str(who or "another client"))
                except SessionError as error:
                    raise RpcError(INVALID_REQUEST, message=error.message) from error
                return {}
            case _:
                raise invalid_params("question and optionId are required", request.params)
