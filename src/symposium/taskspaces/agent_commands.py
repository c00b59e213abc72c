"""How an agent is started in a taskspace: the first time, and again.

A table of agents that run on a terminal (bus-mcp-taskspaces §3.4); any other program is named as
`terminal:PROGRAM`. The task itself is no word of a command line: the agent asks for it (seed 000).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from symposium.taskspaces.model import Taskspace

_ASK: Final = "Call the tool expand_reference with the reference 'yiasou' and do what it says."


TERMINAL: Final = "terminal:"
"""Before the words of a program that gets a terminal; anything else is a SPEC of an ACP agent."""


@dataclass(frozen=True, slots=True)
class AgentCommands:
    """The words of one agent's command line; `{name}`, `{id}`, `{worktree}`, `{branch}` are filled.

    Attributes:
        hatch: for a taskspace whose agent has not spoken with anybody yet.
        resume: to go on.
    """

    hatch: tuple[str, ...]
    resume: tuple[str, ...]


BUILT_IN: Final[Mapping[str, AgentCommands]] = {
    "claude": AgentCommands(("claude", _ASK), ("claude", "--continue")),
    "codex": AgentCommands(("codex", _ASK), ("codex", "resume", "--last")),
    "gemini": AgentCommands(("gemini", "-i", _ASK), ("gemini", "--resume")),
    "qcli": AgentCommands(("q", "chat", _ASK), ("q", "chat", "--resume")),
}


def agent_command(
    taskspace: Taskspace, table: Mapping[str, AgentCommands] = BUILT_IN
) -> tuple[str, ...]:
    """What starts the taskspace's agent now; empty when it has none that is known."""
    known = table.get(taskspace.agent or "")
    if known is None:
        return ()
    words = known.resume if taskspace.initial_prompt is None else known.hatch
    filled = {
        "{name}": taskspace.name,
        "{id}": taskspace.id,
        "{worktree}": taskspace.worktree,
        "{branch}": taskspace.branch,
    }
    return tuple(_fill(word, filled) for word in words)


def _fill(word: str, values: Mapping[str, str]) -> str:
    # Whole words only: what a name holds must not become part of another word.
    return values.get(word, word)
