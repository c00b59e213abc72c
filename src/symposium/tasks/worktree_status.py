"""Read `git status` of a worktree."""

from dataclasses import dataclass

from localio.git import Git


@dataclass(frozen=True, slots=True)
class WorkTreeStatus:
    """Output of `git status` for a worktree, by kind.

    Attributes:
        ignored: files and folders that git ignores.
        conflicts: paths in conflict.
    """

    changed: tuple[str, ...]
    untracked: tuple[str, ...]
    ignored: tuple[str, ...]
    conflicts: tuple[str, ...]


async def status_of(git: Git) -> WorkTreeStatus:
    """Read the status, without changing the index.

    Raises:
        TaskspaceError: `git status` fails.
    """
    listed = await git.ask(
        *("status", "--porcelain=v2", "-z", "--untracked-files=all"),
        *("--ignored=matching", "--ignore-submodules=all", "--no-renames"),
    )
    kinds: dict[str, list[str]] = {"1": [], "?": [], "!": [], "u": []}
    for entry in listed.names:
        kind = entry[:1]
        fields = {"1": 8, "u": 10}.get(kind, 1)
        if kind in kinds:
            kinds[kind].append(entry.split(" ", fields)[-1])
    return WorkTreeStatus(*(tuple(kinds[kind]) for kind in "1?!u"))
