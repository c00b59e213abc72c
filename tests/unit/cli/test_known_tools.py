"""Warnings about terminal agents without the tools of Symposium."""

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
    ("agent", "own", "of_project", "fix"),
    [
        ("claude", ".claude.json", ".mcp.json", "symposium setup claude-mcp --write"),
        ("gemini", ".gemini/settings.json", ".gemini/settings.json", "symposium mcp"),
        ("qcli", ".aws/amazonq/mcp.json", ".amazonq/mcp.json", "symposium mcp"),
    ],
)
def test_warning_names_an_agent_without_the_tools(
    agent: str, own: str, of_project: str, fix: str, tmp_path: Path
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
    assert fix in nothing
    assert ours is None
    assert missing_tools(agent, project, env) is None


@pytest.mark.requirement("tasks.agent-knows-tools")
def test_codex_settings_are_read_from_codex_home(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "CODEX_HOME": str(tmp_path / "moved")}
    write(tmp_path / ".codex" / "config.toml", "[mcp_servers.symposium]\n")
    elsewhere = missing_tools("codex", tmp_path / "project", env)
    write(tmp_path / "moved" / "config.toml", "[mcp_servers.symposium]\ncommand = 'x'\n")

    assert elsewhere is not None
    assert "symposium setup codex-mcp" in elsewhere
    assert missing_tools("codex", tmp_path / "project", env) is None


@pytest.mark.requirement("tasks.agent-knows-tools")
@pytest.mark.parametrize("text", ["{", "[1]", '{"mcpServers": {"symposium": {}}}', "[" * 99999])
def test_unreadable_settings_are_ignored(text: str, tmp_path: Path) -> None:
    write(tmp_path / ".claude.json", text)

    assert missing_tools("claude", tmp_path, {"HOME": str(tmp_path)}) is None


@pytest.mark.requirement("tasks.agent-knows-tools")
@pytest.mark.parametrize("agent", ["eliza", "npx some-agent --acp", None])
def test_acp_agent_needs_no_settings(agent: str | None, tmp_path: Path) -> None:
    assert missing_tools(agent, tmp_path, {"HOME": str(tmp_path)}) is None
