"""Show which mods an editor would get, and why."""

import json
from typing import IO, Any, cast

import click

from peerwire.jsonrpc.values import as_object
from symposium.chain.capabilities import primitives
from symposium.cli.options import example
from symposium.errors import SymposiumError
from symposium.planning.chain_spec import read_chain
from symposium.planning.planned_chain import adapters_for, entry_of
from symposium.planning.planner import MissingCapabilityError, Plan, plan

EXAMPLE = "symposium plan --capabilities editor.json --mods ide-ops"


@click.command(name="plan", epilog=example(EXAMPLE))
@click.option(
    "--capabilities",
    "file",
    type=click.File(encoding="utf-8"),
    required=True,
    metavar="FILE",
    help="JSON file with the editor's capabilities, or its `initialize` request; - for stdin.",
)
@click.option(
    "--mods",
    default="ide-ops",
    show_default=True,
    metavar="NAMES",
    help="Enabled mods, in order, separated by commas.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(file: IO[str], mods: str, *, as_json: bool) -> None:
    """Show which mods and adapters an editor would get, and why. No program is started.

    An adapter gives a mod a capability that the editor lacks.
    """
    offered = primitives(_params(file))
    specs = [spec.strip() for spec in mods.split(",") if spec.strip()]
    enabled = [entry_of(make()) for make in read_chain(specs, None).mods]
    try:
        made = plan(offered, enabled, adapters_for(enabled, offered))
    except MissingCapabilityError as error:
        hint = f"let the editor declare {error.capability}, or leave {error.component} out"
        raise SymposiumError(str(error), hint) from error
    if as_json:
        click.echo(json.dumps({**made.as_json(), "reasons": list(made.reasons)}, indent=2))
    else:
        _print(made, offered)


def _print(made: Plan, offered: dict[str, Any]) -> None:
    click.echo(f"The editor offers: {', '.join(offered) or 'nothing'}")
    click.echo(" → ".join(["Editor", *(entry.id for entry in made.chain), "Agent"]))
    for reason in made.reasons:
        click.echo(f"- {reason}")


def _params(file: IO[str]) -> dict[str, Any]:
    try:
        given = json.load(file)
    except ValueError as error:
        raise SymposiumError(f"{file.name} is not valid JSON: {error}", "fix the file") from error
    if not isinstance(given, dict):
        raise SymposiumError(
            f"{file.name} does not contain a JSON object",
            'a minimal one is {"terminal": true}',
        )
    given = as_object(cast("object", given))
    params = as_object(given["params"]) if "params" in given else given
    is_params = "clientCapabilities" in params or "protocolVersion" in params
    return dict(params) if is_params else {"clientCapabilities": params}
