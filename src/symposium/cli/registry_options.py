"""Options that the registry commands share."""

import click

AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
REGISTRY = click.option(
    "--registry",
    "address",
    metavar="URL|FILE",
    help="Registry index. Default: $SYMPOSIUM_REGISTRY, else the official registry.",
)
