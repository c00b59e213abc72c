"""Options of the commands that talk to an agent."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, nan
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

import click

from peerwire.jsonrpc.values import as_object
from symposium.chain.conductor import Settings
from symposium.chain.handshake import INITIALIZE_TIMEOUT
from symposium.cli.chain_options import agent_spec, configured_agent
from symposium.cli.options import LEVELS, chain_options, trace_option
from symposium.cli.stderr_log import hush, log_stderr, set_up_logs
from symposium.client.permissions import (
    READ_KINDS,
    ApproveAll,
    ApproveReads,
    Decider,
    Decision,
    Declined,
    DenyAll,
    Permission,
)
from symposium.errors import NotFoundError
from symposium.permissions.audit_entries import Chooser
from symposium.planning.chain_spec import ChainSpec, read_chain

_RULES: Final = {"all": "rule:approve-all", "none": "rule:deny-all"}

OnUnattended: TypeAlias = Callable[[Permission], None]

_Command = TypeVar("_Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Permits:
    """The answers to permission requests that the options select.

    Attributes:
        mode: `all`, `reads`, `none`, or `ask`.
        unattended: `deny` or `fail`, for a request that no user can answer.
    """

    mode: str
    unattended: str


def permission_options(command: _Command) -> _Command:
    """`--approve-all`, `--approve-reads`, `--deny-all`, `--non-interactive-permissions`."""
    options = [
        click.option(
            "--approve-all", "mode", flag_value="all", help="Allow every permission request."
        ),
        click.option(
            "--approve-reads", "mode", flag_value="reads", help="Allow reading; ask otherwise."
        ),
        click.option(
            "--deny-all", "--deny", "mode", flag_value="none", help="Deny every permission request."
        ),
        click.option(
            "--non-interactive-permissions",
            "unattended",
            type=click.Choice(["deny", "fail"]),
            default="deny",
            show_default=True,
            help="Without a terminal: deny requests and continue, or end the command.",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def decider(permits: Permits, person: Decider | None, fail: OnUnattended) -> Decider:
    """Make the decider, given one that asks the user or None; `fail` ends the command."""
    unasked: Decider = DenyAll() if permits.unattended == "deny" else _Fail(fail)
    asked = unasked if person is None else person
    match permits.mode:
        case "all":
            return ApproveAll()
        case "reads":
            return ApproveReads(asked)
        case "none":
            return DenyAll()
        case _:
            return asked


def denies_unasked(permits: Permits) -> bool:
    """Whether a request that no rule allows is denied when there is no user to ask."""
    return permits.mode not in _RULES and permits.unattended == "deny"


def allowing_options(permits: Permits) -> Sequence[str]:
    """List the options that would allow more than these do."""
    return ["--approve-all"] if permits.mode == "reads" else ["--approve-all", "--approve-reads"]


def chooser_of(permits: Permits, *, has_person: bool) -> Chooser:
    """Name who answers each request: a rule on the command line, or the user."""
    unasked = "user" if has_person else f"rule:unattended-{permits.unattended}"

    def choose(params: Mapping[str, Any]) -> str:
        kind = as_object(params.get("toolCall")).get("kind")
        if permits.mode == "reads" and kind in READ_KINDS:
            return "rule:approve-reads"
        return _RULES.get(permits.mode, unasked)

    return choose


class _Fail:
    def __init__(self, fail: OnUnattended) -> None:
        self._fail = fail

    async def decide(self, permission: Permission) -> Decision:
        self._fail(permission)
        return Declined()


DEFAULT_AGENT: Final = "eliza"
"""Agent to use without --agent and without an agent in the config."""


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
        help="Log events of the chain to stderr, at this level.",
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
