"""Hint for a user who has started a stdio server in a terminal."""

import sys

import click


def say_what_it_waits_for(instead: str, *, speaks: str = "ACP") -> None:
    """Print a hint to stderr if stdin is a terminal.

    Args:
        instead: the command that a user probably wants.
        speaks: the protocol on stdin and stdout.
    """
    if sys.stdin.isatty():
        whom = "an editor" if speaks == "ACP" else "an agent"
        click.echo(
            f"This command speaks {speaks} on stdin and stdout, for {whom}. It waits for JSON."
            f"\n{instead}. Ctrl-D or Ctrl-C ends this command.",
            err=True,
        )
