"""One prompt to one chain: what `symposium prompt` does once its command line has been read."""

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
from symposium.chain_spec import ChainSpec
from symposium.cli.asking import AskPerson
from symposium.cli.ending import ExitCode, Failure, ended_by_reader
from symposium.cli.failures import failure_of
from symposium.cli.output import Output
from symposium.cli.permission_options import (
    Permits,
    allowing_options,
    chooser_of,
    decider,
    denies_unasked,
)
from symposium.cli.recording import recorded
from symposium.cli.stdin_lines import ask_line
from symposium.client.auditing import witnessed
from symposium.client.conversation import Terms, converse
from symposium.client.permissions import Chosen, Decision, Permission
from symposium.client.turn import Turn, on_interrupt
from symposium.client.wishes import wish_of
from symposium.policy.notes import read_note

STOP_CODES: Final = {
    "end_turn": ExitCode.OK,
    "max_tokens": ExitCode.RUNTIME,
    "max_turn_requests": ExitCode.RUNTIME,
    "refusal": ExitCode.DENIED,
    "cancelled": ExitCode.INTERRUPTED,
}
"""By the agent's reason to stop; one that we do not know is no success."""

ADVICE: Final = "refused, because there was no terminal to ask you on: {options} allows it"


class Report(Protocol):
    """Shows a turn: as lines for a person, or as JSON."""

    def opened(self, session_id: str) -> None:
        """The session is there."""
        ...

    def update(self, params: Any) -> None:
        """The agent reports something."""
        ...

    def decided(self, permission: Permission, decision: Decision) -> None:
        """A permission was asked for, and decided on."""
        ...

    def finished(self, stop_reason: str) -> None:
        """The turn is over."""
        ...

    def advised(self, advice: str) -> None:
        """There is something a person may want to do otherwise next time."""
        ...

    def failed(self, failure: Failure) -> None:
        """There was no turn, or it broke."""
        ...


@dataclass(frozen=True, slots=True)
class Errand:
    """What is to be done.

    Attributes:
        chain: whom to ask.
        text: what to say.
        cwd: the session's directory.
        permits: who decides on permissions.
        patience: seconds to wait for each answer; None for ever.
        report: makes what shows the turn.
        settings: how the chain behaves.
        trace_dir: where to record it, if anywhere.
    """

    chain: ChainSpec
    text: str
    cwd: Path
    permits: Permits
    patience: float | None
    report: Callable[[Output], Report]
    settings: Settings
    trace_dir: str | None = None


async def run_errand(errand: Errand) -> int:
    """Send the prompt, show what comes, and give the exit code."""
    task = asyncio.current_task()
    assert task is not None
    output = Output(on_broken=task.cancel)
    report = errand.report(output)
    try:
        return await _Prompting(errand, report, output).run()
    except asyncio.CancelledError:
        if not output.is_broken:
            raise
        # It was us, above: to stop everything at once.
        task.uncancel()
        return ended_by_reader()
    except (ExplainedError, PeerwireError, OSError) as error:
        failure = failure_of(error)
        report.failed(failure)
        return failure.code


class _Prompting:
    def __init__(self, errand: Errand, report: Report, output: Output) -> None:
        self._errand = errand
        self._report = report
        self._output = output
        self._turn: Turn | None = None
        self._unattended: Permission | None = None
        self._allowed: list[bool] = []
        self._denies_unasked = False
        self._is_forbidden = False

    async def run(self) -> int:
        errand = self._errand
        person = None
        if sys.stdin.isatty() and sys.stderr.isatty():
            person = AskPerson(ask_line, self._output.talk, errand.cwd)
        decides = decider(errand.permits, person, self._nobody_there)
        self._denies_unasked = person is None and denies_unasked(errand.permits)
        terms = Terms(errand.cwd, decides, self._updated, self._decided, errand.patience)

        def instantiate(_: object) -> Blueprint:
            return errand.chain.blueprint()

        chooser = chooser_of(errand.permits, has_person=person is not None)
        settings = replace(errand.settings, beside_agent=witnessed(errand.chain, chooser))
        with recorded(errand.chain, settings, trace_dir=errand.trace_dir) as records:
            async with converse(instantiate, terms, records.settings) as conversation:
                await conversation.initialize()
                session_id = await conversation.new_session(self._report.opened)
                self._turn = Turn(conversation, session_id)
                with on_interrupt(self._turn.stop):
                    stop_reason = await self._turn.run(errand.text)
        self._report.finished(stop_reason)
        if self._denies_unasked and not all(self._allowed):
            options = " or ".join(allowing_options(errand.permits))
            self._report.advised(ADVICE.format(options=options))
        return self._code(stop_reason)

    def _code(self, stop_reason: str) -> ExitCode:
        if self._unattended is not None:
            asked = one_line(wish_of(self._unattended.tool_call).text, width=60)
            message = f"the agent asked for permission ({asked}), unattended"
            options = " or ".join(allowing_options(self._errand.permits))
            hint = f"allow it with {options}, or run it on a terminal"
            self._report.failed(Failure(ExitCode.DENIED, "unattended", message, hint, "cli"))
            return ExitCode.DENIED
        was_denied = bool(self._allowed) and not any(self._allowed)
        if stop_reason == "end_turn" and (was_denied or self._is_forbidden):
            return ExitCode.DENIED
        # Agents end a turn so where a refused question offers no option that says no.
        is_interrupted = self._turn is not None and self._turn.stops > 0
        if stop_reason == "cancelled" and self._is_forbidden and not is_interrupted:
            return ExitCode.DENIED
        return STOP_CODES.get(stop_reason, ExitCode.RUNTIME)

    def _updated(self, params: Any) -> None:
        note = read_note(as_object(as_object(params).get("update")))
        self._is_forbidden |= note is not None and note.is_refusal
        self._report.update(params)

    def _decided(self, permission: Permission, decision: Decision) -> None:
        self._allowed.append(isinstance(decision, Chosen) and decision.option.allows)
        self._report.decided(permission, decision)

    def _nobody_there(self, permission: Permission) -> None:
        self._unattended = permission
        if self._turn is not None:
            self._turn.stop()
