"""The file of a project, and the project or task of a directory.

Source: bus-mcp-taskspaces §3.2. The list of tasks in it is a copy that goes stale; the
directories are authoritative (§3.3).
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

import msgspec

from localio.files import write_whole
from symposium.tasks.model import TaskspaceError, canonical_id
from symposium.tasks.task_files import (
    BESIDE_FOLDER,
    PROJECT_FILE,
    TASK_FOLDER,
    TASKSPACE_FILE,
    read_task_file,
)

VERSION: Final = 2

_MAX_BYTES: Final = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """Content of a project's file.

    Attributes:
        document: the JSON object to write back, with unknown fields.
        was_migrated: whether an older version was read.
    """

    id: str
    name: str
    git_url: str
    remote: str
    default_branch: str | None
    agent: str | None
    document: dict[str, Any] = field(default_factory=dict[str, Any])
    was_migrated: bool = False


def new_project(id_: str, name: str, git_url: str, directory: Path, at: str) -> ProjectFile:
    """The initial content of a project's file."""
    return _file(
        {
            "version": VERSION,
            "id": id_,
            "name": name,
            "gitURL": git_url,
            "directoryPath": str(directory),
            "remoteName": "origin",
            "taskspaces": [],
            "createdAt": at,
            "stackedWindowsEnabled": False,
        },
        was_migrated=False,
    )


def read_project(directory: Path) -> ProjectFile:
    """Read a project's file and migrate it to version 2; writes nothing.

    Raises:
        TaskspaceError: it does not exist, is not readable or valid, or is of a newer version.
    """
    path = directory / PROJECT_FILE
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise TaskspaceError(f"{path} is larger than {_MAX_BYTES} bytes", "")
        decoded: Any = msgspec.json.decode(path.read_bytes())
    except FileNotFoundError as error:
        hint = "name a directory with a project.json, or a git clone"
        raise TaskspaceError(f"{directory} has no {PROJECT_FILE}", hint) from error
    except (OSError, msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise TaskspaceError(f"cannot read {path}: {error}", "fix it or move it away") from error
    if not isinstance(decoded, dict):
        raise TaskspaceError(f"{path} is not a project file", "it must be an object")
    return _migrated(cast("dict[str, Any]", decoded), path)


def write_project(directory: Path, file: ProjectFile) -> None:
    """Write the file atomically.

    Raises:
        OSError: it cannot be written.
    """
    text = msgspec.json.format(msgspec.json.encode(file.document)).decode()
    write_whole(directory / PROJECT_FILE, text + "\n")


def _migrated(document: dict[str, Any], path: Path) -> ProjectFile:
    version: Any = document.get("version", 0)
    if not isinstance(version, int) or version > VERSION:
        raise TaskspaceError(f"{path} has version {version}; limit: {VERSION}", "update Symposium")
    for key in ("id", "name", "gitURL"):
        if not isinstance(document.get(key), str):
            raise TaskspaceError(f"{path}: `{key}` is missing or not a string", "fix it")
    canonical_id(document["id"])
    # Existing agent and branch settings of a version 1 file stay (§3.2 loses both).
    added: dict[str, Any] = {
        "remoteName": "origin",
        "taskspaces": [],
        "stackedWindowsEnabled": False,
    }
    grown: dict[str, Any] = {
        **added,
        **document,
        "version": VERSION,
        "directoryPath": str(path.parent),
    }
    return _file(grown, was_migrated=grown != document)


def _file(document: dict[str, Any], *, was_migrated: bool) -> ProjectFile:
    def text(key: str) -> str | None:
        value: Any = document.get(key)
        return value if isinstance(value, str) and value else None

    return ProjectFile(
        document["id"],
        document["name"],
        document["gitURL"],
        text("remoteName") or "origin",
        text("defaultBranch"),
        text("agent"),
        document,
        was_migrated,
    )


@dataclass(frozen=True, slots=True)
class Location:
    """A project, and the task in it; None outside of tasks."""

    project: Path
    taskspace: str | None


def locate(directory: Path) -> Location | None:
    """Find the project and the task of a directory from files alone.

    In a seed project the outermost `task-<uuid>` counts; beside a clone, its file names the task.
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
