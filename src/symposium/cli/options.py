"""Options that several commands share, with one wording."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

LEVELS: Final = ("error", "warning", "info", "debug")

_Command = TypeVar("_Command", bound=Callable[..., Any])


def example(line: str) -> str:
    """Epilog of a command's help: one line to try."""
    return f"\b\nExample:\n  {line}"


def chain_options(command: _Command) -> _Command:
    """`--proxy` and `--agent`."""
    agent = click.option(
        "-a",
        "--agent",
        metavar="SPEC",
        help="Agent: an id of `symposium agents list`, a command line, or JSON.",
    )
    proxy = click.option(
        "--proxy",
        "proxies",
        metavar="SPEC",
        multiple=True,
        help="Mod: a name, a command line, or JSON. Repeatable, in order from editor to agent.",
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
        help="Log level for stderr.",
    )(command)


def trace_option(command: _Command) -> _Command:
    """`--trace-dir`."""
    return click.option(
        "--trace-dir",
        metavar="DIR",
        type=click.Path(file_okay=False),
        help="Write every message to a new JSON-lines file in DIR.",
    )(command)


def bridge_options(command: _Command) -> _Command:
    """`--bridge` and `--no-bridge`."""
    off = click.option("--no-bridge", "bridge", flag_value="off", help="Same as --bridge off.")
    mode = click.option(
        "--bridge",
        type=click.Choice(["auto", "http", "stdio", "off"]),
        help="How an agent without MCP over ACP reaches the tools of mods. Default: auto.",
    )
    return mode(off(command))


def taking(kind: type[Any]) -> type[click.Command]:
    """Make a command class that passes all options as one value of this kind."""

    class Taking(click.Command):
        def invoke(self, ctx: click.Context) -> Any:
            assert self.callback is not None
            return ctx.invoke(self.callback, kind(**ctx.params))

    return Taking
