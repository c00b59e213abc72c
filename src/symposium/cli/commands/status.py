"""Show what is running, and which policy applies."""

import json

import click

from symposium.cli.exit_codes import ExitCode
from symposium.cli.options import example
from symposium.cli.policy_report import policy_report
from symposium.cli.status import held_agents, in_short, overview, running_daemon, servers
from symposium.cli.status_socket import running_hosts


@click.command("status", epilog=example("symposium status --mcp"))
@click.option("--mcp", "mcp", is_flag=True, help="Show how MCP servers reach each session's agent.")
@click.option(
    "--short", "short", is_flag=True, help="Print one line, for a shell prompt or a status bar."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(*, mcp: bool, short: bool, as_json: bool) -> int:
    """Show running hosts with their chains and sessions, the daemon, and the policy.

    A host is a running `symposium run` or `symposium run-with`. A chain is an agent with its mods.

    Latencies are measured for the latest messages: for every request, and for one in 64 streamed
    messages. For a mod that is a separate program, only requests are measured.
    """
    hosts = running_hosts()
    if as_json:
        more = {"daemon": running_daemon(), "agents": held_agents()}
        more |= {"policy": policy_report().as_json()}
        click.echo(json.dumps({"hosts": hosts, **more}))
    elif short:
        click.echo(in_short(hosts))
    else:
        for line in servers(hosts) if mcp else overview(hosts):
            click.echo(line)
        if not hosts:
            click.echo("no host is running", err=True)
        if not mcp:
            _print_daemon_and_agents()
    return ExitCode.OK


def _print_daemon_and_agents() -> None:
    """Print the policy, the daemon, and the agents that run without a host."""
    click.echo(policy_report().line())
    if (pid := running_daemon()) is not None:
        click.echo(f"daemon  pid {pid}  (`symposium daemon status`)")
    if count := len(held_agents()):
        agents = "1 agent" if count == 1 else f"{count} agents"
        click.echo(f"{agents} of tasks and sessions  (`symposium session list`)")
