"""What a repository is and has: its directories, its base branch, its worktrees."""

from dataclasses import dataclass
from pathlib import Path

from symposium.taskspaces.failures import AbsentError, GitError, TaskspaceError
from symposium.taskspaces.git.neutral import neutral
from symposium.taskspaces.git.program import Git


@dataclass(frozen=True, slots=True)
class Repository:
    """A clone.

    Attributes:
        git: runs in it, and runs nothing that it brings.
        common: its `.git` directory, shared by its worktrees.
        root: its main checkout; the `.git` directory itself where it is bare.
        is_bare: whether it has no main checkout.
    """

    git: Git
    common: Path
    root: Path
    is_bare: bool


async def open_repository(path: Path) -> Repository:
    """The clone that a directory belongs to.

    Raises:
        AbsentError: there is none, or git does not trust it.
    """
    git = Git(_directory(path))
    try:
        said = await git.text("rev-parse", "--path-format=absolute", "--git-common-dir")
    except GitError as error:
        hint = "go to a git clone, or make one with git init"
        raise AbsentError(f"{path} is in no git repository: {error.said}", hint) from error
    common = _real(said)
    shared = Git(common, {"GIT_DIR": str(common)})
    is_bare = await shared.maybe("config", "--type=bool", "core.bare") == "true"
    root = common if is_bare or common.name != ".git" else common.parent
    quiet = await neutral(git)
    return Repository(quiet.at(root), common, root, is_bare or root == common)


def _directory(path: Path) -> Path:
    if not path.is_dir():
        raise AbsentError(f"{path} is no directory", "name one inside a git clone")
    return path


def _real(path: str) -> Path:
    return Path(path).resolve()


@dataclass(frozen=True, slots=True)
class Worktree:
    """One of a clone's, as git lists it (git-worktree(1), porcelain).

    Attributes:
        branch: its full ref; None when detached or bare.
        locked: why it is locked; None when it is not.
        prunable: why its directory is no longer what it was; None when all is well.
    """

    path: Path
    head: str | None = None
    branch: str | None = None
    locked: str | None = None
    prunable: str | None = None


async def worktrees(git: Git) -> list[Worktree]:
    """All of a clone's, the main one first."""
    listed = (await git.ask("worktree", "list", "--porcelain", "-z")).text
    found: list[Worktree] = []
    for record in listed.split("\0\0"):
        lines = [line.partition(" ") for line in record.strip("\0").split("\0") if line]
        facts = {key: value for key, _, value in lines}
        if "worktree" in facts:
            found.append(
                Worktree(
                    Path(facts["worktree"]),
                    facts.get("HEAD"),
                    facts.get("branch"),
                    facts.get("locked"),
                    facts.get("prunable"),
                )
            )
    return found


@dataclass(frozen=True, slots=True)
class BaseBranch:
    """What new work starts from.

    Attributes:
        ref: full, as in `refs/remotes/origin/main`.
        branch: its short name, without the remote.
        remote: None for a branch that is only here.
    """

    ref: str
    branch: str
    remote: str | None


async def find_base(git: Git, wanted: str | None) -> BaseBranch:
    """The base branch: the one wanted, else the remote's own, else a usual name, else HEAD's.

    Raises:
        TaskspaceError: the repository has no commit, or the wanted branch is not there.
    """
    remotes = (await git.text("remote")).split()
    remote = "origin" if "origin" in remotes else next(iter(remotes), None)
    names = [wanted] if wanted else await _usual(git, remote)
    for name in names:
        if remote and await _exists(git, f"refs/remotes/{remote}/{name}"):
            return BaseBranch(f"refs/remotes/{remote}/{name}", name, remote)
        if await _exists(git, f"refs/heads/{name}"):
            return BaseBranch(f"refs/heads/{name}", name, None)
    if wanted:
        raise AbsentError(f"there is no branch {wanted!r}", "name one that git branch -a lists")
    raise TaskspaceError("the repository has no commit yet", "make a first commit")


async def _usual(git: Git, remote: str | None) -> list[str]:
    names: list[str] = []
    if remote and (head := await git.maybe("symbolic-ref", "-q", f"refs/remotes/{remote}/HEAD")):
        names.append(head.removeprefix(f"refs/remotes/{remote}/"))
    names += ["main", "master", "develop"]
    if current := await git.maybe("symbolic-ref", "-q", "--short", "HEAD"):
        names.append(current)
    if first := await git.maybe("for-each-ref", "--count=1", "--format=%(refname)", "refs/heads"):
        names.append(first.removeprefix("refs/heads/"))
    return names


async def _exists(git: Git, ref: str) -> bool:
    return await git.maybe("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}") is not None


async def commit_of(git: Git, name: str) -> str | None:
    """The id of the commit that a name means; None if it means none."""
    return await git.maybe(
        "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"
    )
