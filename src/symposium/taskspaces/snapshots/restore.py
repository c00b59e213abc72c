"""Brings a worktree back to a snapshot: files, index, HEAD, branch, stash, half-done operations."""

import asyncio
import os
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path

from symposium.taskspaces.failures import GitError
from symposium.taskspaces.git.program import Git
from symposium.taskspaces.snapshots.branches import branches_and_stash, logged
from symposium.taskspaces.snapshots.capture import INDEX
from symposium.taskspaces.snapshots.gitdir import admin_directory, private_files
from symposium.taskspaces.snapshots.modes import Modes, give, names_in
from symposium.taskspaces.snapshots.state import Details, Nested, Snapshot, decode_details
from symposium.taskspaces.snapshots.subject import Subject
from symposium.taskspaces.snapshots.worktree_tree import links_to, submodule_directory


@dataclass(frozen=True, slots=True)
class Restored:
    """What was brought back.

    Attributes:
        before: the snapshot of what was there; undoes this.
        notes: what could not be brought back as it was, and why.
    """

    snapshot: Snapshot
    before: Snapshot
    notes: tuple[str, ...]


async def bring_back(subject: Subject, snapshot: Snapshot, current: Snapshot) -> list[str]:
    """Make the worktree what it was; the shadow index must mirror what it is now.

    Returns:
        Notes on what could not be brought back.

    Raises:
        TaskspaceError: git cannot, as on a full disk; what was written stays.
    """
    git = subject.clone()
    text = (await git.ask("cat-file", "blob", f"{snapshot.commit}:details.json")).out
    details = decode_details(text)
    notes = [f"was not kept: {reason}" for reason in details.skipped]
    await _files(subject, snapshot, current)
    await _empty_directories(subject.worktree, details)
    for number, nested in enumerate(details.nested):
        await _nested(subject, snapshot, number, nested)
    nested = [each.path for each in details.nested if "/" not in each.path]
    names = await names_in(subject, INDEX, nested)
    modes = Modes(details.usual, details.modes)
    notes += await asyncio.to_thread(give, subject.worktree, names, modes)
    notes += await _branches(subject, snapshot, details)
    await _upstream(subject, snapshot, details)
    await _private(subject, snapshot)
    notes += await _stash(subject, details)
    return notes


async def _files(subject: Subject, snapshot: Snapshot, current: Snapshot) -> None:
    git = subject.looking_at(subject.worktree, INDEX)
    await _make_way(subject, git, snapshot, current)
    _make_writable(subject.worktree)
    # Reset by its tree alone: the shadow index must be a mirror, whatever it was.
    await git.ask("read-tree", "--reset", "-u", f"{snapshot.commit}:work")


async def _make_way(subject: Subject, git: Git, snapshot: Snapshot, current: Snapshot) -> None:
    """Move ignored files aside that stand where others come back: nothing else keeps them."""
    listed = await git.ask(
        "diff-tree", "-r", "-z", "--name-status", "--no-renames", current.work, snapshot.work
    )
    names = listed.names
    changes = dict(zip(names[1::2], names[::2], strict=False))
    gone = {name for name, kind in changes.items() if kind == "D"}
    for name, kind in changes.items():
        if kind != "A":
            continue
        place = _first_in_the_way(subject.worktree, name)
        if place is None or str(place) in gone:
            continue
        if any(each.startswith(f"{place}/") for each in gone):
            continue
        aside = subject.shadow / "displaced" / current.ref.rpartition("/")[2] / place
        aside.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(subject.worktree / place, aside)


def _first_in_the_way(worktree: Path, name: str) -> Path | None:
    """What stands at a file's place, or where one of its directories should be."""
    path = Path(name)
    for parent in [*path.parents][-2::-1]:
        here = worktree / parent
        if here.is_symlink() or (here.exists() and not here.is_dir()):
            return parent
    return path if os.path.lexists(worktree / path) else None


def _make_writable(worktree: Path) -> None:
    """Give ourselves back the directories that somebody closed."""
    for place, folders, _ in os.walk(worktree):
        for folder in folders:
            path = Path(place) / folder
            mode = path.lstat().st_mode
            if stat.S_ISDIR(mode) and (mode & stat.S_IRWXU) != stat.S_IRWXU:
                path.chmod(stat.S_IMODE(mode) | stat.S_IRWXU)


async def _empty_directories(worktree: Path, details: Details) -> None:
    for name in details.empty:
        if _first_in_the_way(worktree, name) is None:
            (worktree / name).mkdir(parents=True, exist_ok=True)


async def _nested(subject: Subject, snapshot: Snapshot, number: int, nested: Nested) -> None:
    place = subject.worktree / nested.path
    blocker = _first_in_the_way(subject.worktree, nested.path)
    if blocker is not None and not (place.is_dir() and not place.is_symlink()):
        (subject.worktree / blocker).unlink()
    place.mkdir(parents=True, exist_ok=True)
    await _mirror(subject, place, f"{snapshot.commit}:nested-{number}", keep=".git")
    link, history = nested.link, place / ".git"
    if link is not None and (module := submodule_directory(subject, link)) is not None:
        # A worktree that comes back may be known to the clone by another name.
        link, history = f"gitdir: {module}\n", module
        for each in reversed(links_to(subject, module)):
            # It would lead us to clear another place.
            each.unlink(missing_ok=True)
    if nested.gitdir:
        if history.is_symlink() or history.is_file():
            history.unlink()
        history.mkdir(parents=True, exist_ok=True)
        await _mirror(subject, history, f"{snapshot.commit}:nested-{number}-git")
        for folder in ("refs/heads", "refs/tags", "objects/info", "objects/pack"):
            (history / folder).mkdir(parents=True, exist_ok=True)
    if link is not None:
        _link(place / ".git", link)


def _link(path: Path, text: str) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.write_text(text, encoding="utf-8", errors="surrogateescape")


async def _mirror(subject: Subject, place: Path, tree: str, keep: str = "") -> None:
    """Make a directory hold what a tree holds; what was there is in the snapshot before this."""
    _clear(place, keep)
    index = "index-of-mirror"
    (subject.shadow / index).unlink(missing_ok=True)
    git = subject.looking_at(place, index)
    await git.ask("read-tree", tree)
    await git.ask("checkout-index", "-a", "-f")


def _clear(place: Path, keep: str) -> None:
    for entry in place.iterdir():
        if entry.name == keep:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


async def _branches(subject: Subject, snapshot: Snapshot, details: Details) -> list[str]:
    """Our own branch as it was; of the others those that are gone."""
    git, now = subject.clone(), await branches_and_stash(subject)
    notes: list[str] = []
    for ref, tip in details.branches.items():
        is_ours = ref == snapshot.head
        if now.branches.get(ref) == tip or (ref in now.branches and not is_ours):
            continue
        try:
            await git.ask("update-ref", "-m", "symposium: undo", ref, tip)
        except GitError as error:
            notes.append(f"{ref} could not be brought back to {tip}: {error.said}")
            continue
        if not is_ours:
            notes.append(f"{ref} was gone and is back")
    return notes


async def _private(subject: Subject, snapshot: Snapshot) -> None:
    git, admin = subject.clone(), admin_directory(subject.worktree, subject.common)
    tree = f"{snapshot.commit}:private"
    _repair(subject.worktree, admin, subject.common, subject.shadow)
    for lock in ("index.lock", "HEAD.lock"):
        (admin / lock).unlink(missing_ok=True)
    listed = await git.run("ls-tree", "-r", "-z", "--name-only", tree)
    if listed.code:
        return
    # First what comes back, then away with the rest: the clone has a HEAD at every moment.
    index = "index-of-gitdir"
    (subject.shadow / index).unlink(missing_ok=True)
    shadow = subject.looking_at(admin, index)
    await shadow.ask("read-tree", tree)
    await shadow.ask("checkout-index", "-a", "-f")
    wanted = set(listed.names)
    for name in list(private_files(admin)):
        if name not in wanted:
            (admin / name).unlink(missing_ok=True)
    for folder in ("rebase-merge", "rebase-apply", "sequencer"):
        if not any(name.startswith(f"{folder}/") for name in wanted):
            shutil.rmtree(admin / folder, ignore_errors=True)


def _repair(worktree: Path, admin: Path, common: Path, shadow: Path) -> None:
    """Tie the worktree to its clone again, from either end."""
    if admin == common:
        return
    admin.mkdir(parents=True, exist_ok=True)
    (admin / "commondir").write_text("../..\n", encoding="utf-8")
    back = f"{worktree / '.git'}\n"
    (admin / "gitdir").write_text(back, encoding="utf-8", errors="surrogateescape")
    link = worktree / ".git"
    if link.is_symlink() or link.is_file():
        link.unlink()
    elif link.is_dir():
        # Somebody made a repository of its own here: it is not ours to throw away.
        aside = shadow / "displaced" / f"git-{os.urandom(4).hex()}"
        aside.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(link, aside)
    link.write_text(f"gitdir: {admin}\n", encoding="utf-8", errors="surrogateescape")


async def _stash(subject: Subject, details: Details) -> list[str]:
    """The stash is its log: where one entry is missing, the log is written anew."""
    git, now = subject.clone(), logged(subject.common)
    present = {entry.commit for entry in now}
    if all(entry.commit in present for entry in details.stash):
        return []
    kept = {entry.commit for entry in details.stash}
    await git.run("update-ref", "-d", "refs/stash")
    notes: list[str] = []
    for entry in (*details.stash, *(each for each in now if each.commit not in kept)):
        done = await git.run("stash", "store", "-m", entry.message, entry.commit)
        if done.code:
            notes.append(f"a stash could not be brought back: {entry.commit}: {done.said}")
    return notes


async def _upstream(subject: Subject, snapshot: Snapshot, details: Details) -> None:
    """Git forgets what a branch follows when the branch goes."""
    git, name = subject.clone(), snapshot.head.removeprefix("refs/heads/")
    for key, value in details.upstream.items():
        if name and await git.maybe("config", "--local", f"branch.{name}.{key}") is None:
            await git.config(f"branch.{name}.{key}", value)
