"""Be an agent that needs no model, over stdio."""

import click

from peerwire.transports.stdio import stdio_transport
from symposium.agents.eliza.agent import serve_eliza
from symposium.agents.eliza.engine import DETERMINISTIC_SEED
from symposium.cli.running import run


@click.command("eliza")
@click.option("--deterministic", is_flag=True, help="Give the same answers every time.")
def command(*, deterministic: bool) -> int:
    r"""Be Eliza, an ACP agent on standard input and output.

    \b
    Example:
      symposium prompt --agent 'symposium eliza' Hello
    """

    async def serve() -> int:
        seed = DETERMINISTIC_SEED if deterministic else None
        await serve_eliza(stdio_transport(), seed=seed)
        return 0

    return run(serve())
