"""The ids of files that the user's index knows: so that clean files need not be read."""

import os
from pathlib import Path

from symposium.git.program import Git
from symposium.taskspaces.snapshots.gitdir import admin_directory
from symposium.taskspaces.snapshots.store import Store
from symposium.taskspaces.snapshots.subject import Subject


async def seeds(subject: Subject, store: Store) -> dict[str, str]:
    """The id of each file that git says is unchanged; to be asked after the files were looked at.

    Only where git keeps files byte for byte: an entry that a filter or line endings have changed
    would stand for other bytes than the file has.
    """
    index = admin_directory(subject.worktree, subject.common) / "index"
    if _files_convert(index, subject.common) or await _git_converts(subject, index):
        return {}
    git = store.looking_at(subject.worktree, index)
    listed = await git.run("ls-files", "-s", "-v", "-z")
    changed = await git.run("diff-files", "--name-only", "--no-renames", "-z")
    if listed.code or changed.code:
        return {}
    dirty = set(changed.names)
    found: dict[str, str] = {}
    for entry in listed.names:
        facts, _, name = entry.partition("\t")
        words = facts.split(" ")
        # Files that git was told not to look at have another letter than H.
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


async def _git_converts(subject: Subject, index: Path) -> bool:
    clone = Git(subject.common, {"GIT_DIR": str(subject.common), "GIT_INDEX_FILE": str(index)})
    for key in ("core.autocrlf", "core.attributesFile"):
        # The user's, and the clone's own: git there obeys both.
        said = {await clone.maybe("config", key), (await clone.config("--get", key)).text or None}
        if said - {None, "false"}:
            return True
    attributes = await clone.run("ls-files", "-z", "--", ":(glob)**/.gitattributes")
    return bool(attributes.code or attributes.out)
