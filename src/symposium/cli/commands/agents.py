"""List, install, test, and remove agents."""

import os
import re
import sys
from collections.abc import Sequence
from dataclasses import replace

import click
from msgspec import structs

from localio.errors import ExplainedError
from localio.processes import find_program, reachable
from localio.text import near_names, plain_text
from peerwire.transports.command import Command, parse_command, shown
from symposium.catalog import agent_names
from symposium.cli.agent_views import (
    handshake_json,
    known_json,
    print_handshake,
    print_json,
    print_table,
    receipt_json,
    server_json,
)
from symposium.cli.app import CommandGroup
from symposium.cli.chain_options import notify
from symposium.cli.options import AS_JSON, REGISTRY, example, run
from symposium.config.component_source import ComponentSource
from symposium.errors import NotFoundError, SpecError
from symposium.registry.entries import find_entry
from symposium.registry.index import (
    AddedAgent,
    InstallReceipt,
    RegistryContext,
    id_of,
    installed,
    installed_versions,
    registry_context,
)
from symposium.registry.installers import uninstall
from symposium.registry.listing import KnownAgent, RegistryDirectory
from symposium.registry.probe import HANDSHAKE_TIME, probe_agent
from symposium.registry.provision import StartCommand, obtain_agent, obtain_source, provision

ID = click.argument("agent_id", metavar="ID")

_INTERPRETERS = re.compile(r"python|pypy|node|npx|bunx?|deno|uvx?|pipx?|ruby|perl|java|bash|sh|env")
"""Programs that run other programs: their names do not identify an agent."""


@click.group("agents", cls=CommandGroup, epilog=example("symposium agents add gemini"))
def command() -> None:
    """List, install, test, and remove agents."""


@command.command("list", epilog=example("symposium agents list --json"))
@AS_JSON
@REGISTRY
def list_agents(*, as_json: bool, address: str | None) -> int:
    """List agents: first those on this machine, then those you can install."""
    registry = registry_context(os.environ, address, notify)

    async def work() -> int:
        loaded = await registry.index.current()
        listing = await RegistryDirectory(registry).choices()
        if as_json:
            print_json([known_json(each) for each in listing.agents])
        else:
            heads = ("ID", "VERSION", "STATE", "WHAT")
            rows = [(a.id, a.version, a.how, a.description) for a in listing.agents]
            print_table([heads, *rows])
        for warning in filter(None, (loaded.in_short(), listing.warning)):
            click.echo(warning, err=True)
        return 0

    return run(work())


@command.command(epilog=example("symposium agents show gemini"))
@ID
@AS_JSON
@REGISTRY
def show(agent_id: str, *, as_json: bool, address: str | None) -> int:
    """Show an agent: its description, state, and installed versions."""
    registry = registry_context(os.environ, address, notify)

    async def work() -> int:
        known = await _known(agent_id, registry)
        receipts = installed_versions(registry.bin_directory / agent_id)
        if as_json:
            print_json({**known_json(known), "receipts": [receipt_json(r) for r in receipts]})
            return 0
        rows = [
            ("id", known.id),
            ("name", known.name),
            ("version", known.version or "unknown"),
            ("state", known.how),
            ("what", known.description),
        ]
        rows += [("place", known.place)] if known.place else []
        rows += [(r.version, f"{r.source}, {r.origin}, {_sum(r)}") for r in receipts]
        print_table(rows)
        return 0

    return run(work())


@command.command(epilog=example("symposium agents add 'npx some-agent --acp' --id mine"))
@click.argument("what", metavar="ID|COMMAND")
@click.option(
    "--id", "chosen_id", metavar="ID", help="Id for COMMAND. Default: its program's name."
)
@click.option(
    "--test/--no-test",
    "is_tested",
    default=True,
    help="Start COMMAND once as a test before adding it. Default: --test.",
)
@AS_JSON
@REGISTRY
def add(
    what: str, *, chosen_id: str | None, is_tested: bool, as_json: bool, address: str | None
) -> int:
    """Install an agent from the registry by its ID, or add COMMAND as an agent.

    A single word is an ID; with --id, or with a space, slash, or `=`, it is a COMMAND.
    """
    registry = registry_context(os.environ, address, notify)

    async def work() -> int:
        is_command = chosen_id is not None or any(each in what for each in " /{=")
        if is_command:
            given = parse_command(what)
            its_id = chosen_id or _id_of(given)
            if its_id in agent_names():
                raise SpecError(
                    f"{its_id} is the name of a built-in agent", "choose another with --id NAME"
                )
            # Fail now if the program is missing; a path must be valid in any working directory.
            program = (await find_program(given.argv[0], registry.env)).program
            if "/" in given.argv[0]:
                given = structs.replace(given, argv=(str(program), *given.argv[1:]))
            if is_tested:
                await _must_answer(given, registry)
            registry.added.add(AddedAgent(its_id, given.argv, dict(given.env)))
            _tell(its_id, StartCommand(given), as_json=as_json)
            return 0
        if what in agent_names():
            # The agent is available as requested, so this is no error.
            source = ComponentSource("builtin", what)
            note = f"{what} is built in; nothing to install"
            _tell(what, replace(await obtain_source(source, registry), note=note), as_json=as_json)
            return 0
        loaded = await registry.index.current()
        click.echo(loaded.describe(), err=True)
        _tell(what, await provision(find_entry(loaded.index, what), registry), as_json=as_json)
        return 0

    return run(work())


def _id_of(given: Command) -> str:
    """Derive an id from a command's name, unless it is the name of an interpreter.

    Raises:
        SpecError: the user must choose an id.
    """
    its_id = id_of(given)
    if given.name is None and _INTERPRETERS.fullmatch(its_id):
        raise SpecError(
            f"{its_id!r} runs many programs and does not identify this agent", "add --id NAME"
        )
    return its_id


async def _must_answer(given: Command, registry: RegistryContext) -> None:
    """Start the command once and send `initialize`.

    Raises:
        ExplainedError: it did not answer as an agent; nothing was added.
    """
    notify(f"testing `{shown(given.argv)}` …")
    try:
        await probe_agent(await reachable(given, registry.env))
    except ExplainedError as error:
        hint = f"{error.hint}\n" if error.hint else ""
        text = f"nothing was added: {error.message}"
        raise type(error)(text, f"{hint}add --no-test to add it anyway") from error


@command.command(epilog=example("symposium agents test gemini"))
@click.argument("agent_id", metavar="ID|COMMAND")
@click.option("--timeout", default=HANDSHAKE_TIME, show_default=True, help="Time limit in seconds.")
@AS_JSON
@REGISTRY
def test(agent_id: str, *, timeout: float, as_json: bool, address: str | None) -> int:
    """Start an agent, show its capabilities, and stop it."""
    registry = registry_context(os.environ, address, notify)

    async def work() -> int:
        obtained = await _obtained(agent_id, registry)
        if obtained.note:
            click.echo(plain_text(obtained.note), err=True)
        wanted = await reachable(obtained.command, registry.env)
        shaken = await probe_agent(wanted, seconds=timeout)
        if as_json:
            print_json(handshake_json(shaken, wanted))
        else:
            print_handshake(shaken)
        return 0

    return run(work())


@command.command(epilog=example("symposium agents update"))
@click.argument("agent_ids", metavar="[ID]...", nargs=-1)
@AS_JSON
@REGISTRY
def update(agent_ids: Sequence[str], *, as_json: bool, address: str | None) -> int:
    """Update installed agents to the registry's version, and keep the earlier version."""
    registry = registry_context(os.environ, address, notify)

    async def work() -> int:
        loaded = await registry.index.refresh()
        click.echo(loaded.describe(), err=True)
        here = installed(registry.bin_directory)
        done: list[dict[str, str]] = []
        offered = {entry.id for entry in loaded.index.agents}
        if not (agent_ids or here):
            click.echo("no agent is installed; `symposium agents add ID` installs one", err=True)
        for each in agent_ids or here:
            if each in agent_names():
                click.echo(f"{each} is built in; nothing to update", err=True)
                continue
            if each not in here:
                raise NotFoundError(f"{each} is not installed", f"symposium agents add {each}")
            if each not in offered and not agent_ids:
                click.echo(f"{each} is no longer in the registry; not updated", err=True)
                continue
            entry, before = find_entry(loaded.index, each), here[each].version
            await provision(entry, registry)
            done.append({"id": each, "from": before, "to": entry.version})
        if as_json:
            print_json(done)
        for row in [] if as_json else done:
            is_new = row["from"] != row["to"]
            change = f"{row['from']} -> {row['to']}" if is_new else f"already at {row['to']}"
            print(f"{row['id']}: {change}")
        return 0

    return run(work())


@command.command(epilog=example("symposium agents remove gemini"))
@ID
@AS_JSON
def remove(agent_id: str, *, as_json: bool) -> int:
    """Remove an installed agent with all its versions, or an added command."""
    registry = registry_context(os.environ)

    async def work() -> int:
        was_added = registry.added.remove(agent_id)
        was_installed = await uninstall(agent_id, registry.bin_directory)
        if not (was_added or was_installed):
            raise NotFoundError(
                f"{agent_id} is neither installed nor added", "`symposium agents list` lists agents"
            )
        if as_json:
            print_json({"id": agent_id, "removed": True})
        else:
            print(f"removed {agent_id}")
        return 0

    return run(work())


async def _known(agent_id: str, registry: RegistryContext) -> KnownAgent:
    listing = await RegistryDirectory(registry).choices()
    found = {each.id: each for each in listing.agents}
    if agent_id not in found:
        near = near_names(agent_id, found)
        listed = "`symposium agents list` lists agents"
        hint = f"did you mean {' or '.join(near)}?" if near else listed
        raise NotFoundError(f"unknown agent {agent_id!r}", hint)
    return found[agent_id]


async def _obtained(agent_id: str, registry: RegistryContext) -> StartCommand:
    """Find an agent by its id, also built-in or detected, or by a command line."""
    if any(each in agent_id for each in " /{="):
        return StartCommand(parse_command(agent_id))
    known = await _known(agent_id, registry)
    if isinstance(known.agent, str):
        return StartCommand(parse_command(known.agent))
    if known.agent.kind == "registry":
        return await obtain_agent(agent_id, registry)
    return await obtain_source(known.agent, registry)


def _tell(agent_id: str, obtained: StartCommand, *, as_json: bool) -> None:
    if obtained.note:
        click.echo(plain_text(obtained.note), err=True)
    if as_json:
        receipt = obtained.receipt
        print_json(
            {
                "id": agent_id,
                "server": server_json(obtained.command, agent_id),
                "receipt": None if receipt is None else receipt_json(receipt),
                "note": obtained.note or None,
            }
        )
        return
    at = f" {obtained.receipt.version}" if obtained.receipt else ""
    is_missing = bool(obtained.note) and agent_id not in agent_names()
    state = "is not installed" if is_missing else "is ready"
    sys.stdout.write(f"{agent_id}{at} {state}; test it with: symposium agents test {agent_id}\n")


def _sum(receipt: InstallReceipt) -> str:
    if receipt.sha256:
        return f"sha256 {receipt.sha256}" + (
            "" if receipt.is_verified else " (not verified: no checksum is published)"
        )
    return receipt.integrity or "no checksum published"
