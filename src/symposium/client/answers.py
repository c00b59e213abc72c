"""Answers to an agent's requests: files, permissions, and timeouts."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from errno import EEXIST, EISDIR, ELOOP, ENAMETOOLONG, ENOTDIR
from pathlib import Path
from typing import Any, Final, cast

from localio.files import regular_content
from peerwire.acp.agent import InSession, read_params
from peerwire.errors import INTERNAL_ERROR, INVALID_PARAMS, RESOURCE_NOT_FOUND, RpcError
from peerwire.jsonrpc.handlers import Request, RequestHandler
from peerwire.jsonrpc.values import as_object
from symposium.client.events import ToolCall, ToolDiff
from symposium.client.permissions import (
    READ_KINDS,
    ChosenOption,
    Decider,
    Decision,
    Declined,
    Option,
    Permission,
    outcome,
    read_permission,
)

MAX_FILE_BYTES: Final = 16 * 1024 * 1024
"""Maximum size of a file that is read for an agent, in bytes."""


class Files:
    """Read and write text below a root; a link that leaves the root is outside."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()

    def read(self, path: str, *, line: int | None = None, limit: int | None = None) -> str:
        """Read a file, or `limit` lines of it from `line`, counted from 1.

        Raises:
            RpcError: the file is missing, outside, too large, or not text.
        """
        place = self._inside(path)
        try:
            whole = regular_content(place, MAX_FILE_BYTES).decode()
            text = whole.replace("\r\n", "\n").replace("\r", "\n")
        except OSError as error:
            raise _refusal(path, error) from error
        except UnicodeDecodeError as error:
            raise RpcError(INVALID_PARAMS, f"{path} is not UTF-8 text") from error
        except ValueError as error:
            raise RpcError(INVALID_PARAMS, f"{path}: {error}") from error
        if line is None and limit is None:
            return text
        first = max((line or 1) - 1, 0)
        last = None if limit is None else first + max(limit, 0)
        return "".join(text.splitlines(keepends=True)[first:last])

    def write(self, path: str, content: str) -> None:
        """Write the file; create it and its directories if necessary.

        Raises:
            RpcError: it is outside, or cannot be written.
        """
        place = self._inside(path)
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(content, encoding="utf-8", newline="")
        except OSError as error:
            raise _refusal(path, error) from error

    def check(self, path: str) -> None:
        """Check that a path is below the root.

        Raises:
            RpcError: it is outside, or not absolute.
        """
        self._inside(path)

    def _inside(self, path: str) -> Path:
        written = Path(path)
        if not written.is_absolute():
            raise RpcError(INVALID_PARAMS, f"{path} is not an absolute path")
        try:
            place = written.resolve()
        except (OSError, ValueError, RuntimeError) as error:
            raise RpcError(INVALID_PARAMS, f"{path!r} names no file: {error}") from error
        if not place.is_relative_to(self._root):
            reason = f"{path} is outside {self._root}, and this client offers nothing else"
            raise RpcError(INVALID_PARAMS, reason)
        return place


_PATH_ERRORS: Final = frozenset({ENOTDIR, EISDIR, EEXIST, ENAMETOOLONG, ELOOP})
"""Errors of a path itself; any other is a problem of this machine."""


def _refusal(path: str, error: OSError) -> RpcError:
    if isinstance(error, FileNotFoundError):
        code = RESOURCE_NOT_FOUND
    else:
        code = INVALID_PARAMS if error.errno in _PATH_ERRORS else INTERNAL_ERROR
    return RpcError(code, f"{path}: {error.strerror}")


MAX_CALLS: Final = 100
"""Maximum number of cached calls; the oldest are dropped first."""

_UPDATES: Final = frozenset({"tool_call", "tool_call_update"})
_OVER: Final = frozenset({"completed", "failed"})


class ToolCallCache:
    """Cache of the calls that have not ended."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str], dict[str, Any]] = OrderedDict()

    def record_update(self, params: Any) -> None:
        """Store the tool call of a `session/update`."""
        session = as_object(params)
        update = as_object(session.get("update"))
        if update.get("sessionUpdate") not in _UPDATES:
            return
        key = _key(session, update)
        if update.get("status") in _OVER:
            self._known.pop(key, None)
            return
        self._known[key] = {**self._known.get(key, {}), **_said(update)}
        while len(self._known) > MAX_CALLS:
            self._known.popitem(last=False)

    def completed(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Complete the tool call in a question's params from the cache."""
        call = as_object(question.get("toolCall"))
        known = self._known.get(_key(question, call), {})
        return {**question, "toolCall": {**known, **_said(call)}}


def _key(session: Mapping[str, Any], call: Mapping[str, Any]) -> tuple[str, str]:
    return str(session.get("sessionId")), str(call.get("toolCallId"))


def _said(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members with a value; an empty one does not replace an earlier value."""
    return {name: value for name, value in call.items() if value not in (None, [], {}, "")}


class PausableDeadline:
    """Timeout for one response at a time.

    Args:
        seconds: the time limit; None for no limit.
    """

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self._scope: asyncio.Timeout | None = None
        self._questions = 0

    @property
    def deadline(self) -> float | None:
        """The deadline by the loop's clock; None without a time limit."""
        return None if self._scope is None else self._scope.when()

    @asynccontextmanager
    async def limit(self) -> AsyncGenerator[None]:
        """Limit the time of the block.

        Raises:
            TimeoutError: the time is over.
        """
        async with asyncio.timeout(self.seconds) as scope:
            self._scope = scope
            try:
                yield
            finally:
                self._scope = None

    @contextmanager
    def paused(self) -> Generator[None]:
        """Pause the timeout in the block; it starts again afterwards."""
        self._questions += 1
        self._move(None)
        try:
            yield
        finally:
            self._questions -= 1
            if not self._questions and self.seconds is not None:
                self._move(asyncio.get_running_loop().time() + self.seconds)

    def _move(self, deadline: float | None) -> None:
        if self._scope is not None and not self._scope.expired():
            self._scope.reschedule(deadline)


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


class ClientAnswers:
    """Answer one agent's requests; `withdraw` ends open questions.

    Args:
        cwd: the directory whose files the agent may reach.
        decider: decides on permissions.
        on_decision: receives each question and its decision.
        deadline: the timeout for the agent, paused while it waits for the user.
    """

    def __init__(
        self, cwd: Path, decider: Decider, on_decision: OnDecision, deadline: PausableDeadline
    ) -> None:
        self._deadline = deadline
        self._files = Files(cwd)
        self._decider = decider
        self._on_decision = on_decision
        self._open: set[asyncio.Timeout] = set()
        self._granted: set[str] = set()
        self._calls = ToolCallCache()

    def handlers(self) -> dict[str, RequestHandler]:
        """Handlers by method; another method is answered with `-32601`."""
        return {
            "session/request_permission": self._permission,
            "fs/read_text_file": self._read,
            "fs/write_text_file": self._write,
        }

    def record_update(self, params: Any) -> None:
        """Store a reported tool call: a question may refer to it."""
        self._calls.record_update(params)

    def withdraw(self) -> None:
        """End open questions when the turn is canceled (acp-host §7.1)."""
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
        if isinstance(decision, ChosenOption) and decision.option.allows and not is_read:
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
            if not (isinstance(decision, ChosenOption) and decision.option.allows):
                raise RpcError(INVALID_PARAMS, f"writing {params.path} was not permitted")
        self._files.write(params.path, params.content)
        return {}

    def _writing(self, params: WriteTextFile) -> ToolCall:
        """Make the permission request for a write without one."""
        try:
            old = self._files.read(params.path)
        except RpcError:
            # The file does not exist yet or is not text.
            old = ""
        change = ToolDiff(params.path, old, params.content)
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
                with self._deadline.paused():
                    decision = await self._decider.decide(permission)
        except TimeoutError:
            if not scope.expired():
                raise
        finally:
            self._open.discard(scope)
        self._on_decision(permission, decision)
        return decision
