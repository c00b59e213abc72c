"""Options that commands share, and how a command runs its coroutine."""

import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

import click

from symposium.cli.exit_codes import ExitCode

LEVELS: Final = ("error", "warning", "info", "debug")

_Command = TypeVar("_Command", bound=Callable[..., Any])


def example(line: str) -> str:
    """Epilog of a command's help: one line to try."""
    return f"\b\nExample:\n  {line}"


def chain_options(command: _Command) -> _Command:
    """Add `--proxy` and `--agent` to a command."""
    agent = click.option(
        "-a",
        "--agent",
        metavar="SPEC",
        help="Agent: an id from `symposium agents list`, a command line, or JSON.",
    )
    proxy = click.option(
        "--proxy",
        "proxies",
        metavar="SPEC",
        multiple=True,
        help="Mod: a name from `symposium registry list-mods`, a command line, or JSON. "
        "Repeatable, in order from editor to agent.",
    )
    return proxy(agent(command))


def log_option(command: _Command) -> _Command:
    """Add the option `--log` to a command."""
    return click.option(
        "--log",
        "level",
        type=click.Choice(LEVELS, case_sensitive=False),
        default="warning",
        show_default=True,
        help="Log level for stderr.",
    )(command)


def trace_option(command: _Command) -> _Command:
    """Add the option `--trace-dir` to a command."""
    return click.option(
        "--trace-dir",
        metavar="DIR",
        type=click.Path(file_okay=False),
        help="Write every message to a new JSON-lines file in DIR.",
    )(command)


def bridge_options(command: _Command) -> _Command:
    """Add `--bridge` and `--no-bridge` to a command."""
    off = click.option("--no-bridge", "bridge", flag_value="off", help="Same as --bridge off.")
    mode = click.option(
        "--bridge",
        type=click.Choice(["auto", "http", "stdio", "off"]),
        help="How the agent reaches the mods' tools if the agent cannot use MCP over ACP. "
        "Default: auto.",
    )
    return mode(off(command))


def taking(kind: type[Any]) -> type[click.Command]:
    """Make a command class that passes all options as one value of this kind."""

    class Taking(click.Command):
        def invoke(self, ctx: click.Context) -> Any:
            assert self.callback is not None
            return ctx.invoke(self.callback, kind(**ctx.params))

    return Taking


AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
REGISTRY = click.option(
    "--registry",
    "address",
    metavar="URL|FILE",
    help="Registry index. Default: $SYMPOSIUM_REGISTRY, else the official registry.",
)


def print_stdio_hint(instead: str, *, speaks: str = "ACP") -> None:
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


def run(work: Coroutine[Any, Any, int]) -> int:
    """Run the work and return its exit code, or that of the signal that ended it.

    A signal cancels the work, which stops what it has started; a second Ctrl-C stops waiting.
    """
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        ending = ExitCode.INTERRUPTED

        async def main() -> int:
            task = asyncio.current_task()
            assert task is not None

            def terminate(code: ExitCode) -> None:
                nonlocal ending
                ending = code
                task.cancel()

            loop.add_signal_handler(signal.SIGTERM, terminate, ExitCode.TERMINATED)
            loop.add_signal_handler(signal.SIGHUP, terminate, ExitCode.HUNG_UP)
            return await work

        try:
            return runner.run(main())
        except asyncio.CancelledError:
            return ending
        except KeyboardInterrupt:
            return ExitCode.INTERRUPTED
