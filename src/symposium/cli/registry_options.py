"""The options that the commands on the registry share."""

import click

AS_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
REGISTRY = click.option(
    "--registry",
    "address",
    metavar="URL|FILE",
    help="The registry's index; $SYMPOSIUM_REGISTRY, or the official one, if not given.",
)
