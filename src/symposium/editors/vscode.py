"""VS Code with the extension ACP Client: `acp.agents` in settings.json, JSON with comments."""

from pathlib import Path
from typing import Any

from symposium.config.editor_settings import Editor, EditorEnvironment, EditorLaunch, JsonSetting


def _file(where: EditorEnvironment) -> Path:
    return where.application_support / "Code" / "User" / "settings.json"


def _value(launch: EditorLaunch) -> dict[str, Any]:
    return {"command": launch.command, "args": list(launch.args), "env": dict(launch.env)}


EDITOR = Editor(
    title="VS Code",
    setting=JsonSetting(_file, ("acp.agents", "Symposium"), _value),
    needs="VS Code needs the extension ACP Client (formulahendry.acp-client).",
    then="Click ACP Client in the activity bar and connect to Symposium.",
)
