"""Run one prompt and exit. Same as `symposium prompt`."""

import click

from symposium.cli.commands.prompt import PromptOptions, prompt_options, run_prompt
from symposium.cli.options import example, taking

EXAMPLE = example("symposium exec -a codex-acp --approve-reads --json 'Fix the failing test'")


@click.command("exec", cls=taking(PromptOptions), epilog=EXAMPLE)
@prompt_options
def command(options: PromptOptions) -> int:
    """Give an agent the task TEXT, and wait for its end.

    With --json standard output holds nothing but events, one JSON object a line; what is for
    people goes to standard error. The exit code says how it went: 0 well, 1 an error or a limit,
    3 no answer in time, 4 not found, 5 refused or denied, 130 interrupted.
    """
    return run_prompt(options)
