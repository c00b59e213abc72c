"""What has changed in a range of commits, or since one up to the files as they are."""

import asyncio
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from symposium.diffs.git import GitError, Repository, open_repository
from symposium.diffs.model import Changes, FileChange, Hunk, Line
from symposium.diffs.unified import parse_diff

MOST_FILE_BYTES: Final = 1024 * 1024
"""Bytes of the largest file that git does not know yet whose lines are told."""

MOST_FILES: Final = 2000
"""Files that git does not know yet that are told of."""

_DIFF: Final = (
    *("diff", "--no-ext-diff", "--no-textconv", "--no-color", "-M", "-U3"),
    *("--src-prefix=a/", "--dst-prefix=b/", "--inter-hunk-context=0", "--submodule=short"),
    *("--ignore-submodules=dirty", "-O/dev/null"),
)
_BINARY_HEAD: Final = 8000


@dataclass(frozen=True, slots=True)
class DiffRange:
    """A range as it was written.

    Attributes:
        text: `A..B`, `A...B`, `A..`, `..B`, or one revision: that against the files as they are.
        excludes_unstaged: leave out what is not in the index; also files that git does not know.
        excludes_staged: leave out what is in the index only.
    """

    text: str
    excludes_unstaged: bool = False
    excludes_staged: bool = False


async def changes(folder: Path, wanted: DiffRange) -> Changes:
    """What has changed; paths are relative to the top of the repository that the folder is in.

    Raises:
        GitError: there is no repository, or no such revision.
    """
    repository = await open_repository(folder)
    text = wanted.text.strip().strip("\"'`")
    if ".." not in text:
        return await _since(repository, text or "HEAD", wanted)
    dots = "..." if "..." in text else ".."
    old, _, new = text.partition(dots)
    first = await _commit(repository, old or "HEAD")
    last = await _commit(repository, new or "HEAD")
    if dots == "...":
        first = (await repository.told("merge-base", first, last)).strip()
    return await _diff(repository, first, last)


async def _since(repository: Repository, revision: str, wanted: DiffRange) -> Changes:
    first = await _commit(repository, revision)
    head = await _commit(repository, "HEAD")
    match wanted.excludes_staged, wanted.excludes_unstaged:
        case True, True:
            return await _diff(repository, first, head)
        case False, True:
            return await _diff(repository, "--cached", first)
        case True, False:
            committed = await _diff(repository, first, head)
            return _joined(committed, await _diff(repository), await _unknown(repository))
        case _:
            return _joined(await _diff(repository, first), await _unknown(repository))


async def _diff(repository: Repository, *what: str) -> Changes:
    answer = await repository.ask(*_DIFF, *what, "--")
    if answer.code:
        raise GitError(f"git diff: {answer.said}", "")
    return Changes(parse_diff(answer.text, is_cut=answer.is_cut), answer.is_cut)


def _joined(*parts: Changes) -> Changes:
    files = [file for part in parts for file in part.files]
    return Changes(files, any(part.is_cut for part in parts))


async def _commit(repository: Repository, revision: str) -> str:
    """The commit, or tree, that a revision names; a tag names what it was put on."""
    if revision.startswith("-") or "\0" in revision or "\n" in revision:
        raise GitError(f"no revision is written like this: {revision!r}", "name a commit")
    for kind in ("commit", "tree"):
        named = ["--verify", "--quiet", "--end-of-options", f"{revision}^{{{kind}}}"]
        answer = await repository.ask("rev-parse", *named)
        if not answer.code:
            return answer.text.strip().removeprefix("--end-of-options").strip()
    if revision == "HEAD":
        # Nothing has been committed yet: everything is new.
        return (await repository.told("hash-object", "-t", "tree", "/dev/null")).strip()
    raise GitError(f"there is no commit {revision!r} in {repository.top}", "see git log")


async def _unknown(repository: Repository) -> Changes:
    """The files that git does not know and is not told to ignore, as added."""
    answer = await repository.ask("ls-files", "--others", "--exclude-standard", "-z")
    names = [name for name in answer.text.split("\0") if name and not name.endswith("/")]
    files = await asyncio.to_thread(
        lambda: [_added(repository.top, name) for name in names[:MOST_FILES]]
    )
    return Changes([file for file in files if file], answer.is_cut or len(names) > MOST_FILES)


def _added(top: Path, name: str) -> FileChange | None:
    path = top / name
    try:
        state = path.lstat()
        if stat.S_ISLNK(state.st_mode):
            # What a link leads to is no part of the change.
            raw = str(path.readlink()).encode()
        elif stat.S_ISREG(state.st_mode) and state.st_size <= MOST_FILE_BYTES:
            raw = path.read_bytes()
        else:
            return FileChange(name, "Added", 0, 0, [], is_cut=True)
    except OSError:
        return None
    if b"\0" in raw[:_BINARY_HEAD]:
        return FileChange(name, "Added", 0, 0, [], is_binary=True)
    lines = raw.decode(errors="replace").split("\n")
    if not lines[-1]:
        lines.pop()
    if not lines:
        return FileChange(name, "Added", 0, 0, [])
    told = [
        Line("Added", line.removesuffix("\r"), None, number) for number, line in enumerate(lines, 1)
    ]
    hunk = Hunk(f"@@ -0,0 +1,{len(told)} @@", 0, 0, 1, len(told), told)
    return FileChange(name, "Added", len(told), 0, [hunk])
