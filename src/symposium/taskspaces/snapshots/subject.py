"""What is snapshotted: one worktree, and a git directory of ours that looks at it.

The shadow directory has its own index, its own configuration and attributes that outrank all
others, so that bytes are kept as they are and nothing that the repository brings is run. Its
objects go into the clone's own store, where git shares them.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from symposium.taskspaces.git.program import Git
from symposium.taskspaces.snapshots.hiding import hide

REFS: Final = "refs/symposium/snap"

_RAW: Final = "* -text !eol !filter !ident !working-tree-encoding !diff !merge\n"

_CONFIG: Final = """[core]
\trepositoryformatversion = {version}
\tbare = false
\tautocrlf = false
\tsafecrlf = false
\tuntrackedCache = true
\tlogAllRefUpdates = false
[diff]
\tignoreSubmodules = all
[extensions]
{extensions}"""


@dataclass(frozen=True, slots=True)
class Subject:
    """A worktree that is snapshotted.

    Attributes:
        id: names its refs.
        common: the clone's git directory.
        shadow: ours, made when first needed.
        precious: patterns of ignored files that are kept all the same, in the two upper levels.
    """

    id: str
    worktree: Path
    common: Path
    shadow: Path
    precious: tuple[str, ...] = ()

    @property
    def refs(self) -> str:
        """The folder of its refs."""
        return f"{REFS}/{self.id}"

    def clone(self) -> Git:
        """Git in the clone, wherever its worktrees are."""
        return Git(self.common, {"GIT_DIR": str(self.common)})

    def looking_at(self, tree: Path, index: str) -> Git:
        """Git in the shadow directory: this tree, that index, the clone's objects."""
        return Git(
            self.shadow,
            {
                "GIT_DIR": str(self.shadow),
                "GIT_WORK_TREE": str(tree),
                "GIT_INDEX_FILE": str(self.shadow / index),
                "GIT_OBJECT_DIRECTORY": str(self.common / "objects"),
                "GIT_OPTIONAL_LOCKS": "1",
            },
            is_own=True,
        )

    async def prepare(self) -> None:
        """Make the shadow directory; one that is there stays, but for a lock left by a kill."""
        for folder in ("objects", "refs", "info"):
            (self.shadow / folder).mkdir(mode=0o700, parents=True, exist_ok=True)
        for lock in self.shadow.glob("*.lock"):
            lock.unlink(missing_ok=True)
        config = self.shadow / "config"
        if not config.exists():
            await hide(self.clone())
            hashes = await self.clone().maybe("rev-parse", "--show-object-format") or "sha1"
            extensions = "" if hashes == "sha1" else f"\tobjectFormat = {hashes}\n"
            text = _CONFIG.format(version=0 if hashes == "sha1" else 1, extensions=extensions)
            (self.shadow / "HEAD").write_text("ref: refs/heads/none\n", encoding="utf-8")
            (self.shadow / "info" / "attributes").write_text(_RAW, encoding="utf-8")
            config.write_text(text, encoding="utf-8")
        ours, theirs = self.shadow / "info" / "exclude", self.common / "info" / "exclude"
        try:
            excluded = theirs.read_bytes()
        except OSError:
            excluded = b""
        if not ours.exists() or ours.read_bytes() != excluded:
            ours.write_bytes(excluded)
