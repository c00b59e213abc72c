"""What a directory belongs to, as far as the disk alone says (bus-mcp-taskspaces §2.2)."""

from dataclasses import dataclass
from pathlib import Path

from symposium.taskspaces.layouts import BESIDE_FOLDER, PROJECT_FILE, TASK_FOLDER, TASKSPACE_FILE
from symposium.taskspaces.model import canonical_id
from symposium.taskspaces.task_file import read_task_file


@dataclass(frozen=True, slots=True)
class Location:
    """A project, and the taskspace of it; None in the project but in no taskspace."""

    project: Path
    taskspace: str | None


def locate(directory: Path) -> Location | None:
    """The project and the taskspace of a directory, without asking anybody.

    In a seed project the outermost `task-<uuid>` counts; beside a clone, its file says which.
    """
    taskspace: str | None = None
    here = directory.absolute()
    for place in (here, *here.parents):
        if name := TASK_FOLDER.fullmatch(place.name):
            taskspace = canonical_id(name[1])
        if place.name == BESIDE_FOLDER and (place / PROJECT_FILE).is_file():
            return Location(place.parent, taskspace)
        if place.name.endswith(".symposium") and place.name != BESIDE_FOLDER:
            return Location(place, taskspace)
        if place.name.endswith(".tasks"):
            return _beside(place, here)
    return None


def _beside(tasks: Path, here: Path) -> Location | None:
    project = tasks.with_name(tasks.name.removesuffix(".tasks"))
    homes = tasks / BESIDE_FOLDER
    if not homes.is_dir():
        return None
    for home in homes.iterdir():
        known = read_task_file(home / TASKSPACE_FILE)
        if known and here.is_relative_to(known.taskspace.worktree):
            return Location(project, known.taskspace.id)
    return Location(project, None)
