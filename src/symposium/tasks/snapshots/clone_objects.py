"""Restore missing and damaged objects of a clone."""

import asyncio
import hashlib
import os
import shutil
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from localio.git import Git, GitCommandError
from symposium.tasks.snapshots.store import COPY_TIMEOUT, Store, copied_packs, copy_packs, existing

_READ_ONLY: Final = 0o444
_DERIVED: Final = ("info/commit-graph", "pack/multi-pack-index")
"""Optional files that git derives from the objects."""

_SLACK: Final = 2.0
"""Tolerance in seconds for the coarse clocks of file systems."""


def clone_git(store: Store) -> Git:
    """Git in the store, with only the objects of the clone."""
    return store.git().with_variables({"GIT_OBJECT_DIRECTORY": str(store.common / "objects")})


async def give_back(
    store: Store,
    wanted: Iterable[str],
    remotes: set[str],
    since: float,
    found: Iterable[str] | None = None,
) -> list[str]:
    """Copy missing objects to the clone, with everything that they refer to.

    Args:
        store: the source of the objects.
        wanted: objects that the clone must have.
        remotes: fetched commits; they are checked only if an object is missing or damaged.
        since: time of the snapshot; only loose objects written later are checked for damage.
        found: objects that git has just found in the clone, if already known.

    Returns:
        Notes on objects that could not be restored.

    Raises:
        OSError: an object cannot be written.
    """
    objects = store.common / "objects"
    (objects / "pack").mkdir(parents=True, exist_ok=True)
    is_touched = await asyncio.to_thread(_is_touched, objects, since - _SLACK)
    is_damaged = await asyncio.to_thread(_repair, store, since - _SLACK)
    clone, ids = clone_git(store), set(wanted)
    if found is None or is_damaged:
        found = await existing(clone, ids)
    in_clone = ids.intersection(found)
    held = {id_ for id_ in ids if store.objects.has(id_)}
    lost = sorted(ids - held - in_clone)
    notes = [f"{id_} could not be restored: it is in no snapshot" for id_ in lost]
    missing = held - in_clone
    is_sure = not missing and not is_damaged
    if is_sure and (not is_touched or await _is_whole(clone, held, remotes)):
        return notes
    if not missing and await _is_whole(clone, held, set()):
        return notes
    there: set[str] = held - missing
    if is_damaged or not await _is_whole(clone, there, set()):
        there = set()
    try:
        await _pack(store, clone, held, there)
    except GitCommandError as error:
        notes.append(f"objects could not be copied to the clone: {error.said}")
    return notes


async def _is_whole(clone: Git, ids: set[str], remotes: set[str]) -> bool:
    """Whether all referenced objects exist, except for fetched ones."""
    known = sorted(await existing(clone, remotes))
    stdin = "".join(f"{each}\n" for each in [*sorted(ids), *(f"^{each}" for each in known)])
    words = ("rev-list", "--objects", "--quiet", "--stdin")
    done = await clone.run(*words, stdin=stdin.encode(), timeout=COPY_TIMEOUT)
    return not done.code


async def _pack(store: Store, clone: Git, wanted: set[str], there: set[str]) -> None:
    place = store.directory / "incoming"
    place.mkdir(mode=0o700, exist_ok=True)
    base = place / f"out-{os.getpid()}-{os.urandom(4).hex()}"
    lines = [*sorted(wanted), "--not", *sorted(there)] if there else sorted(wanted)
    stdin = "".join(f"{each}\n" for each in lines).encode()
    words = ("pack-objects", "--revs", "--quiet", str(base))
    done = await store.git().ask(*words, stdin=stdin, timeout=COPY_TIMEOUT)
    target = Path(clone.variables["GIT_OBJECT_DIRECTORY"]) / "pack"
    for name in done.text.split():
        for path in (base.with_name(f"{base.name}-{name}.{kind}") for kind in ("pack", "idx")):
            partial = target / f".{path.name}.partial"
            shutil.copyfile(path, partial)
            partial.chmod(_READ_ONLY)
            partial.replace(target / f"pack-{name}{path.suffix}")
            path.unlink()
        for left in place.glob(f"{base.name}-{name}.*"):
            left.unlink()


def _repair(store: Store, since: float) -> bool:
    """Replace packs that have changed, and remove loose objects that are damaged."""
    ours, theirs = store.directory / "objects" / "pack", store.common / "objects" / "pack"
    is_damaged = False
    copied = copied_packs(store)
    for name in copied:
        pack, index = theirs / name, (theirs / name).with_suffix(".idx")
        own = ours / name
        if _same(pack, own) and _same(index, own.with_suffix(".idx")):
            continue
        is_damaged = True
        for path in (index, pack, pack.with_suffix(".rev")):
            path.unlink(missing_ok=True)
    if is_damaged:
        # This includes packs that `git gc` removed; git can remove them again.
        copy_packs(ours, theirs, names=copied, mode=_READ_ONLY)
    objects = store.common / "objects"
    for path in list(_written_since(objects, since)):
        if not _is_intact(path, store.algorithm):
            is_damaged = True
            path.unlink(missing_ok=True)
    if is_damaged:
        for name in _DERIVED:
            (objects / name).unlink(missing_ok=True)
        shutil.rmtree(objects / "info" / "commit-graphs", ignore_errors=True)
        for path in theirs.glob("*.bitmap"):
            path.unlink()
    return is_damaged


def _is_touched(objects: Path, since: float) -> bool:
    """Whether objects were added or removed."""
    folders = (objects, *(each for each in objects.iterdir() if each.is_dir()))
    return any(each.stat().st_mtime >= since for each in folders)


def _same(one: Path, other: Path) -> bool:
    try:
        first, second = one.stat(), other.stat()
    except OSError:
        return False
    return (first.st_size, first.st_mtime_ns) == (second.st_size, second.st_mtime_ns)


def _written_since(objects: Path, since: float) -> Iterator[Path]:
    for folder in objects.iterdir():
        if len(folder.name) == 2 and folder.is_dir():  # noqa: PLR2004 - the first byte of a name
            with os.scandir(folder) as entries:
                for entry in entries:
                    is_file = entry.is_file(follow_symlinks=False)
                    if is_file and entry.stat(follow_symlinks=False).st_ctime >= since:
                        yield Path(entry.path)


def _is_intact(path: Path, algorithm: str) -> bool:
    """Whether the content of a loose object matches its name."""
    inflate, digest = zlib.decompressobj(), hashlib.new(algorithm, usedforsecurity=False)
    try:
        with path.open("rb") as file:
            while chunk := file.read(1 << 20):
                digest.update(inflate.decompress(chunk))
        digest.update(inflate.flush())
    except FileNotFoundError:
        return True
    except (OSError, zlib.error):
        return False
    is_named = len(path.name) + 2 == digest.digest_size * 2
    return not is_named or digest.hexdigest() == path.parent.name + path.name
