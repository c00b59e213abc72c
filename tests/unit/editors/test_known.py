"""Settings and their locations, for each editor."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from localio.plugins import module_name, names_in, only_object
from symposium.config.editor_settings import (
    CommandLine,
    Editor,
    EditorEnvironment,
    EditorLaunch,
    JsonSetting,
    OwnFile,
    find_launch,
    snippet,
)
from symposium.editors.emacs import lisp_string
from symposium.editors.neovim import lua_string

PACKAGE = "symposium.editors"
HOME = Path("/home/ada")
ODD = EditorLaunch('/opt/a "b"\\c/symposium', ("run",), {"SYMPOSIUM_HOME": "/s p"})


def known(name: str) -> Editor:
    return only_object(f"{PACKAGE}.{module_name(name)}", Editor)


@pytest.mark.requirement("editors.snippet")
def test_six_editors_and_two_mcp_clients_are_known() -> None:
    editors = ["emacs", "jetbrains", "neovim", "toad", "vscode", "zed"]

    assert names_in(PACKAGE) == sorted([*editors, "claude-mcp", "codex-mcp"])


@pytest.mark.requirement("editors.mcp-server")
def test_mcp_client_gets_the_server_in_its_own_format() -> None:
    claude = known("claude-mcp").setting
    assert isinstance(claude, JsonSetting)
    moved = {"CLAUDE_CONFIG_DIR": "/moved"}
    codex = shlex.split(snippet(known("codex-mcp").setting, ODD))

    assert json.loads(snippet(claude, ODD)) == {
        "mcpServers": {
            "symposium": {
                "type": "stdio",
                "command": ODD.command,
                "args": ["mcp"],
                "env": {"SYMPOSIUM_HOME": "/s p"},
            }
        }
    }
    assert claude.file(EditorEnvironment(HOME, {}, "linux")) == HOME / ".claude.json"
    assert claude.file(EditorEnvironment(HOME, moved, "linux")) == Path("/moved/.claude.json")
    assert codex[:3] == ["codex", "mcp", "add"]
    assert codex[3:5] == ["--env", "SYMPOSIUM_HOME=/s p"]
    assert codex[5:] == ["symposium", "--", ODD.command, "mcp"]


@pytest.mark.requirement("editors.mcp-server")
def test_mcp_server_is_started_with_python_if_needed() -> None:
    launch = EditorLaunch("/bin/python", ("-P", "-m", "symposium", "run"))

    value: Any = json.loads(snippet(known("claude-mcp").setting, launch))
    codex = shlex.split(snippet(known("codex-mcp").setting, launch))

    assert value["mcpServers"]["symposium"]["args"] == ["-P", "-m", "symposium", "mcp"]
    assert codex[-5:] == ["/bin/python", "-P", "-m", "symposium", "mcp"]


@pytest.mark.requirement("editors.places")
@pytest.mark.parametrize(
    ("name", "platform", "environment", "expected"),
    [
        ("zed", "linux", {}, "/home/ada/.config/zed/settings.json"),
        ("zed", "linux", {"XDG_CONFIG_HOME": "/x"}, "/x/zed/settings.json"),
        ("zed", "darwin", {}, "/home/ada/.config/zed/settings.json"),
        ("zed", "win32", {"APPDATA": "/r"}, "/r/Zed/settings.json"),
        ("jetbrains", "linux", {}, "/home/ada/.jetbrains/acp.json"),
        ("jetbrains", "darwin", {}, "/home/ada/.jetbrains/acp.json"),
        ("vscode", "linux", {}, "/home/ada/.config/Code/User/settings.json"),
        (
            "vscode",
            "darwin",
            {},
            "/home/ada/Library/Application Support/Code/User/settings.json",
        ),
        ("vscode", "win32", {}, "/home/ada/AppData/Roaming/Code/User/settings.json"),
        ("neovim", "linux", {}, "/home/ada/.config/nvim/after/plugin/symposium.lua"),
        (
            "neovim",
            "linux",
            {"NVIM_APPNAME": "lazy"},
            "/home/ada/.config/lazy/after/plugin/symposium.lua",
        ),
        ("neovim", "win32", {"LOCALAPPDATA": "/l"}, "/l/nvim/after/plugin/symposium.lua"),
        (
            "neovim",
            "win32",
            {},
            "/home/ada/AppData/Local/nvim/after/plugin/symposium.lua",
        ),
        ("emacs", "linux", {}, "/home/ada/.emacs.d/symposium.el"),
    ],
)
def test_settings_file_of_each_editor_and_platform(
    name: str, platform: str, environment: dict[str, str], expected: str
) -> None:
    setting = known(name).setting

    assert not isinstance(setting, CommandLine)
    assert setting.file(EditorEnvironment(HOME, environment, platform)) == Path(expected)


@pytest.mark.requirement("editors.places")
def test_emacs_directory_follows_its_own_rules(tmp_path: Path) -> None:
    setting = known("emacs").setting
    assert isinstance(setting, OwnFile)
    where = EditorEnvironment(tmp_path, {}, "linux")
    new = tmp_path / ".config" / "emacs"
    new.mkdir(parents=True)

    assert setting.file(where) == new / "symposium.el"

    (tmp_path / ".emacs").touch()
    assert setting.file(where) == tmp_path / ".emacs.d" / "symposium.el"

    (tmp_path / ".emacs").unlink()
    (tmp_path / ".emacs.d").mkdir()
    assert setting.file(where) == tmp_path / ".emacs.d" / "symposium.el"


@pytest.mark.requirement("editors.snippet")
@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("zed", ("agent_servers", "Symposium")),
        ("jetbrains", ("agent_servers", "Symposium")),
        ("vscode", ("acp.agents", "Symposium")),
    ],
)
def test_json_snippet_is_a_complete_settings_file(name: str, keys: tuple[str, ...]) -> None:
    setting = known(name).setting
    assert isinstance(setting, JsonSetting)

    value: Any = json.loads(snippet(setting, ODD))

    for key in keys:
        (value,) = [value[key]]
    assert value.get("type") == ("custom" if name == "zed" else None)
    assert [value["command"], *value["args"]] == list(ODD.argv)
    assert value["env"] == ODD.env


@pytest.mark.requirement("editors.snippet")
def test_command_line_parses_to_the_command() -> None:
    words = shlex.split(snippet(known("toad").setting, ODD))

    assert words[:3] == ["SYMPOSIUM_HOME=/s p", "toad", "acp"]
    assert shlex.split(words[3]) == list(ODD.argv)
    assert words[4:] == ["."]


@pytest.mark.requirement("editors.snippet")
def test_words_are_quoted_for_each_language() -> None:
    assert lua_string('a "b"\\c\n') == '"a \\"b\\"\\\\c\\010"'
    assert lisp_string('a "b"\\c\n') == '"a \\"b\\"\\\\c\n"'
    lua = snippet(known("neovim").setting, ODD)
    assert f'default = {{ {lua_string(ODD.command)}, "run" }}' in lua
    assert 'env = { SYMPOSIUM_HOME = "/s p" }' in lua
    lisp = snippet(known("emacs").setting, ODD)
    assert f":command {lisp_string(ODD.command)}" in lisp
    assert '\'("run")' in lisp
    assert '\'("SYMPOSIUM_HOME=/s p")' in lisp
    plain = snippet(known("emacs").setting, EditorLaunch("/bin/symposium", ("run",)))
    assert plain.count("(") == plain.count(")")


@pytest.mark.requirement("editors.snippet")
def test_values_of_variables_are_quoted_too() -> None:
    value = '/a "b"\\c\n'
    launch = EditorLaunch("/bin/symposium", ("run",), {"SYMPOSIUM_HOME": value})

    lua, lisp = snippet(known("neovim").setting, launch), snippet(known("emacs").setting, launch)
    assert f"env = {{ SYMPOSIUM_HOME = {lua_string(value)} }}" in lua
    assert f":environment-variables '({lisp_string(f'SYMPOSIUM_HOME={value}')})" in lisp
    words = shlex.split(snippet(known("toad").setting, launch))
    assert words[0] == f"SYMPOSIUM_HOME={value}"


@pytest.mark.requirement("editors.absolute-path")
def test_launch_command_has_an_absolute_path(tmp_path: Path) -> None:
    python = tmp_path / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    script, link = python.with_name("symposium"), tmp_path / "bin" / "symposium"

    assert find_launch(str(python), {}) == EditorLaunch(
        str(python), ("-P", "-m", "symposium", "run")
    )

    script.touch(mode=0o755)
    assert find_launch(str(python), {}) == EditorLaunch(str(script), ("run",))

    link.parent.mkdir()
    link.symlink_to(script)
    assert find_launch(str(python), {"PATH": str(link.parent)}) == EditorLaunch(str(link), ("run",))

    link.unlink()
    link.touch(mode=0o755)
    assert find_launch(str(python), {"PATH": str(link.parent)}) == EditorLaunch(
        str(script), ("run",)
    )


@pytest.mark.requirement("editors.absolute-path")
def test_variables_of_symposium_are_passed_on() -> None:
    launch = find_launch(
        "/bin/python", {"SYMPOSIUM_HOME": "/s", "SYMPOSIUM_CONFIG": "~/c", "HOME": "/h", "X": "1"}
    )

    assert launch.env == {"SYMPOSIUM_HOME": "/s", "SYMPOSIUM_CONFIG": str(Path("~/c").expanduser())}
