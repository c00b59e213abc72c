"""Trace of all messages between neighbors of a chain, as JSON lines (acp-host §2.7).

Envelopes and messages of MCP over ACP are unwrapped, and secrets are removed. The messages
themselves stay unchanged and never wait for the trace.
"""

import logging
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from localio.redaction import UNREADABLE, Redactor
from peerwire.acp.names import CANONICAL, ERAS, INITIALIZE, MCP_ERAS, MESSAGE, McpDialect
from peerwire.jsonrpc.messages import quoted
from peerwire.jsonrpc.values import Body, encode_value
from symposium.chain.ends import CANCEL_REQUEST
from symposium.chain.messages import Answer, ChainMessage, Direction
from symposium.chain.mod import EVERY_METHOD, Forward, Interception, Mod, Revision
from symposium.chain.record_files import RecordFile, new_file, time_stem

_log = logging.getLogger(__name__)

SUFFIX: Final = ".jsons"

CLIENT: Final = "Client"

PROXY_INITIALIZE: Final = ERAS[CANONICAL].initialize
"""Name of `initialize` on a leg to a mod; in-process mods have no message of their own."""

MCP_MESSAGE: Final = frozenset({MESSAGE, MCP_ERAS[McpDialect.SACP].request})

MAX_NAMES: Final = 512
"""Maximum number of cached names; methods repeat, but peers choose them."""

MAX_ID: Final = 256
"""Maximum length of a cached id, in bytes."""

_NULL: Final = b"null"


class _Scope(Struct, frozen=True, gc=False, rename={"session": "sessionId"}):
    session: Raw | UnsetType = UNSET


class _Tunnelled(Struct, frozen=True, gc=False, rename={"connection": "connectionId"}):
    method: str
    params: Raw | UnsetType = UNSET
    connection: Raw | UnsetType = UNSET


_decode_scope = msgspec.json.Decoder(_Scope).decode
_decode_tunnelled = msgspec.json.Decoder(_Tunnelled).decode


class TraceRecorder:
    """Trace of one chain: provides the mod for each leg, and writes the events.

    Attributes:
        file: its file.
    """

    def __init__(
        self, file: RecordFile, redactor: Redactor, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.file = file
        self._redactor = redactor
        self._clock = clock
        self._started = clock()
        self._numbers: dict[int, tuple[ChainMessage, int]] = {}
        self._last_number = 0
        self._last: tuple[Body | None, bytes] = (None, b"")
        self._names: dict[str, bytes] = {}
        self._ids: dict[bytes, bytes] = {}

    def leg(self, upper: str, lower: str) -> Mod:
        """A mod that records the messages between these two components."""
        return Leg(self, upper, lower)

    def close(self) -> None:
        """Write the buffer and close the trace."""
        self.file.close()

    def number(self, message: ChainMessage) -> tuple[int, bool]:
        """Number of a request, the same on all legs of a span, and whether it is new."""
        known = self._numbers.get(id(message))
        if known is not None:
            return known[1], False
        self._last_number += 1
        # The message is stored with its number, so that its identity is not reused.
        self._numbers[id(message)] = (message, self._last_number)
        return self._last_number, True

    def settled(self, message: ChainMessage) -> None:
        """Forget a number: the request was answered on its first leg."""
        self._numbers.pop(id(message), None)

    def write(self, kind: bytes, members: bytes) -> None:
        """Append an event; `members` is the rest of its JSON object."""
        ts = self._clock() - self._started
        self.file.write(b'{"type":"%b","ts":%.6f,%b}' % (kind, ts, members))

    def name(self, text: str) -> bytes:
        """A method as JSON, without secrets."""
        name = self._names.get(text)
        if name is None:
            name = quoted(self._redactor.text(text))
            if len(self._names) < MAX_NAMES:
                self._names[text] = name
        return name

    def id(self, raw: Raw) -> bytes:
        """Id of a session or a connection, without secrets."""
        text = bytes(raw)
        found = self._ids.get(text)
        if found is None:
            found = self._redactor.json(text)
            if len(self._ids) < MAX_NAMES and len(text) <= MAX_ID:
                self._ids[text] = found
        return found

    def body(self, body: Body | UnsetType) -> bytes:
        """Params or a result without secrets."""
        if body is UNSET:
            return _NULL
        # All legs of a span see the same message, usually with the same body.
        if self._last[0] is not body:
            self._last = (body, self._redactor.json(body))
        return self._last[1]


class Leg(Mod):
    """Record the messages between two neighbors, in both directions."""

    def __init__(self, recorder: TraceRecorder, upper: str, lower: str) -> None:
        self._recorder = recorder
        hop = 0 if upper == CLIENT else 1 + int(upper.removeprefix("Proxy(").removesuffix(")"))
        self._hop = b',"hop":%d' % hop
        self._down = b'"from":%b,"to":%b' % (quoted(upper), quoted(lower))
        self._up = b'"from":%b,"to":%b' % (quoted(lower), quoted(upper))
        self._initialize_method = PROXY_INITIALIZE if lower.startswith("Proxy(") else INITIALIZE

    def interceptions(self) -> list[Interception]:
        """Intercept everything in both directions."""
        return [
            Interception(
                Direction.TO_AGENT, EVERY_METHOD, lambda c: self._passed(c, self._down, self._up)
            ),
            Interception(
                Direction.TO_CLIENT, EVERY_METHOD, lambda c: self._passed(c, self._up, self._down)
            ),
        ]

    def _passed(self, message: ChainMessage, there: bytes, back: bytes) -> Forward:
        if not self._recorder.file.is_open:
            return _ON
        body = _body(message)
        session = self._session(body)
        if message.is_request:
            return self._asked(message, body, session, (there, back))
        self._recorder.write(
            b"notification", self._members(message.method, body, session, there, b"")
        )
        return _ON

    def _asked(
        self,
        message: ChainMessage,
        body: Body | UnsetType,
        session: bytes,
        ways: tuple[bytes, bytes],
    ) -> Forward:
        recorder = self._recorder
        there, back = ways
        number, is_new = recorder.number(message)
        request_id = b',"id":%d' % number
        recorder.write(b"request", self._members(message.method, body, session, there, request_id))

        def answered(answer: Answer) -> Revision:
            if is_new:
                recorder.settled(message)
            self._answered(answer, session, back + request_id)

        def cancelled() -> None:
            params = b'{"requestId":%d}' % number
            recorder.write(
                b"notification", self._members(CANCEL_REQUEST, params, session, there, b"")
            )

        return Forward(then=answered, catch=answered, cancelled=cancelled)

    def _answered(self, answer: Answer, session: bytes, start: bytes) -> None:
        body, is_error = _payload(answer)
        if session == _NULL and not is_error:
            session = self._session(body)
        payload = self._recorder.body(body)
        is_error_text = b"true" if is_error else b"false"
        self._recorder.write(
            b"response",
            b'%b,"is_error":%b,"session":%b,"payload":%b%b'
            % (start, is_error_text, session, payload, self._hop),
        )

    def _members(
        self, method: str, body: Body | UnsetType, session: bytes, ends: bytes, request_id: bytes
    ) -> bytes:
        protocol, connection = b"acp", b""
        if method in MCP_MESSAGE:
            protocol = b"mcp"
            inner = _tunnelled(body)
            if inner is not None:
                method, body = inner.method, inner.params
                if inner.connection is not UNSET:
                    connection = b',"connection":%b' % self._recorder.id(inner.connection)
        elif method == INITIALIZE:
            method = self._initialize_method
        return b'"protocol":"%b",%b%b,"method":%b,"session":%b,"params":%b%b%b' % (
            protocol,
            ends,
            request_id,
            self._recorder.name(method),
            session,
            self._recorder.body(body),
            connection,
            self._hop,
        )

    def _session(self, body: Body | UnsetType) -> bytes:
        """Session in params or a result, as JSON; `null` if it names none."""
        if body is UNSET:
            return _NULL
        try:
            session = _decode_scope(body).session
        except (ValueError, RecursionError):
            return _NULL
        if session is UNSET or not bytes(session).startswith(b'"'):
            return _NULL
        return self._recorder.id(session)


_ON: Final = Forward()


def _body(message: ChainMessage) -> Body | UnsetType:
    if message.body is not UNSET or message.params is None:
        return message.body
    # Encoded only for the trace: a mod may still change the params in place.
    return _encoded(message.params)


def _payload(answer: Answer) -> tuple[Body, bool]:
    if answer.error_body is not UNSET:
        return answer.error_body, True
    if answer.error is not None:
        return _encoded(answer.error.body()), True
    return (answer.body if answer.body is not UNSET else _encoded(answer.result)), False


def _encoded(value: object) -> bytes:
    try:
        return encode_value(value)
    except (TypeError, ValueError):
        return UNREADABLE


def _tunnelled(body: Body | UnsetType) -> _Tunnelled | None:
    """MCP message in params; None if malformed."""
    try:
        return None if body is UNSET else _decode_tunnelled(body)
    except (ValueError, RecursionError):
        return None


def open_trace(directory: Path, known_secrets: Iterable[str] = ()) -> TraceRecorder:
    """Start a trace in a new file of a directory, for a conductor's `Settings.watcher`.

    Raises:
        RecordingError: the directory cannot be created or written.
    """
    file = new_file(directory, f"{time_stem()}-{os.getpid()}", SUFFIX)
    _log.info("recording into %s", file.path)
    return TraceRecorder(file, Redactor(known_secrets))
