"""Find unpushed commits and unfinished operations of a worktree."""

from pathlib import Path
from typing import Final

from localio.git import Git, GitRunError
from symposium.tasks import repository
from symposium.tasks.creation import LOCK, base_of
from symposium.tasks.deletion.safety_report import Finding, Risk, Unknown
from symposium.tasks.model import Taskspace, TaskspaceError
from symposium.tasks.repository import BaseBranch, commit_of, worktrees
from symposium.tasks.snapshots.clone_state import stashed

_HALF_DONE: Final = {
    "MERGE_HEAD": "a merge",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase or git am",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "BISECT_LOG": "a bisection",
    "sequencer": "a sequence of picks",
}


async def of_commits(git: Git, taskspace: Taskspace) -> list[Finding | Unknown]:
    """Commits on no remote and not in the base; those not in the base but pushed.

    Raises:
        TaskspaceError: git cannot say.
    """
    tip = await commit_of(git, "HEAD")
    if tip is None:
        return [Unknown(Risk.UNPUSHED, "HEAD is no commit")]
    found: list[Finding | Unknown] = []
    if await git.text_or_none("symbolic-ref", "-q", "HEAD") is None:
        found.append(Finding(Risk.DETACHED, 1, f"HEAD is detached at {tip[:12]}", (tip,)))
    base = base_of(taskspace)
    if base is None or await commit_of(git, base.ref) is None:
        said = base.ref if base else "the base"
        return [*found, Unknown(Risk.BASE, f"{said} does not exist, so merged commits are unknown")]
    if taskspace.landed and await _is_in_own_base(git, tip, base):
        return found
    lost = await _count(git, tip, "--not", "--remotes", base.ref)
    missing = await _count(git, tip, "--not", base.ref)
    if lost:
        found.append(Finding(Risk.UNPUSHED, lost, f"{_count_commits(lost)} on no remote"))
    if missing > lost:
        detail = f"{_count_commits(missing - lost)} pushed and not in {base.branch}"
        found.append(Finding(Risk.NOT_IN_BASE, missing - lost, detail))
    if missing > lost or (base.remote and taskspace.base_commit != tip):
        found += await _freshness(git, base.remote)
    return found


async def _is_in_own_base(git: Git, tip: str, base: BaseBranch) -> bool:
    """Whether the clone's own base branch holds a commit, as after a landing without a push."""
    words = ("merge-base", "--is-ancestor", tip, f"refs/heads/{base.branch}")
    return not (await git.run(*words)).code


def _count_commits(count: int) -> str:
    return "1 commit that is" if count == 1 else f"{count} commits that are"


async def _count(git: Git, *words: str) -> int:
    return int((await git.text("rev-list", "--count", *words)) or 0)


async def _freshness(git: Git, remote: str | None) -> list[Finding | Unknown]:
    """Pushed commits are up to date only if the remote answers now."""
    if remote is None:
        return []
    try:
        await repository.ask(git, remote)
    except (GitRunError, TaskspaceError) as error:
        reason = f"{remote} did not answer, so pushed commits may be outdated: {error.message}"
        return [Unknown(Risk.UNPUSHED, reason)]
    return []


def of_operations(admin: Path) -> list[Finding]:
    """Unfinished git operations of the worktree."""
    there = {what for name, what in _HALF_DONE.items() if (admin / name).exists()}
    return [Finding(Risk.OPERATION, 1, f"{what} is in progress", (what,)) for what in sorted(there)]


def of_stash(common: Path, top: str | None, branch: str) -> list[Finding | Unknown]:
    """Stashes of the branch. They stay in the clone, but are reported."""
    ours: list[str] = []
    homeless = 0
    for entry in stashed(common, top):
        on = entry.message.partition(":")[0].removeprefix("WIP on ").removeprefix("On ")
        if on == branch:
            ours.append(entry.message)
        elif on == "(no branch)":
            homeless += 1
    found: list[Finding | Unknown] = []
    if ours:
        detail = "1 stash" if len(ours) == 1 else f"{len(ours)} stashes"
        found.append(Finding(Risk.STASH, len(ours), detail, tuple(ours[:10])))
    if homeless:
        reason = (
            "1 stash was made on no branch: its task is unknown"
            if homeless == 1
            else f"{homeless} stashes were made on no branch: their task is unknown"
        )
        found.append(Unknown(Risk.STASH, reason))
    return found


async def of_worktrees(git: Git, taskspace: Taskspace) -> list[Finding | Unknown]:
    """Whether the worktree is locked, or its branch is checked out elsewhere.

    Raises:
        TaskspaceError: git cannot say.
    """
    listed = await worktrees(git)
    path, branch = Path(taskspace.worktree), f"refs/heads/{taskspace.branch}"
    here = next((each for each in listed if each.path == path), None)
    if here is None:
        return [Unknown(Risk.LOCKED, "the clone does not know the worktree")]
    found: list[Finding | Unknown] = []
    if here.locked is not None and not here.locked.startswith(LOCK):
        reason = here.locked or "no reason was given"
        found.append(Finding(Risk.LOCKED, 1, f"the worktree is locked: {reason}"))
    for other in listed:
        if other.path != path and other.branch == branch:
            detail = f"the branch is checked out in {other.path} too"
            found.append(Finding(Risk.BRANCH_ELSEWHERE, 1, detail, (str(other.path),)))
    return found
