"""Whether an agent on a terminal knows our tools: it asks one of them for its task."""

import json
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

MOST: Final = 64 * 1024 * 1024
"""Bytes of settings that are read."""

_NAME: Final = "symposium"


@dataclass(frozen=True, slots=True)
class _Settings:
    """Where an agent keeps its MCP servers.

    Attributes:
        own: the user's file, from home.
        of_project: the project's file, from its root; empty for none.
        member: holds the servers by name.
        moved: the variable that names another directory for the user's file, if there is one.
        mend: what makes it know ours.
    """

    own: str
    of_project: str
    member: str
    moved: str
    mend: str


_BY_HAND: Final = "give it the MCP server `symposium mcp`"
_AGENTS: Final[Mapping[str, _Settings]] = {
    "claude": _Settings(
        *(".claude.json", ".mcp.json", "mcpServers", "CLAUDE_CONFIG_DIR"),
        "`symposium setup claude-mcp --write` makes it know them",
    ),
    "codex": _Settings(
        *(".codex/config.toml", ".codex/config.toml", "mcp_servers", "CODEX_HOME"),
        "`symposium setup codex-mcp` prints the line that makes it know them",
    ),
    "gemini": _Settings(
        *(".gemini/settings.json", ".gemini/settings.json", "mcpServers", ""), _BY_HAND
    ),
    "qcli": _Settings(*(".aws/amazonq/mcp.json", ".amazonq/mcp.json", "mcpServers", ""), _BY_HAND),
}


def missing_tools(agent: str | None, project: Path, env: Mapping[str, str]) -> str | None:
    """What to say of an agent that will not find its task; None where it will, or may.

    Args:
        agent: as `--agent` has it.
        project: a checkout of what it is to work on.
        env: ours.
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
    return f"{agent} does not know our tools, and asks one of them for its task; {known.mend}"


def _is_known(file: Path, member: str) -> bool:
    """Whether our server is in it; what cannot be read is not held against it."""
    read: Callable[[str], Any] = tomllib.loads if file.suffix == ".toml" else json.loads
    try:
        if not file.is_file():
            return False
        if file.stat().st_size > MOST:
            return True
        return _NAME in json.dumps(read(file.read_text(encoding="utf-8")).get(member, {}))
    except (OSError, ValueError, AttributeError, RecursionError):
        return True
