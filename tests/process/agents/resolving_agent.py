"""Agent that runs a script when it is prompted to rebase; standard library only.

`resolving_agent.py FILE`: the file is a shell script. It runs in the worktree, with ONTO set to the
commit that the prompt names. Each prompt is appended to `FILE.prompts`.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

SCRIPT = Path(sys.argv[1])


def put(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def run(text: str, cwd: str) -> None:
    with SCRIPT.with_name(f"{SCRIPT.name}.prompts").open("a", encoding="utf-8") as prompts:
        prompts.write(f"{text}\n\n")
    found = re.search(r"git (?:rebase|merge) ([0-9a-f]+)", text)
    if found is None or not SCRIPT.exists():
        return
    update = {"toolCallId": "call", "title": "resolve", "kind": "execute"}
    for kind, status in (("tool_call", "in_progress"), ("tool_call_update", "completed")):
        messages = {"sessionUpdate": kind, **update, "status": status}
        put({"method": "session/update", "params": {"sessionId": "one", "update": messages}})
        if kind == "tool_call":
            environment = {**os.environ, "ONTO": found[1], "GIT_EDITOR": "true"}
            command = ["/bin/sh", str(SCRIPT)]
            subprocess.run(command, cwd=cwd, env=environment, capture_output=True, check=False)


cwd = "."
for line in sys.stdin:
    message = json.loads(line)
    match message.get("method"):
        case "initialize":
            able: dict[str, Any] = {"sessionCapabilities": {"resume": {}}}
            put({"id": message["id"], "result": {"protocolVersion": 1, "agentCapabilities": able}})
        case "session/new" | "session/resume":
            cwd = message["params"]["cwd"]
            put({"id": message["id"], "result": {"sessionId": "one"}})
        case "session/prompt":
            run(message["params"]["prompt"][0]["text"], cwd)
            put({"id": message["id"], "result": {"stopReason": "end_turn"}})
        case _:
            pass
