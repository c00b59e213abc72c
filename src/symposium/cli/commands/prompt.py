"""Send one prompt to an agent and print its answer."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from localio.errors import ExplainedError
from symposium.cli.exit_codes import ReportedFailure
from symposium.cli.failures import failure_of
from symposium.cli.options import example, run, taking
from symposium.cli.output import Output
from symposium.cli.prompt import PromptRun, send_prompt
from symposium.cli.prompt_reports import JsonReport, PlainReport
from symposium.cli.talk_options import TalkOptions, talk_options

_Command = TypeVar("_Command", bound=Callable[..., Any])

EXAMPLE = example(
    "symposium prompt --proxy arrow --agent 'npx some-agent --acp' 'Explain this project'"
)


@dataclass(frozen=True, slots=True)
class PromptOptions(TalkOptions):
    """The options as typed."""

    as_json: bool
    text: str


def prompt_options(command: _Command) -> _Command:
    """TEXT, `--json`, and the options for talking to an agent."""
    as_json = click.option(
        "--json", "as_json", is_flag=True, help="Print events, one JSON object per line."
    )
    return click.argument("text")(talk_options(as_json(command)))


@click.command("prompt", cls=taking(PromptOptions), epilog=EXAMPLE)
@prompt_options
def command(options: PromptOptions) -> int:
    """Send TEXT to an agent and print its answer. With - as TEXT, read it from stdin.

    Tool calls, plans, and permissions go to stderr. Exit code: 0 success, 1 error or limit
    reached, 3 timeout, 4 not found, 5 refused or denied, 130 interrupted.
    """
    return run_prompt(options)


def run_prompt(options: PromptOptions) -> int:
    """Send the prompt and return the exit code."""
    options.set_up_logs()
    try:
        prompt_run = read_prompt_run(options)
    except ExplainedError as error:
        if options.as_json:
            return say_as_json(failure_of(error))
        raise
    return run(send_prompt(prompt_run))


def read_prompt_run(options: PromptOptions) -> PromptRun:
    """Read the options.

    Raises:
        ExplainedError: an option names something that does not exist.
    """
    return PromptRun(
        chain=options.chain(),
        text=sys.stdin.read() if options.text == "-" else options.text,
        cwd=options.directory(),
        permits=options.permits,
        timeout=options.timeout,
        report=JsonReport if options.as_json else PlainReport,
        settings=options.settings(),
        trace_dir=options.trace_dir,
    )


def say_as_json(failure: ReportedFailure) -> int:
    """Print the error as the only event."""
    JsonReport(Output(on_broken=str)).failed(failure)
    return failure.code
