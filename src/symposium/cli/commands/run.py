"""Serve an editor over stdio; choose agent and mods in the chat."""

from contextlib import ExitStack
from pathlib import Path

import click
from msgspec import Struct

from peerwire.transports.fd import stdio_transport
from symposium.chain.capabilities import Mode
from symposium.chain.conductor import Settings
from symposium.cli.chain_options import RecordedChain, recorded
from symposium.cli.options import (
    bridge_options,
    example,
    log_option,
    print_stdio_hint,
    run,
    taking,
    trace_option,
)
from symposium.cli.status_socket import serve_status
from symposium.cli.stderr_log import log_stderr, set_up_logs
from symposium.config.paths import config_file, paths
from symposium.config.user_config import ModEntry
from symposium.permissions.audit_entries import with_audit
from symposium.planning.chain_spec import DEFAULT_MODS, ChainSpec, check_policy
from symposium.run_mode.available_agents import FullDirectory, LocalDirectory
from symposium.run_mode.config_components import Composer, NoResolver, RegistryResolver
from symposium.run_mode.offers import WorkspaceOfferSource
from symposium.run_mode.serve_editor import ConfigAgent
from symposium.run_mode.settings import PauseScope, RunSettings

EXAMPLE = example("symposium run --pause conductor")


class RunOptions(Struct, frozen=True):
    """The options as typed."""

    config: Path | None
    trace_dir: str | None
    level: str
    log_dir: str | None
    bridge: Mode | None
    pause: PauseScope
    no_registry: bool


@click.command("run", cls=taking(RunOptions), epilog=EXAMPLE)
@click.option(
    "--config",
    envvar="SYMPOSIUM_CONFIG",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Config file. Default: ~/.symposium/config.jsonc.",
)
@click.option("--no-registry", is_flag=True, help="Offer only agents on this machine.")
@click.option(
    "--pause",
    type=click.Choice(["session", "conductor"]),
    default="session",
    show_default=True,
    help="Sessions to pause while a menu is open. session: only the session with the menu; "
    "conductor: all sessions that share its agent process and mods.",
)
@bridge_options
@trace_option
@log_option
@click.option(
    "--log-dir",
    metavar="DIR",
    type=click.Path(file_okay=False),
    help="Write the raw lines of every connection, and stderr, to a new file in DIR.",
)
def command(options: RunOptions) -> int:
    """Serve an editor over ACP on stdin and stdout. Editors start this command.

    The config file names the agent and the mods. To change them, send `/symposium:config` in the
    chat.
    """
    check_policy()
    set_up_logs(options.level)
    print_stdio_hint("To chat in the terminal: symposium chat --agent 'symposium run'")
    return run(serve(options))


async def serve(options: RunOptions) -> int:
    """Serve the editor until it disconnects."""
    with ExitStack() as files:

        def record(chain: ChainSpec, trace_dir: str | None) -> RecordedChain:
            settings = Settings(
                on_stderr=log_stderr, beside_agent=with_audit(chain.agent_name, chain.secrets)
            )
            records = recorded(chain, settings, trace_dir=trace_dir, log_dir=options.log_dir)
            return files.enter_context(records)

        editor = record(ChainSpec((), None), None).client(stdio_transport())
        resolver = NoResolver() if options.no_registry else RegistryResolver()
        settings = RunSettings(
            config=config_file(options.config),
            compose=Composer(resolver, options.bridge or "auto").compose,
            directory=LocalDirectory() if options.no_registry else FullDirectory(),
            default_mods=[ModEntry(name) for name in (*DEFAULT_MODS, "uv", "npm")],
            pause=options.pause,
            names=paths().home / "session-names",
            chain_settings=lambda chain: record(chain, options.trace_dir).settings,
        )
        offers = WorkspaceOfferSource(settings.config, is_offline=options.no_registry)
        agent = ConfigAgent(editor, settings, offers)
        async with serve_status("run", lambda: {"chains": agent.reports()}):
            return await agent.run()
