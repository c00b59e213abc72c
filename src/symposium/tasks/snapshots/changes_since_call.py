"""Detect files that a tool call changed before its snapshot was taken."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from symposium.tasks.snapshots.capture import Parts
from symposium.tasks.snapshots.clone_state import admin_directory, private_files
from symposium.tasks.snapshots.snapshot_values import Snapshot, SnapshotTarget
from symposium.tasks.snapshots.store import Store

SLACK: Final = 1.0
"""Maximum seconds between the start of a tool call and its announcement."""

_MAX_PATHS: Final = 2000
"""Maximum number of changed paths to check; one recent change among them is enough."""


async def changed_since_call(
    subject: SnapshotTarget,
    store: Store,
    parts: Parts,
    last: Snapshot | None,
    called_at: float | None,
) -> str:
    """Return the ref of the last snapshot if a tool call has changed files since its start.

    Args:
        subject: the worktree.
        store: the store of its snapshots.
        parts: the current state.
        last: the newest snapshot; None if there is no snapshot.
        called_at: time of the tool call's announcement; None if no call can have started.

    Returns:
        The ref, or an empty text if no file has changed since the start of the call.

    Raises:
        TaskspaceError: git fails to compare the states.
    """
    if last is None or called_at is None:
        return ""
    words = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", last.work, parts.work)
    names = (await store.git().ask(*words)).names[:_MAX_PATHS]
    nested = [each.path for each in parts.nested]
    is_late = await asyncio.to_thread(_has_changed, subject, names, nested, called_at - SLACK)
    return last.ref if is_late else ""


def _has_changed(
    subject: SnapshotTarget, names: list[str], nested: list[str], since: float
) -> bool:
    places = (subject.worktree / name for name in names)
    return any(_changed_at(path) >= since for path in (*places, *_git_files(subject, nested)))


def _changed_at(path: Path) -> float:
    """Time of the last change of a file, or of its directory if the file is missing."""
    for here in (path, *path.parents):
        try:
            # Programs can set the mtime, but not the ctime.
            return here.lstat().st_ctime
        except OSError:
            continue
    return 0.0


def _git_files(subject: SnapshotTarget, nested: list[str]) -> Iterator[Path]:
    """Files that git writes when it changes its state but no file of the worktree."""
    admin = admin_directory(subject.worktree, subject.common)
    yield from (admin / name for name in private_files(admin))
    yield from (subject.common / name for name in ("refs/stash", "logs/refs/stash"))
    for name in nested:
        count = 0
        for place, _, files in os.walk(subject.worktree / name):
            yield Path(place)
            count += len(files)
            if count > _MAX_PATHS:
                break
            yield from (Path(place) / file for file in files)
