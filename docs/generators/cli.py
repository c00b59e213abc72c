"""Generate the page of commands, from their help."""

from collections.abc import Iterator

import click

from symposium.__main__ import main

PAGE = "reference/cli.md"
WIDTH = 88

HEAD = """# Commands

The help of every command, as printed by `--help` or `-h`. Commands write data and protocol messages
to stdout, and messages for you to stderr.
"""


def sections(command: click.Command, context: click.Context, level: int) -> Iterator[str]:
    """Help of a command and its subcommands, each below its heading."""
    said = command.get_help(context).strip()
    yield f"{'#' * level} `{context.command_path}`\n\n```text\n{said}\n```"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None and not below.hidden:
                inner = click.Context(below, info_name=name, parent=context, terminal_width=WIDTH)
                yield from sections(below, inner, level + 1)


def render() -> str:
    """The page, in the order of `symposium --help`."""
    names = main.context_settings["help_option_names"]
    context = click.Context(
        main, info_name="symposium", terminal_width=WIDTH, help_option_names=names
    )
    return "\n\n".join([HEAD.strip(), *sections(main, context, 2)])
