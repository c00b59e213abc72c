"""Agents on a terminal that would not find their task."""

import json
from pathlib import Path

import pytest

from symposium.cli.task_agents import missing_tools

OURS = {"symposium": {"command": "symposium", "args": ["mcp"]}}
OTHERS = {"other": {"command": "other"}}


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@pytest.mark.requirement("tasks.agent-knows-tools")
@pytest.mark.parametrize(
    ("agent", "own", "of_project", "mend"),
    [
        ("claude", ".claude.json", ".mcp.json", "symposium setup claude-mcp --write"),
        ("gemini", ".gemini/settings.json", ".gemini/settings.json", "symposium mcp"),
        ("qcli", ".aws/amazonq/mcp.json", ".amazonq/mcp.json", "symposium mcp"),
    ],
)
def test_an_agent_that_does_not_know_our_tools_is_told_of(
    agent: str, own: str, of_project: str, mend: str, tmp_path: Path
) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    env = {"HOME": str(home)}
    nothing = missing_tools(agent, project, env)
    write(home / own, json.dumps({"mcpServers": OTHERS, "at": "/home/me/symposium"}))
    others = missing_tools(agent, project, env)
    write(home / own, json.dumps({"mcpServers": OURS}))
    ours = missing_tools(agent, project, env)
    write(home / own, "{}")
    write(project / of_project, json.dumps({"mcpServers": OURS}))

    assert nothing == others
    assert nothing is not None
    assert mend in nothing
    assert ours is None
    assert missing_tools(agent, project, env) is None


@pytest.mark.requirement("tasks.agent-knows-tools")
def test_codex_has_its_servers_in_toml_and_where_it_is_told_to(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "CODEX_HOME": str(tmp_path / "moved")}
    write(tmp_path / ".codex" / "config.toml", "[mcp_servers.symposium]\n")
    elsewhere = missing_tools("codex", tmp_path / "project", env)
    write(tmp_path / "moved" / "config.toml", "[mcp_servers.symposium]\ncommand = 'x'\n")

    assert elsewhere is not None
    assert "symposium setup codex-mcp" in elsewhere
    assert missing_tools("codex", tmp_path / "project", env) is None


@pytest.mark.requirement("tasks.agent-knows-tools")
@pytest.mark.parametrize("text", ["{", "[1]", '{"mcpServers": {"symposium": {}}}', "[" * 99999])
def test_settings_that_cannot_be_read_are_nobodys_fault(text: str, tmp_path: Path) -> None:
    write(tmp_path / ".claude.json", text)

    assert missing_tools("claude", tmp_path, {"HOME": str(tmp_path)}) is None


@pytest.mark.requirement("tasks.agent-knows-tools")
@pytest.mark.parametrize("agent", ["eliza", "npx some-agent --acp", None])
def test_an_agent_that_speaks_acp_is_given_its_task(agent: str | None, tmp_path: Path) -> None:
    assert missing_tools(agent, tmp_path, {"HOME": str(tmp_path)}) is None
