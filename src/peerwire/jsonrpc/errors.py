"""JSON-RPC's errors: codes, standard texts, and the exception that carries one over the wire."""

from typing import Any, Final

from peerwire.errors import PeerwireError

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
REQUEST_CANCELLED: Final = -32800
AUTH_REQUIRED: Final = -32000
RESOURCE_NOT_FOUND: Final = -32002

STANDARD_TEXT: Final = {
    PARSE_ERROR: "Parse error",
    INVALID_REQUEST: "Invalid Request",
    METHOD_NOT_FOUND: "Method not found",
    INVALID_PARAMS: "Invalid params",
    INTERNAL_ERROR: "Internal error",
    REQUEST_CANCELLED: "Request cancelled",
    AUTH_REQUIRED: "Authentication required",
    RESOURCE_NOT_FOUND: "Resource not found",
}
"""The texts that go with the codes; detail belongs into `data` (acp-host §1.6)."""


class RpcError(PeerwireError):
    """An error of JSON-RPC: raised by a handler to answer with it, or by a request that got one.

    Attributes:
        code: the number, JSON-RPC's or ACP's.
        message: the short text; the standard one where the code has one.
        data: anything JSON can say; what, where and how to mend it.
    """

    def __init__(self, code: int, data: Any = None, *, message: str | None = None) -> None:
        self.code = code
        self.message = message if message is not None else STANDARD_TEXT.get(code, "Error")
        self.data = data
        super().__init__(self.message if data is None else f"{self.message}: {data}")

    def body(self) -> dict[str, Any]:
        """The error object as it stands on the wire; `data` only when there is some."""
        body = {"code": self.code, "message": self.message}
        return body if self.data is None else {**body, "data": self.data}


def invalid_params(reason: str, params: Any) -> RpcError:
    """The answer to params that a handler cannot read: `-32602`, the connection lives (§1.6)."""
    return RpcError(INVALID_PARAMS, {"error": reason, "json": params, "phase": "deserialization"})
