"""A first index for the shadow: the user's own, where it says what the files' bytes are."""

import os
from pathlib import Path

from symposium.taskspaces.snapshots.gitdir import admin_directory
from symposium.taskspaces.snapshots.subject import Subject


async def seed(subject: Subject, target: Path) -> None:
    """Take the user's index for a start, so that clean files are not read again.

    Only where git keeps files byte for byte: an entry that a filter or line endings have changed
    would stand for other bytes than the file has.
    """
    source = admin_directory(subject.worktree, subject.common) / "index"
    if _files_convert(source, subject.common, target) or await _git_converts(subject, source):
        return
    _copy(source, target)


def _copy(source: Path, target: Path) -> None:
    target.write_bytes(source.read_bytes())
    state = source.stat()
    # Git takes an entry as new as its index for one that may have changed since: so is ours.
    os.utime(target, ns=(state.st_atime_ns, state.st_mtime_ns))


def _files_convert(source: Path, common: Path, target: Path) -> bool:
    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return (
        target.exists()
        or not source.is_file()
        or (common / "info" / "attributes").exists()
        or (home / "git" / "attributes").exists()
        or any(source.parent.glob("sharedindex.*"))
    )


async def _git_converts(subject: Subject, index: Path) -> bool:
    clone = subject.clone().told({"GIT_INDEX_FILE": str(index)})
    if await clone.maybe("config", "core.autocrlf") not in {None, "false"}:
        return True
    if await clone.maybe("config", "core.attributesFile") is not None:
        return True
    attributes = await clone.run("ls-files", "-z", "--", ":(glob)**/.gitattributes")
    if attributes.code or attributes.out:
        return True
    # Files that git was told to pass by (skip-worktree, assume-unchanged) would stay unread.
    listed = await clone.run("ls-files", "-t", "-v", "-z")
    return bool(listed.code) or any(entry[:1] != b"H" for entry in listed.out.split(b"\0") if entry)
