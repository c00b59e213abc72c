"""What a person writes to make a task."""

from dataclasses import dataclass
from pathlib import Path

from symposium.bus.messages.create_taskspace import CreateTaskspace
from symposium.cli.agent_names import agent_spec
from symposium.taskspaces.agent_commands import BUILT_IN


@dataclass(frozen=True, slots=True)
class NewOptions:
    """What was written."""

    name: str
    prompt: str | None
    agent: str | None
    base: str | None
    description: str
    budget: str | None
    project: Path
    is_locked: bool
    as_json: bool

    def message(self) -> CreateTaskspace:
        """The same, for the daemon; without a prompt the agent is given the name.

        Raises:
            SymposiumError: the agent's name is no agent's: nothing is to be made for it.
        """
        has_terminal = self.agent in BUILT_IN
        return CreateTaskspace(
            project=str(self.project.absolute()),
            name=self.name,
            task=self.prompt or self.name,
            description=self.description,
            agent=self.agent if has_terminal else agent_spec(self.agent),
            base=self.base,
            is_name_locked=self.is_locked,
            budget=self.budget,
        )
