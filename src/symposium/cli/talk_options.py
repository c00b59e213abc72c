"""The options of the commands that talk to an agent, and the chain that they name."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, nan
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from symposium.chain.conductor import Settings
from symposium.chain.handshake import INITIALIZE_TIMEOUT
from symposium.chain_spec import ChainSpec, read_chain
from symposium.cli.agent_names import agent_spec, configured_agent
from symposium.cli.logs import hush, log_stderr, set_up_logs
from symposium.cli.options import LEVELS, chain_options, trace_option
from symposium.cli.permission_options import Permits, permission_options
from symposium.errors import NotFoundError

DEFAULT_AGENT: Final = "eliza"
"""The agent without --agent and without one in the config."""

_Command = TypeVar("_Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class TalkOptions:
    """What was written, before it is looked at."""

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
        """Who decides on permissions."""
        return Permits(self.mode or "ask", self.unattended)

    def chain(self) -> ChainSpec:
        """The chain that is named.

        Raises:
            ExplainedError: a SPEC of it names no component, or one that cannot be had.
        """
        if self.agent is not None:
            return read_chain(self.proxies, agent_spec(self.agent))
        configured = configured_agent()
        if configured is None:
            text = f"No agent is configured: using the built-in {DEFAULT_AGENT}. Use --agent AGENT"
            click.echo(f"{text} to choose another.", err=True)
        return read_chain(self.proxies, configured or DEFAULT_AGENT)

    def directory(self) -> Path:
        """The directory of the session, absolute.

        Raises:
            NotFoundError: it is not there.
        """
        directory = Path(self.cwd).absolute()
        if not directory.is_dir():
            raise NotFoundError(f"--cwd: {directory} is no directory", "name one that exists")
        return directory

    def settings(self) -> Settings:
        """How the chain behaves."""
        limit = INITIALIZE_TIMEOUT if self.timeout is None else self.timeout
        return Settings(initialize_timeout=limit, on_stderr=log_stderr)

    def set_up_logs(self) -> None:
        """Log what was asked for; unasked nothing, since errors are said anyway."""
        if self.level is None:
            hush()
        else:
            set_up_logs(self.level)


class Seconds(click.ParamType[float]):
    """A time above zero, in seconds."""

    name = "seconds"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Read it, or say what was written instead."""
        try:
            seconds = float(str(value))
        except ValueError:
            seconds = nan
        if not 0 < seconds < inf:
            self.fail(f"{value!r} is not a number of seconds above 0, such as 30", param, ctx)
        return seconds


def talk_options(command: _Command) -> _Command:
    """`--agent`, `--proxy`, `--cwd`, `--timeout`, `--log` and those of permissions."""
    command = click.option(
        "--log",
        "level",
        type=click.Choice(LEVELS, case_sensitive=False),
        help="Also say on stderr what happens in the chain.",
    )(command)
    command = trace_option(permission_options(command))
    command = click.option(
        "--timeout",
        metavar="SECONDS",
        type=Seconds(),
        help="How long to wait for each answer of the agent.",
    )(command)
    command = click.option(
        "--cwd",
        metavar="DIR",
        default=".",
        help="The directory that the agent works in; the current one if not given.",
    )(command)
    return chain_options(command)
