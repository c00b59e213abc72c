"""Run an explicit chain over stdio, as an agent or as a proxy."""

import click

from peerwire.transports.stdio import stdio_transport
from symposium.chain_spec import ChainSpec, read_chain
from symposium.cli.logs import log_stderr, set_up_logs
from symposium.cli.options import chain_options, log_option
from symposium.cli.running import run
from symposium.conductor.blueprint import Blueprint
from symposium.conductor.conductor import Conductor, Settings


@click.command("run-with")
@chain_options
@log_option
@click.option(
    "--log-dir",
    metavar="DIR",
    type=click.Path(file_okay=False),
    help="Also log everything into a new file in this directory.",
)
def command(proxies: tuple[str, ...], agent: str | None, level: str, log_dir: str | None) -> int:
    r"""Run a chain of mods and an agent, speaking ACP on standard input and output.

    Without --agent it is itself a proxy, for a chain of somebody else's.

    \b
    Example:
      symposium run-with --proxy arrow --agent 'npx some-agent --acp'
    """
    chain = read_chain(proxies, agent)
    set_up_logs(level, log_dir)
    return run(serve(chain))


async def serve(chain: ChainSpec) -> int:
    """Serve our own client until it ends, or a component fails."""

    def instantiate(_: object) -> Blueprint:
        return chain.blueprint()

    settings = Settings(is_proxy=chain.agent is None, on_stderr=log_stderr)
    return await Conductor(stdio_transport(), instantiate, settings).run()
