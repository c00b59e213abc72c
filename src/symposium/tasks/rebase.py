"""Copy the commits of a branch onto another commit, as `git rebase` does, without running it.

Only objects are written here: no ref, index, or file of a worktree changes (`branch_move.py`).
The options and the order of `git rebase` are those of its default backend: merge commits are left
out, as is a commit whose patch the base has, and one that has no effect on the new base.
"""

import codecs
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from localio.git import Git, GitCommandError
from symposium.tasks.merges import merged_tree

_ORDER: Final = ("--right-only", "--reverse", "--topo-order", "--end-of-options")
_PICKED: Final = ("rev-list", "--max-parents=1", "--cherry-mark", *_ORDER)
_MERGES: Final = ("rev-list", "--min-parents=2", *_ORDER)

_IN_THE_BASE: Final = "="
"""The mark of a commit whose patch the base has (git-rev-list(1), `--cherry-mark`)."""

_NOT_ASCII: Final = 128

_WRITE: Final = ("hash-object", "-t", "commit", "-w", "--stdin", "--literally")
"""`--literally`: git copies an author line that does not follow the format, and so does this."""


@dataclass(frozen=True, slots=True)
class Replay:
    """The copies of a branch's commits.

    Attributes:
        tip: the last copy; the new base where every commit is left out.
        tree: the files at `tip`.
        merges: the merge commits that are left out, the oldest first.
    """

    tip: str
    tree: str
    merges: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit object, without the headers that a copy does not have, as its signature.

    Attributes:
        author: name, address, and date, as the object has them.
        encoding: of `author` and `message`; None for UTF-8.
    """

    tree: str
    parents: tuple[str, ...]
    author: bytes
    encoding: bytes | None
    message: bytes


async def replay(git: Git, onto: str, tip: str) -> Replay | None:
    """Copy what `tip` has and `onto` lacks; None where a commit conflicts.

    Raises:
        GitRunError: git cannot read or write the objects, or does not know who commits.
        TaskspaceError: as `Git.run`.
    """
    merges = (await git.text(*_MERGES, f"{onto}...{tip}")).split()
    marked = (await git.text(*_PICKED, f"{onto}...{tip}")).split()
    commits = await _read(git, [each[1:] for each in marked])
    trees = await _trees(git, {onto, *(each for c in commits for each in c.parents)})
    empty = await git.text("hash-object", "-t", "tree", "--stdin")
    committer = (await git.ask("var", "GIT_COMMITTER_IDENT")).out.rstrip(b"\n")
    new, tree = onto, trees[onto]
    for mark, commit in zip(marked, commits, strict=True):
        before = trees[commit.parents[0]] if commit.parents else empty
        was_empty = commit.tree == before
        if mark[0] == _IN_THE_BASE and not was_empty:
            continue
        merged: str | None = tree
        if not was_empty:
            merged = await _picked(git, commit, mark[1:], tree, committer)
        if merged is None:
            return None
        if merged == tree and not was_empty:
            continue
        new, tree = await _write(git, copy_of(commit, merged, new, committer)), merged
    return Replay(new, tree, tuple(merges))


async def _picked(git: Git, commit: Commit, id_: str, tree: str, committer: bytes) -> str | None:
    """The tree of a commit's change on top of a tree; None for a conflict.

    `merge-tree` finds the common ancestor by itself (`--merge-base` needs git 2.40). A commit with
    the tree and the same parent makes that parent the ancestor.
    """
    parents = b"".join(b"parent %s\n" % each.encode() for each in commit.parents)
    people = b"author %s\ncommitter %s\n" % (committer, committer)
    ours = await _write(git, b"tree %s\n%s%s\n" % (tree.encode(), parents, people))
    return await merged_tree(git, ours, id_)


def commit_from(raw: bytes) -> Commit:
    """Read a commit object.

    Raises:
        ValueError: it has no tree or no author.
    """
    head, _, message = raw.partition(b"\n\n")
    # A line that starts with a space continues the header before it.
    facts = [line.partition(b" ") for line in head.split(b"\n") if not line.startswith(b" ")]
    found: dict[bytes, list[bytes]] = {}
    for name, _, value in facts:
        found.setdefault(name, []).append(value)
    if b"tree" not in found or b"author" not in found:
        raise ValueError("a commit without a tree or an author")
    return Commit(
        found[b"tree"][0].decode(),
        tuple(each.decode() for each in found.get(b"parent", [])),
        found[b"author"][0],
        found.get(b"encoding", [None])[0],
        message,
    )


def copy_of(commit: Commit, tree: str, parent: str, committer: bytes) -> bytes:
    """The object of a copy: the same author, encoding, and message, byte for byte.

    Args:
        commit: the original.
        tree: the files of the copy.
        parent: its parent.
        committer: name, address, and date in UTF-8.
    """
    lines = [b"tree " + tree.encode(), b"parent " + parent.encode(), b"author " + commit.author]
    lines.append(b"committer " + _encoded(committer, commit.encoding))
    if commit.encoding is not None:
        lines.append(b"encoding " + commit.encoding)
    return b"\n".join([*lines, b"", commit.message])


def _encoded(committer: bytes, encoding: bytes | None) -> bytes:
    """The committer in the encoding of the commit; unchanged where that has no such letters."""
    if encoding is None:
        return committer
    try:
        encoded = committer.decode().encode(codecs.lookup(encoding.decode()).name)
    except (LookupError, ValueError):
        return committer
    # In others, as UTF-7 and UTF-16, the spaces and brackets of a header are other bytes.
    return encoded if _ascii_of(encoded) == _ascii_of(committer) else committer


def _ascii_of(text: bytes) -> bytes:
    return bytes(each for each in text if each < _NOT_ASCII)


async def _read(git: Git, ids: Sequence[str]) -> list[Commit]:
    if not ids:
        return []
    words = ("cat-file", "--batch")
    done = await git.ask(*words, stdin="".join(f"{each}\n" for each in ids).encode())
    found: list[Commit] = []
    rest = memoryview(done.out)
    try:
        for _ in ids:
            line, _, _ = bytes(rest[:256]).partition(b"\n")
            size = int(line.split(b" ")[2])
            begin = len(line) + 1
            found.append(commit_from(bytes(rest[begin : begin + size])))
            rest = rest[begin + size + 1 :]
    except (ValueError, IndexError) as error:
        raise GitCommandError(words, done.code, f"a commit cannot be read: {error}") from error
    return found


async def _trees(git: Git, commits: set[str]) -> Mapping[str, str]:
    ordered = sorted(commits)
    asked = "".join(f"{each}^{{tree}}\n" for each in ordered).encode()
    done = await git.ask("cat-file", "--batch-check=%(objectname)", stdin=asked)
    return dict(zip(ordered, done.text.split("\n"), strict=True))


async def _write(git: Git, raw: bytes) -> str:
    return (await git.ask(*_WRITE, stdin=raw)).text
