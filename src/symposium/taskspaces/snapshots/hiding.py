"""Snapshots are for whoever works in the clone: it serves them to nobody.

They hold what no commit does, a `.env` among it. Other clones and fetches do not get them; what
sends or clears all refs because its remote is set up so cannot be held off, and is told instead.
"""

from typing import Final

from symposium.taskspaces.git.program import Git

REFS: Final = "refs/symposium/"
"""All that is kept under refs of ours."""

_HIDE: Final = "uploadpack.hideRefs"
_EVERYTHING: Final = "refs/*"
_YES: Final = frozenset({"", "true", "yes", "on", "1"})
_TRIES: Final = 3


async def hide(git: Git) -> None:
    """Have the clone serve none of our refs (git-config(1), `transfer.hideRefs`), as best it can.

    Raises:
        TaskspaceError: git is not there, or takes too long.
    """
    known = await git.config("--get-all", _HIDE)
    if REFS in known.text.splitlines():
        return
    for _ in range(_TRIES):
        # Another git may hold the clone's settings for a moment.
        if not (await git.config("--add", _HIDE, REFS)).code:
            return


async def mirrors(git: Git) -> list[str]:
    """What the clone's remotes are set up to do to our refs, for people; empty for usual ones.

    Raises:
        TaskspaceError: git is not there, or takes too long.
    """
    listed = await git.config("-z", "--get-regexp", r"^remote\..*\.(mirror|fetch|push)$")
    found: list[str] = []
    for setting in listed.names:
        key, _, value = setting.partition("\n")
        remote, _, kind = key.removeprefix("remote.").rpartition(".")
        is_all = value.lstrip("+") == f"{_EVERYTHING}:{_EVERYTHING}"
        if (kind == "mirror" and value.lower() in _YES) or (kind == "push" and is_all):
            found.append(
                f"a push to the remote {remote!r} sends all refs (remote.{remote}.{kind}), and "
                "with them snapshots of what is not committed, files such as .env included"
            )
        elif kind == "fetch" and is_all:
            found.append(
                f"a fetch with --prune from the remote {remote!r} removes all snapshots "
                f"(remote.{remote}.fetch)"
            )
    return found
