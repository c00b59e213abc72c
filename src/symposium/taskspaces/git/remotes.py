"""Talk to remotes: fetch a branch, push one, ask whether one answers; never by force.

The programs at the other end have their usual names: a clone's settings do not name them.
"""

import asyncio
from typing import Final

from symposium.git.isolation import push_hook
from symposium.git.program import Git
from symposium.taskspaces.failures import TaskspaceError
from symposium.taskspaces.git.repository import BaseBranch

PATIENCE: Final = 20.0
"""Seconds that a remote may take; without it, work goes on with what is here."""

_PUSH_PATIENCE: Final = 120.0
_THEIR_END: Final = "--upload-pack=git-upload-pack"
_FETCH: Final = (
    *("fetch", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules"),
    *("--no-auto-maintenance", "--refmap="),
)


async def fetch(git: Git, base: BaseBranch) -> None:
    """Bring the remote's branch up to date here; of a branch that is only here, nothing.

    Raises:
        TaskspaceError: the remote does not answer in time, or has no such branch.
    """
    if base.remote is not None:
        refspec = f"+refs/heads/{base.branch}:{base.ref}"
        words = (*_FETCH, _THEIR_END, "--end-of-options", base.remote, refspec)
        await (await git.online()).ask(*words, patience=PATIENCE)


async def ask(git: Git, remote: str) -> None:
    """See that a remote answers.

    Raises:
        TaskspaceError: it does not, or not in time.
    """
    words = ("ls-remote", "--quiet", "--heads", _THEIR_END, "--end-of-options", remote)
    await (await git.online()).ask(*words, patience=PATIENCE)


async def push(git: Git, remote: str, commit: str, branch: str) -> None:
    """Send a commit to a branch of a remote, if that is a fast-forward there.

    Raises:
        TaskspaceError: it is not, or the remote does not take it.
    """
    online = await git.online()
    for url in (await online.text("remote", "get-url", "--push", "--all", "--", remote)).split(
        "\n"
    ):
        if hook := await asyncio.to_thread(push_hook, url):
            reason = f"a push to {remote!r} would run {hook}; nothing was pushed"
            raise TaskspaceError(reason, f"push by hand: git push {remote} {branch}")
    words = ("push", "--no-force", "--no-verify", "--no-signed", "--recurse-submodules=no")
    refspec = f"{commit}:refs/heads/{branch}"
    rest = ("--receive-pack=git-receive-pack", "--end-of-options", remote, refspec)
    await online.ask(*words, *rest, patience=_PUSH_PATIENCE)
