"""Codex as an MCP client: its own command adds a server."""

import shlex

from symposium.config.editor_settings import CommandLine, Editor, EditorLaunch


def _text(launch: EditorLaunch) -> str:
    # The launch command ends in `run`; the MCP server is another subcommand.
    server = shlex.join([launch.command, *launch.args[:-1], "mcp"])
    variables = [f"--env {name}={shlex.quote(value)}" for name, value in launch.env.items()]
    return " ".join(["codex", "mcp", "add", *variables, "symposium", "--", server]) + "\n"


EDITOR = Editor(
    title="Codex",
    setting=CommandLine(_text),
    needs="",
    then="Restart it, and ask it to call expand_reference with the id yiasou.",
)
