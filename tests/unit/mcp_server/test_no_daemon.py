"""Answers of every tool without a daemon."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.support.git_repository import GitRepository
from tests.support.mcp_harness import ProgressRecorder, call_tool, workplace_in

from peerwire.jsonrpc.transport import Transport
from symposium.bus.client import BusClient, ClientSettings, Identity
from symposium.bus.daemon_options import DaemonOptions
from symposium.bus.envelope import Sender
from symposium.bus.errors import BusUnreachableError
from symposium.bus.protocol import Role
from symposium.mcp_server.offering import all_tools

SPAWN = {"name": "Docs", "task_description": "Write them", "initial_prompt": "Write the docs."}
CALLS: dict[str, dict[str, Any]] = {
    "delete_taskspace": {},
    "expand_reference": {"id": "yiasou"},
    "find_all_references": {"name": "User"},
    "finish_taskspace": {"result": "done"},
    "get_package_source": {"ecosystem": "rust", "name": "no-such-package"},
    "get_review_status": {},
    "get_rust_crate_source": {"crate_name": "no-such-crate"},
    "get_selection": {},
    "ide_operation": {"program": "findDefinitions(`User`)"},
    "log_progress": {"message": "half done", "category": "info"},
    "present_walkthrough": {"content": "# Hello"},
    "request_review": {"commit_range": "HEAD", "title": "A change"},
    "resolve_symbol_by_name": {"name": "User"},
    "signal_user": {"message": "Look at this."},
    "spawn_taskspace": SPAWN,
    "update_review": {},
    "update_taskspace": {"name": "Docs", "description": "Write them"},
    "wait_for_taskspaces": {"taskspace_uuids": ["5f0f3f2e-6a86-4b1e-9d5c-3c1a9f2b7d10"]},
}
FIRST_WORDS = {
    "Creating the taskspace.",
    "Asking for the user's decision.",
    "Asking for a reviewer.",
    "Waiting for 1 taskspace(s).",
}
"""Progress messages before the daemon answers; each is true without one."""
NEEDS_A_DAEMON = {
    "delete_taskspace",
    "finish_taskspace",
    "spawn_taskspace",
    "update_taskspace",
    "wait_for_taskspaces",
}


async def no_daemon(options: DaemonOptions) -> Transport:
    del options
    raise BusUnreachableError("no daemon listens", "symposium daemon status")


def unconnected_bus() -> BusClient:
    identity = Identity(Role.MCP_SERVER, "tools", Sender("/here"))
    settings = ClientSettings(dial=no_daemon, connect_timeout=0.05)
    return BusClient(identity, settings=settings)


@pytest.mark.requirement("house.samples-present")
def test_table_of_calls_has_every_tool() -> None:
    assert CALLS.keys() == all_tools().keys()


@pytest.mark.requirement("mcp-server.no-daemon")
@pytest.mark.parametrize("name", sorted(CALLS))
async def test_tool_returns_and_claims_nothing_without_a_daemon(name: str, tmp_path: Path) -> None:
    progress = ProgressRecorder()
    repository = GitRepository(tmp_path / "checkout")
    repository.write("a.py", "x = 1\n")
    repository.commit()
    async with unconnected_bus() as bus:
        workplace = workplace_in(tmp_path, bus)
        async with asyncio.timeout(45):
            answer = await call_tool(workplace, name, CALLS[name], progress)

    assert set(progress.lines) <= FIRST_WORDS
    if name in NEEDS_A_DAEMON:
        assert answer.is_error
        assert "nothing was done" in answer.text
    if name in {"log_progress", "signal_user"}:
        assert "on disk" in answer.text
