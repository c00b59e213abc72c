"""Run `symposium prompt`: one prompt to one chain."""

import asyncio
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from msgspec.structs import replace

from localio.errors import ExplainedError
from localio.text import one_line
from peerwire.errors import PeerwireError
from peerwire.jsonrpc.values import as_object
from symposium.chain.blueprint import Blueprint
from symposium.chain.conductor import Settings
from symposium.cli.chain_options import recorded
from symposium.cli.exit_codes import ExitCode, ReportedFailure, ended_by_reader
from symposium.cli.failures import failure_of
from symposium.cli.output import Output
from symposium.cli.permission_questions import TerminalDecider
from symposium.cli.talk_options import (
    Permits,
    allowing_options,
    chooser_of,
    decider,
    denies_unasked,
)
from symposium.cli.terminal import ask_line
from symposium.client.conversation import ClientTurn, ConversationConfig, converse, on_interrupt
from symposium.client.permissions import ChosenOption, Decision, Permission, summarize
from symposium.permissions.audit_entries import with_audit
from symposium.permissions.policy_notes import read_note
from symposium.planning.chain_spec import ChainSpec

STOP_CODES: Final = {
    "end_turn": ExitCode.OK,
    "max_tokens": ExitCode.RUNTIME,
    "max_turn_requests": ExitCode.RUNTIME,
    "refusal": ExitCode.DENIED,
    "cancelled": ExitCode.INTERRUPTED,
}
"""Exit code by the agent's stop reason; an unknown reason is an error."""

ADVICE: Final = "denied, because there is no terminal to ask you; allow it with {options}"


class PromptReport(Protocol):
    """Output of a turn: as text, or as JSON."""

    def opened(self, session_id: str) -> None:
        """Report that the session is open."""
        ...

    def update(self, params: Any) -> None:
        """Report an update of the agent."""
        ...

    def decided(self, permission: Permission, decision: Decision) -> None:
        """Report a decided permission request."""
        ...

    def finished(self, stop_reason: str) -> None:
        """Report the end of the turn."""
        ...

    def advised(self, advice: str) -> None:
        """Report advice for the next run."""
        ...

    def failed(self, failure: ReportedFailure) -> None:
        """Report that there was no turn, or that it failed."""
        ...


@dataclass(frozen=True, slots=True)
class PromptRun:
    """Settings of one prompt.

    Attributes:
        chain: the mods and the agent.
        text: the prompt.
        cwd: the session's directory.
        permits: the answers to permission requests.
        timeout: time limit for each response in seconds; None for no limit.
        report: makes the report that shows the turn.
        settings: settings of the conductor.
        trace_dir: the directory for a trace; None for no trace.
    """

    chain: ChainSpec
    text: str
    cwd: Path
    permits: Permits
    timeout: float | None
    report: Callable[[Output], PromptReport]
    settings: Settings
    trace_dir: str | None = None


async def send_prompt(prompt_run: PromptRun) -> int:
    """Send the prompt, show the turn, and return the exit code."""
    task = asyncio.current_task()
    assert task is not None
    output = Output(on_broken=task.cancel)
    report = prompt_run.report(output)
    try:
        return await _Prompting(prompt_run, report, output).run()
    except asyncio.CancelledError:
        if not output.is_broken:
            raise
        # `Output` cancels this task when the reader has closed the pipe.
        task.uncancel()
        return ended_by_reader()
    except (ExplainedError, PeerwireError, OSError) as error:
        failure = failure_of(error)
        report.failed(failure)
        return failure.code


class _Prompting:
    def __init__(self, prompt_run: PromptRun, report: PromptReport, output: Output) -> None:
        self._prompt_run = prompt_run
        self._report = report
        self._output = output
        self._turn: ClientTurn | None = None
        self._unattended: Permission | None = None
        self._allowed: list[bool] = []
        self._denies_unasked = False
        self._is_forbidden = False

    async def run(self) -> int:
        prompt_run = self._prompt_run
        person = None
        if sys.stdin.isatty() and sys.stderr.isatty():
            person = TerminalDecider(ask_line, self._output.talk, prompt_run.cwd)
        decides = decider(prompt_run.permits, person, self._on_unattended)
        self._denies_unasked = person is None and denies_unasked(prompt_run.permits)
        terms = ConversationConfig(
            prompt_run.cwd, decides, self._updated, self._decided, prompt_run.timeout
        )

        def instantiate(_: object) -> Blueprint:
            return prompt_run.chain.blueprint()

        chooser = chooser_of(prompt_run.permits, has_person=person is not None)
        settings = replace(
            prompt_run.settings,
            beside_agent=with_audit(prompt_run.chain.agent_name, prompt_run.chain.secrets, chooser),
        )
        with recorded(prompt_run.chain, settings, trace_dir=prompt_run.trace_dir) as records:
            async with converse(instantiate, terms, records.settings) as conversation:
                await conversation.initialize()
                session_id = await conversation.new_session(self._report.opened)
                self._turn = ClientTurn(conversation, session_id)
                with on_interrupt(self._turn.stop):
                    stop_reason = await self._turn.run(prompt_run.text)
        self._report.finished(stop_reason)
        if self._denies_unasked and not all(self._allowed):
            options = " or ".join(allowing_options(prompt_run.permits))
            self._report.advised(ADVICE.format(options=options))
        return self._code(stop_reason)

    def _code(self, stop_reason: str) -> ExitCode:
        if self._unattended is not None:
            asked = one_line(summarize(self._unattended.tool_call).text, width=60)
            message = (
                f"the agent asked for permission ({asked}), but there is no terminal to ask you"
            )
            options = " or ".join(allowing_options(self._prompt_run.permits))
            hint = f"allow it with {options}, or run the command in a terminal"
            self._report.failed(
                ReportedFailure(ExitCode.DENIED, "unattended", message, hint, "cli")
            )
            return ExitCode.DENIED
        was_denied = bool(self._allowed) and not any(self._allowed)
        if stop_reason == "end_turn" and (was_denied or self._is_forbidden):
            return ExitCode.DENIED
        # Agents end a turn as canceled if a denied request has no option to reject it.
        is_interrupted = self._turn is not None and self._turn.stops > 0
        if stop_reason == "cancelled" and self._is_forbidden and not is_interrupted:
            return ExitCode.DENIED
        return STOP_CODES.get(stop_reason, ExitCode.RUNTIME)

    def _updated(self, params: Any) -> None:
        note = read_note(as_object(as_object(params).get("update")))
        self._is_forbidden |= note is not None and note.is_refusal
        self._report.update(params)

    def _decided(self, permission: Permission, decision: Decision) -> None:
        self._allowed.append(isinstance(decision, ChosenOption) and decision.option.allows)
        self._report.decided(permission, decision)

    def _on_unattended(self, permission: Permission) -> None:
        self._unattended = permission
        if self._turn is not None:
            self._turn.stop()
