"""Move a clean worktree and its branch from one commit to another; can undo it after a kill.

The files come first, the branch last: a kill leaves the branch at one of the two commits. A file
that git does not track stops the move, also an ignored one, which git would overwrite.
"""

import asyncio
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from localio.git import Git, GitCommandError, GitRunError
from symposium.tasks.model import TaskspaceError

_MOVE: Final = ("read-tree", "-m", "-u")
"""Two more words follow: the current commit and the target commit (git-read-tree(1))."""

_NO_FILE: Final = "000000"
_PROGRAM: Final = "100755"
_LINK: Final = "120000"
_SUBMODULE: Final = "160000"
_CHECKOUT_TIMEOUT: Final = 600.0
"""Seconds that writing the files of a worktree may take."""


@dataclass(frozen=True, slots=True)
class _Change:
    """A path that differs between two commits, with its mode in each."""

    path: str
    mode_before: str
    mode_after: str
    id_after: str


async def check_way(git: Git, before: str, after: str) -> None:
    """Check, right before `move_worktree`, that no untracked file blocks a new one.

    Raises:
        TaskspaceError: a file does, or git failed; nothing was written.
    """
    changes = await _changes(git, before, after)
    await git.run("update-index", "-q", "--refresh")
    path = await asyncio.to_thread(_in_the_way, git.directory, changes)
    if path is not None:
        raise _in_the_way_error(path)


async def move_worktree(git: Git, before: str, after: str) -> None:
    """Change files and index from one commit to another; the branch stays.

    Raises:
        TaskspaceError: an ignored file was made meanwhile, or git failed; see `take_back`.
    """
    await _write_ignored(git, after, await _changes(git, before, after))
    try:
        done = await git.run(*_MOVE, before, after, timeout=_CHECKOUT_TIMEOUT)
    except (GitRunError, TaskspaceError):
        await _remove_lock(git)
        raise
    if done.code < 0:
        await _remove_lock(git)
    if done.code:
        raise GitCommandError(_MOVE, done.code, done.said)


async def _remove_lock(git: Git) -> None:
    """Remove the lock on the index that a killed git left."""
    lock = await _lock_of(git, "index")
    await asyncio.to_thread(lock.unlink, missing_ok=True)


async def move_branch(git: Git, before: str, after: str, why: str) -> None:
    """Move the branch of a worktree, or its detached HEAD, if it is still at a commit.

    Raises:
        TaskspaceError: it has moved, or a lock is in the way.
    """
    branch = await git.text_or_none("symbolic-ref", "--quiet", "HEAD")
    ref = ("--no-deref", "HEAD") if branch is None else (branch,)
    done = await git.run("update-ref", "-m", why, *ref, after, before)
    if not done.code:
        return
    for lock in [await _lock_of(git, name) for name in ("HEAD", branch or "HEAD")]:
        # Never removed here: the git that made it may still run.
        if await asyncio.to_thread(lock.exists):
            reason = f"{lock} exists: git is running in the clone, or was killed"
            raise TaskspaceError(reason, "if no git is running, remove that file and land again")
    raise TaskspaceError(f"{branch or 'HEAD'} has new commits: {done.said}", "land again")


async def _write_ignored(git: Git, after: str, changes: list[_Change]) -> None:
    """Write the new files that git ignores: `read-tree` overwrites files of these names.

    Raises:
        TaskspaceError: one of them exists by now; the ones written before it are removed.
    """
    found = await _ignored(git, changes)
    made: list[tuple[Path, os.stat_result]] = []
    for each in found:
        how = "blob" if each.mode_after == _LINK else "--filters"
        content = (await git.ask("cat-file", how, f"{after}:{each.path}")).out
        words = git.directory, each.path, content, each.mode_after
        try:
            made.append((git.directory / each.path, await asyncio.to_thread(_create, *words)))
        except (FileExistsError, NotADirectoryError) as error:
            await asyncio.to_thread(_remove_made, made, git.directory)
            raise _in_the_way_error(each.path) from error
    if found:
        lines = (f"{each.mode_after} {each.id_after}\t{each.path}\0" for each in found)
        entries = b"".join(map(os.fsencode, lines))
        await git.ask("update-index", "-z", "--index-info", stdin=entries)
        await git.run("update-index", "-q", "--refresh")


async def _ignored(git: Git, changes: list[_Change]) -> list[_Change]:
    """New files and links that git ignores, except where they replace tracked ones."""
    tracked = {each.path for each in changes if each.mode_before != _NO_FILE}
    above = {str(folder) for path in tracked for folder in Path(path).parents}
    new = {
        each.path: each
        for each in changes
        if each.mode_before == _NO_FILE
        and each.mode_after != _SUBMODULE
        and each.path not in above
        and not any(str(folder) in tracked for folder in Path(each.path).parents)
    }
    if not new:
        return []
    words = ("check-ignore", "--no-index", "-z", "--stdin")
    listed = await git.run(*words, stdin=b"".join(os.fsencode(path) + b"\0" for path in new))
    if listed.code not in {0, 1}:
        raise GitCommandError(words, listed.code, listed.said)
    return [new[path] for path in listed.names]


def _create(top: Path, path: str, content: bytes, mode: str) -> os.stat_result:
    """Write a file or a link that does not exist; no folder above it may be a link.

    Raises:
        FileExistsError, NotADirectoryError: the path or a folder above it is taken.
    """
    for folder in [top / each for each in reversed(Path(path).parents)][1:]:
        folder.mkdir(exist_ok=True)
        if folder.is_symlink():
            raise NotADirectoryError(folder)
    place = top / path
    if mode == _LINK:
        place.symlink_to(os.fsdecode(content))
        return place.lstat()
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with os.fdopen(os.open(place, flags, 0o777 if mode == _PROGRAM else 0o666), "wb") as file:
        file.write(content)
    return place.lstat()


def _remove_made(made: list[tuple[Path, os.stat_result]], top: Path) -> None:
    for place, state in made:
        with suppress(OSError):
            if os.path.samestat(place.lstat(), state):
                _remove(place, top)


def _in_the_way_error(path: str) -> TaskspaceError:
    reason = f"{path!r} is in the worktree and not tracked, and the base has a file there"
    return TaskspaceError(reason, "move it away, then land again")


async def _lock_of(git: Git, name: str) -> Path:
    """The file that git makes while it writes the index, HEAD, or a branch."""
    lock = git.directory / await git.text("rev-parse", "--git-path", f"{name}.lock")
    # Git runs in a substitute directory, whose folders are links into the clone.
    return await asyncio.to_thread(lock.parent.resolve) / lock.name


async def take_back(git: Git, before: str, after: str) -> None:
    """Restore files and index to the state before `move_worktree`.

    Only what `move_worktree` wrote is undone: a path with other content stays.

    Raises:
        TaskspaceError: git failed, for example where a path of the base has changed since.
    """
    changes = await _changes(git, before, after)
    moved = await git.run(*_MOVE, after, before, timeout=_CHECKOUT_TIMEOUT)
    if moved.code:
        # It was interrupted while it wrote: git treats its own new files as untracked.
        removed = await _remove_new(git, after, changes)
        if not await _is_index_of(git, before):
            # First the entries of the new files: `read-tree` fails where one has replaced a file.
            await git.ask("update-index", "--force-remove", "-z", "--stdin", stdin=removed)
        if not await _is_index_of(git, before):
            await git.ask(*_MOVE, after, before, timeout=_CHECKOUT_TIMEOUT)
    await git.run("update-index", "-q", "--refresh")
    listed = await git.ask("diff-files", "--name-only", "-z", "--ignore-submodules=all")
    differing = set(listed.names)
    back: list[str] = []
    for each in changes:
        is_differing = each.path in differing
        if each.mode_before == _SUBMODULE:
            # Its folder is empty in a new worktree. What is in a folder is never looked at.
            is_differing = not await asyncio.to_thread(_is_folder, git.directory / each.path)
        if is_differing and await _is_written(git, after, each):
            back.append(each.path)
    paths = b"".join(os.fsencode(path) + b"\0" for path in back)
    await git.ask(
        "checkout-index", "--force", "-z", "--stdin", stdin=paths, timeout=_CHECKOUT_TIMEOUT
    )


async def _changes(git: Git, before: str, after: str) -> list[_Change]:
    words = ("diff-tree", "-r", "-z", "--no-renames", "--raw", "--no-abbrev")
    fields = (await git.ask(*words, before, after)).names
    facts = [each.removeprefix(":").split(" ") for each in fields[::2]]
    return [
        _Change(path, fact[0], fact[1], fact[3])
        for fact, path in zip(facts, fields[1::2], strict=True)
    ]


def _in_the_way(top: Path, changes: list[_Change]) -> str | None:
    """An untracked path at the location of a new file."""
    tracked = {each.path for each in changes if each.mode_before != _NO_FILE}
    for each in changes:
        if each.mode_before != _NO_FILE or each.mode_after == _NO_FILE:
            continue
        folders = [str(folder) for folder in Path(each.path).parents][:-1]
        for path in folders:
            if path not in tracked and os.path.lexists(top / path) and not _is_folder(top / path):
                return path
        if each.path in tracked or not os.path.lexists(top / each.path):
            continue
        if not _is_folder(top / each.path):
            return each.path
        for path in _files_below(top, each.path):
            if path not in tracked:
                return path
    return None


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _files_below(top: Path, path: str) -> Iterable[str]:
    for folder, folders, files in os.walk(top / path):
        links = [name for name in folders if (Path(folder) / name).is_symlink()]
        for name in (*files, *links):
            yield str((Path(folder) / name).relative_to(top))


async def _is_index_of(git: Git, commit: str) -> bool:
    return not (await git.run("diff-index", "--cached", "--quiet", commit, "--")).code


async def _remove_new(git: Git, after: str, changes: list[_Change]) -> bytes:
    """Remove the files that only `after` has, if git wrote them; returns the paths for git."""
    removed: list[str] = []
    for each in changes:
        is_new = each.mode_before == _NO_FILE and each.mode_after != _SUBMODULE
        if is_new and await _is_written(git, after, each):
            await asyncio.to_thread(_remove, git.directory / each.path, git.directory)
            removed.append(each.path)
    return b"".join(os.fsencode(path) + b"\0" for path in removed)


def _remove(file: Path, top: Path) -> None:
    with suppress(FileNotFoundError, NotADirectoryError):
        # A folder above it may still be the file that was there before.
        file.unlink()
    folder = file.parent
    with suppress(OSError):
        # Stop at the first folder that has another file in it.
        while folder != top:
            folder.rmdir()
            folder = folder.parent


async def _is_written(git: Git, after: str, change: _Change) -> bool:
    """Whether git has begun to change a path from before to `after`.

    It is then missing, or has the new content or the beginning of it.
    """
    found = await asyncio.to_thread(_content, git.directory / change.path)
    if found is None:
        return True
    is_link, content = found
    if change.mode_after in {_NO_FILE, _SUBMODULE} or is_link != (change.mode_after == _LINK):
        return False
    how = "blob" if change.mode_after == _LINK else "--filters"
    written = await git.ask("cat-file", how, f"{after}:{change.path}")
    return written.out.startswith(content)


def _content(place: Path) -> tuple[bool, bytes] | None:
    """Whether a path is a link, and its content; None if it does not exist.

    Raises:
        TaskspaceError: it is neither a file nor a link.
    """
    try:
        if place.is_symlink():
            return True, os.fsencode(place.readlink())
        return False, place.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        reason = f"{place} cannot be read: {error.strerror}"
        raise TaskspaceError(reason, "check it, then land again") from error
