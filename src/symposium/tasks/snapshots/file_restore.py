"""Restore the files below a folder to a tree of a snapshot.

Only files that differ are changed. Only files in the mirror are removed or replaced, because the
snapshot before the restore contains them. Other files in the way are moved aside. Each folder is
opened without following links, so a link that an agent created has no effect.
"""

import asyncio
import os
import shutil
import stat
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Final

import msgspec

from localio.files import make_private_directory
from symposium.tasks.snapshots.file_contents import stamp_of
from symposium.tasks.snapshots.file_metadata import (
    META,
    USUAL_FILE,
    USUAL_PROGRAM,
    File,
    Folder,
    Meta,
    Mirror,
    decode_name,
    encode_name,
)
from symposium.tasks.snapshots.objects import (
    FOLDER,
    LINK,
    PROGRAM,
    TreeEntry,
    entries_of,
    id_of_file,
)
from symposium.tasks.snapshots.store import Store, large_blob, small_blobs

_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_LARGE: Final = 16 << 20
_AT_ONCE: Final = 2000


@dataclass(frozen=True, slots=True)
class _Write:
    path: str
    kind: str
    id: str
    mode: int
    known: File | None


@dataclass(slots=True)
class _Plan:
    files_gone: list[tuple[str, File]] = field(default_factory=list[tuple[str, File]])
    folders_gone: list[tuple[str, Folder]] = field(default_factory=list[tuple[str, Folder]])
    folders: list[str] = field(default_factory=list[str])
    writes: list[_Write] = field(default_factory=list[_Write])
    pipes: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    metas: list[tuple[str, Meta, Folder | None]] = field(
        default_factory=list[tuple[str, Meta, "Folder | None"]]
    )
    modes: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    left: list[str] = field(default_factory=list[str])


async def restore_files(store: Store, mirror: Mirror, tree: str, aside: Path) -> list[str]:
    """Restore the files below the mirror's root to a tree.

    Args:
        store: has the tree.
        mirror: the current files, just scanned.
        tree: the target tree.
        aside: folder for files that are in the way.

    Returns:
        Notes on files that could not be restored completely.

    Raises:
        TaskspaceError: an object is missing.
        OSError: a file cannot be written; restored files stay.
    """
    plan = await _planned(store, mirror.top, tree)
    for path in mirror.linked:
        folder, _, name = path.rpartition("/")
        known = mirror.top.at(folder)
        file = known.entries.get(name) if known is not None else None
        if known is not None and isinstance(file, File):
            # Replacing one link changes the timestamps of the others.
            file.stamp = known.digest = 0
    work = _Restore(mirror.root, aside, store.algorithm)
    await asyncio.to_thread(work.prepare, plan)
    loose = [each for each in plan.writes if store.objects.loose_size(each.id) is not None]
    await asyncio.to_thread(work.write_loose, store, loose)
    packed = [each for each in plan.writes if store.objects.loose_size(each.id) is None]
    for start in range(0, len(packed), _AT_ONCE):
        some = packed[start : start + _AT_ONCE]
        data = await small_blobs(store, list(dict.fromkeys(each.id for each in some)))
        await asyncio.to_thread(work.write_all, [each for each in some if each.id in data], data)
        for each in some:
            if each.id not in data:
                path = await large_blob(store, each.id)
                await asyncio.to_thread(work.write_from, each, path)
    await asyncio.to_thread(work.finish, plan)
    left = [f"{path} is kept: it is in no snapshot" for path in plan.left]
    return [*left, *work.notes]


async def _planned(store: Store, top: Folder, tree: str) -> _Plan:
    plan = _Plan()
    level: list[tuple[Folder | None, str, str]] = [(top, "", tree)]
    while level:
        level = [each for each in level if each[0] is None or each[0].tree != each[2]]
        contents = await store.read(each[2] for each in level)
        listed = [list(entries_of(contents.get(each[2], b""), store.id_size)) for each in level]
        wanted = [entry.id for entries in listed for entry in entries if entry.name == META]
        metas = await store.read(wanted)
        deeper: list[tuple[Folder | None, str, str]] = []
        for (folder, path, _), entries in zip(level, listed, strict=True):
            deeper += _compare(plan, folder, path, entries, metas)
        level = deeper
    return plan


def _compare(
    plan: _Plan,
    folder: Folder | None,
    path: str,
    entries: list[TreeEntry],
    metas: dict[str, bytes],
) -> Iterator[tuple[Folder | None, str, str]]:
    """Plan one folder; return its folders that differ, with their trees."""
    start = f"{path}/" if path else ""
    wanted = {os.fsdecode(each.name[1:]): each for each in entries if each.name != META}
    raw = next((metas[each.id] for each in entries if each.name == META), None)
    meta = msgspec.json.decode(raw, type=Meta) if raw is not None else Meta()
    pipes = {decode_name(name): mode for name, mode in meta.pipes.items()}
    plan.metas.append((path, meta, folder))
    here = folder.entries if folder is not None and folder.is_kept else {}
    for name, known in here.items():
        if name not in wanted and name not in pipes:
            _gone(plan, start + name, known)
    for name, mode in pipes.items():
        known = here.get(name)
        if not (isinstance(known, File) and stat.S_ISFIFO(known.mode)):
            if known is not None:
                _gone(plan, start + name, known)
            plan.pipes.append((start + name, mode))
    for name, entry in wanted.items():
        known = here.get(name)
        if entry.mode != FOLDER:
            _file(plan, start + name, entry, known, meta)
            continue
        if isinstance(known, File):
            _gone(plan, start + name, known)
        if not isinstance(known, Folder):
            plan.folders.append(start + name)
        yield known if isinstance(known, Folder) else None, start + name, entry.id


def _file(
    plan: _Plan, path: str, entry: TreeEntry, known: File | Folder | None, meta: Meta
) -> None:
    if isinstance(known, Folder):
        _gone(plan, path, known)
        known = None
    mode = USUAL_PROGRAM if entry.mode == PROGRAM else USUAL_FILE
    mode = meta.modes.get(encode_name(os.fsdecode(entry.name[1:])), mode)
    is_same = known is not None and known.id == bytes.fromhex(entry.id)
    if not is_same or known is None or stat.S_ISLNK(known.mode) != (entry.mode == LINK):
        plan.writes.append(_Write(path, entry.mode, entry.id, mode, known))
    elif entry.mode != LINK and stat.S_IMODE(known.mode) != mode:
        plan.modes.append((path, mode))


def _gone(plan: _Plan, path: str, known: File | Folder) -> None:
    if isinstance(known, Folder):
        plan.folders_gone.append((path, known))
    elif known.id or stat.S_ISFIFO(known.mode):
        plan.files_gone.append((path, known))
    else:
        plan.left.append(path)


class _Restore:
    """Write below one folder."""

    def __init__(self, root: Path, aside: Path, algorithm: str) -> None:
        self.notes: list[str] = []
        self._algorithm = algorithm
        self._root = root
        self._aside = aside

    def prepare(self, plan: _Plan) -> None:
        """Remove saved files that are not in the target; create folders and pipes."""
        self._make_root()
        for path, known in plan.files_gone:
            self._remove(path, known)
        for path, known in plan.folders_gone:
            self._remove_folder(path, known)
        for path in plan.folders:
            self._clear(path, None, is_folder=True)
            with self._in(path) as (parent, name), suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=parent)
        for path, mode in plan.pipes:
            self._clear(path, None)
            with self._in(path) as (parent, name):
                os.mkfifo(name, mode, dir_fd=parent)
                os.chmod(name, mode, dir_fd=parent)

    def write_loose(self, store: Store, writes: list[_Write]) -> None:
        """Write files whose content is in a separate file."""
        for each in writes:
            if each.kind == LINK or (store.objects.loose_size(each.id) or 0) < _LARGE:
                found = store.objects.loose(each.id)
                self.write_all([each], {each.id: found[1]} if found else {})
            else:
                place = store.directory / "incoming"
                place.mkdir(mode=0o700, exist_ok=True)
                path = place / f"{os.getpid()}-{os.urandom(4).hex()}"
                with path.open("xb") as file:
                    store.objects.copy_loose(each.id, file)
                self.write_from(each, path)

    def write_all(self, writes: list[_Write], data: dict[str, bytes]) -> None:
        """Write files whose content is in memory."""
        for each in writes:
            if each.id not in data:
                self.notes.append(f"{each.path} was not restored: object {each.id} is missing")
                continue
            content = data[each.id]
            if each.known is None and self._is_so(each, content):
                continue
            self._clear(each.path, each.known)
            with self._in(each.path) as (parent, name):
                temporary = f".symposium-{os.urandom(6).hex()}"
                if each.kind == LINK:
                    os.symlink(os.fsdecode(content), temporary, dir_fd=parent)
                else:
                    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
                    with os.fdopen(os.open(temporary, flags, 0o600, dir_fd=parent), "wb") as file:
                        file.write(content)
                        os.fchmod(file.fileno(), each.mode)
                os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)

    def write_from(self, each: _Write, path: Path) -> None:
        """Write a large file from a temporary one, which is removed."""
        self._clear(each.path, each.known)
        temporary = f".symposium-{os.urandom(6).hex()}"
        with self._in(each.path) as (parent, name), path.open("rb") as source:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
            with os.fdopen(os.open(temporary, flags, 0o600, dir_fd=parent), "wb") as file:
                shutil.copyfileobj(source, file, 1 << 20)
                os.fchmod(file.fileno(), each.mode)
            os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
        path.unlink()

    def finish(self, plan: _Plan) -> None:
        """Restore permissions and extended attributes of files and folders."""
        for path, mode in plan.modes:
            self._mode(path, mode)
        written = {each.path for each in plan.writes}
        # Inner folders first, because an outer folder may become read-only.
        for path, meta, folder in reversed(plan.metas):
            start = f"{path}/" if path else ""
            before = (folder.xattrs or {}) if folder is not None else {}
            after = {decode_name(name): each for name, each in meta.xattrs.items()}
            for name in {*before, *after}:
                if before.get(name) != after.get(name) or start + name in written:
                    self._xattrs(start + name if name else path, after.get(name, {}))
            self._mode(path, meta.mode)

    def _make_root(self) -> None:
        if self._root.is_symlink() or (self._root.exists() and not self._root.is_dir()):
            self._move_aside(self._root, Path(self._root.name))
        self._root.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def _in(self, path: str) -> Generator[tuple[int, str]]:
        """The open folder of a path, and its name there."""
        where, _, name = path.rpartition("/")
        handle = os.open(self._root, _DIRECTORY)
        try:
            _open_up(handle)
            for part in where.split("/") if where else ():
                inner = _open_folder(part, handle)
                os.close(handle)
                handle = inner
            yield handle, name
        finally:
            os.close(handle)

    def _remove(self, path: str, known: File) -> None:
        try:
            with self._in(path) as (parent, name):
                if _is_held(self._algorithm, known, name, parent):
                    os.unlink(name, dir_fd=parent)
                    return
        except (FileNotFoundError, NotADirectoryError):
            return
        self._clear(path, None)

    def _remove_folder(self, path: str, known: Folder) -> None:
        """Remove the saved files of a folder, and folders that become empty."""
        inside = list(known.below())
        root = known.path
        for folder in inside:
            here = path + folder.path[len(root) :]
            for name, each in folder.entries.items():
                if isinstance(each, File) and (each.id or stat.S_ISFIFO(each.mode)):
                    self._remove(f"{here}/{name}", each)
        for folder in reversed(inside):
            here = path + folder.path[len(root) :]
            with suppress(FileNotFoundError, NotADirectoryError):
                try:
                    with self._in(here) as (parent, name):
                        os.rmdir(name, dir_fd=parent)
                except OSError as error:
                    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
                        raise
                    if folder is known:
                        self.notes.append(f"{here} is kept: it has files that are in no snapshot")

    def _is_so(self, each: _Write, content: bytes) -> bool:
        """Whether an unsaved file already has this content; if so, set its mode."""
        path = self._root / each.path
        try:
            if each.kind == LINK or path.is_symlink() or path.stat().st_size != len(content):
                return False
            if path.read_bytes() != content:
                return False
        except OSError:
            return False
        self._mode(each.path, each.mode)
        return True

    def _clear(self, path: str, known: File | None, *, is_folder: bool = False) -> None:
        """Free a path; move files that are in no snapshot aside."""
        parts = path.split("/")
        for count in range(1, len(parts)):
            above = self._root / "/".join(parts[:count])
            if above.is_symlink() or (os.path.lexists(above) and not above.is_dir()):
                self._move_aside(above, Path(*parts[:count]))
                above.mkdir()
            elif not above.exists():
                above.mkdir(parents=True, exist_ok=True)
        try:
            state = (self._root / path).lstat()
        except OSError:
            return
        if is_folder and stat.S_ISDIR(state.st_mode):
            return
        if known is not None and known.id:
            with self._in(path) as (parent, name):
                if _is_held(self._algorithm, known, name, parent):
                    # The restored file replaces it.
                    return
        self._move_aside(self._root / path, Path(path))

    def _move_aside(self, path: Path, name: Path) -> None:
        target = self._aside / name
        while os.path.lexists(target):
            target = target.with_name(f"{target.name}~")
        make_private_directory(target.parent, is_synced=True)
        shutil.move(path, target)
        self.notes.append(f"{name} was in the way and is in no snapshot; moved to {target}")

    def _mode(self, path: str, mode: int) -> None:
        try:
            with self._in(path) as (parent, name):
                if not name:
                    os.fchmod(parent, mode)
                    return
                state = os.stat(name, dir_fd=parent, follow_symlinks=False)
                if not stat.S_ISLNK(state.st_mode) and stat.S_IMODE(state.st_mode) != mode:
                    os.chmod(name, mode, dir_fd=parent)
        except FileNotFoundError:
            return
        except PermissionError:
            self.notes.append(f"permissions of {path} were not restored: another user owns it")

    def _xattrs(self, path: str, wanted: dict[str, bytes]) -> None:
        place = self._root / path
        try:
            for name in os.listxattr(place, follow_symlinks=False):
                if name.startswith("user.") and name not in wanted:
                    os.removexattr(place, name, follow_symlinks=False)
            for name, value in wanted.items():
                os.setxattr(place, name, value, follow_symlinks=False)
        except (OSError, AttributeError) as error:
            if wanted:
                self.notes.append(f"extended attributes of {path} were not restored: {error}")


def _is_held(algorithm: str, known: File, name: str, parent: int) -> bool:
    """Whether a file is unchanged since the scan."""
    state = os.stat(name, dir_fd=parent, follow_symlinks=False)
    if known.stamp:
        return stamp_of(state) == known.stamp
    if stat.S_IFMT(state.st_mode) != stat.S_IFMT(known.mode):
        return False
    # It changed just before it was read, and may have changed again within one clock tick.
    return (
        stat.S_ISFIFO(state.st_mode) or _content(algorithm, name, parent, state) == known.id.hex()
    )


def _content(algorithm: str, name: str, parent: int, state: os.stat_result) -> str:
    """Object id of the current content of a file or link; empty if unreadable."""
    try:
        if stat.S_ISLNK(state.st_mode):
            target = os.fsencode(os.readlink(name, dir_fd=parent))
            return id_of_file(algorithm, BytesIO(target), len(target))
        with os.fdopen(os.open(name, _READ, dir_fd=parent), "rb") as file:
            return id_of_file(algorithm, file, state.st_size)
    except OSError:
        return ""


def _open_folder(name: str, parent: int) -> int:
    try:
        handle = os.open(name, _DIRECTORY, dir_fd=parent)
    except PermissionError:
        os.chmod(name, 0o700, dir_fd=parent)
        handle = os.open(name, _DIRECTORY, dir_fd=parent)
    _open_up(handle)
    return handle


def _open_up(handle: int) -> None:
    """Make a folder of the user writable."""
    mode = stat.S_IMODE(os.fstat(handle).st_mode)
    if mode & stat.S_IRWXU != stat.S_IRWXU:
        with suppress(PermissionError):
            os.fchmod(handle, mode | stat.S_IRWXU)


def relink(root: Path, groups: tuple[tuple[str, ...], ...]) -> list[str]:
    """Restore hard links; return notes on files whose links cannot be restored."""
    notes: list[str] = []
    for first, *rest in groups:
        try:
            wanted = (root / first).lstat()
            for name in rest:
                path = root / name
                if path.lstat().st_ino == wanted.st_ino:
                    continue
                temporary = path.with_name(f".symposium-{os.urandom(6).hex()}")
                os.link(root / first, temporary, follow_symlinks=False)
                temporary.replace(path)
        except OSError as error:
            notes.append(
                f"{', '.join((first, *rest))} are no longer links to one file: {error.strerror}"
            )
    return notes
