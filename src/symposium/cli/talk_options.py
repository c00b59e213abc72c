"""Options of the commands that talk to an agent, and the chain that they name."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, nan
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from symposium.chain.conductor import Settings
from symposium.chain.handshake import INITIALIZE_TIMEOUT
from symposium.cli.agent_names import agent_spec, configured_agent
from symposium.cli.logs import hush, log_stderr, set_up_logs
from symposium.cli.options import LEVELS, chain_options, trace_option
from symposium.cli.permission_options import Permits, permission_options
from symposium.errors import NotFoundError
from symposium.planning.chain_spec import ChainSpec, read_chain

DEFAULT_AGENT: Final = "eliza"
"""Agent to use without --agent and without an agent in the config."""

_Command = TypeVar("_Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class TalkOptions:
    """The options as typed."""

    proxies: tuple[str, ...]
    agent: str | None
    cwd: str
    timeout: float | None
    level: str | None
    trace_dir: str | None
    mode: str | None
    unattended: str

    @property
    def permits(self) -> Permits:
        """The answers to permission requests."""
        return Permits(self.mode or "ask", self.unattended)

    def chain(self) -> ChainSpec:
        """Read the chain that the options name.

        Raises:
            ExplainedError: a SPEC names no component, or one that cannot be installed.
        """
        if self.agent is not None:
            return read_chain(self.proxies, agent_spec(self.agent))
        configured = configured_agent()
        if configured is None:
            text = f"No agent is configured; using the built-in {DEFAULT_AGENT}."
            click.echo(f"{text} Choose another with --agent AGENT.", err=True)
        return read_chain(self.proxies, configured or DEFAULT_AGENT)

    def directory(self) -> Path:
        """Return the absolute path of the session's directory.

        Raises:
            NotFoundError: it is not a directory.
        """
        directory = Path(self.cwd).absolute()
        if not directory.is_dir():
            raise NotFoundError(
                f"--cwd: {directory} is not a directory", "name an existing directory"
            )
        return directory

    def settings(self) -> Settings:
        """Settings of the conductor."""
        limit = INITIALIZE_TIMEOUT if self.timeout is None else self.timeout
        return Settings(initialize_timeout=limit, on_stderr=log_stderr)

    def set_up_logs(self) -> None:
        """Log at the requested level; without one, log only faults of mods."""
        if self.level is None:
            hush()
        else:
            set_up_logs(self.level)


class Seconds(click.ParamType[float]):
    """A positive number of seconds."""

    name = "seconds"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Read the number; fail with the text that was typed."""
        try:
            seconds = float(str(value))
        except ValueError:
            seconds = nan
        if not 0 < seconds < inf:
            self.fail(f"{value!r} is not a positive number of seconds, such as 30", param, ctx)
        return seconds


def talk_options(command: _Command) -> _Command:
    """`--agent`, `--proxy`, `--cwd`, `--timeout`, `--log`, and the permission options."""
    command = click.option(
        "--log",
        "level",
        type=click.Choice(LEVELS, case_sensitive=False),
        help="Log what happens in the chain to stderr.",
    )(command)
    command = trace_option(permission_options(command))
    command = click.option(
        "--timeout",
        metavar="SECONDS",
        type=Seconds(),
        help="Time limit for each response of the agent.",
    )(command)
    command = click.option(
        "--cwd",
        metavar="DIR",
        default=".",
        help="Working directory of the agent. Default: the current directory.",
    )(command)
    return chain_options(command)
