"""Run testy, a scripted agent for tests, over stdio."""

import click

from peerwire.transports.fd import stdio_transport
from symposium.agents.testy.agent import serve_testy
from symposium.cli.at_terminal import say_what_it_waits_for
from symposium.cli.options import example
from symposium.cli.running import run

EXAMPLE = example("symposium prompt --agent 'symposium testy' '{\"command\": \"greet\"}'")


@click.command("testy", epilog=EXAMPLE)
def command() -> int:
    """Run testy, a scripted agent for tests, over ACP on stdin and stdout.

    Each prompt is a command in JSON.
    """

    async def serve() -> int:
        await serve_testy(stdio_transport())
        return 0

    say_what_it_waits_for("To chat in the terminal: symposium chat --agent testy")
    return run(serve())
