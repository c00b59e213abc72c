"""Takes a snapshot: what has changed becomes objects, then one ref makes them last."""

import asyncio
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Final

from symposium.taskspaces.git.program import Git
from symposium.taskspaces.snapshots.branches import (
    IDENTITY,
    Kept,
    anchor,
    branches_and_stash,
)
from symposium.taskspaces.snapshots.gitdir import (
    Signature,
    admin_directory,
    objects_named,
    private_files,
    signature,
    store,
)
from symposium.taskspaces.snapshots.modes import Modes, modes_of, names_in
from symposium.taskspaces.snapshots.seed import seed
from symposium.taskspaces.snapshots.staged import keep_index
from symposium.taskspaces.snapshots.state import (
    Details,
    Snapshot,
    encode_details,
    message_of,
)
from symposium.taskspaces.snapshots.subject import Subject
from symposium.taskspaces.snapshots.worktree_tree import KeptTree, keep_precious, keep_tree

INDEX: Final = "index"
"""The shadow index that mirrors the worktree."""


@dataclass(slots=True)
class Memory:
    """What the last snapshot of a worktree found, to see cheaply what has changed since."""

    tree: KeptTree | None = None
    private: tuple[Signature, str | None, str | None] | None = None
    anchored: tuple[frozenset[str], str | None] | None = None
    modes: Modes | None = None
    looked: tuple[str, str, str] | None = None


@dataclass(frozen=True, slots=True)
class Parts:
    """All that makes one state."""

    tree: KeptTree
    staged: str | None
    private: str | None
    kept: Kept
    head: str
    tip: str
    modes: Modes
    private_objects: frozenset[str]


async def parts_of(subject: Subject, memory: Memory) -> Parts:
    """What the worktree is now; its files become objects.

    Raises:
        TaskspaceError: it cannot be kept.
    """
    modes, tree = await _files_of(subject, memory)
    admin = admin_directory(subject.worktree, subject.common)
    names = list(private_files(admin))
    # Git rewrites logs/HEAD with each commit: HEAD and the index tell enough of a change.
    seen = signature(admin, names)
    if memory.private is None or memory.private[0] != seen:
        staged = await keep_index(subject, admin)
        memory.private = (seen, staged, await store(subject, admin, names) if names else None)
    _, staged, private = memory.private
    head, tip = await _head(subject, admin)
    kept = await branches_and_stash(subject)
    named = frozenset(objects_named(admin, names))
    return Parts(tree, staged, private, kept, head, tip, modes, named)


async def work_of(subject: Subject, memory: Memory) -> str:
    """A commit of the files as they are now, which no ref names: to be compared, not kept.

    Raises:
        TaskspaceError: the files cannot be read.
    """
    _, tree = await _files_of(subject, memory)
    _, tip = await _head(subject, admin_directory(subject.worktree, subject.common))
    if memory.looked is None or memory.looked[:2] != (tree.tree, tip):
        git = subject.looking_at(subject.worktree, INDEX).told(IDENTITY)
        parents = ["-p", tip] if tip else []
        work = await git.text("commit-tree", "-m", "symposium work", *parents, tree.tree)
        memory.looked = tree.tree, tip, work
    return memory.looked[2]


async def _files_of(subject: Subject, memory: Memory) -> tuple[Modes, KeptTree]:
    await subject.prepare()
    subject.worktree.mkdir(parents=True, exist_ok=True)
    if memory.tree is None:
        await seed(subject, subject.shadow / INDEX)
    precious = await keep_precious(subject, INDEX)
    before = memory.tree
    memory.tree = await keep_tree(subject, subject.worktree, INDEX, before)
    # A change of permissions alone is one of ctime: the index is written anew for it, too.
    if memory.modes is None or memory.tree is not before:
        nested = [each.path for each in memory.tree.nested if "/" not in each.path]
        names = await names_in(subject, INDEX, nested)
        memory.modes = await asyncio.to_thread(modes_of, subject.worktree, names)
    return memory.modes.with_these(precious), memory.tree


async def _head(subject: Subject, admin: Path) -> tuple[str, str]:
    try:
        text = (admin / "HEAD").read_text(encoding="utf-8", errors="surrogateescape").strip()
    except OSError:
        return "", ""
    ref = text.removeprefix("ref:").strip() if text.startswith("ref:") else ""
    name = f"{ref or text}^{{commit}}"
    return ref, await subject.clone().maybe("rev-parse", "--verify", "--quiet", name) or ""


def key_of(parts: Parts) -> str:
    """The same for two states between which no work was done."""
    facts = [
        *(parts.tree.tree, parts.staged or "", parts.head, parts.tip),
        *(f"{each.path}:{each.tree}:{each.gitdir}" for each in parts.tree.nested),
        *(entry.commit for entry in parts.kept.stash),
        *sorted(parts.private_objects),
        *([parts.private or ""] if parts.staged is None else []),
        *(f"{name}:{mode:o}" for name, mode in sorted(parts.modes.unusual.items())),
        *(f"{kind}:{mode:o}" for kind, mode in sorted(parts.modes.usual.items())),
    ]
    return sha256("\n".join(facts).encode(errors="surrogateescape")).hexdigest()


@dataclass(frozen=True, slots=True)
class Moment:
    """When and why a state is kept; `called_on` as in `Snapshot`."""

    at: float
    reason: str
    called_on: str = ""


async def write(subject: Subject, parts: Parts, memory: Memory, moment: Moment) -> Snapshot:
    """Make the state last under a ref of its own.

    Raises:
        TaskspaceError: it cannot be written.
    """
    git = subject.looking_at(subject.worktree, INDEX).told(IDENTITY)
    parents = ["-p", parts.tip] if parts.tip else []
    work = await git.text("commit-tree", "-m", "symposium work", *parents, parts.tree.tree)
    anchored = await _anchored(git, parts, memory)
    tree = await _tree(subject, git, parts)
    ref, key = f"{subject.refs}/{int(moment.at * 1000):014d}", key_of(parts)
    told = (moment.at, moment.reason, parts.head, parts.tip, moment.called_on)
    made = Snapshot(ref, "", work, key, *told)
    text = message_of(made).encode(errors="surrogateescape")
    parents = ["-p", work, *(["-p", anchored] if anchored else [])]
    commit = (await git.ask("commit-tree", "-F", "-", *parents, tree, stdin=text)).text
    await subject.clone().ask("update-ref", ref, commit)
    return replace(made, commit=commit)


async def _anchored(git: Git, parts: Parts, memory: Memory) -> str | None:
    ids = {*parts.kept.branches.values(), *(entry.commit for entry in parts.kept.stash)}
    wanted = frozenset(ids | parts.private_objects)
    if memory.anchored is None or memory.anchored[0] != wanted:
        memory.anchored = wanted, await anchor(git, set(wanted)) if wanted else None
    return memory.anchored[1]


async def _upstream(subject: Subject, head: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for key in ("remote", "merge"):
        name = f"branch.{head.removeprefix('refs/heads/')}.{key}"
        value = await subject.clone().maybe("config", "--local", name) if head else None
        if value is not None:
            found[key] = value
    return found


async def _tree(subject: Subject, git: Git, parts: Parts) -> str:
    details = Details(
        parts.kept.branches,
        parts.kept.stash,
        parts.tree.empty,
        parts.tree.nested,
        await _upstream(subject, parts.head),
        dict(parts.modes.unusual),
        parts.tree.skipped,
        dict(parts.modes.usual),
    )
    blob = await git.ask("hash-object", "-w", "--stdin", stdin=encode_details(details))
    entries = [("100644", "blob", blob.text, "details.json"), _entry(parts.tree.tree, "work")]
    for name, id_ in (("staged", parts.staged), ("private", parts.private)):
        if id_:
            entries.append(_entry(id_, name))
    for number, each in enumerate(parts.tree.nested):
        entries.append(_entry(each.tree, f"nested-{number}"))
        if each.gitdir:
            entries.append(_entry(each.gitdir, f"nested-{number}-git"))
    listed = "".join(f"{mode} {kind} {id_}\t{name}\0" for mode, kind, id_, name in entries)
    return (await git.ask("mktree", "-z", stdin=listed.encode())).text


def _entry(tree: str, name: str) -> tuple[str, str, str, str]:
    return "040000", "tree", tree, name
