"""Options of a chain: the agent's name, its trace, its log."""

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager

import click
from msgspec import Struct
from msgspec.structs import replace

from localio.text import plain_text
from peerwire.jsonrpc.transport import Transport
from symposium.catalog import may_be_id
from symposium.chain.conductor import Settings
from symposium.cli.options import run
from symposium.config.component_source import ComponentSource
from symposium.config.paths import config_file
from symposium.errors import SpecError
from symposium.planning.chain_spec import FORMS, ChainSpec


class RecordedChain(Struct, frozen=True):
    """Recording of a chain, possibly none.

    Attributes:
        settings: the settings of its conductor.
        client: wraps the client's transport to log its lines.
    """

    settings: Settings
    client: Callable[[Transport], Transport]


@contextmanager
def recorded(
    chain: ChainSpec, settings: Settings, *, trace_dir: str | None, log_dir: str | None = None
) -> Generator[RecordedChain]:
    """Record a chain in the block, into new files of the given directories.

    Raises:
        RecordingError: a directory cannot be made or written to.
    """
    if trace_dir is None and log_dir is None:
        yield RecordedChain(settings, _unchanged)
        return
    from symposium.cli.trace_and_log import trace_and_log

    with trace_and_log(chain.secrets, trace_dir, log_dir) as (trace, log):
        client = _unchanged
        if trace is not None:
            settings = replace(settings, watcher=trace)
        if log is not None:
            settings = replace(settings, tap=log.tap, on_stderr=log.on_stderr)
            client = log.tap
        yield RecordedChain(settings, client)


def _unchanged(transport: Transport) -> Transport:
    return transport


def notify(text: str) -> None:
    """Print progress to stderr."""
    click.echo(text, err=True)


def agent_spec(written: str | None, *, option: str = "--agent") -> str | None:
    """Return the SPEC for an option's value; install the agent if necessary.

    Raises:
        ExplainedError: it names no agent, or one that cannot be installed.
    """
    if written is None or not may_be_id(written):
        return written
    from symposium.registry.agent_choice import (
        ChosenAgent,
        UnknownAgentError,
        choose,
    )
    from symposium.registry.index import registry_context

    found: list[ChosenAgent] = []

    async def look_up() -> int:
        try:
            found.append(await choose(written, registry_context(os.environ, notify=notify)))
        except UnknownAgentError as error:
            hint = f"{error.hint}. Otherwise: {FORMS}"
            raise SpecError(f"{option}: {error.message}", hint) from error
        return 0

    if code := run(look_up()):
        raise SystemExit(code)
    (chosen,) = found
    if chosen.note:
        click.echo(plain_text(chosen.note), err=True)
    return chosen.spec


def configured_agent(named: Callable[[str], str | None] = agent_spec) -> str | None:
    """Return the SPEC of the agent in the user's config; None if it names none.

    Args:
        named: reads a name as the caller's `--agent` would.

    Raises:
        ExplainedError: the config cannot be read, or its agent cannot be installed.
    """
    from symposium.config.user_config import load

    loaded = load(config_file(None))
    if loaded is None:
        return None
    agent = loaded.config.agent
    if isinstance(agent, str):
        return named(agent) if agent.strip() else None
    if agent.kind == "builtin":
        return str(agent.value)
    if agent.kind == "registry":
        return named(str(agent.value))
    return source_spec(agent)


def source_spec(source: ComponentSource) -> str:
    """Return the SPEC for a source in the config; install it if necessary.

    Raises:
        ExplainedError: it cannot be installed.
    """
    from peerwire.transports.command import command_json
    from symposium.registry.index import registry_context
    from symposium.registry.provision import obtain_source

    found: list[str] = []

    async def obtain() -> int:
        obtained = await obtain_source(source, registry_context(os.environ, notify=notify))
        found.append(command_json(obtained.command))
        return 0

    if code := run(obtain()):
        raise SystemExit(code)
    return found[0]
