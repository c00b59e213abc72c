"""MCP server with two tools over stdio, for tests and demos; standard library only."""

import json
import sys
from collections.abc import Mapping
from typing import Any, Final, cast

_REVISIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")

_TOOLS: Final = [
    {
        "name": "echo",
        "description": "Say the message again.",
        "inputSchema": {
            "type": "object",
            "properties": {"message": {"type": "string"}},
            "required": ["message"],
        },
    },
    {
        "name": "add",
        "description": "Add two whole numbers.",
        "inputSchema": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "required": ["a", "b"],
        },
    },
]


class _Refusal(Exception):  # noqa: N818 - a response, not a failure
    def __init__(self, code: int, message: str) -> None:
        self.code = code
        self.message = message
        super().__init__(message)


def _answer(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    match method:
        case "initialize":
            asked = params.get("protocolVersion")
            return {
                "protocolVersion": asked if asked in _REVISIONS else _REVISIONS[-1],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "echo", "version": "1"},
            }
        case "ping":
            return {}
        case "tools/list":
            return {"tools": _TOOLS}
        case "tools/call":
            return {"content": [{"type": "text", "text": _call(params)}]}
        case _:
            raise _Refusal(-32601, f"Method not found: {method}")


def _call(params: Mapping[str, Any]) -> str:
    match params:
        case {"name": "echo", "arguments": {"message": str(message)}}:
            return f"Echo: {message}"
        case {"name": "add", "arguments": {"a": int(a), "b": int(b)}}:
            return str(a + b)
        case {"name": "echo" | "add" as name}:
            raise _Refusal(-32602, f"Invalid arguments for {name}")
        case _:
            raise _Refusal(-32602, f"Tool not found: {params.get('name')}")


def _response(line: str) -> dict[str, Any] | None:
    try:
        message = json.loads(line)
    except ValueError as error:
        return {"id": None, "error": {"code": -32700, "message": f"Parse error: {error}"}}
    if not isinstance(message, dict):
        return {"id": None, "error": {"code": -32600, "message": "Invalid Request"}}
    request = cast("dict[str, Any]", message)
    if "id" not in request or "method" not in request:
        return None
    params = cast("dict[str, Any]", request.get("params") or {})
    try:
        result = _answer(str(request["method"]), params)
    except _Refusal as refusal:
        return {"id": request["id"], "error": {"code": refusal.code, "message": refusal.message}}
    return {"id": request["id"], "result": result}


def main() -> None:
    """Run the server until standard input ends."""
    for line in sys.stdin:
        response = _response(line)
        if response is not None:
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", **response}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
