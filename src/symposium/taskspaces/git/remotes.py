"""Talks to remotes: fetches a branch, sends one, asks whether one answers; never by force.

The programs at the other end are named here: of a setting that names them git takes the first it
reads, which is the repository's.
"""

from typing import Final

from symposium.taskspaces.git.program import Git
from symposium.taskspaces.git.repository import BaseBranch

PATIENCE: Final = 20.0
"""Seconds that a remote may take; without it, work goes on with what is here."""

_PUSH_PATIENCE: Final = 120.0
_THEIR_END: Final = "--upload-pack=git-upload-pack"


async def fetch(git: Git, base: BaseBranch) -> None:
    """Bring the remote's branch up to date here; of a branch that is only here, nothing.

    Raises:
        TaskspaceError: the remote does not answer in time, or has no such branch.
    """
    if base.remote is not None:
        refspec = f"+refs/heads/{base.branch}:{base.ref}"
        words = ("fetch", "--no-tags", "--no-write-fetch-head", _THEIR_END, "--end-of-options")
        await git.ask(*words, base.remote, refspec, patience=PATIENCE)


async def ask(git: Git, remote: str) -> None:
    """See that a remote answers.

    Raises:
        TaskspaceError: it does not, or not in time.
    """
    words = ("ls-remote", "--quiet", "--heads", _THEIR_END, "--end-of-options", remote)
    await git.ask(*words, patience=PATIENCE)


async def push(git: Git, remote: str, commit: str, branch: str) -> None:
    """Send a commit to a branch of a remote, if that is a fast-forward there.

    Raises:
        TaskspaceError: it is not, or the remote does not take it.
    """
    words = ("push", "--no-force", "--no-verify", "--receive-pack=git-receive-pack")
    refspec = f"{commit}:refs/heads/{branch}"
    await git.ask(*words, "--end-of-options", remote, refspec, patience=_PUSH_PATIENCE)
