"""Run testy, a scripted agent for tests, over stdio."""

import click

from peerwire.transports.fd import stdio_transport
from symposium.agents.testy.agent import serve_testy
from symposium.cli.options import example, print_stdio_hint, run

EXAMPLE = example("symposium prompt --agent 'symposium testy' '{\"command\": \"greet\"}'")


@click.command("testy", epilog=EXAMPLE)
def command() -> int:
    """Run testy, a scripted agent for tests, over ACP on stdin and stdout.

    Each prompt is a command in JSON.
    """

    async def serve() -> int:
        await serve_testy(stdio_transport())
        return 0

    print_stdio_hint("To chat in the terminal: symposium chat --agent testy")
    return run(serve())
