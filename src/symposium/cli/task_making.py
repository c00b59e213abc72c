"""What a person writes to make a task."""

from dataclasses import dataclass
from pathlib import Path

from symposium.bus.messages.create_taskspace import CreateTaskspace


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
        """The same, for the daemon; without a prompt the agent is given the name."""
        return CreateTaskspace(
            project=str(self.project.absolute()),
            name=self.name,
            task=self.prompt or self.name,
            description=self.description,
            agent=self.agent,
            base=self.base,
            is_name_locked=self.is_locked,
            budget=self.budget,
        )
