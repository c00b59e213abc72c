"""Keeps what the user's index holds, also in the middle of a conflict."""

import shutil
from pathlib import Path

from symposium.taskspaces.git.program import Git
from symposium.taskspaces.snapshots.subject import Subject

_COPY = "index-of-user"
_STAGES = "index-of-stages"


async def keep_index(subject: Subject, admin: Path) -> str | None:
    """A tree of what is staged; None where there is no index, or none that git can read.

    Entries in conflict stand in it under `.stages/<n>/`. The user's index is read, never written.
    """
    if not _copied(admin, subject.shadow):
        return None
    git = subject.looking_at(subject.worktree, _COPY)
    done = await git.run("write-tree")
    if not done.code:
        return done.text
    listed = await git.run("ls-files", "-s", "-z")
    return None if listed.code else await _keep_stages(subject, git, listed.out)


def _copied(admin: Path, shadow: Path) -> bool:
    try:
        shutil.copyfile(admin / "index", shadow / _COPY, follow_symlinks=False)
        for shared in admin.glob("sharedindex.*"):
            shutil.copyfile(shared, shadow / shared.name, follow_symlinks=False)
    except OSError:
        return False
    return True


async def _keep_stages(subject: Subject, git: Git, listed: bytes) -> str | None:
    (subject.shadow / _STAGES).unlink(missing_ok=True)
    lines: list[bytes] = []
    for entry in listed.split(b"\0"):
        facts, _, name = entry.partition(b"\t")
        if not name:
            continue
        mode, id_, stage = facts.split(b" ")
        place = name if stage == b"0" else b".stages/" + stage + b"/" + name
        lines.append(mode + b" " + id_ + b" 0\t" + place + b"\0")
    stages = git.told({"GIT_INDEX_FILE": str(subject.shadow / _STAGES)})
    done = await stages.run("update-index", "--add", "-z", "--index-info", stdin=b"".join(lines))
    if done.code:
        return None
    done = await stages.run("write-tree")
    return None if done.code else done.text
