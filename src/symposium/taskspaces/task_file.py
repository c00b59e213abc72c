"""`taskspace.json`: what a taskspace is without the journal, in the seed's shape and ours.

The seed's fields (bus-mcp-taskspaces §3.3) stand as the reference's app reads them; what is ours
stands under `symposium`; what others wrote stays.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, cast

import msgspec

from localio.files import write_whole
from symposium.taskspaces.failures import RefusedNameError
from symposium.taskspaces.layouts import TASK_FOLDER
from symposium.taskspaces.model import (
    Category,
    Layout,
    LogEntry,
    Standing,
    Taskspace,
    canonical_id,
    category_of,
)

MOST_ENTRIES: Final = 200
"""The newest entries of the log that the file repeats; all are in the journal."""

MOST_BYTES: Final = 16 * 1024 * 1024
"""Of a file that is read."""

OURS: Final = "symposium"

_SEED: Final = frozenset(
    {
        *("id", "name", "description", "state", "logs", "createdAt", "lastActivatedAt"),
        *("collaborator", OURS),
    }
)


@dataclass(frozen=True, slots=True)
class Known:
    """What a file says."""

    taskspace: Taskspace
    log: tuple[LogEntry, ...]


def write_task_file(path: Path, taskspace: Taskspace, log: list[LogEntry]) -> None:
    """Put it down, whole at every moment; a file that says the same already is left alone.

    Raises:
        OSError: it cannot be written.
    """
    text = task_file_text(taskspace, log)
    if not _has(path, text):
        write_whole(path, text)


def is_task_file_current(path: Path, taskspace: Taskspace, log: list[LogEntry]) -> bool:
    """Whether it says the same as the journal."""
    return _has(path, task_file_text(taskspace, log))


def _has(path: Path, text: str) -> bool:
    try:
        return path.read_bytes() == text.encode()
    except OSError:
        return False


def task_file_text(taskspace: Taskspace, log: list[LogEntry]) -> str:
    """What the file of a taskspace says."""
    document: dict[str, Any] = {
        **taskspace.unknown,
        "id": taskspace.id,
        "name": taskspace.name,
        "description": taskspace.description,
        "state": _state(taskspace.initial_prompt),
        "logs": [_log(entry) for entry in log[-MOST_ENTRIES:]],
        "createdAt": taskspace.created_at,
        "lastActivatedAt": taskspace.activated_at or taskspace.created_at,
        "collaborator": taskspace.collaborator,
        OURS: msgspec.to_builtins(replace(taskspace, unknown={})),
    }
    text = msgspec.json.format(msgspec.json.encode(document)).decode()
    return text + "\n"


def read_task_file(path: Path, worktree: Path | None = None) -> Known | None:
    """What a file says; None if there is none, or nothing in it that can be used.

    Args:
        path: the `taskspace.json`.
        worktree: where the work tree is, for a file that does not say.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            return None
        document: Any = msgspec.json.decode(path.read_bytes())
        return _known(document, path, worktree)
    except (OSError, msgspec.MsgspecError, UnicodeError, RefusedNameError, KeyError, TypeError):
        return None


def _known(document: Any, path: Path, worktree: Path | None) -> Known | None:
    if not isinstance(document, dict):
        return None
    fields = cast("dict[str, Any]", document)
    unknown = {key: value for key, value in fields.items() if key not in _SEED}
    id_ = canonical_id(fields["id"])
    log = tuple(_entry(id_, entry) for entry in fields.get("logs") or ())
    if OURS in fields:
        taskspace = msgspec.convert(fields[OURS], Taskspace)
        return Known(replace(taskspace, id=id_, unknown=unknown), log)
    return Known(_from_seed(fields, path, worktree, unknown), log)


def _from_seed(
    fields: dict[str, Any], path: Path, worktree: Path | None, unknown: dict[str, Any]
) -> Taskspace:
    id_ = canonical_id(fields["id"])
    home = path.parent
    folder = TASK_FOLDER.fullmatch(home.name)
    is_embedded = home.parent.name == ".symposium"
    state: dict[str, Any] = fields.get("state") or {}
    hatchling: dict[str, Any] = state.get("hatchling") or {}
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
        standing=Standing.READY,
        initial_prompt=prompt if isinstance(prompt, str) else None,
        prompt_archive=prompt if isinstance(prompt, str) else None,
        collaborator=fields.get("collaborator"),
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


def _entry(taskspace: str, line: Any) -> LogEntry:
    category = category_of(str(line.get("category", Category.INFO)))
    return LogEntry(
        0,
        str(line["id"]),
        taskspace,
        str(line.get("timestamp", "")),
        category,
        str(line.get("message", "")),
        str(line.get("evidence", "")),
        line.get("acknowledgedAt"),
    )
