"""A word to a person who has started at a terminal what is meant for an editor."""

import sys

import click


def say_what_it_waits_for(instead: str) -> None:
    """Say on stderr that it speaks ACP, where a person is at its standard input.

    Args:
        instead: the command that a person would rather want.
    """
    if sys.stdin.isatty():
        click.echo(
            "This speaks ACP on its standard input and output, for an editor: it waits for JSON.\n"
            f"To talk yourself: {instead}. Ctrl-D or Ctrl-C ends this.",
            err=True,
        )
