"""Run one prompt and exit. Same as `symposium prompt`."""

import click

from symposium.cli.commands.prompt import PromptOptions, prompt_options, run_prompt
from symposium.cli.options import example, taking

EXAMPLE = example("symposium exec -a codex-acp --approve-reads --json 'Fix the failing test'")


@click.command("exec", cls=taking(PromptOptions), epilog=EXAMPLE)
@prompt_options
def command(options: PromptOptions) -> int:
    """Send TEXT to an agent, print its answer, and exit. Same as `symposium prompt`.

    With --json, stdout has only events, one JSON object per line; messages go to stderr. Exit
    code: 0 success, 1 error or limit reached, 3 timeout, 4 not found, 5 refused or denied, 130
    interrupted.
    """
    return run_prompt(options)
