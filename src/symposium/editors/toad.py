"""Toad, in the terminal: it takes an agent's command line as an argument."""

import shlex

from symposium.config.editor_settings import CommandLine, Editor, EditorLaunch


def _text(launch: EditorLaunch) -> str:
    variables = [f"{name}={shlex.quote(value)}" for name, value in launch.env.items()]
    return " ".join([*variables, "toad", "acp", shlex.quote(shlex.join(launch.argv)), "."]) + "\n"


EDITOR = Editor(
    title="Toad",
    setting=CommandLine(_text),
    needs="Toad is the package batrachian-toad.",
    then="Replace the last `.` with the directory to work in.",
)
