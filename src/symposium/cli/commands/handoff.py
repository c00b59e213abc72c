"""Hand a session over to another agent, with a summary of it."""

import sys
from dataclasses import dataclass, replace
from typing import Any

import click

from symposium.chain_spec import ChainSpec, read_chain
from symposium.cli.agent_names import agent_spec
from symposium.cli.ending import ExitCode, Failure
from symposium.cli.json_report import JsonReport
from symposium.cli.options import example, taking
from symposium.cli.output import Output
from symposium.cli.permission_options import Permits
from symposium.cli.plain_report import PlainReport
from symposium.cli.prompting import Errand, Report, run_errand
from symposium.cli.running import run
from symposium.cli.talk_options import TalkOptions, talk_options
from symposium.client.permissions import Decision, Permission
from symposium.errors import NotFoundError
from symposium.timelines.digest import digest
from symposium.timelines.store import TimelineStore
from symposium.timelines.workplace import look_at

MOD = "timeline"
"""Keeps the new session's timeline, so that it can be linked."""

NEXT = "Say in one sentence what is to be done next, then go on with it."


@dataclass(frozen=True, slots=True)
class HandoffOptions(TalkOptions):
    """What was written."""

    to: str | None
    session: str | None
    is_shown: bool
    as_json: bool
    text: str | None


@click.command(
    "handoff",
    cls=taking(HandoffOptions),
    epilog=example("symposium handoff --to codex-acp 'Finish the open tasks'"),
)
@click.argument("text", required=False)
@click.option("--to", metavar="AGENT", help="Who takes over: an id or a SPEC; --agent is the same.")
@click.option("--session", metavar="ID", help="The session; the last one of --cwd if not given.")
@click.option("--print", "is_shown", is_flag=True, help="Print what would be handed over, only.")
@click.option("--json", "as_json", is_flag=True, help="Print events, one JSON object a line.")
@talk_options
def command(options: HandoffOptions) -> int:
    """Open a session with another agent, and give it goal, decisions, open tasks and evidence.

    TEXT is what it is asked to do. The timelines of both sessions link to each other; nothing of
    the old session is changed otherwise.
    """
    options.set_up_logs()
    if options.to is not None and options.agent is not None:
        raise click.UsageError("--to and --agent both say who takes over; give one.")
    options = replace(options, to=options.to or options.agent)
    if options.to is None and not options.is_shown:
        raise click.UsageError("Missing option '--to'; --print shows what would be handed over.")
    store = TimelineStore()
    source = options.session or _latest(store, options)
    store.read(source)
    if options.is_shown:
        return run(_show(options, store, source))
    # Before the loop runs, and once there is something to hand over: it may install the agent.
    agent = agent_spec(options.to, option="--to")
    chain = read_chain([*options.proxies, MOD], agent, option="--to")
    return run(_hand_over(options, store, source, chain))


async def _told(options: HandoffOptions, store: TimelineStore, source: str) -> str:
    return digest(store.read(source), store.origin(source), await look_at(options.directory()))


async def _show(options: HandoffOptions, store: TimelineStore, source: str) -> int:
    sys.stdout.write(await _told(options, store, source) + "\n")
    return ExitCode.OK


async def _hand_over(
    options: HandoffOptions, store: TimelineStore, source: str, chain: ChainSpec
) -> int:
    told = await _told(options, store, source)
    inner = JsonReport if options.as_json else PlainReport

    def report(output: Output) -> Report:
        return _Linking(inner(output), store, source, options.to or "")

    errand = Errand(
        chain=chain,
        text=f"{told}\n\n---\n\n{options.text or NEXT}",
        cwd=options.directory(),
        permits=Permits(options.mode or "ask", options.unattended),
        patience=options.timeout,
        report=report,
        settings=options.settings(),
        trace_dir=options.trace_dir,
    )
    return await run_errand(errand)


def _latest(store: TimelineStore, options: HandoffOptions) -> str:
    found = store.summaries(options.directory())
    if not found:
        raise NotFoundError(
            f"no session of {options.directory()} is kept",
            "`symposium timeline list` shows what is; the mod `timeline` keeps it",
        )
    return found[0].session


class _Linking:
    """Shows the new session, and links its timeline and the old one as soon as it is there."""

    def __init__(self, inner: Report, store: TimelineStore, source: str, agent: str) -> None:
        self._inner = inner
        self._store = store
        self._source = source
        self._agent = agent

    def opened(self, session_id: str) -> None:
        """The session is there."""
        self._store.open(self._source).add("link", {"to": session_id, "agent": self._agent})
        self._store.open(session_id).add("link", {"from": self._source})
        self._inner.opened(session_id)

    def update(self, params: Any) -> None:
        """The agent reports something."""
        self._inner.update(params)

    def decided(self, permission: Permission, decision: Decision) -> None:
        """A permission was asked for, and decided on."""
        self._inner.decided(permission, decision)

    def finished(self, stop_reason: str) -> None:
        """The turn is over."""
        self._inner.finished(stop_reason)

    def advised(self, advice: str) -> None:
        """There is something a person may want to do otherwise next time."""
        self._inner.advised(advice)

    def failed(self, failure: Failure) -> None:
        """There was no turn, or it broke."""
        self._inner.failed(failure)
