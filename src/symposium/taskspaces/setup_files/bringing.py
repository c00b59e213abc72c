"""Brings untracked files of the user's checkout into a worktree: as copies, or as links."""

import asyncio
import os
import shutil
from pathlib import Path

from symposium.taskspaces.failures import RefusedNameError, TaskspaceError
from symposium.taskspaces.git.repository import Repository
from symposium.taskspaces.setup_files.recipe import SetUp


async def bring(set_up: SetUp, repository: Repository, worktree: Path, scratch: Path) -> list[str]:
    """Copy and link what the recipe names; the paths that came. What is there already stays.

    Args:
        set_up: the recipe.
        repository: whose main checkout has the files.
        worktree: where they go.
        scratch: a directory for a file of patterns.

    Raises:
        TaskspaceError: a path leads out of the worktree or cannot be copied.
    """
    if repository.is_bare:
        return []
    copied = await _untracked(set_up.all_of("copy"), repository, scratch)
    return await asyncio.to_thread(
        _bring_files, copied, set_up.all_of("link"), repository.root, worktree
    )


async def _untracked(patterns: tuple[str, ...], repository: Repository, scratch: Path) -> list[str]:
    if not patterns:
        return []
    file = scratch / f"patterns-{os.urandom(8).hex()}"
    await asyncio.to_thread(_write, file, "\n".join(patterns))
    try:
        listed = await repository.git.ask(
            "ls-files", "-o", "-i", f"--exclude-from={file}", "-z", "--", "."
        )
    finally:
        await asyncio.to_thread(file.unlink, missing_ok=True)
    return listed.names


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8", errors="surrogateescape")


def _bring_files(
    copied: list[str], linked: tuple[str, ...], root: Path, worktree: Path
) -> list[str]:
    came: list[str] = []
    try:
        for name in copied:
            source, target = root / name, _inside(worktree, name)
            if os.path.lexists(target):
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)
            came.append(name)
        for name in linked:
            source, target = _inside(root, name), _inside(worktree, name)
            if not os.path.lexists(source) or os.path.lexists(target):
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(source)
            came.append(name)
    except OSError as error:
        raise TaskspaceError(
            f"{error.filename} cannot be brought over: {error.strerror}", ""
        ) from error
    return came


def _inside(directory: Path, name: str) -> Path:
    """The path of a name in a directory, with no link on the way out of it."""
    path = Path(name)
    hint = "name a path inside the clone"
    if path.is_absolute() or ".." in path.parts or not path.parts or ".git" in path.parts:
        raise RefusedNameError(f"{name!r} leads out of the worktree", hint)
    here = directory
    for part in path.parts[:-1]:
        here = here / part
        if here.is_symlink():
            raise RefusedNameError(f"{name!r} lies behind the link {here}", hint)
    return directory / path
