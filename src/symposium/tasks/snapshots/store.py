"""The store of a clone's snapshots: a separate git directory, outside of the clone.

The store copies the objects of the clone that a snapshot needs, so snapshots survive a damaged or
deleted clone. Git runs in the store, so the settings of the clone have no effect. Only a command
that copies from the clone also reads the clone's objects, through an environment variable.
"""

import asyncio
import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from errno import EDQUOT, EFBIG, EMFILE, ENFILE, ENOMEM, ENOSPC, EROFS
from hashlib import sha256
from pathlib import Path
from typing import Final

from localio.files import PRIVATE_FILE_MODE, make_private_directory, sync_path, write_whole
from localio.git import Git, GitCommandError
from symposium.config.git import git_of
from symposium.tasks.model import TaskspaceError
from symposium.tasks.snapshots.objects import Objects, entries_of

_CONFIG: Final = """[core]
\trepositoryformatversion = {version}
\tbare = true
\tsharedRepository = 0600
\tlogAllRefUpdates = false
[pack]
\twindow = 0
\tcompression = 1
\tthreads = 1
[extensions]
{extensions}"""

_RAW: Final = "* -text !eol !filter !ident !working-tree-encoding !diff !merge\n"
_COMPLETE: Final = "complete"
_COPIED: Final = "copied-packs"
_MAX_COMPLETE: Final = 5000
_UNPACKED: Final = 4 << 20
"""Maximum bytes of a pack that is unpacked, because many small packs make git slow."""

COPY_TIMEOUT: Final = 900.0
"""Timeout in seconds for copying a clone's objects."""

_LOCAL_ERRORS: Final = (
    *(os.strerror(each) for each in (ENOSPC, EDQUOT, EROFS, EFBIG, EMFILE, ENFILE, ENOMEM)),
    *("ut of memory", "unable to create thread", "cannot fork"),
)
"""Errors of git that are not caused by a missing object of the clone."""

_ID: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_LARGE: Final = 16 << 20
_DEEPEST: Final = 5


@dataclass(slots=True)
class Store:
    """The snapshots of one clone.

    Attributes:
        directory: its git directory.
        common: the clone's git directory.
        algorithm: hash algorithm of object ids, as in the clone.
        complete: kinds of the objects that the store has with everything they refer to, by id.
    """

    directory: Path
    common: Path
    algorithm: str
    objects: Objects
    complete: dict[str, str] = field(default_factory=dict[str, str])

    def git(self) -> Git:
        """Git in the store, without the objects of the clone."""
        return replace(git_of(self.directory), is_own=True)

    def git_with_clone(self) -> Git:
        """Git in the store, which also reads the clone's objects."""
        objects = str(self.common / "objects")
        return self.git().with_variables({"GIT_ALTERNATE_OBJECT_DIRECTORIES": objects})

    def with_work_tree(self, tree: Path, index: Path) -> Git:
        """Git in the store with a work tree and an index."""
        return self.git().with_variables({"GIT_WORK_TREE": str(tree), "GIT_INDEX_FILE": str(index)})

    @property
    def id_size(self) -> int:
        """Number of bytes of an object id."""
        return 32 if self.algorithm == "sha256" else 20

    async def bring_in(self, wanted: Iterable[str]) -> list[str]:
        """Copy objects from the clone, with everything that they refer to.

        Returns:
            The objects that are incomplete or missing in the clone.

        Raises:
            TaskspaceError: git cannot write, for example because the disk is full.
        """
        missing = [id_ for id_ in dict.fromkeys(wanted) if id_ not in self.complete]
        if not missing:
            return []
        kinds = await existing(self.git_with_clone(), missing)
        there: set[str] = set()
        if kinds:
            there = await self._pack(set(kinds), ("--not", *await self._bases()))
        await self._completed({id_: kinds[id_] for id_ in there})
        return [id_ for id_ in missing if id_ not in there]

    async def bring_in_loose(self) -> None:
        """Copy the unpacked objects that the clone's refs reach.

        Raises:
            TaskspaceError: git cannot be run.
        """
        git = git_of(self.common)
        listed = await git.run("for-each-ref", "--format=%(objectname)")
        tips = await existing(self.git_with_clone(), set(listed.text.split()))
        if not tips:
            return
        _copy_shallow(self)
        words = ("pack-objects", "--revs", "--unpacked", "--quiet", "--missing=allow-any")
        with suppress(GitCommandError):
            await self._packed(words, sorted(tips))
            await self._completed(tips)

    async def _bases(self) -> list[str]:
        newest = list(self.complete)[-200:]
        return sorted(await existing(self.git(), newest))

    async def _pack(self, wanted: set[str], bases: tuple[str, ...]) -> set[str]:
        """Pack objects without those of the bases; return the ones that could be packed."""
        _copy_shallow(self)
        words = ("pack-objects", "--revs", "--quiet", "--missing=error")
        try:
            await self._packed(words, [*sorted(wanted), *bases])
        except GitCommandError as error:
            _check_ours(error)
            # Pack each object separately, so that a damaged one does not affect the others.
            done: set[str] = set()
            for each in sorted(wanted):
                try:
                    await self._packed(words, [each, *bases])
                    done.add(each)
                except GitCommandError as lost:
                    _check_ours(lost)
            return done
        return wanted

    async def _packed(self, words: tuple[str, ...], asked: list[str]) -> None:
        place = self.directory / "incoming"
        place.mkdir(mode=0o700, exist_ok=True)
        base = str(place / f"{os.getpid()}-{os.urandom(4).hex()}")
        stdin = "".join(f"{each}\n" for each in asked).encode()
        done = await self.git_with_clone().ask(*words, base, stdin=stdin, timeout=COPY_TIMEOUT)
        for name in done.text.split():
            await _take_pack(self, Path(f"{base}-{name}.pack"), name)

    async def _completed(self, kinds: dict[str, str]) -> None:
        new = {id_: kinds[id_] for id_ in sorted(kinds) if id_ not in self.complete}
        if not new:
            return
        # Sync first, because complete objects are never copied again.
        await asyncio.to_thread(self.objects.sync)
        self.complete.update(new)
        kept = list(self.complete.items())[-_MAX_COMPLETE:]
        text = "".join(f"{id_} {kind}\n" for id_, kind in kept)
        write_whole(self.directory / _COMPLETE, text)

    def set_ref(self, name: str, id_: str) -> None:
        """Set a ref of the store to an object, and sync it to disk.

        Raises:
            OSError: the ref cannot be written.
        """
        path = self.directory / name
        if not path.exists() or path.read_text(encoding="utf-8").strip() != id_:
            make_private_directory(path.parent, is_synced=True)
            write_whole(path, f"{id_}\n")

    def copy_excludes(self) -> bytes:
        """Copy the clone's `info/exclude` into the store; return its content."""
        try:
            excluded = (self.common / "info" / "exclude").read_bytes()
        except OSError:
            excluded = b""
        ours = self.directory / "info" / "exclude"
        if not ours.exists() or ours.read_bytes() != excluded:
            write_whole(ours, excluded)
        return excluded

    async def read(self, ids: Iterable[str]) -> dict[str, bytes]:
        """Content of objects; missing ones are omitted.

        Raises:
            TaskspaceError: an object is damaged.
        """
        found: dict[str, bytes] = {}
        packed: list[str] = []
        for id_ in dict.fromkeys(ids):
            loose = self.objects.loose(id_)
            if loose is None:
                packed.append(id_)
            else:
                found[id_] = loose[1]
        for start in range(0, len(packed), 5000):
            found |= await contents(self.git(), packed[start : start + 5000])
        return found

    async def tree(self, id_: str) -> dict[str, tuple[str, str]]:
        """The mode and id of each entry of a tree, by name."""
        data = (await self.read([id_])).get(id_, b"")
        return {
            os.fsdecode(each.name): (each.mode, each.id) for each in entries_of(data, self.id_size)
        }

    async def commit_entries(self, commit: str) -> dict[str, tuple[str, str]]:
        """The mode and id of each entry of a commit's tree, by name; empty where it is missing."""
        data = (await self.read([commit])).get(commit, b"")
        first = data.partition(b"\n")[0]
        return await self.tree(first.removeprefix(b"tree ").decode()) if first else {}


def refs_in(store: Store, below: str) -> dict[str, str]:
    """Refs of a store in a directory, with the object that each names.

    Files are read instead of running git: it takes longer to start than to read them. A ref
    whose file was damaged is left out, as by `git for-each-ref`.

    Raises:
        OSError: the directory cannot be read.
    """
    found: dict[str, str] = {}
    with suppress(FileNotFoundError):
        packed = (store.directory / "packed-refs").read_text(encoding="utf-8").splitlines()
        lines = (line.partition(" ") for line in packed)
        found = {name: id_ for id_, _, name in lines if name.startswith(f"{below}/")}
    with suppress(FileNotFoundError), os.scandir(store.directory / below) as entries:
        for each in entries:
            with suppress(FileNotFoundError, IsADirectoryError):
                text = Path(each.path).read_text(encoding="ascii", errors="replace")
                found[f"{below}/{each.name}"] = text
    ids = {name: id_.strip() for name, id_ in found.items()}
    return {name: id_ for name, id_ in ids.items() if _ID.fullmatch(id_)}


def _check_ours(error: GitCommandError) -> None:
    """Raise an error of git unless missing objects of the clone caused it."""
    is_ended = error.code < 0
    if is_ended or any(each in error.said for each in _LOCAL_ERRORS):
        raise error


async def existing(git: Git, ids: Iterable[str]) -> dict[str, str]:
    """The objects among these that git finds, with their kinds.

    Raises:
        TaskspaceError: git was killed or had a local error.
    """
    asked = "".join(f"{id_}\n" for id_ in ids).encode()
    if not asked:
        return {}
    words = ("cat-file", "--batch-check=%(objectname) %(objecttype)")
    done = await git.run(*words, stdin=asked)
    if done.code:
        _check_ours(GitCommandError(words, done.code, done.said))
    lines = (line.split(" ") for line in done.text.splitlines())
    return {words[0]: words[1] for words in lines if len(words) == 2 and words[1] != "missing"}  # noqa: PLR2004 - a name, and a kind


async def contents(git: Git, ids: Iterable[str]) -> dict[str, bytes]:
    """The content of objects, by id; missing ones are omitted."""
    asked = "".join(f"{id_}\n" for id_ in ids).encode()
    out = (await git.run("cat-file", "--batch", stdin=asked, timeout=COPY_TIMEOUT)).out
    found: dict[str, bytes] = {}
    place = 0
    while place < len(out):
        end = out.index(b"\n", place)
        words = out[place:end].split(b" ")
        place = end + 1
        if len(words) == 3 and words[2].isdigit():  # noqa: PLR2004 - name, kind, size
            size = int(words[2])
            found[words[0].decode()] = out[place : place + size]
            place += size + 1
    return found


async def _take_pack(store: Store, pack: Path, name: str) -> None:
    """Add a pack to the store; unpack a small one."""
    small = await asyncio.to_thread(_small, pack)
    if small is not None:
        begun = time.time()
        await store.git().ask("unpack-objects", "-q", stdin=small)
        await asyncio.to_thread(store.objects.take_note, begun)
    else:
        await asyncio.to_thread(_move_pack, store, pack, name)
    for each in await asyncio.to_thread(lambda: list(pack.parent.glob(f"{pack.stem}.*"))):
        each.unlink()


def _move_pack(store: Store, pack: Path, name: str) -> None:
    target = store.directory / "objects" / "pack"
    for ending in ("pack", "idx"):
        path = pack.with_suffix(f".{ending}")
        path.chmod(PRIVATE_FILE_MODE)
        sync_path(path)
        path.replace(target / f"pack-{name}.{ending}")
    sync_path(target)
    store.objects.forget_packs()


def _copy_shallow(store: Store) -> None:
    """Copy the clone's `shallow` file, so that git stops where its history ends."""
    ours, theirs = store.directory / "shallow", store.common / "shallow"
    try:
        write_whole(ours, theirs.read_bytes())
    except OSError:
        ours.unlink(missing_ok=True)


def copied_packs(store: Store) -> list[str]:
    """Names of the packs that the clone had when the store was created."""
    try:
        return (store.directory / _COPIED).read_text(encoding="utf-8").split()
    except OSError:
        return []


def _small(pack: Path) -> bytes | None:
    return pack.read_bytes() if pack.stat().st_size <= _UNPACKED else None


def directory_of(state: Path, common: Path) -> Path:
    """Directory of the store of a clone."""
    digest = sha256(os.fsencode(common)).hexdigest()[:20]
    return state / "snapshots" / digest


async def open_store(directory: Path, common: Path) -> Store:
    """Open the store of a clone; create it, with a copy of the clone's packs, if necessary.

    Raises:
        TaskspaceError: git cannot create the store.
        OSError: a file of the store cannot be read or written.
    """
    config = directory / "config"
    if not config.exists():
        await _make(directory, common)
    text = config.read_text(encoding="utf-8")
    algorithm = "sha256" if "sha256" in text else "sha1"
    store = Store(directory, common, algorithm, Objects(directory / "objects", algorithm))
    with suppress(OSError):
        for line in (directory / _COMPLETE).read_text(encoding="utf-8").splitlines():
            id_, _, kind = line.partition(" ")
            store.complete[id_] = kind
    return store


async def _make(directory: Path, common: Path) -> None:
    """Create a store; `config` is written last, so an incomplete store is created again."""
    for folder in ("objects/pack", "refs", "info"):
        make_private_directory(directory / folder, is_synced=True)
    for place in (directory.parent, directory):
        place.chmod(0o700)
    write_whole(directory / "common", f"{common}\n")
    write_whole(directory / "HEAD", "ref: refs/heads/none\n")
    write_whole(directory / "info" / "attributes", _RAW)
    hashes = await git_of(common).object_format()
    for folder in _object_folders(common / "objects"):
        copy_packs(folder / "pack", directory / "objects" / "pack")
    own = (common / "objects" / "pack").glob("pack-*.pack")
    write_whole(directory / _COPIED, "".join(f"{path.name}\n" for path in sorted(own)))
    extensions = "" if hashes == "sha1" else f"\tobjectFormat = {hashes}\n"
    text = _CONFIG.format(version=0 if hashes == "sha1" else 1, extensions=extensions)
    write_whole(directory / "config", text)
    store = Store(directory, common, hashes, Objects(directory / "objects", hashes))
    await store.bring_in_loose()


def _object_folders(first: Path) -> Iterator[Path]:
    """Object directories of a clone and of its alternates (gitrepository-layout(5))."""
    waiting, seen = [(first, 0)], set[Path]()
    while waiting:
        folder, deep = waiting.pop()
        if folder in seen or deep > _DEEPEST:
            continue
        seen.add(folder)
        yield folder
        with suppress(OSError):
            lines = (folder / "info" / "alternates").read_text(encoding="utf-8").splitlines()
            waiting += [((folder / line).resolve(), deep + 1) for line in lines if line[:1] != "#"]


def copy_packs(
    source: Path, target: Path, *, names: Iterable[str] | None = None, mode: int = PRIVATE_FILE_MODE
) -> None:
    """Copy missing packs; shares their blocks if the file system supports it.

    Args:
        source: a folder of packs.
        target: the folder for the copies.
        names: names of the packs to copy. Default: all.
        mode: permissions of the copies.

    Raises:
        OSError: a pack cannot be read or written.
    """
    wanted = None if names is None else set(names)
    for pack in sorted(source.glob("pack-*.pack")):
        if wanted is not None and pack.name not in wanted:
            continue
        index = pack.with_suffix(".idx")
        if (target / index.name).exists() or not index.is_file():
            continue
        # Copy the index last, because git ignores a pack without an index.
        for path in (pack, index):
            partial = target / f"{path.name}.partial"
            shutil.copyfile(path, partial, follow_symlinks=False)
            shutil.copystat(path, partial, follow_symlinks=False)
            partial.chmod(mode)
            sync_path(partial)
            partial.replace(target / path.name)
        sync_path(target)


async def small_blobs(store: Store, wanted: list[str]) -> dict[str, bytes]:
    """Read small packed blobs; use `large_blob` for the large ones."""
    asked = "".join(f"{id_}\n" for id_ in wanted).encode()
    done = await store.git().ask(
        "cat-file", "--batch-check=%(objectname) %(objectsize)", stdin=asked
    )
    sizes = [line.split(" ") for line in done.text.splitlines()]
    small = [words[0] for words in sizes if words[-1].isdigit() and int(words[-1]) < _LARGE]
    return await contents(store.git(), small)


async def large_blob(store: Store, id_: str) -> Path:
    """Write a large blob into a temporary file, which the caller moves or deletes.

    Raises:
        TaskspaceError: the blob is missing.
    """
    place = store.directory / "incoming"
    place.mkdir(mode=0o700, exist_ok=True)
    git = store.git().at(place)
    done = await git.run("unpack-file", id_, timeout=COPY_TIMEOUT)
    if done.code:
        raise TaskspaceError(f"object {id_} cannot be read: {done.said}", "")
    return place / done.text
