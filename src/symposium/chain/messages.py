"""A message in the chain, and its answer. No I/O.

It does not know the mods, the routes, or the links of a chain.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, cast

from msgspec import UNSET, Raw, UnsetType

from peerwire.errors import RpcError
from peerwire.jsonrpc.messages import (
    Message,
    error_response,
    extra_members,
    result_pieces,
    rpc_error,
)
from peerwire.jsonrpc.values import Body, decode_value, encode_value


class Direction(Enum):
    """Direction of a message along the chain."""

    TO_AGENT = "to agent"
    TO_CLIENT = "to client"


class ChainMessage:
    """A request or notification in the chain.

    `params` is decoded on first use, once for all mods. A mod may change it in place, but must then
    return `Forward(message.params)`.

    Attributes:
        method: the method of the message.
        body: params as bytes; unset if missing or replaced by a mod.
        is_request: whether it needs an answer.
        line: original line while unchanged; empty otherwise.
        message: the decoded line; only for notifications.
    """

    __slots__ = (
        "_extra",
        "_size",
        "_source",
        "_value",
        "body",
        "is_request",
        "line",
        "message",
        "method",
    )

    def __init__(
        self, method: str, body: Raw | bytes | UnsetType, *, is_request: bool, line: bytes = b""
    ) -> None:
        self.method = method
        self.body = body
        self.is_request = is_request
        self.line = line
        self.message: Message | None = None
        self._extra = b""
        self._source = line
        self._size = 0
        self._value: Any = UNSET

    @property
    def params(self) -> Any:
        """Decoded params: a dict for every method of ACP; None if missing."""
        if self._value is UNSET:
            self._value = None if self.body is UNSET else decode_value(self.body)
        return self._value

    @property
    def session_id(self) -> str | None:
        """Session of the message, if it names one."""
        params = self.params
        if not isinstance(params, Mapping):
            return None
        session = cast("Mapping[str, Any]", params).get("sessionId")
        return session if isinstance(session, str) else None

    @property
    def extra(self) -> bytes:
        """Members that JSON-RPC does not define; written after the others."""
        if self.message is not None:
            self._extra = extra_members(self.message, self._source)
            self.message = None
        return self._extra

    @extra.setter
    def extra(self, members: bytes) -> None:
        self._extra = members

    @property
    def size(self) -> int:
        """Size of the original params in bytes, as an estimate of the memory."""
        return self._size if self.body is UNSET else len(self.body)

    def encoded(self) -> Raw | bytes | UnsetType:
        """Params as bytes; encoded once if replaced by a mod."""
        if self.body is UNSET and self._value is not UNSET and self._value is not None:
            self.body = encode_value(self._value)
        return self.body

    def replace(self, *, method: str | None, params: Any) -> None:
        """Apply a mod's `Forward`. Called by the chain."""
        if method is not None and method != self.method:
            self.method = method
            self.line = b""
        if params is not UNCHANGED:
            self.edit(params)

    def edit(self, params: Any) -> None:
        self._value = params
        if self.body is not UNSET:
            self._size = len(self.body)
            self.body = UNSET
        self.line = b""


class Answer:
    """A result or an error, decoded on first use.

    Attributes:
        body: original result; unset for errors and for results created here.
        error_body: original error object; unset for results and for errors created here.
        extra: members of the response that JSON-RPC does not define.
    """

    __slots__ = ("_error", "_value", "body", "error_body", "extra")

    def __init__(
        self,
        body: Raw | bytes | UnsetType = UNSET,
        *,
        error_body: Raw | bytes | UnsetType = UNSET,
        error: RpcError | None = None,
        value: Any = UNSET,
        extra: bytes = b"",
    ) -> None:
        self.body = body
        self.error_body = error_body
        self.extra = extra
        self._error = error
        self._value: Any = value

    @property
    def error(self) -> RpcError | None:
        """The error; None for a result."""
        if self._error is None and self.error_body is not UNSET:
            self._error = rpc_error(self.error_body)
        return self._error

    @property
    def result(self) -> Any:
        """Decoded result; None for an error or a missing result."""
        if self._value is UNSET:
            self._value = None if self.body is UNSET else decode_value(self.body)
        return self._value

    @property
    def size(self) -> int:
        """Size of the original answer, in bytes."""
        body = self.body if self.error_body is UNSET else self.error_body
        return 0 if body is UNSET else len(body)

    def encode(self) -> None:
        """Encode an answer created by a mod.

        Raises:
            TypeError: it has no JSON form.
            ValueError: it is nested too deeply or recursive.
        """
        if self.error_body is UNSET and self._error is not None:
            self.error_body = encode_value(self._error.body())
        elif self.error_body is UNSET and self.body is UNSET:
            self.body = encode_value(None if self._value is UNSET else self._value)

    def line(self, request_id: bytes) -> bytes:
        return b"".join(answer_pieces(self, request_id))


def answer_pieces(answer: Answer, request_id: bytes) -> tuple[Body, ...]:
    """The line of an answer for a requester, in pieces that share the bytes of the result."""
    answer.encode()
    if answer.error_body is not UNSET:
        return (error_response(request_id, answer.error_body, answer.extra),)
    body = b"null" if answer.body is UNSET else answer.body
    return result_pieces(request_id, body, answer.extra)


UNCHANGED: Final = object()
"""Original bytes of the params."""
