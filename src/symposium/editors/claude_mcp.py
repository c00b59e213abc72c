"""Claude Code as an MCP client: `mcpServers` of the user's own file."""

from pathlib import Path
from typing import Any

from symposium.config.editor_settings import Editor, EditorEnvironment, EditorLaunch, JsonSetting


def _file(where: EditorEnvironment) -> Path:
    return Path(where.environment.get("CLAUDE_CONFIG_DIR") or where.user) / ".claude.json"


def _value(launch: EditorLaunch) -> dict[str, Any]:
    # The launch command ends in `run`; the MCP server is another subcommand.
    args = [*launch.args[:-1], "mcp"]
    return {"type": "stdio", "command": launch.command, "args": args, "env": dict(launch.env)}


EDITOR = Editor(
    title="Claude Code",
    setting=JsonSetting(_file, ("mcpServers", "symposium"), _value),
    needs="Close every session of Claude Code first.",
    then="Restart it, and begin with /mcp__symposium__yiasou.",
)
