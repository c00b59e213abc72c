"""Serve an editor over stdio with the mods and agent you name."""

from typing import Any

import click
from msgspec import Struct

from peerwire.transports.fd import stdio_transport
from symposium.chain.blueprint import Blueprint
from symposium.chain.capabilities import Mode
from symposium.chain.conductor import Conductor, Settings
from symposium.cli.chain_options import agent_spec, recorded
from symposium.cli.options import (
    bridge_options,
    chain_options,
    example,
    log_option,
    print_stdio_hint,
    run,
    taking,
    trace_option,
)
from symposium.cli.status_socket import serve_status
from symposium.cli.stderr_log import log_stderr, set_up_logs
from symposium.permissions.audit_entries import with_audit
from symposium.planning.chain_spec import ChainSpec, read_chain

EXAMPLE = example("symposium run-with --proxy arrow --agent 'npx some-agent --acp'")


class RunWithOptions(Struct, frozen=True):
    """The options as typed."""

    proxies: tuple[str, ...]
    agent: str | None
    trace_dir: str | None
    level: str
    log_dir: str | None
    bridge: Mode | None


@click.command("run-with", cls=taking(RunWithOptions), epilog=EXAMPLE)
@chain_options
@bridge_options
@trace_option
@log_option
@click.option(
    "--log-dir",
    metavar="DIR",
    type=click.Path(file_okay=False),
    help="Write the raw lines of every connection, and stderr, to a new file in DIR.",
)
def command(options: RunWithOptions) -> int:
    """Serve an editor over ACP on stdin and stdout, with the mods and agent you name.

    Without --agent, run the mods as one ACP proxy, for another program that starts the agent.
    """
    agent = agent_spec(options.agent)
    chain = read_chain(options.proxies, agent, bridge=options.bridge or "auto")
    set_up_logs(options.level)
    print_stdio_hint("To chat in the terminal: symposium chat with the same --proxy and --agent")
    return run(serve(chain, options))


async def serve(chain: ChainSpec, options: RunWithOptions) -> int:
    """Serve the client until it disconnects or a component fails."""

    def instantiate(_: object) -> Blueprint:
        return chain.blueprint()

    settings = Settings(
        is_proxy=chain.agent is None,
        on_stderr=log_stderr,
        beside_agent=with_audit(chain.agent_name, chain.secrets),
    )
    with recorded(chain, settings, trace_dir=options.trace_dir, log_dir=options.log_dir) as records:
        client = records.client(stdio_transport())
        conductor = Conductor(client, instantiate, records.settings)

        def report() -> dict[str, Any]:
            from symposium.chain.running_chain import chain_report

            chain = conductor.chain
            return {"chains": [] if chain is None else [chain_report(chain)]}

        async with serve_status("run-with", report):
            return await conductor.run()
