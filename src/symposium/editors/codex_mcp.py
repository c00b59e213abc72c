"""Codex as an MCP client: its own command adds a server."""

import shlex

from symposium.config.editor_settings import CommandLine, Editor, EditorLaunch


def _text(launch: EditorLaunch) -> str:
    # What starts us ends in `run`; the server is another subcommand of the same program.
    server = shlex.join([launch.command, *launch.args[:-1], "mcp"])
    variables = [f"--env {name}={shlex.quote(value)}" for name, value in launch.env.items()]
    return " ".join(["codex", "mcp", "add", *variables, "symposium", "--", server]) + "\n"


EDITOR = Editor(
    title="Codex",
    setting=CommandLine(_text),
    needs="Codex",
    then="Start it anew, and ask it to call expand_reference with the id yiasou.",
)
