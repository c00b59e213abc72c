"""Snippets of `symposium setup` start Symposium from an editor with a minimal environment."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(sys.executable).with_name("symposium")
INITIALIZE: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": 1, "clientCapabilities": {}},
}


@pytest.mark.requirement("editors.snippet", "editors.absolute-path")
@pytest.mark.timeout(240)
@pytest.mark.parametrize("editor", ["zed", "jetbrains", "vscode"])
def test_snippet_starts_an_agent_that_answers(editor: str, tmp_path: Path) -> None:
    home = tmp_path / "home with space"
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    printed = subprocess.run(
        [str(PROGRAM), "setup", editor],
        env=environment | {"SYMPOSIUM_HOME": str(home)},
        capture_output=True,
        text=True,
        check=True,
    )
    ((_, servers),) = json.loads(printed.stdout).items()
    server: dict[str, Any] = servers["Symposium"]

    answered = subprocess.run(
        [server["command"], *server["args"]],
        env=environment | server["env"],
        input=json.dumps(INITIALIZE) + "\n",
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )

    answer = json.loads(answered.stdout.splitlines()[0])
    assert (answer["id"], answer["result"]["protocolVersion"]) == (1, 1)
    assert server["env"] == {"SYMPOSIUM_HOME": str(home)}
