"""Serve Symposium's tools and guidance to an agent over MCP."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

import click

from symposium.bus.client import ClientSettings
from symposium.bus.daemon_start import dial_running, returning
from symposium.cli.exit_codes import ExitCode
from symposium.cli.options import example, log_option, print_stdio_hint, run, taking
from symposium.cli.stderr_log import set_up_logs
from symposium.mcp_server.location import probed
from symposium.mcp_server.server_context import Site

EXAMPLE = example("symposium mcp --http --port 4242")


@dataclass(frozen=True, slots=True)
class McpOptions:
    """The options as typed."""

    is_http: bool
    port: int
    directory: str
    is_joining: bool
    is_probing: bool
    tools: str
    level: str


@click.command(name="mcp", cls=taking(McpOptions), epilog=EXAMPLE)
@click.option(
    "--http", "is_http", is_flag=True, help="Serve streamable HTTP, on this machine only."
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    help="Port for --http. Default: any free port.",
)
@click.option(
    "--directory",
    "--cwd",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False),
    default=".",
    help="Working directory of the agent. Default: the current directory.",
)
@click.option("--join", "is_joining", is_flag=True, help="Use a running daemon; do not start one.")
@click.option(
    "--probe",
    "is_probing",
    is_flag=True,
    help="Print the project and task of DIR as JSON, and exit.",
)
@click.option(
    "--tools",
    metavar="NAMES",
    default="auto",
    show_default=True,
    help="Tools to list: auto (by workspace), all, or names of tools and topics (code, "
    "walkthroughs, taskspaces, …), separated by commas.",
)
@log_option
def command(options: McpOptions) -> int:
    """Serve Symposium's tools and guidance to an agent over MCP, on stdin and stdout.

    With --http, serve over HTTP; clients need the token printed on stderr. The reference page
    "MCP tools" describes the tools.
    """
    if options.port and not options.is_http:
        raise click.UsageError("--port needs --http")
    if options.is_probing:
        click.echo(json.dumps(probed(Path(options.directory).resolve(), os.environ), indent=2))
        return ExitCode.OK
    if not options.is_http:
        print_stdio_hint(
            "`symposium setup claude-mcp --write` lets Claude Code start it", speaks="MCP"
        )
    set_up_logs(options.level)
    return run(_serve(options))


async def _serve(options: McpOptions) -> int:
    if options.is_http:
        from symposium.mcp_server.transports import serve_http

        await serve_http(_site(options), options.port, _tell)
    else:
        from symposium.mcp_server.transports import serve_stdio

        await serve_stdio(_site(options))
    return ExitCode.OK


def _site(options: McpOptions) -> Site:
    names = tuple(each.strip() for each in options.tools.split(",") if each.strip()) or ("auto",)
    reach = dial_running if options.is_joining else returning()
    return Site(Path(options.directory).resolve(), bus=ClientSettings(dial=reach), tools=names)


def _tell(url: str, token: str) -> None:
    click.echo(f"{url}\nAuthorization: Bearer {token}", err=True)
