"""JetBrains IDEs with AI Assistant: one acp.json for all of them."""

from pathlib import Path
from typing import Any

from symposium.config.editor_settings import Editor, EditorEnvironment, EditorLaunch, JsonSetting


def _file(where: EditorEnvironment) -> Path:
    return where.user / ".jetbrains" / "acp.json"


def _value(launch: EditorLaunch) -> dict[str, Any]:
    return {"command": launch.command, "args": list(launch.args), "env": dict(launch.env)}


EDITOR = Editor(
    title="JetBrains IDEs",
    setting=JsonSetting(_file, ("agent_servers", "Symposium"), _value),
    needs="JetBrains IDEs need the AI Assistant plugin, in a version that supports ACP.",
    then="Open the AI Chat tool window and choose Symposium in its selector.",
)
