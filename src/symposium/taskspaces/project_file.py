"""`project.json` of the seed's layout: versions 0, 1 and 2, and what others wrote into it.

Source: bus-mcp-taskspaces §3.2. The list of taskspaces in it is a copy that goes stale; the
directories are what counts (§3.3).
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

import msgspec

from localio.files import write_whole
from symposium.taskspaces.failures import TaskspaceError
from symposium.taskspaces.layouts import PROJECT_FILE
from symposium.taskspaces.model import canonical_id

VERSION: Final = 2

_MOST_BYTES: Final = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """What a project's file says.

    Attributes:
        document: all of it, as it is to be written back.
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
    """A project's file as it is first written."""
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
    """What the project in a directory says, brought to version 2; nothing is written.

    Raises:
        TaskspaceError: it is not there, cannot be read, is no project's, or is newer than we are.
    """
    path = directory / PROJECT_FILE
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise TaskspaceError(f"{path} is larger than {_MOST_BYTES} bytes", "")
        decoded: Any = msgspec.json.decode(path.read_bytes())
    except FileNotFoundError as error:
        hint = "name a directory with a project.json, or a git clone"
        raise TaskspaceError(f"{directory} holds no {PROJECT_FILE}", hint) from error
    except (OSError, msgspec.MsgspecError, UnicodeError) as error:
        raise TaskspaceError(
            f"{path} cannot be read: {error}", "mend it or move it away"
        ) from error
    if not isinstance(decoded, dict):
        raise TaskspaceError(f"{path} is no project's file", "it must be an object")
    return _migrated(cast("dict[str, Any]", decoded), path)


def write_project(directory: Path, file: ProjectFile) -> None:
    """Put it down, whole at every moment.

    Raises:
        OSError: it cannot be written.
    """
    text = msgspec.json.format(msgspec.json.encode(file.document)).decode()
    write_whole(directory / PROJECT_FILE, text + "\n")


def _migrated(document: dict[str, Any], path: Path) -> ProjectFile:
    version: Any = document.get("version", 0)
    if not isinstance(version, int) or version > VERSION:
        raise TaskspaceError(f"{path} has version {version}; at most {VERSION}", "update Symposium")
    for key in ("id", "name", "gitURL"):
        if not isinstance(document.get(key), str):
            raise TaskspaceError(f"{path}: {key} is not there, or no text", "mend it")
    canonical_id(document["id"])
    # What a version 1 file already says about agent and branch stays (§3.2 loses both).
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
