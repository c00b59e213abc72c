"""Find the taskspace and project of an agent's directory (bus-mcp-taskspaces §2.2)."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from symposium.documents.boot import TaskContext
from symposium.taskspaces.failures import RefusedNameError
from symposium.taskspaces.layouts import BESIDE_FOLDER, TASKSPACE_FILE
from symposium.taskspaces.location import locate
from symposium.taskspaces.model import canonical_id
from symposium.taskspaces.task_file import read_task_file

TASKSPACE: Final = "SYMPOSIUM_TASKSPACE"
PROJECT: Final = "SYMPOSIUM_PROJECT"
"""Variables that override the directory, for agents started elsewhere."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The taskspace and project of an agent.

    Attributes:
        directory: its working directory.
        project: the project's directory; empty if unknown.
        taskspace: the id in lower case; empty in no taskspace.
    """

    directory: Path
    project: str = ""
    taskspace: str = ""

    @property
    def is_in_taskspace(self) -> bool:
        """Whether it is in one."""
        return bool(self.taskspace)


def standing_of(directory: Path, environment: Mapping[str, str] | None = None) -> Standing:
    """Taskspace and project by the environment, else by the directory.

    Args:
        directory: where the agent works.
        environment: ours, by default.
    """
    env = os.environ if environment is None else environment
    found = locate(directory)
    project = env.get(PROJECT) or (str(found.project) if found else "")
    taskspace = _id(env.get(TASKSPACE, "")) or (found.taskspace if found else None) or ""
    return Standing(directory, project, taskspace)


def written_down(standing: Standing) -> TaskContext | None:
    """The task by the taskspace's file, for use without a daemon; None without a file."""
    for file in _files(standing):
        known = read_task_file(file)
        if known is not None and known.taskspace.id == standing.taskspace:
            task = known.taskspace
            return TaskContext(task.name, task.description, task.initial_prompt, task.collaborator)
    return None


def _files(standing: Standing) -> Iterator[Path]:
    here = standing.directory.absolute()
    homes = [f"{kind}-{standing.taskspace}" for kind in ("task", "taskspace")]
    project = Path(standing.project) if standing.project else here
    beside = project.with_name(f"{project.name}.tasks") / BESIDE_FOLDER
    yield from (place / TASKSPACE_FILE for place in (here, *here.parents))
    for folder in (beside, project, project / BESIDE_FOLDER):
        yield from (folder / home / TASKSPACE_FILE for home in homes)


def _id(text: str) -> str:
    try:
        return canonical_id(text)
    except RefusedNameError:
        return ""
