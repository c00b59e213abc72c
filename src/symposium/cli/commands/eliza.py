"""Run Eliza, a built-in agent without a model, over stdio."""

import click

from peerwire.transports.fd import stdio_transport
from symposium.agents.eliza.agent import serve_eliza
from symposium.agents.eliza.engine import DETERMINISTIC_SEED
from symposium.cli.options import example, print_stdio_hint, run

EXAMPLE = example("symposium prompt --agent 'symposium eliza' Hello")


@click.command("eliza", epilog=EXAMPLE)
@click.option("--deterministic", is_flag=True, help="Give the same answers every time.")
def command(*, deterministic: bool) -> int:
    """Run Eliza, a built-in agent without a model, over ACP on stdin and stdout."""

    async def serve() -> int:
        seed = DETERMINISTIC_SEED if deterministic else None
        await serve_eliza(stdio_transport(), seed=seed)
        return 0

    print_stdio_hint("To chat in the terminal: symposium chat --agent eliza")
    return run(serve())
