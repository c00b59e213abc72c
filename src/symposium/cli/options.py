"""The options that several commands share, with one wording."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

LEVELS: Final = ("error", "warning", "info", "debug")

_Command = TypeVar("_Command", bound=Callable[..., Any])


def example(line: str) -> str:
    """The end of a command's help: one line to try."""
    return f"\b\nExample:\n  {line}"


def chain_options(command: _Command) -> _Command:
    """`--proxy` and `--agent`."""
    agent = click.option(
        "-a",
        "--agent",
        metavar="SPEC",
        help="The agent: a name, a command line, or JSON.",
    )
    proxy = click.option(
        "--proxy",
        "proxies",
        metavar="SPEC",
        multiple=True,
        help="A mod, in order from client to agent; may be given several times.",
    )
    return proxy(agent(command))


def log_option(command: _Command) -> _Command:
    """`--log`."""
    return click.option(
        "--log",
        "level",
        type=click.Choice(LEVELS, case_sensitive=False),
        default="warning",
        show_default=True,
        help="How much is said on stderr.",
    )(command)


def trace_option(command: _Command) -> _Command:
    """`--trace-dir`."""
    return click.option(
        "--trace-dir",
        metavar="DIR",
        type=click.Path(file_okay=False),
        help="Write every message as JSON lines into a new file in this directory.",
    )(command)


def bridge_options(command: _Command) -> _Command:
    """`--bridge` and `--no-bridge`."""
    off = click.option("--no-bridge", "bridge", flag_value="off", help="The same as --bridge off.")
    mode = click.option(
        "--bridge",
        type=click.Choice(["auto", "http", "stdio", "off"]),
        help="How an agent without MCP over ACP reaches the tools of mods; auto if not given.",
    )
    return mode(off(command))


def taking(kind: type[Any]) -> type[click.Command]:
    """A command whose function takes all the options as one value of this kind."""

    class Taking(click.Command):
        def invoke(self, ctx: click.Context) -> Any:
            assert self.callback is not None
            return ctx.invoke(self.callback, kind(**ctx.params))

    return Taking
