"""Stdio MCP server behind HTTP, for a conformance suite that speaks HTTP only.

    python mcp_stdio_bridge.py PROGRAM ARGUMENT ...       prints the URL

Messages pass unchanged and never through the SDK's types, so the suite sees what the server wrote.
Each session has its own child process. Only for the era that begins with `initialize`.
"""

import asyncio
import json
import sys
from collections import deque
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

from tests.support.mcp_fixture_server import WithToken

from symposium.mcp_server.transports import Guard, Receive, Scope, Send, open_listener, run_app

LIMIT = 1 << 24


def params_of(message: Any) -> dict[str, Any]:
    return message.get("params") or {}


class Stream:
    """Messages for one response, the last of which ends it."""

    def __init__(self) -> None:
        self._messages: deque[tuple[Any, bool]] = deque()
        self._something = asyncio.Event()

    def put(self, message: Any, *, is_last: bool) -> None:
        self._messages.append((message, is_last))
        self._something.set()

    async def events(self) -> AsyncIterator[bytes]:
        while True:
            while not self._messages:
                self._something.clear()
                await self._something.wait()
            message, is_last = self._messages.popleft()
            yield b"event: message\ndata: " + json.dumps(message).encode() + b"\n\n"
            if is_last:
                return


class Session:
    """One child process, and the streams that wait for its messages."""

    def __init__(self, child: asyncio.subprocess.Process) -> None:
        self.child = child
        self.unasked = Stream()
        self._open: dict[Any, Stream] = {}
        self._tokens: dict[Any, Any] = {}

    async def run(self) -> None:
        assert self.child.stdout is not None
        while line := await self.child.stdout.readline():
            message = json.loads(line)
            if "method" in message:
                self._stream_for(message).put(message, is_last=False)
            elif message["id"] in self._open:
                self._open.pop(message["id"]).put(message, is_last=True)

    async def send(self, message: Any) -> Stream | None:
        """Pass a message on; return the stream of its response, if it needs one."""
        assert self.child.stdin is not None
        stream = None
        if "id" in message and "method" in message:
            stream = self._open[message["id"]] = Stream()
            meta: dict[str, Any] = params_of(message).get("_meta") or {}
            self._tokens[meta.get("progressToken")] = message["id"]
        self.child.stdin.write(json.dumps(message).encode() + b"\n")
        await self.child.stdin.drain()
        return stream

    def _stream_for(self, message: Any) -> Stream:
        """Route progress to its request, changes to listeners, and the rest to an open stream."""
        token = params_of(message).get("progressToken")
        if token is not None and self._tokens.get(token) in self._open:
            return self._open[self._tokens[token]]
        is_change = message["method"].endswith(("/updated", "/list_changed"))
        if is_change or not self._open:
            return self.unasked
        return next(reversed(self._open.values()))


class Bridge:
    """The ASGI application."""

    def __init__(self, command: list[str], tasks: asyncio.TaskGroup) -> None:
        self._command = command
        self._tasks = tasks
        self._sessions: dict[str, Session] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        named = dict(scope["headers"]).get(b"mcp-session-id", b"").decode()
        session = self._sessions.get(named)
        if scope["method"] == "POST":
            message = json.loads(await body_of(receive))
            if message.get("method") == "initialize":
                named, session = await self._begin()
            stream = None if session is None else await session.send(message)
            if stream is not None:
                await respond_with(stream, send, named)
                return
            await respond(send, 404 if session is None else 202)
        elif session is None:
            await respond(send, 404)
        elif scope["method"] == "GET":
            await respond_with(session.unasked, send, named)
        else:
            del self._sessions[named]
            session.child.terminate()
            await respond(send, 200)

    async def _begin(self) -> tuple[str, Session]:
        pipe = asyncio.subprocess.PIPE
        child = await asyncio.create_subprocess_exec(
            *self._command, stdin=pipe, stdout=pipe, limit=LIMIT
        )
        name, session = uuid4().hex, Session(child)
        self._sessions[name] = session
        self._tasks.create_task(session.run())
        return name, session


async def body_of(receive: Receive) -> bytes:
    body, is_more = b"", True
    while is_more:
        event = await receive()
        body += event.get("body", b"")
        is_more = event.get("more_body", False)
    return body


async def respond(send: Send, status: int) -> None:
    await send({"type": "http.response.start", "status": status, "headers": []})
    await send({"type": "http.response.body", "body": b""})


async def respond_with(stream: Stream, send: Send, session: str) -> None:
    headers = [(b"content-type", b"text/event-stream"), (b"mcp-session-id", session.encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    async for event in stream.events():
        await send({"type": "http.response.body", "body": event, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def main(command: list[str]) -> None:
    http = open_listener(0)
    async with asyncio.TaskGroup() as tasks:
        bridge = Bridge(command, tasks)
        print(http.url, flush=True)  # noqa: T201 - the parent process reads it
        await run_app(WithToken(Guard(bridge, http.token), http.token), http.listener)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
