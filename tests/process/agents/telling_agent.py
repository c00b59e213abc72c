"""Agent that lists its MCP servers in `_meta`; standard library only."""

import json
import sys
from typing import Any

CAPABILITIES: dict[str, Any] = {
    "loadSession": True,
    "sessionCapabilities": {"resume": {}, "fork": {}, "list": {}},
    "mcpCapabilities": {"http": "http" in sys.argv, "sse": "sse" in sys.argv},
}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        return {"protocolVersion": 1, "agentCapabilities": CAPABILITIES}
    return {"sessionId": f"of {method}", "_meta": {"given": params.get("mcpServers")}}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        result = answer(message["method"], message.get("params", {}))
        response = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result})
        sys.stdout.write(response + "\n")
        sys.stdout.flush()
