"""Options and clients for the commands that use the bus."""

import os
from pathlib import Path

import click

from symposium.bus.client import BusClient, ClientSettings, Identity
from symposium.bus.connect import DaemonOptions, dial_running
from symposium.bus.envelope import Sender
from symposium.bus.handlers import Answers
from symposium.bus.protocol import Role

AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
SOCKET = click.option(
    "--socket",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="PATH",
    help="Socket of the daemon. Default: $SYMPOSIUM_SOCKET, else the standard location.",
)


def running_bus(
    socket: Path | None, answers: Answers | None = None, *, role: Role = Role.CLI
) -> BusClient:
    """Make a client of the running daemon; does not start one."""
    settings = ClientSettings(DaemonOptions(socket=socket), dial_running)
    return BusClient(_identity(role, None), answers, settings)


def client_for(
    socket: Path | None, sender: Sender | None = None, answers: Answers | None = None
) -> BusClient:
    """Make a client of the daemon; starts one if none is running."""
    settings = ClientSettings(DaemonOptions(socket=socket))
    return BusClient(_identity(Role.CLI, sender), answers, settings)


def _identity(role: Role, sender: Sender | None) -> Identity:
    return Identity(role, f"symposium(pid:{os.getpid()})", sender or Sender(str(Path.cwd())))
