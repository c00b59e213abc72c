"""Chat with an agent in the terminal."""

import click

from symposium.cli.chat import Chat, run_chat
from symposium.cli.options import example, run, taking
from symposium.cli.talk_options import TalkOptions, talk_options

EXAMPLE = example("symposium chat --agent 'npx some-agent --acp' --approve-reads")


@click.command("chat", cls=taking(TalkOptions), epilog=EXAMPLE)
@talk_options
def command(options: TalkOptions) -> int:
    """Chat with an agent in the terminal.

    Enter sends, Alt-Enter starts a new line, Ctrl-C cancels a turn. Type / for the commands of
    the agent, /help for the commands of this chat, and /quit to leave.
    """
    options.set_up_logs()
    chat = Chat(
        chain=options.chain(),
        cwd=options.directory(),
        permits=options.permits,
        timeout=options.timeout,
        settings=options.settings(),
        trace_dir=options.trace_dir,
    )
    return run(run_chat(chat))
