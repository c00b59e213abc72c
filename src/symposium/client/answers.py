"""Answer the agent's requests: permissions, and files below the session's directory."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, cast

from peerwire.acp.agent import InSession, read_params
from peerwire.errors import INVALID_PARAMS, RpcError
from peerwire.jsonrpc.handlers import Request, RequestHandler
from symposium.client.events import Change, ToolCall
from symposium.client.files import Files
from symposium.client.known_calls import KnownCalls
from symposium.client.patience import Patience
from symposium.client.permissions import (
    READ_KINDS,
    Chosen,
    Decider,
    Decision,
    Declined,
    Option,
    Permission,
    outcome,
    read_permission,
)

CAPABILITIES: Final = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": False}
"""Client capabilities in `initialize`, without terminals."""

WRITE_OPTIONS: Final = (
    Option("allow", "Allow", "allow_once"),
    Option("reject", "Reject", "reject_once"),
)

OnDecision = Callable[[Permission, Decision], None]


class ReadTextFile(InSession, frozen=True, rename="camel"):
    """Params of `fs/read_text_file`."""

    path: str
    line: int | None = None
    limit: int | None = None


class WriteTextFile(InSession, frozen=True, rename="camel"):
    """Params of `fs/write_text_file`."""

    path: str
    content: str


class Answers:
    """Answer one agent's requests; `withdraw` ends open questions.

    Args:
        cwd: the directory whose files the agent may reach.
        decider: decides on permissions.
        on_decision: receives each question and its decision.
        patience: the timeout for the agent, paused while it waits for the user.
    """

    def __init__(
        self, cwd: Path, decider: Decider, on_decision: OnDecision, patience: Patience
    ) -> None:
        self._patience = patience
        self._files = Files(cwd)
        self._decider = decider
        self._on_decision = on_decision
        self._open: set[asyncio.Timeout] = set()
        self._granted: set[str] = set()
        self._calls = KnownCalls()

    def handlers(self) -> dict[str, RequestHandler]:
        """Handlers by method; another method is answered with `-32601`."""
        return {
            "session/request_permission": self._permission,
            "fs/read_text_file": self._read,
            "fs/write_text_file": self._write,
        }

    def heard(self, params: Any) -> None:
        """Store a reported tool call: a question may refer to it."""
        self._calls.heard(params)

    def withdraw(self) -> None:
        """End open questions when the turn is cancelled (acp-host §7.1)."""
        for scope in self._open:
            scope.reschedule(asyncio.get_running_loop().time())

    def forget_grants(self) -> None:
        """Forget the permissions of the last turn when a new one begins."""
        self._granted.clear()

    async def _permission(self, request: Request) -> dict[str, Any]:
        if not isinstance(request.params, dict):
            raise RpcError(INVALID_PARAMS, "an object is wanted")
        question = self._calls.completed(cast("dict[str, Any]", request.params))
        permission = read_permission(question)
        decision = await self._decide(permission)
        is_read = permission.tool_call.kind in READ_KINDS
        if isinstance(decision, Chosen) and decision.option.allows and not is_read:
            self._granted.update(permission.tool_call.paths)
        return outcome(decision)

    def _read(self, request: Request) -> dict[str, Any]:
        params = read_params(request.params, ReadTextFile)
        text = self._files.read(params.path, line=params.line, limit=params.limit)
        return {"content": text}

    async def _write(self, request: Request) -> dict[str, Any]:
        params = read_params(request.params, WriteTextFile)
        self._files.check(params.path)
        # An agent that was allowed to edit a file need not ask again to write it.
        if params.path not in self._granted:
            decision = await self._decide(Permission(self._writing(params), WRITE_OPTIONS))
            if not (isinstance(decision, Chosen) and decision.option.allows):
                raise RpcError(INVALID_PARAMS, f"writing {params.path} was not permitted")
        self._files.write(params.path, params.content)
        return {}

    def _writing(self, params: WriteTextFile) -> ToolCall:
        """Make the question for an agent that writes without asking."""
        try:
            old = self._files.read(params.path)
        except RpcError:
            # The file does not exist yet or is not text.
            old = ""
        change = Change(params.path, old, params.content)
        title = f"write {params.path}"
        return ToolCall(
            "fs/write_text_file", title, None, "edit", paths=(params.path,), changes=(change,)
        )

    async def _decide(self, permission: Permission) -> Decision:
        scope = asyncio.timeout(None)
        decision: Decision = Declined()
        try:
            async with scope:
                self._open.add(scope)
                with self._patience.paused():
                    decision = await self._decider.decide(permission)
        except TimeoutError:
            if not scope.expired():
                raise
        finally:
            self._open.discard(scope)
        self._on_decision(permission, decision)
        return decision
