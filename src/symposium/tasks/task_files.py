"""Files of a task, and the layouts in which they are found.

Beside a clone (architecture D10): `../<repo>.tasks/<slug>` is the worktree, and
`../<repo>.tasks/.symposium/task-<uuid>/` holds its file. In a seed project
(bus-mcp-taskspaces §3.1): `Name.symposium/task-<UUID>/{taskspace.json,<repo>/}`. Embedded:
`.symposium/taskspace-<UUID>/{taskspace.json,<repo>/}` in the checkout.

The seed's fields (bus-mcp-taskspaces §3.3) are written as the reference's app reads them; fields
of Symposium are under `symposium`; unknown fields stay.
"""

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, cast

import msgspec

from localio.files import write_whole
from symposium.tasks.model import (
    Category,
    Layout,
    LogEntry,
    RefusedNameError,
    Taskspace,
    TaskState,
    canonical_id,
    category_of,
)

TASKSPACE_FILE: Final = "taskspace.json"
PROJECT_FILE: Final = "project.json"
ROOT_FILE: Final = "root-taskspace.json"
BESIDE_FOLDER: Final = ".symposium"

_ID: Final = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
TASK_FOLDER: Final = re.compile(rf"task(?:space)?-({_ID})")

_PREFIXES: Final = ("task-", "taskspace-")


@dataclass(frozen=True, slots=True)
class LayoutPlaces:
    """Paths of one task.

    Attributes:
        home: the directory with its file, deleted with the task.
        file: its `taskspace.json`.
    """

    home: Path
    file: Path
    worktree: Path
    branch: str


@dataclass(frozen=True, slots=True)
class Project:
    """A project that contains tasks.

    Attributes:
        directory: identifies it: the clone's root, or the seed project's directory.
        repository: the directory where git runs.
        default_branch: base of new work in the project's settings.
    """

    directory: Path
    repository: Path
    layout: Layout
    repo_name: str
    default_branch: str | None = None

    @property
    def tasks(self) -> Path:
        """The directory that contains its tasks."""
        match self.layout:
            case Layout.BESIDE:
                return self.directory.with_name(f"{self.directory.name}.tasks")
            case Layout.PROJECT:
                return self.directory
            case Layout.EMBEDDED:
                return self.directory / ".symposium"

    @property
    def homes(self) -> Path:
        """The directory that contains a directory for each task."""
        return self.tasks / BESIDE_FOLDER if self.layout is Layout.BESIDE else self.tasks

    def places(self, id_: str, slug: str) -> LayoutPlaces:
        """Paths of a task, existing or new."""
        prefix = "taskspace" if self.layout is Layout.EMBEDDED else "task"
        home = self._home(id_) or self.homes / f"{prefix}-{id_}"
        file = home / TASKSPACE_FILE
        if self.layout is Layout.BESIDE:
            return LayoutPlaces(home, file, self.tasks / slug, f"task/{slug}")
        return LayoutPlaces(home, file, home / self.repo_name, f"taskspace-{id_}")

    def _home(self, id_: str) -> Path | None:
        """Its directory by its existing name: the reference's app writes upper case."""
        written = sorted(f"{prefix}{each}" for prefix in _PREFIXES for each in (id_, id_.upper()))
        for name in written:
            home = self.homes / name
            if home.is_dir() and not home.is_symlink():
                return home
        # Its id is in mixed case, or it has no directory: list all names, read no files.
        try:
            names = sorted(each.name for each in self.homes.iterdir())
        except OSError:
            return None
        found = [name for each in names if (name := TASK_FOLDER.fullmatch(each))]
        homes = [self.homes / name[0] for name in found if name[1].lower() == id_]
        return next((each for each in homes if each.is_dir() and not each.is_symlink()), None)

    def existing(self) -> list[tuple[str, Path]]:
        """Id and directory of each task that has one."""
        try:
            with os.scandir(self.homes) as entries:
                found = [each.name for each in entries if each.is_dir(follow_symlinks=False)]
        except OSError:
            return []
        names = [name for each in sorted(found) if (name := TASK_FOLDER.fullmatch(each))]
        return [(name[1].lower(), self.homes / name[0]) for name in names]


def repo_name_of(url: str) -> str:
    """The directory of the worktree in a seed project (§3.1)."""
    last = re.split(r"[/:\\]", url.rstrip("/"))[-1].replace(".git", "")
    return last if re.fullmatch(r"[\w.+-]+", last) and last not in {".", ".."} else "repo"


MAX_ENTRIES: Final = 200
"""The newest log entries, repeated in the file; the journal has all."""

MAX_BYTES: Final = 16 * 1024 * 1024
"""Maximum size of a file that is read."""

LAYOUT_NAME: Final = "symposium"

_SEED: Final = frozenset(
    {
        *("id", "name", "description", "state", "logs", "createdAt", "lastActivatedAt"),
        *("collaborator", LAYOUT_NAME),
    }
)


@dataclass(frozen=True, slots=True)
class Known:
    """Content of a task's file."""

    taskspace: Taskspace
    log: tuple[LogEntry, ...]


def write_task_file(path: Path, taskspace: Taskspace, log: list[LogEntry]) -> None:
    """Write the file atomically; a file with the same content is not written.

    Raises:
        OSError: it cannot be written.
    """
    text = task_file_text(taskspace, log)
    if not _has(path, text):
        write_whole(path, text)


def is_task_file_current(path: Path, taskspace: Taskspace, log: list[LogEntry]) -> bool:
    """Whether the file has the same content as the journal."""
    return _has(path, task_file_text(taskspace, log))


def _has(path: Path, text: str) -> bool:
    try:
        return path.read_bytes() == text.encode()
    except OSError:
        return False


def task_file_text(taskspace: Taskspace, log: list[LogEntry]) -> str:
    """The JSON for a task's file."""
    document: dict[str, Any] = {
        **taskspace.unknown,
        "id": taskspace.id,
        "name": taskspace.name,
        "description": taskspace.description,
        "state": _state(taskspace.initial_prompt),
        "logs": [_log(entry) for entry in log[-MAX_ENTRIES:]],
        "createdAt": taskspace.created_at,
        "lastActivatedAt": taskspace.activated_at or taskspace.created_at,
        "collaborator": taskspace.collaborator,
        LAYOUT_NAME: msgspec.to_builtins(replace(taskspace, unknown={})),
    }
    text = msgspec.json.format(msgspec.json.encode(document)).decode()
    return text + "\n"


def read_task_file(path: Path, worktree: Path | None = None) -> Known | None:
    """Read a task's file; None if it does not exist or has no usable content.

    Args:
        path: the `taskspace.json`.
        worktree: the worktree, for a file that does not name it.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            return None
        document: Any = msgspec.json.decode(path.read_bytes())
        return _known(document, path, worktree)
    except (OSError, msgspec.MsgspecError, UnicodeError, RefusedNameError, KeyError, TypeError):
        return None
    except RecursionError:  # from msgspec, for values nested too deeply
        return None


def _known(document: Any, path: Path, worktree: Path | None) -> Known | None:
    if not isinstance(document, dict):
        return None
    fields = cast("dict[str, Any]", document)
    unknown = {key: value for key, value in fields.items() if key not in _SEED}
    id_ = canonical_id(fields["id"])
    log = tuple(_entry(id_, entry) for entry in fields.get("logs") or ())
    if LAYOUT_NAME in fields:
        taskspace = msgspec.convert(fields[LAYOUT_NAME], Taskspace)
        return Known(replace(taskspace, id=id_, unknown=unknown), log)
    return Known(_from_seed(fields, path, worktree, unknown), log)


def _from_seed(
    fields: dict[str, Any], path: Path, worktree: Path | None, unknown: dict[str, Any]
) -> Taskspace:
    id_ = canonical_id(fields["id"])
    home = path.parent
    folder = TASK_FOLDER.fullmatch(home.name)
    is_embedded = home.parent.name == ".symposium"
    state = _object(fields.get("state") or {})
    hatchling = _object(state.get("hatchling") or {})
    prompt: Any = hatchling.get("initialPrompt")
    created = str(fields.get("createdAt", ""))
    return Taskspace(
        id=id_,
        project=str(home.parent.parent if is_embedded else home.parent),
        layout=Layout.EMBEDDED if is_embedded else Layout.PROJECT,
        name=str(fields.get("name", "")),
        description=str(fields.get("description", "")),
        worktree=str(worktree or home),
        branch=f"taskspace-{folder[1]}" if folder else "",
        created_at=created,
        activated_at=str(fields.get("lastActivatedAt") or created),
        standing=TaskState.READY,
        initial_prompt=prompt if isinstance(prompt, str) else None,
        prompt_archive=prompt if isinstance(prompt, str) else None,
        collaborator=msgspec.convert(fields.get("collaborator"), str | None),
        unknown=unknown,
    )


def _state(prompt: str | None) -> dict[str, Any]:
    return {"resume": {}} if prompt is None else {"hatchling": {"initialPrompt": prompt}}


def _log(entry: LogEntry) -> dict[str, Any]:
    line: dict[str, Any] = {
        "id": entry.id,
        "message": entry.message,
        "category": entry.category.value,
        "timestamp": entry.at,
    }
    if entry.acknowledged_at:
        line["acknowledgedAt"] = entry.acknowledged_at
    if entry.evidence:
        line["evidence"] = entry.evidence
    return line


def _object(value: Any) -> dict[str, Any]:
    """The value, if it is an object; `msgspec.ValidationError` for any other."""
    return msgspec.convert(value, dict[str, Any])


def _entry(taskspace: str, written: Any) -> LogEntry:
    line = _object(written)
    category = category_of(str(line.get("category", Category.INFO)))
    return LogEntry(
        0,
        str(line["id"]),
        taskspace,
        str(line.get("timestamp", "")),
        category,
        str(line.get("message", "")),
        str(line.get("evidence", "")),
        msgspec.convert(line.get("acknowledgedAt"), str | None),
    )
