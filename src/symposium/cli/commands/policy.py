"""Explain, test, or list your policy rules, without an agent."""

import json
from pathlib import Path
from typing import Final

import click

from symposium.cli.app import CommandGroup
from symposium.cli.exit_codes import ExitCode
from symposium.cli.options import example
from symposium.cli.policy_report import PolicyReport, counted
from symposium.config.paths import policy_file
from symposium.errors import NotFoundError
from symposium.permissions.live_policy import guarded
from symposium.permissions.policy import Policy, PolicyDecision, load_policy
from symposium.permissions.rules import (
    Access,
    Action,
    Effect,
    PolicyWorkspace,
    Rule,
    RunScript,
    ToolAction,
    TouchFile,
)

_CODES: Final = {
    Effect.ALLOW: ExitCode.OK,
    Effect.ASK: ExitCode.WAITING,
    Effect.FORBID: ExitCode.DENIED,
}

_policy_option = click.option(
    "--policy",
    "file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Policy file. Default: ~/.symposium/policy.toml.",
)
_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group(
    name="policy", cls=CommandGroup, epilog=example("symposium policy explain 'git push --force'")
)
def command() -> None:
    """Explain, test, or list your policy rules, without an agent.

    The rules in policy.toml allow, ask about, or forbid commands, files, and tools.
    """


@command.command(epilog=example("symposium policy explain 'git status && git push --force'"))
@click.argument("subject")
@click.option("--write", "kind", flag_value="write", help="Check writing the file SUBJECT.")
@click.option("--read", "kind", flag_value="read", help="Check reading the file SUBJECT.")
@click.option("--tool", "kind", flag_value="tool", help="Check calling the tool SUBJECT.")
@click.option(
    "--cwd",
    type=click.Path(path_type=Path),
    default=Path(),
    help="Workspace. Default: the current directory.",
)
@_policy_option
@_json_option
def explain(subject: str, kind: str | None, cwd: Path, file: Path | None, *, as_json: bool) -> int:
    """Show whether the rules allow the command SUBJECT, and why.

    Exit code: 0 allowed, 10 you would be asked, 5 forbidden.
    """
    policy = guarded(_load(file), file or policy_file())
    judgement = policy.judge([_action(subject, kind)], PolicyWorkspace(cwd.absolute()))
    if as_json:
        click.echo(json.dumps(_as_json(judgement)))
    else:
        click.echo(judgement.effect.value)
        for reason in judgement.reasons:
            click.echo(f"- {reason}")
    return _CODES[judgement.effect]


@command.command(epilog=example("symposium policy test"))
@_policy_option
def test(file: Path | None) -> int:
    """Run the tests in the policy file, and check that no rule allows a dangerous command.

    Exit code: 0 if all pass, 1 if a test fails or a dangerous command would be allowed.
    """
    policy = _load(file)
    errors = 0
    for is_error, text in PolicyReport(file or policy_file(), policy).problems():
        click.echo(f"{'error' if is_error else 'warning'}: {text}")
        errors += is_error
    summary = f"{counted(len(policy.rules), 'rule')}, {counted(errors, 'error')}"
    click.echo(summary, err=True)
    return ExitCode.RUNTIME if errors else ExitCode.OK


@command.command(name="list", epilog=example("symposium policy list --json"))
@_policy_option
@_json_option
def list_rules(file: Path | None, *, as_json: bool) -> int:
    """List the rules in the order of the file."""
    rules = _load(file).rules
    if as_json:
        click.echo(json.dumps([_rule(rule) for rule in rules]))
    else:
        for rule in rules:
            click.echo(f"{rule.effect.value:7} {rule.name}: {_subject(rule)}")
    return ExitCode.OK


def _load(file: Path | None) -> Policy:
    place = file or policy_file()
    policy = load_policy(place)
    if policy is None and file is not None:
        raise NotFoundError(f"{place} does not exist", "name an existing policy file")
    return policy or Policy()


def _action(subject: str, kind: str | None) -> Action:
    match kind:
        case "tool":
            return ToolAction(subject, "other")
        case "read" | "write":
            return TouchFile(Access(kind), subject)
        case _:
            return RunScript(subject)


def _as_json(judgement: PolicyDecision) -> dict[str, object]:
    reasons = [
        {"effect": each.effect.value, "what": each.what, "rule": each.rule, "why": each.why}
        for each in judgement.reasons
    ]
    return {"effect": judgement.effect.value, "rule": judgement.rule, "reasons": reasons}


def _rule(rule: Rule) -> dict[str, object]:
    return {"name": rule.name, "effect": rule.effect.value, "subject": _subject(rule)}


def _subject(rule: Rule) -> str:
    if rule.tool is not None:
        return f"tool {rule.tool}"
    if rule.files is not None:
        return f"{rule.files[0].value} {', '.join(rule.files[1])}"
    options = f" with {' or '.join(rule.options)}" if rule.options else ""
    return f"`{' '.join(rule.command)}`{options}"
