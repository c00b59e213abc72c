"""A word to a person who has started at a terminal what is meant for another program."""

import sys

import click


def say_what_it_waits_for(instead: str, *, speaks: str = "ACP") -> None:
    """Say on stderr what it speaks, where a person is at its standard input.

    Args:
        instead: what a person would rather want.
        speaks: the protocol.
    """
    if sys.stdin.isatty():
        whom = "an editor" if speaks == "ACP" else "an agent"
        click.echo(
            f"This speaks {speaks} on its standard input and output, for {whom}: it waits for JSON."
            f"\n{instead}. Ctrl-D or Ctrl-C ends this.",
            err=True,
        )
