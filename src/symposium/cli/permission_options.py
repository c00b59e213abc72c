"""Permission options, and the decider that they select."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar

import click

from peerwire.jsonrpc.values import as_object
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
from symposium.permissions.recorder import Chooser

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
        click.option("--approve-all", "mode", flag_value="all", help="Allow every request."),
        click.option(
            "--approve-reads", "mode", flag_value="reads", help="Allow reading; ask otherwise."
        ),
        click.option("--deny-all", "--deny", "mode", flag_value="none", help="Deny every request."),
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
