"""Neovim with CodeCompanion: a Lua file that Neovim loads after the plugins."""

from pathlib import Path

from symposium.config.editor_settings import Editor, EditorEnvironment, EditorLaunch, OwnFile


def _file(where: EditorEnvironment) -> Path:
    if where.platform == "win32":
        local = where.environment.get("LOCALAPPDATA") or where.user / "AppData" / "Local"
        return Path(local) / "nvim" / "after" / "plugin" / "symposium.lua"
    name = where.environment.get("NVIM_APPNAME") or "nvim"
    return where.config / name / "after" / "plugin" / "symposium.lua"


def _text(launch: EditorLaunch) -> str:
    words = ", ".join(lua_string(word) for word in launch.argv)
    env = ", ".join(f"{name} = {lua_string(value)}" for name, value in launch.env.items())
    variables = f"      env = {{ {env} }},\n" if env else ""
    return f"""local has_plugin, config = pcall(require, "codecompanion.config")
if has_plugin and config.adapters and config.adapters.acp then
  config.adapters.acp.symposium = function()
    return require("codecompanion.adapters").extend("opencode", {{
      name = "symposium",
      formatted_name = "Symposium",
      commands = {{ default = {{ {words} }} }},
{variables}    }})
  end
end
"""


def lua_string(text: str) -> str:
    """A Lua string literal: a control character becomes three decimal digits."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'.translate({code: f"\\{code:03}" for code in range(32)})


EDITOR = Editor(
    title="Neovim",
    setting=OwnFile(_file, "--", _text),
    needs="Neovim needs the plugin CodeCompanion, in a version that supports ACP. For Avante, see "
    "the guide.",
    then="Type :CodeCompanionChat adapter=symposium",
)
