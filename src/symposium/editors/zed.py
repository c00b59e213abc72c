"""Zed: `agent_servers` in settings.json, JSON with comments."""

from pathlib import Path
from typing import Any

from symposium.config.editor_settings import Editor, EditorEnvironment, EditorLaunch, JsonSetting


def _file(where: EditorEnvironment) -> Path:
    if where.platform == "win32":
        return where.roaming / "Zed" / "settings.json"
    # On macOS too.
    return where.config / "zed" / "settings.json"


def _value(launch: EditorLaunch) -> dict[str, Any]:
    return {
        "type": "custom",
        "command": launch.command,
        "args": list(launch.args),
        "env": dict(launch.env),
    }


EDITOR = Editor(
    title="Zed",
    setting=JsonSetting(_file, ("agent_servers", "Symposium"), _value),
    needs="",
    then="Open the agent panel and choose Symposium in the menu for new threads.",
)
