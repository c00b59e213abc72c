"""Find and remove everything that Symposium stores for a user.

Worktrees and branches of tasks hold work: they are listed and not removed.
"""

import asyncio
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from localio.errors import ExplainedError
from localio.git import GitRunError
from localio.plugins import module_name, names_in, only_object
from symposium.bus.errors import BusError, BusUnreachableError
from symposium.bus.messages.broker import StopDaemon
from symposium.cli.bus import running_bus
from symposium.cli.chat_input import history_file
from symposium.config.editor_settings import Editor, Receipts, carry_out, plan_undo
from symposium.config.git import OWN_REFS, git_of
from symposium.config.paths import Paths
from symposium.sessions.client import AgentSessions
from symposium.sessions.session import SessionStore, Status
from symposium.tasks.model import Layout, Taskspace, TaskspaceError, TaskState
from symposium.tasks.repository import open_repository
from symposium.tasks.store import TaskStore
from symposium.tasks.tables import load_all

EDITORS: Final = "symposium.editors"
JOURNAL: Final = "taskspaces.db"
METADATA: Final = ".symposium"
"""Directory beside worktrees with the files of tasks."""


@dataclass(frozen=True, slots=True)
class Installation:
    """The stored data of a user.

    Attributes:
        editors: names of editors whose settings start Symposium.
        sessions: ids of running agent sessions.
        kept: live tasks, whose worktrees and branches stay.
        clones: clones that tasks belong to; refs of older versions are removed from them.
        metadata: directories beside worktrees with only files of Symposium.
        files: files and directories below the user's home.
    """

    editors: Sequence[str]
    sessions: Sequence[str]
    kept: Sequence[Taskspace]
    clones: Sequence[Path]
    metadata: Sequence[Path]
    files: Sequence[Path]

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left to remove."""
        return not (self.editors or self.sessions or self.metadata or self.files)

    def lines(self) -> list[str]:
        """Format one line for each thing that is removed or stays."""
        lines = [f"editor settings   {name}" for name in self.editors]
        lines += [f"running agent     {id_}" for id_ in self.sessions]
        lines += [f"refs in clone     {clone} ({OWN_REFS}*, if any)" for clone in self.clones]
        lines += [f"files of tasks    {folder}" for folder in self.metadata]
        lines += [f"Symposium's files {path}" for path in self.files]
        for task in self.kept:
            lines.append(f"stays: worktree   {task.worktree}, branch {task.branch}")
        return lines


async def find_installation(places: Paths) -> Installation:
    """Find all stored data; change nothing.

    Raises:
        ExplainedError: the list of tasks cannot be read.
    """
    receipts = Receipts(places.home / "editors")
    editors = [name for name in names_in(EDITORS) if receipts.read(name) is not None]
    store = SessionStore(places)
    sessions = [id_ for id_ in store.ids() if store.state(id_).status is Status.RUNNING]
    tasks = await _tasks(places.home / JOURNAL)
    live = [each for each in tasks if each.standing is not TaskState.ARCHIVED]
    files = _outermost((places.home, places.cache, places.runtime, history_file()))
    return Installation(editors, sessions, live, _clones_of(tasks), _metadata_of(tasks), files)


def _clones_of(tasks: Sequence[Taskspace]) -> list[Path]:
    return sorted(filter(Path.is_dir, {Path(each.project) for each in tasks}))


def _metadata_of(tasks: Sequence[Taskspace]) -> list[Path]:
    beside = [Path(each.worktree).parent for each in tasks if each.layout is Layout.BESIDE]
    return sorted({each / METADATA for each in beside if (each / METADATA).is_dir()})


def _outermost(places: Sequence[Path]) -> list[Path]:
    """List existing paths that are not inside another one."""
    there = [each for each in places if each.exists()]
    return [each for each in there if not any(other in each.parents for other in there)]


async def remove_installation(found: Installation, places: Paths) -> list[str]:
    """Remove all of it; return a line for each failure.

    Stops processes first and removes the list of tasks last, so that an interrupted removal can
    be repeated.
    """
    failures: list[str] = []
    await _stop_daemon(failures)
    sessions = AgentSessions(SessionStore(places))
    for id_ in found.sessions:
        try:
            await sessions.stop(id_)
        except ExplainedError as error:
            failures.append(f"the agent {id_} is still running: {error.message}")
    if failures:
        return failures  # a running process needs its files
    _undo_settings(found.editors, Receipts(places.home / "editors"), failures)
    for clone in found.clones:
        try:
            await _clean_clone(clone)
        except (GitRunError, TaskspaceError, OSError) as error:
            failures.append(f"{clone}: {error}")
    for folder in found.metadata:
        _remove(folder, failures)
        _remove_if_empty(folder.parent)
    if not failures:
        for path in found.files:
            _remove(path, failures)
    return failures


async def _tasks(journal: Path) -> list[Taskspace]:
    if not await asyncio.to_thread(journal.is_file):
        return []
    opened = TaskStore(journal)
    try:
        return await opened.read(load_all)
    finally:
        opened.close()


async def _stop_daemon(failures: list[str]) -> None:
    try:
        async with running_bus(None) as client:
            await client.ready()
            await client.request(StopDaemon())
    except BusUnreachableError:
        return  # no daemon is running
    except BusError as error:
        failures.append(f"the daemon is still running: {error.message}")


def _undo_settings(editors: Sequence[str], receipts: Receipts, failures: list[str]) -> None:
    for name in editors:
        editor = only_object(f"{EDITORS}.{module_name(name)}", Editor)
        try:
            receipt = receipts.read(name)
            if receipt is not None:
                carry_out(plan_undo(editor.setting, receipt), name, receipts)
        except (ExplainedError, OSError) as error:
            failures.append(f"settings of {name}: {error}")


async def _clean_clone(clone: Path) -> None:
    """Remove the refs of Symposium, and the setting by which earlier versions hid them."""
    repository = await open_repository(clone)
    git = git_of(repository.common)
    names = (await git.ask("for-each-ref", "--format=%(refname)", OWN_REFS)).text.splitlines()
    commands = "".join(f"delete {name}\n" for name in names)
    if commands:
        await git.ask("update-ref", "--no-deref", "--stdin", stdin=commands.encode())
    await git.config("--unset-all", "uploadpack.hideRefs", f"^{OWN_REFS}$")


def _remove(path: Path, failures: list[str]) -> None:
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        failures.append(f"{path}: {error.strerror or error}")


def _remove_if_empty(folder: Path) -> None:
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
