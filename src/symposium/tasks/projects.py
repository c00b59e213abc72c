"""Open projects: a clone, a seed project, a checkout with `.symposium`."""

import asyncio
import shutil
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from localio.git import Git
from symposium.config.git import git_of, stand_ins
from symposium.tasks.model import AbsentError, Layout, RefusedNameError, TaskspaceError
from symposium.tasks.project_files import ProjectFile, new_project, read_project, write_project
from symposium.tasks.repository import Repository, open_repository
from symposium.tasks.task_files import PROJECT_FILE, Project, repo_name_of

_CLONING = ".git.partial"

_CLONE_TIMEOUT = 3600.0
"""Timeout for cloning, in seconds."""


@dataclass(frozen=True, slots=True)
class OpenProject:
    """A project and its clone."""

    project: Project
    repository: Repository


async def open_project(path: Path) -> OpenProject:
    """Open the project of a path: its own directory, or any inside a clone.

    A seed project without its clone is cloned; an older `project.json` is migrated to
    the newest version.

    Raises:
        RefusedNameError: the path is not absolute.
        TaskspaceError: the project does not exist, or cannot be cloned.
    """
    directory = _real(path)
    if (directory / PROJECT_FILE).is_file() and directory.name.endswith(".symposium"):
        if directory.name != ".symposium":
            return await _seed_project(directory)
        directory = directory.parent
    if (directory / ".symposium" / PROJECT_FILE).is_file():
        file = _migrated(directory / ".symposium")
        repository = await open_repository(directory)
        project = Project(
            directory, directory, Layout.EMBEDDED, directory.name, file.default_branch
        )
        return OpenProject(project, repository)
    repository = await open_repository(directory)
    root = repository.root
    return OpenProject(Project(root, root, Layout.BESIDE, root.name), repository)


async def make_project(directory: Path, name: str, git_url: str, at: str) -> OpenProject:
    """Create a project in the seed's layout (bus-mcp-taskspaces §3.1).

    Raises:
        TaskspaceError: it exists already, or cannot be cloned.
    """
    if not directory.name.endswith(".symposium"):
        raise RefusedNameError(
            f"{directory.name!r} is not a project", "its name ends in .symposium"
        )
    if git_url.startswith("-") or "::" in git_url:
        raise RefusedNameError(f"{git_url!r} is not a repository URL", "use https, ssh, or a path")
    if (directory / PROJECT_FILE).exists():
        raise TaskspaceError(f"{directory} is a project already", "open it")
    try:
        _create_project_file(directory, new_project(str(uuid4()), name, git_url, directory, at))
    except OSError as error:
        raise TaskspaceError(f"cannot create {directory}: {error.strerror}", "") from error
    return await _seed_project(directory)


def _create_project_file(directory: Path, file: ProjectFile) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    write_project(directory, file)


async def _seed_project(directory: Path) -> OpenProject:
    file = _migrated(directory)
    bare = directory / ".git"
    if not bare.exists():
        await _clone(directory, file)
    name = repo_name_of(file.git_url)
    project = Project(directory, bare, Layout.PROJECT, name, file.default_branch)
    return OpenProject(project, await open_repository(bare))


def _migrated(directory: Path) -> ProjectFile:
    file = read_project(directory)
    if file.was_migrated:
        write_project(directory, file)
    return file


async def _clone(directory: Path, file: ProjectFile) -> None:
    """Clone to a temporary name, then rename: an existing clone is complete."""
    partial = directory / _CLONING
    await asyncio.to_thread(shutil.rmtree, partial, ignore_errors=True)
    git = await Git(directory, stand_ins(), is_outside=True).online()
    url = await asyncio.to_thread(git.stand_ins.url_to_fetch, file.git_url, directory)
    words = ("clone", "--bare", "--no-local", "--no-recurse-submodules")
    await git.ask(*words, "--", url, str(partial), timeout=_CLONE_TIMEOUT)
    inside = git_of(partial)
    await inside.config("--remove-section", "remote.origin")
    await inside.config(f"remote.{file.remote}.url", file.git_url)
    refspec = f"+refs/heads/*:refs/remotes/{file.remote}/*"
    await inside.config(f"remote.{file.remote}.fetch", refspec)
    online = await inside.online()
    await online.run("fetch", "--no-tags", file.remote, timeout=_CLONE_TIMEOUT)
    await online.run("remote", "set-head", file.remote, "--auto")
    _rename(partial, directory / ".git")


def _rename(partial: Path, whole: Path) -> None:
    partial.rename(whole)


def _real(path: Path) -> Path:
    if not path.is_absolute():
        # The daemon has another working directory than the caller.
        raise RefusedNameError(
            f"{str(path)!r} is not an absolute path", "start it with a slash, as in /home/me/app"
        )
    try:
        return path.resolve(strict=True)
    except FileNotFoundError as error:
        hint = "name a directory; if you moved the clone, move it back for its tasks"
        raise AbsentError(f"{path} does not exist", hint) from error
    except (OSError, RuntimeError, ValueError) as error:
        # A NUL in a path is a ValueError.
        raise TaskspaceError(f"cannot open {str(path)!r}: {error}", "name a directory") from error
