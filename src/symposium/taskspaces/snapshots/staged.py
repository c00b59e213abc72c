"""Keeps what the user's index holds, also in the middle of a conflict."""

import asyncio
import shutil
import time
from hashlib import sha256
from pathlib import Path

from symposium.git.program import Git
from symposium.taskspaces.snapshots.store import Store

_COPY = "index-of-user"
_STAGES = "index-of-stages"


async def keep_index(store: Store, admin: Path, shadow: Path) -> tuple[str | None, str]:
    """A tree of what is staged, and a digest of the entries and their flags.

    The tree is None where there is no index, or none that git can read. Entries in conflict stand
    in it under `.stages/<n>/`. The user's index is read, never written.

    Raises:
        TaskspaceError: the store cannot be written.
    """
    if not _copied(admin, shadow, store.directory):
        return None, ""
    blind = store.looking_at(shadow, shadow / _COPY)
    listed = await blind.run("ls-files", "-s", "-v", "-z")
    if listed.code:
        return None, ""
    digest = sha256(listed.out).hexdigest()
    begun = time.time()
    done = await blind.run("write-tree")
    if not done.code:
        await asyncio.to_thread(store.objects.take_note, begun)
        return done.text, digest
    # What is staged and nowhere else is in the clone alone.
    seeing = store.git_with_clone().told(dict(blind.variables))
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
    stages = git.told({"GIT_INDEX_FILE": str(shadow / _STAGES)})
    done = await stages.run("update-index", "--add", "-z", "--index-info", stdin=b"".join(lines))
    if done.code:
        return None
    done = await stages.run("write-tree")
    return None if done.code else done.text
