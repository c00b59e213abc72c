"""What an agent is called in lists: its id, or the words that start it, without its keys."""

from typing import Final

from peerwire.transports.command import CommandError, parse_command, shown

_HIDDEN: Final = "…"


def agent_label(agent: str) -> str:
    """The id where it was chosen by one, else its command line.

    What its variables are set to is hidden: keys are given to agents that way.
    """
    try:
        command = parse_command(agent)
    except CommandError:
        # It was taken down before it was checked; whoever starts it says what is wrong.
        return shown((agent,))
    if command.name:
        return command.name
    return " ".join([*(f"{name}={_HIDDEN}" for name in command.env), shown(command.argv)])
