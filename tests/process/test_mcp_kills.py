"""SIGKILL of the MCP server before every line: a restart loses nothing acknowledged."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KINDS = ["log", "log-away", "signal", "signal-away", "deliver", "create", "delete"]


@pytest.mark.chaos
@pytest.mark.requirement("mcp-server.kill-anywhere")
@pytest.mark.timeout(240)
@pytest.mark.parametrize("kind", KINDS)
def test_kill_before_any_line_loses_no_report(kind: str, tmp_path: Path) -> None:
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("mcp_kills.py")), tmp_path, kind],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path, "HOME": str(tmp_path)},
    )

    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["stages"] >= 8, "the hook sees the lines"
    assert (report["code"], report["wrong"]) == (0, {}), done.stderr
