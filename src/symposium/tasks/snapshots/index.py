"""Save the git index of a worktree, and read the object ids of its files."""

import asyncio
import os
import shutil
import time
from hashlib import sha256
from pathlib import Path

from localio.git import Git
from symposium.tasks.snapshots.clone_state import admin_directory
from symposium.tasks.snapshots.snapshot_values import SnapshotTarget
from symposium.tasks.snapshots.store import Store

_COPY = "index-of-user"
_STAGES = "index-of-stages"


async def keep_index(store: Store, admin: Path, shadow: Path) -> tuple[str | None, str]:
    """Make a tree of the staged files, and a digest of the entries and their flags.

    Without a readable index, there is no tree. The tree contains entries in conflict under
    `.stages/<n>/`. The user's index is only read.

    Raises:
        TaskspaceError: the store cannot be written.
    """
    if not _copied(admin, shadow, store.directory):
        return None, ""
    blind = store.with_work_tree(shadow, shadow / _COPY)
    listed = await blind.run("ls-files", "-s", "-v", "-z")
    if listed.code:
        return None, ""
    digest = sha256(listed.out).hexdigest()
    begun = time.time()
    done = await blind.run("write-tree")
    if not done.code:
        await asyncio.to_thread(store.objects.take_note, begun)
        return done.text, digest
    # Staged content that is in no file exists only in the clone.
    seeing = store.git_with_clone().with_variables(dict(blind.variables))
    done = await seeing.run("write-tree")
    tree = done.text if not done.code else await _keep_stages(seeing, shadow)
    await asyncio.to_thread(store.objects.take_note, begun)
    if tree is None or tree in await store.bring_in([tree]):
        return None, digest
    return tree, digest


def _copied(admin: Path, shadow: Path, store: Path) -> bool:
    try:
        _copy(admin / "index", shadow / _COPY)
        # Git looks for these beside its configuration.
        for shared in admin.glob("sharedindex.*"):
            _copy(shared, store / shared.name)
    except OSError:
        return False
    return True


def _copy(source: Path, target: Path) -> None:
    target.unlink(missing_ok=True)
    target.touch(mode=0o600)
    shutil.copyfile(source, target, follow_symlinks=False)


async def _keep_stages(git: Git, shadow: Path) -> str | None:
    listed = await git.run("ls-files", "-s", "-z")
    if listed.code:
        return None
    (shadow / _STAGES).unlink(missing_ok=True)
    lines: list[bytes] = []
    for entry in listed.out.split(b"\0"):
        facts, _, name = entry.partition(b"\t")
        if not name:
            continue
        mode, id_, stage = facts.split(b" ")
        place = name if stage == b"0" else b".stages/" + stage + b"/" + name
        lines.append(mode + b" " + id_ + b" 0\t" + place + b"\0")
    stages = git.with_variables({"GIT_INDEX_FILE": str(shadow / _STAGES)})
    done = await stages.run("update-index", "--add", "-z", "--index-info", stdin=b"".join(lines))
    if done.code:
        return None
    done = await stages.run("write-tree")
    return None if done.code else done.text


async def seeds(subject: SnapshotTarget, store: Store) -> dict[str, str]:
    """Object ids of the files that git reports as unchanged; call it after the scan.

    Empty if git may convert files with filters or line endings, because their objects then differ
    from the files.
    """
    index = admin_directory(subject.worktree, subject.common) / "index"
    if _files_convert(index, subject.common) or await _git_converts(subject, index):
        return {}
    git = store.with_work_tree(subject.worktree, index)
    listed = await git.run("ls-files", "-s", "-v", "-z")
    changed = await git.run("diff-files", "--name-only", "--no-renames", "-z")
    if listed.code or changed.code:
        return {}
    dirty = set(changed.names)
    found: dict[str, str] = {}
    for entry in listed.names:
        facts, _, name = entry.partition("\t")
        words = facts.split(" ")
        # Only files with the tag H are compared by git.
        if words[0] == "H" and words[-1] == "0" and name not in dirty:
            found[name] = words[-2]
    return found


def _files_convert(index: Path, common: Path) -> bool:
    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return (
        not index.is_file()
        or (common / "info" / "attributes").exists()
        or (home / "git" / "attributes").exists()
        or any(index.parent.glob("sharedindex.*"))
    )


async def _git_converts(subject: SnapshotTarget, index: Path) -> bool:
    clone = subject.clone().with_variables({"GIT_INDEX_FILE": str(index)})
    for key in ("core.autocrlf", "core.attributesFile"):
        # Git in the clone uses the user's settings and those of the clone.
        said = {
            await clone.text_or_none("config", key),
            (await clone.config("--get", key)).text or None,
        }
        if said - {None, "false"}:
            return True
    attributes = await clone.run("ls-files", "-z", "--", ":(glob)**/.gitattributes")
    return bool(attributes.code or attributes.out)
