"""Hand a session over to another agent, with a summary of it."""

import sys
from dataclasses import dataclass, replace
from typing import Any

import click

from symposium.cli.chain_options import agent_spec
from symposium.cli.exit_codes import ExitCode, ReportedFailure
from symposium.cli.options import example, run, taking
from symposium.cli.output import Output
from symposium.cli.prompt import PromptReport, PromptRun, send_prompt
from symposium.cli.prompt_reports import JsonReport, PlainReport
from symposium.cli.talk_options import Permits, TalkOptions, talk_options
from symposium.client.permissions import Decision, Permission
from symposium.documents.handoff import digest, look_at
from symposium.documents.timelines import TimelineStore
from symposium.errors import NotFoundError
from symposium.planning.chain_spec import ChainSpec, read_chain

MOD = "timeline"
"""Mod that records the new session's timeline, so that the two can be linked."""

NEXT = "State the next step in one sentence, then continue with it."


@dataclass(frozen=True, slots=True)
class HandoffOptions(TalkOptions):
    """The options as typed."""

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
@click.option("--to", metavar="AGENT", help="Agent that takes over. Same as --agent.")
@click.option(
    "--session", metavar="ID", help="Session to hand over. Default: the latest session in --cwd."
)
@click.option("--print", "is_shown", is_flag=True, help="Print the summary; start no agent.")
@click.option("--json", "as_json", is_flag=True, help="Print events, one JSON object per line.")
@talk_options
def command(options: HandoffOptions) -> int:
    """Open a session with another agent and send it a summary of an earlier session.

    The summary has the goal, decisions, open tasks, and latest test results. TEXT is the prompt
    for the new agent. Each session's timeline then links to the other one.
    """
    options.set_up_logs()
    if options.to is not None and options.agent is not None:
        raise click.UsageError("--to and --agent both name the new agent; give one of them.")
    options = replace(options, to=options.to or options.agent)
    if options.to is None and not options.is_shown:
        raise click.UsageError("Missing option '--to'; --print shows the summary.")
    store = TimelineStore()
    source = options.session or _latest(store, options)
    store.read(source)
    if options.is_shown:
        return run(_show(options, store, source))
    # Outside the event loop, and only after the session was found: this may install the agent.
    agent = agent_spec(options.to, option="--to")
    chain = read_chain([*options.proxies, MOD], agent, option="--to")
    return run(_hand_over(options, store, source, chain))


async def _summary(options: HandoffOptions, store: TimelineStore, source: str) -> str:
    return digest(store.read(source), store.origin(source), await look_at(options.directory()))


async def _show(options: HandoffOptions, store: TimelineStore, source: str) -> int:
    sys.stdout.write(await _summary(options, store, source) + "\n")
    return ExitCode.OK


async def _hand_over(
    options: HandoffOptions, store: TimelineStore, source: str, chain: ChainSpec
) -> int:
    summary = await _summary(options, store, source)
    inner = JsonReport if options.as_json else PlainReport

    def report(output: Output) -> PromptReport:
        return LinkingReport(inner(output), store, source, options.to or "")

    prompt_run = PromptRun(
        chain=chain,
        text=f"{summary}\n\n---\n\n{options.text or NEXT}",
        cwd=options.directory(),
        permits=Permits(options.mode or "ask", options.unattended),
        timeout=options.timeout,
        report=report,
        settings=options.settings(),
        trace_dir=options.trace_dir,
    )
    return await send_prompt(prompt_run)


def _latest(store: TimelineStore, options: HandoffOptions) -> str:
    found = store.summaries(options.directory())
    if not found:
        raise NotFoundError(
            f"no session of {options.directory()} was recorded",
            "the mod `timeline` records sessions; `symposium timeline list` lists them",
        )
    return found[0].session


class LinkingReport:
    """Report that links the timelines of both sessions once the new session is open."""

    def __init__(self, inner: PromptReport, store: TimelineStore, source: str, agent: str) -> None:
        self._inner = inner
        self._store = store
        self._source = source
        self._agent = agent

    def opened(self, session_id: str) -> None:
        """Link the timelines of the old and the new session."""
        self._store.open(self._source).add("link", {"to": session_id, "agent": self._agent})
        self._store.open(session_id).add("link", {"from": self._source})
        self._inner.opened(session_id)

    def update(self, params: Any) -> None:
        """Show an update of the agent."""
        self._inner.update(params)

    def decided(self, permission: Permission, decision: Decision) -> None:
        """Show a decided permission request."""
        self._inner.decided(permission, decision)

    def finished(self, stop_reason: str) -> None:
        """Show the end of the turn."""
        self._inner.finished(stop_reason)

    def advised(self, advice: str) -> None:
        """Show advice for the next run."""
        self._inner.advised(advice)

    def failed(self, failure: ReportedFailure) -> None:
        """Show the failure of the turn."""
        self._inner.failed(failure)
