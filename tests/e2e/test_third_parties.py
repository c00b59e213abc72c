"""Real clients with real agents, with Symposium and three mods between them."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import HOST, run_or_skip

pytestmark = pytest.mark.timeout(900)

AGENTS = ("opencode", "fastagent")
CLIENTS = ("acpx-session", "pysdk-full")

NESTED = f"{shlex.quote(str(HOST))} run-with --proxy pass"
VIA = (
    f"{shlex.quote(str(HOST))} run-with --proxy pass --proxy tag "
    f"--proxy {shlex.quote(NESTED)} --agent {{agent_q}}"
)
"""Two mods in process and one as a program."""


@pytest.mark.requirement("conductor.e2e-lane")
@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.usefixtures("clients")
def test_client_and_agent_work_the_same_with_and_without_three_mods(
    client: str, agent: str, peers_folder: Path, model: str, tmp_path: Path
) -> None:
    """Initialize, new, streamed prompts, a permitted tool call, cancel, resume if offered."""
    run_or_skip([sys.executable, str(peers_folder / "peers.py"), "install", agent], agent)

    direct = _talk(peers_folder, model, [client, agent, "--out", str(tmp_path / "direct")])
    through = _talk(
        peers_folder, model, [client, agent, "--out", str(tmp_path / "through"), "--via", VIA]
    )

    if not direct["pass"]:
        pytest.skip(f"{client} and {agent} fail without Symposium too:{direct['checks']}")
    assert through["pass"], through
    assert through["stops"] == direct["stops"]
    assert through["agent_requests"] == direct["agent_requests"]


def _talk(folder: Path, model: str, arguments: list[str]) -> dict[str, Any]:
    command = [sys.executable, str(folder / "pairs.py"), "run", *arguments]
    ended = subprocess.run(
        command,
        env={**os.environ, "FAKE_LLM": model},
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    lines = ended.stdout.strip().splitlines()
    assert lines, f"the driver said nothing: {ended.stderr[-2000:]}"
    return json.loads(lines[-1])
