"""Show which requests were allowed or denied; verify the log."""

import json
from collections.abc import Mapping
from typing import Any

import click

from localio.text import one_line, second_of
from peerwire.jsonrpc.values import as_object
from symposium.cli.app import CommandGroup
from symposium.cli.exit_codes import ExitCode
from symposium.cli.options import example
from symposium.client.events import read_tool_call
from symposium.client.permissions import summarize
from symposium.config.paths import paths
from symposium.permissions.audit_log import AuditLog

_WIDTH = 60

_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group(name="audit", cls=CommandGroup, epilog=example("symposium audit verify"))
def command() -> None:
    """Show which permissions agents requested, who allowed or denied them, and when."""


@command.command(name="list", epilog=example("symposium audit list --json"))
@_json_option
def list_entries(*, as_json: bool) -> int:
    """List all entries, the oldest first."""
    entries = AuditLog(paths().audit).entries()
    if as_json:
        click.echo(json.dumps(entries))
        return ExitCode.OK
    for entry in entries:
        click.echo(_row(entry))
    if not entries:
        click.echo(f"no entries in {paths().audit}", err=True)
    return ExitCode.OK


@command.command(epilog=example("symposium audit verify --json"))
@_json_option
def verify(*, as_json: bool) -> int:
    """Check that no entry was changed, removed, or moved.

    Exit code: 0 if the log is intact, 1 if not.
    """
    log = AuditLog(paths().audit)
    faults, count = log.verify(), len(log.entries())
    if as_json:
        found = [{"place": fault.place, "reason": fault.reason} for fault in faults]
        click.echo(json.dumps({"entries": count, "faults": found}))
    else:
        for fault in faults:
            click.echo(f"{fault.place}: {fault.reason}")
        if not faults:
            click.echo(f"{count} entries; none was changed, removed, or moved")
    return ExitCode.RUNTIME if faults else ExitCode.OK


def _row(entry: Mapping[str, Any]) -> str:
    call = read_tool_call(as_object(entry.get("toolCall")))
    asked = one_line(summarize(call).text, width=_WIDTH)
    chosen = entry.get("chosen") or entry.get("outcome")
    when = second_of(str(entry.get("ts")))
    return one_line(
        f"{when} {entry.get('agent')}: {asked} → {chosen} by {entry.get('by')}",
        width=_WIDTH * 3,
    )
