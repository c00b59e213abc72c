"""Start, stop, and inspect the daemon that manages tasks."""

import asyncio
import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from textwrap import wrap

import click
from msgspec import to_builtins

from localio.text import plain_text, second_of
from symposium.bus.daemon_options import IDLE_TIMEOUT, DaemonOptions
from symposium.bus.daemon_start import daemon_address
from symposium.bus.errors import BusUnreachableError
from symposium.bus.messages.broker import DaemonInfo, DaemonStatus, StopDaemon
from symposium.cli.agent_views import dated, print_json, print_table
from symposium.cli.app import CommandGroup
from symposium.cli.bus import AS_JSON, SOCKET, running_bus
from symposium.cli.exit_codes import ExitCode
from symposium.cli.options import LEVELS, example, run
from symposium.daemon.process import RUNNING, in_background, serve
from symposium.errors import NotFoundError

_WIDE = 80
"""Width of a line of message types."""

STOP_TIME = 15.0
"""Seconds that `stop` waits for the daemon to exit."""


@click.group("daemon", cls=CommandGroup, epilog=example("symposium daemon status"))
def command() -> None:
    """Start, stop, and inspect the daemon that manages tasks.

    Other commands start the daemon when they need it.
    """


@command.command(epilog=example("symposium daemon start --idle-timeout 0"))
@SOCKET
@click.option(
    "--compat-socket",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="PATH",
    help="Socket for programs that use bus version 1. Example: /tmp/symposium-daemon.sock.",
)
@click.option(
    "--idle-timeout",
    default=IDLE_TIMEOUT,
    show_default=True,
    help="Exit after this many seconds without a client; 0 for never.",
)
@click.option(
    "--history",
    default=1024,
    show_default=True,
    help="Number of messages in the history; 0 for none.",
)
@click.option(
    "--log",
    "level",
    type=click.Choice(LEVELS),
    default="info",
    show_default=True,
    help="Log level of the daemon.",
)
@click.option("--foreground", is_flag=True, help="Run in the foreground until interrupted.")
def start(
    socket: Path | None,
    compat_socket: Path | None,
    idle_timeout: float,
    history: int,
    level: str,
    *,
    foreground: bool,
) -> int:
    """Start the daemon unless it is running; return when it accepts connections."""
    options = DaemonOptions(socket, compat_socket, idle_timeout, history, level)
    place = daemon_address(socket)

    def work(tell: Callable[[bytes], None]) -> None:
        serve(options, tell)

    said: list[bytes] = []
    if foreground:
        work(said.append)
    else:
        said.append(in_background(work))
    if said == [RUNNING]:
        click.echo(f"symposium: a daemon is already running at {place.socket}", err=True)
    return 0


@command.command(epilog=example("symposium daemon stop"))
@SOCKET
def stop(socket: Path | None) -> int:
    """Stop the daemon. Agents of tasks keep running."""

    async def work() -> int:
        async with running_bus(socket) as client:
            await client.ready()
            pid = (await client.request(DaemonStatus())).pid
            await client.request(StopDaemon())
        await _gone(pid)
        return 0

    try:
        return run(work())
    except BusUnreachableError as error:
        click.echo(f"symposium: {error.message}", err=True)
        return 0


@command.command(epilog=example("symposium daemon status --json"))
@SOCKET
@AS_JSON
def status(socket: Path | None, *, as_json: bool) -> int:
    """Show the daemon's process, connections, and message types."""

    async def work() -> int:
        async with running_bus(socket) as client:
            await client.ready()
            info = await client.request(DaemonStatus())
        if as_json:
            print_json(dated(to_builtins(info), "started"))
        else:
            print_table(status_rows(info))
        return 0

    try:
        return run(work())
    except BusUnreachableError as error:
        if as_json:
            print_json({"running": False})
        click.echo(f"symposium: {error.message}", err=True)
        return ExitCode.NOT_FOUND


@command.command(epilog=example("symposium daemon logs -n 200"))
@SOCKET
@click.option(
    "-n", "--lines", default=50, show_default=True, help="Number of latest lines to show."
)
@click.option("--json", "as_json", is_flag=True, help="Print the JSON lines of the log.")
def logs(socket: Path | None, lines: int, *, as_json: bool) -> int:
    """Show the log of the daemon."""
    path = daemon_address(socket).log
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        raise NotFoundError(f"{path} does not exist", "start a daemon first") from None
    for line in text.splitlines()[-lines:]:
        print(line if as_json else _plain(line))
    return 0


async def _gone(pid: int) -> None:
    """Wait until the process exits, at most `STOP_TIME` seconds."""
    with suppress(OSError):
        handle = os.pidfd_open(pid)
        over = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_reader(handle, over.set)
        try:
            async with asyncio.timeout(STOP_TIME):
                await over.wait()
        finally:
            loop.remove_reader(handle)
            os.close(handle)


def status_rows(info: DaemonInfo) -> list[tuple[str, str]]:
    rows = [
        ("process", str(info.pid)),
        ("running for", f"{time.time() - info.started:.0f} s"),
        ("socket", info.socket),
        ("compat socket", info.compat_socket or "none"),
        ("memory", f"{info.memory / 1e6:.0f} MB"),
        ("connections", str(info.connections)),
        ("open requests", str(info.open_requests)),
        ("messages", str(info.messages)),
        ("parts", ", ".join(info.parts) or "none"),
    ]
    handled = wrap(", ".join(info.handles), _WIDE) or ["none"]
    rows += [("" if at else "handles", line) for at, line in enumerate(handled)]
    rows += [
        (each.type, f"{_answers(each.count)}, {each.mean_ms:g} ms, {each.worst_ms:g} ms at most")
        for each in info.latencies
    ]
    return rows + [("disconnected", f"{cut.name}: {cut.reason}") for cut in info.cuts]


def _answers(count: int) -> str:
    return "1 answer" if count == 1 else f"{count} answers"


def _plain(line: str) -> str:
    try:
        entry = json.loads(line)
        words = f"{second_of(entry['ts'])} {entry['level']:7} {entry['message']}"
    except (ValueError, KeyError, TypeError):
        return plain_text(line)
    trace = entry.get("trace")
    return plain_text(f"{words}\n{trace}" if trace else words)
