"""Watch, send, and replay messages of the daemon."""

import asyncio
from pathlib import Path
from typing import Any, cast

import click
from msgspec import Raw, to_builtins

from localio.text import near_names
from symposium.bus.client import BusClient
from symposium.bus.envelope import Address, Envelope
from symposium.bus.errors import BusRefusedError
from symposium.bus.handlers import HandlerTable, RequestContext
from symposium.bus.messages.broker import History, Logged, Traffic
from symposium.bus.protocol import (
    Announcement,
    BusMessage,
    BusRequest,
    PayloadError,
    Role,
    message_types,
)
from symposium.cli.agent_views import print_json
from symposium.cli.app import CommandGroup
from symposium.cli.bus import (
    AS_JSON,
    SOCKET,
    BusChoice,
    as_json_line,
    as_text_line,
    client_for,
    payload_from,
    read_recorded,
    replayable,
    run_bridge,
    running_bus,
)
from symposium.cli.exit_codes import ExitCode
from symposium.cli.options import example, run
from symposium.errors import NotFoundError, SymposiumError

TYPE = click.option(
    "--type", "types", multiple=True, metavar="TYPE", help="Select only messages of this type."
)
FROM = click.option(
    "--from",
    "names",
    multiple=True,
    metavar="NAME",
    help="Select only messages from peers with this name.",
)
TASKSPACE = click.option(
    "--taskspace", default="", metavar="UUID", help="Select only messages about this task."
)


@click.group("bus", cls=CommandGroup, epilog=example("symposium bus tail --type log_progress"))
def command() -> None:
    """Watch, send, and replay messages of the daemon.

    The bus is the daemon's message channel: commands, MCP servers, and editors use it.
    """


@command.command(epilog=example("symposium bus tail --type log_progress -n 20"))
@TYPE
@FROM
@TASKSPACE
@click.option(
    "-n",
    "--last",
    type=int,
    help="Print this many past messages first. With 0, print all of them and exit.",
)
@AS_JSON
@SOCKET
def tail(
    types: tuple[str, ...],
    names: tuple[str, ...],
    taskspace: str,
    last: int | None,
    socket: Path | None,
    *,
    as_json: bool,
) -> int:
    """Print messages as they are sent, without secrets."""
    choice = BusChoice(frozenset(types), taskspace, names)
    form = as_json_line if as_json else as_text_line
    answers = HandlerTable()

    def show(passed: Logged) -> None:
        if choice.has(passed):
            click.echo(form(passed))

    async def passing(message: Traffic, asked: RequestContext) -> None:
        del asked
        show(message.passed)

    async def work() -> int:
        answers.on_announcement(Traffic, passing)
        async with running_bus(socket, answers, role=Role.OBSERVER) as client:
            await client.ready()
            if last is not None:
                found = await client.request(History())
                for each in [each for each in found if choice.has(each)][-last or None :]:
                    show(each)
            if last != 0:
                await asyncio.Event().wait()
        return 0

    return run(work())


@command.command(epilog=example("symposium bus send daemon_status"))
@click.argument("type_", metavar="TYPE")
@click.argument("payload", default="{}", metavar="[JSON]")
@click.option(
    "--to", metavar="RECEIVER", help="Receiver: connection:NAME, role:NAME, or taskspace:UUID."
)
@click.option("--timeout", type=float, help="Time limit in seconds. Default: that of TYPE.")
@AS_JSON
@SOCKET
def send(
    type_: str,
    payload: str,
    to: str | None,
    timeout: float | None,
    socket: Path | None,
    *,
    as_json: bool,
) -> int:
    """Send one message and print the reply, or the number of receivers."""
    message = _message(type_, payload_from(payload))
    address = _address(to)

    async def work() -> int:
        async with client_for(socket) as client:
            await client.ready()
            reply = await _say(client, message, address, timeout)
        if as_json:
            print_json(reply)
        else:
            print(reply if isinstance(reply, str) else _plain(reply))
        return 0

    return run(work())


@command.command(epilog=example("symposium bus replay messages.jsonl --dry-run"))
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@TYPE
@FROM
@TASKSPACE
@click.option("--dry-run", is_flag=True, help="Print the messages; send nothing.")
@SOCKET
def replay(
    file: Path,
    types: tuple[str, ...],
    names: tuple[str, ...],
    taskspace: str,
    socket: Path | None,
    *,
    dry_run: bool,
) -> int:
    """Resend the messages that `symposium bus tail --json` recorded in FILE.

    The command skips responses and other messages that belong to a past request, and messages
    from which a secret was removed.
    """
    choice = BusChoice(frozenset(types), taskspace, names)
    chosen = [each for each in read_recorded(file) if choice.has(each)]

    async def work() -> int:
        failed = 0
        for passed, found in replayable(chosen):
            if isinstance(found, str):
                click.echo(f"skipped: {found}: {as_text_line(passed)}", err=True)
            elif dry_run:
                click.echo(as_text_line(passed))
            else:
                failed += not await _again(socket, found)
        return ExitCode.RUNTIME if failed else 0

    return run(work())


@command.command(epilog=example("symposium bus bridge --identity-prefix my-editor"))
@click.option(
    "--identity-prefix", default="client", show_default=True, help="Name of the client on the bus."
)
@click.option(
    "--compat-socket",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="PATH",
    help="Use bus version 1, at the daemon's compat socket.",
)
@SOCKET
def bridge(identity_prefix: str, compat_socket: Path | None, socket: Path | None) -> int:
    """Connect stdin and stdout to the bus, for a program in any language.

    Exit code: 0 when stdin ends, 1 when the daemon disconnects.
    """
    return run(run_bridge(socket, compat_socket, identity_prefix))


async def _again(socket: Path | None, envelope: Envelope) -> bool:
    """Send a recorded message with its recorded sender; return whether it was accepted."""
    try:
        message = _message(envelope.type, envelope.payload)
        async with client_for(socket, envelope.sender) as client:
            await client.ready()
            reply = await _say(client, message, None, None)
    except BusRefusedError as error:
        click.echo(f"{envelope.type} {envelope.id}: {error.message}", err=True)
        return False
    click.echo(f"{envelope.type} {envelope.id}: {_plain(reply)}")
    return True


async def _say(
    client: BusClient, message: BusMessage, to: Address | None, timeout: float | None
) -> Any:
    if isinstance(message, Announcement):
        return {"delivered": await client.post(message, to=to)}
    asked = cast("BusRequest[object]", message)

    def news(each: Any) -> None:
        click.echo(f"symposium: {each.message}", err=True)

    return to_builtins(await client.request(asked, to=to, on_progress=news, timeout=timeout))


def _message(type_: str, payload: Raw) -> BusMessage:
    known = message_types()
    if type_ not in known:
        near = near_names(type_, known)
        hint = (
            f"did you mean {' or '.join(near)}?" if near else "see docs/reference/bus-messages.md"
        )
        raise NotFoundError(f"unknown message type {type_!r}", hint)
    try:
        return known[type_].read(payload)
    except PayloadError as error:
        raise SymposiumError(f"{type_}: {error}", "see docs/reference/bus-messages.md") from error


def _address(text: str | None) -> Address | None:
    if text is None:
        return None
    kind, _, name = text.partition(":")
    if kind not in {"connection", "role", "taskspace"} or not name:
        raise click.UsageError(f"--to {text}: write connection:NAME, role:NAME, or taskspace:UUID")
    return Address(**{kind: name})


def _plain(reply: Any) -> str:
    if isinstance(reply, dict):
        members = cast("dict[str, Any]", reply)
        return ", ".join(f"{name} {value}" for name, value in members.items()) or "done"
    return str(reply)
