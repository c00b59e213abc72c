"""Check whether an agent in a terminal has Symposium's MCP server, to read its task."""

import json
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

MOST: Final = 64 * 1024 * 1024
"""Maximum size of a settings file, in bytes."""

_NAME: Final = "symposium"


@dataclass(frozen=True, slots=True)
class _Settings:
    """Files in which an agent configures MCP servers.

    Attributes:
        own: the user's file, relative to home.
        of_project: the project's file, relative to its root; empty if there is no such file.
        member: the member that contains the servers by name.
        moved: the variable that names another directory for the user's file, if any.
        mend: the hint that adds Symposium's server.
    """

    own: str
    of_project: str
    member: str
    moved: str
    mend: str


_BY_HAND: Final = "add the MCP server `symposium mcp` to it"
_AGENTS: Final[Mapping[str, _Settings]] = {
    "claude": _Settings(
        *(".claude.json", ".mcp.json", "mcpServers", "CLAUDE_CONFIG_DIR"),
        "`symposium setup claude-mcp --write` adds it",
    ),
    "codex": _Settings(
        *(".codex/config.toml", ".codex/config.toml", "mcp_servers", "CODEX_HOME"),
        "`symposium setup codex-mcp` prints the command that adds it",
    ),
    "gemini": _Settings(
        *(".gemini/settings.json", ".gemini/settings.json", "mcpServers", ""), _BY_HAND
    ),
    "qcli": _Settings(*(".aws/amazonq/mcp.json", ".amazonq/mcp.json", "mcpServers", ""), _BY_HAND),
}


def missing_tools(agent: str | None, project: Path, env: Mapping[str, str]) -> str | None:
    """Return a warning for an agent that cannot read its task; None if it probably can.

    Args:
        agent: the value of `--agent`.
        project: a checkout of the project.
        env: the environment of this process.
    """
    known = _AGENTS.get(agent or "")
    if known is None:
        return None
    home = Path(env.get("HOME") or Path.home())
    own = home / known.own
    if known.moved and (moved := env.get(known.moved)):
        own = Path(moved) / own.name
    files = (own, project / known.of_project)
    if any(_is_known(file, known.member) for file in files):
        return None
    missing = f"{agent} cannot read its task: it has no MCP server `symposium`"
    return f"{missing}; {known.mend}"


def _is_known(file: Path, member: str) -> bool:
    """Whether the file configures Symposium's server; True if it cannot be read."""
    read: Callable[[str], Any] = tomllib.loads if file.suffix == ".toml" else json.loads
    try:
        if not file.is_file():
            return False
        if file.stat().st_size > MOST:
            return True
        return _NAME in json.dumps(read(file.read_text(encoding="utf-8")).get(member, {}))
    except (OSError, ValueError, AttributeError, RecursionError):
        return True
