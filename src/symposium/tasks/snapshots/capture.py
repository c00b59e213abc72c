"""Take a snapshot: store changed files as objects, then create one ref to them."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from symposium.tasks.snapshots.clone_state import (
    HEADS,
    STASH,
    Refs,
    Signature,
    admin_directory,
    commit_inside,
    damage,
    elsewhere,
    objects_named,
    private_files,
    resolved,
    signature,
    stashed,
    submodule_directory,
    upstream_of,
)
from symposium.tasks.snapshots.index import keep_index
from symposium.tasks.snapshots.objects import BLOB, FOLDER, TreeEntry, commit_text
from symposium.tasks.snapshots.snapshot_values import (
    Details,
    Nested,
    Snapshot,
    SnapshotTarget,
    Stashed,
    encode_details,
    message_of,
)
from symposium.tasks.snapshots.store import Store, open_store
from symposium.tasks.snapshots.watched_files import WatchedFiles

_CLONE_FILES: Final = ("HEAD", "config", "info/exclude", "info/attributes", "shallow")
CACHE: Final = "files.cache"
_OF_OTHERS: Final = ("refs/remotes/", STASH)
_LONG_AGO: Final = 1_000_000_000


@dataclass(slots=True)
class CaptureMemory:
    """Results of the last snapshot of a worktree, to find changes cheaply."""

    store: Store
    files: WatchedFiles
    refs: Refs
    modules: WatchedFiles | None = None
    private: tuple[Signature, str | None, str, str | None, frozenset[str]] | None = None
    index: tuple[str, str] | None = None
    anchors: dict[frozenset[str], str | None] = field(
        default_factory=dict["frozenset[str]", "str | None"]
    )
    looked: tuple[str, str, str] | None = None

    def close(self) -> None:
        """Stop the watches and save the known state of the files."""
        self.save()
        self.end_watches()

    def save(self) -> None:
        """Save the known state of the files."""
        for each in self._watched():
            each.save()

    def end_watches(self) -> None:
        """Stop the kernel watches, which takes some milliseconds."""
        for each in self._watched():
            each.end_watch()

    def _watched(self) -> list[WatchedFiles]:
        return [self.files] if self.modules is None else [self.files, self.modules]


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of one state.

    Attributes:
        files: tree of all saved files.
        work: tree of files that git does not ignore.
        flags: digest of the index entries and their flags.
        damage: missing links between the worktree and its clone.
        others: branches that other worktrees have checked out.
    """

    files: str
    work: str
    modules: str | None
    staged: str | None
    flags: str
    private: str | None
    named: frozenset[str]
    damage: str
    clone: Mapping[str, bytes]
    refs: Mapping[str, str]
    others: frozenset[str]
    stash: tuple[Stashed, ...]
    head: str
    tip: str
    links: tuple[tuple[str, ...], ...]
    nested: tuple[Nested, ...]
    unkept: tuple[str, ...]


async def remember(subject: SnapshotTarget) -> CaptureMemory:
    """Open the store of a worktree and load the mirror of its files.

    Raises:
        TaskspaceError: git cannot create the store.
        OSError: a file of the store cannot be read or written.
    """
    await asyncio.to_thread(subject.prepare)
    store = await open_store(subject.store, subject.common)
    files = WatchedFiles(subject.worktree, subject.shadow / CACHE, has_rules=True)
    return CaptureMemory(store, files, Refs(subject.common))


async def parts_of(subject: SnapshotTarget, memory: CaptureMemory, *, is_whole: bool) -> Parts:
    """Capture the current state of a worktree, and store its files as objects.

    Raises:
        TaskspaceError: git fails.
        OSError: a file or the store fails.
    """
    store, admin = memory.store, admin_directory(subject.worktree, subject.common)
    subject.worktree.mkdir(parents=True, exist_ok=True)
    await memory.files.update(subject, store, is_whole=is_whole)
    files = await memory.files.build(store, _commits(subject))
    staged, flags, private, named = await _private(subject, memory, admin)
    modules = await _modules(subject, memory, admin, is_whole=is_whole)
    refs = await memory.refs.read()
    head, tip = _head(admin, refs)
    mirror = memory.files.mirror
    return Parts(
        files=files,
        work=mirror.top.work or store.objects.put_tree([]),
        modules=modules,
        staged=staged,
        flags=flags,
        private=private,
        named=named,
        damage=damage(subject.worktree, subject.common, admin),
        clone=_clone_files(subject.common, head),
        refs=refs,
        others=frozenset(elsewhere(subject.common, admin)),
        stash=stashed(subject.common, refs.get(STASH)),
        head=head,
        tip=tip,
        links=tuple(tuple(each) for each in mirror.links()),
        nested=_nested(subject, memory),
        unkept=tuple(f"{path}: {why}" for path, why in sorted(mirror.unkept.items())),
    )


async def work_of(subject: SnapshotTarget, memory: CaptureMemory) -> str:
    """Write a commit of the current files, without a ref, for comparisons.

    Raises:
        TaskspaceError: git fails.
        OSError: a file or the store fails.
    """
    store = memory.store
    await memory.files.update(subject, store, is_whole=False)
    await memory.files.build(store, _commits(subject))
    work = memory.files.mirror.top.work or store.objects.put_tree([])
    _, tip = _head(admin_directory(subject.worktree, subject.common), await memory.refs.read())
    if memory.looked is None or memory.looked[:2] != (work, tip):
        await store.bring_in([tip] if tip else [])
        memory.looked = work, tip, _work_commit(store, work, tip, _LONG_AGO)
    return memory.looked[2]


def _commits(subject: SnapshotTarget) -> Callable[[str], str | None]:
    def commit_of(path: str) -> str | None:
        place = subject.worktree / path / ".git"
        try:
            link = place.read_text(encoding="utf-8", errors="surrogateescape")
        except OSError:
            return commit_inside(place)
        history = submodule_directory(subject.worktree, subject.common, link)
        return commit_inside(history) if history is not None else None

    return commit_of


def _nested(subject: SnapshotTarget, memory: CaptureMemory) -> tuple[Nested, ...]:
    found: list[Nested] = []
    for folder in memory.files.mirror.top.below():
        if not folder.is_repository:
            continue
        path, link = folder.path, None
        try:
            text = (subject.worktree / path / ".git").read_bytes()
            link = text.decode(errors="surrogateescape")
        except OSError:
            pass
        found.append(Nested(path, folder.tree or "", None, link))
    return tuple(sorted(found, key=lambda each: each.path))


async def _private(
    subject: SnapshotTarget, memory: CaptureMemory, admin: Path
) -> tuple[str | None, str, str | None, frozenset[str]]:
    names = list(private_files(admin))
    # Git rewrites `logs/HEAD` with each commit.
    seen = signature(admin, names)
    if memory.private is None or memory.private[0] != seen:
        staged, flags = await keep_index(memory.store, admin, subject.shadow)
        private = await asyncio.to_thread(_store_private, memory, admin, names, flags)
        named = frozenset(objects_named(admin, names))
        memory.private = seen, staged, flags, private, named
    return memory.private[1:]


def _store_private(memory: CaptureMemory, admin: Path, names: list[str], flags: str) -> str | None:
    """Write a tree of the private files; reuse the stored index if its entries are equal."""
    objects, root = memory.store.objects, _Tree()
    for name in names:
        if name == "index" and flags and memory.index is not None and memory.index[0] == flags:
            root.add(name, memory.index[1])
            continue
        try:
            id_ = objects.put("blob", (admin / name).read_bytes())
        except FileNotFoundError:
            continue
        if name == "index":
            memory.index = flags, id_
        root.add(name, id_)
    return root.write(memory.store) if names else None


class _Tree:
    """A tree of a few files in folders."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}
        self.folders: dict[str, _Tree] = {}

    def add(self, path: str, id_: str) -> None:
        first, slash, rest = path.partition("/")
        if slash:
            self.folders.setdefault(first, _Tree()).add(rest, id_)
        else:
            self.files[first] = id_

    def write(self, store: Store) -> str:
        files = [_entry(name, id_, BLOB) for name, id_ in self.files.items()]
        folders = [_entry(name, each.write(store)) for name, each in self.folders.items()]
        return store.objects.put_tree([*files, *folders])


def _entry(name: str, id_: str, mode: str = FOLDER) -> TreeEntry:
    return TreeEntry(mode, name.encode(errors="surrogateescape"), id_)


async def _modules(
    subject: SnapshotTarget, memory: CaptureMemory, admin: Path, *, is_whole: bool
) -> str | None:
    """Write the git directories of submodules, which are in the clone's directory of a worktree."""
    place = admin / "modules"
    if admin == subject.common or place.is_symlink() or not place.is_dir():
        if memory.modules is not None:
            memory.modules.save()
            memory.modules.end_watch()
            memory.modules = None
        return None
    if memory.modules is None or memory.modules.mirror.root != place:
        memory.modules = WatchedFiles(place, subject.shadow / f"modules-{CACHE}", has_rules=False)
    await memory.modules.update(subject, memory.store, is_whole=is_whole)
    return await memory.modules.build(memory.store, lambda _: None)


def _head(admin: Path, refs: Mapping[str, str]) -> tuple[str, str]:
    try:
        text = (admin / "HEAD").read_text(encoding="utf-8", errors="surrogateescape").strip()
    except OSError:
        return "", ""
    ref = text.removeprefix("ref:").strip() if text.startswith("ref:") else ""
    return ref, resolved(refs, text)


def _clone_files(common: Path, head: str) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for name in (*_CLONE_FILES, *([f"logs/{head}"] if head and ".." not in head else [])):
        path = common / name
        try:
            if path.is_file() and not path.is_symlink():
                found[name] = path.read_bytes()
        except OSError:
            continue
    return found


def key_of(parts: Parts) -> str:
    """Key of a state; equal for two states without work between them.

    The key excludes branches that other worktrees have checked out, and fetched refs.
    """
    facts = [
        *(parts.files, parts.staged or "", parts.flags, parts.modules or "", parts.head, parts.tip),
        *(entry.commit for entry in parts.stash),
        *sorted(parts.named),
        *([parts.private or ""] if parts.staged is None else []),
        *([parts.damage] if parts.damage else []),
        *("\0".join(each) for each in parts.links),
        parts.clone.get("info/exclude", b"").decode(errors="surrogateescape"),
        *(
            f"{name} {value}"
            for name, value in sorted(parts.refs.items())
            if name not in parts.others and not name.startswith(_OF_OTHERS)
        ),
    ]
    return sha256("\n".join(facts).encode(errors="surrogateescape")).hexdigest()


@dataclass(frozen=True, slots=True)
class Moment:
    """Time and reason of a snapshot; `called_on` as in `Snapshot`."""

    at: float
    reason: str
    called_on: str = ""


async def write(
    subject: SnapshotTarget, parts: Parts, memory: CaptureMemory, moment: Moment
) -> Snapshot:
    """Store the state under a new ref.

    Raises:
        TaskspaceError: it cannot be written.
        OSError: the same.
    """
    store = memory.store
    lost = await _bring_in(store, parts)
    tip = parts.tip if parts.tip not in lost else ""
    at = int(moment.at)
    anchors = [each for group in _groups(parts, lost) if (each := _anchor(memory, group))]
    work = _work_commit(store, parts.work, tip, at)
    tree = await asyncio.to_thread(_tree, subject, store, parts, sorted(lost))
    ref, key = f"{subject.refs}/{int(moment.at * 1000):014d}", key_of(parts)
    values = (moment.at, moment.reason, parts.head, parts.tip, moment.called_on, parts.work)
    made = Snapshot(ref, "", work, key, *values)
    commit = store.objects.put("commit", commit_text(tree, [work, *anchors], at, message_of(made)))
    await asyncio.to_thread(store.objects.sync)
    store.set_ref(ref, commit)
    return replace(made, commit=commit)


async def _bring_in(store: Store, parts: Parts) -> set[str]:
    """Copy the objects of the state from the clone; report missing ones."""
    wanted = {
        *(each.commit for each in parts.stash),
        *parts.named,
        *([parts.tip] * bool(parts.tip)),
    }
    wanted |= {value for value in parts.refs.values() if not value.startswith("ref:")}
    return set(await store.bring_in(sorted(wanted)))


def _groups(parts: Parts, lost: set[str]) -> list[frozenset[str]]:
    """Objects to keep: frequently changed ones separate from others."""
    often = {*(each.commit for each in parts.stash), *parts.named}
    often |= {value for name, value in parts.refs.items() if name.startswith(HEADS)}
    seldom = {value for value in parts.refs.values() if not value.startswith("ref:")} - often
    return [frozenset(often - lost), frozenset(seldom - lost)]


def _anchor(memory: CaptureMemory, ids: frozenset[str]) -> str | None:
    """Make a commit that keeps these objects; equal for equal objects."""
    if ids not in memory.anchors:
        store = memory.store
        kinds = {id_: store.complete.get(id_, "commit") for id_ in sorted(ids)}
        commits = [id_ for id_, kind in kinds.items() if kind == "commit"]
        for id_, kind in kinds.items():
            if kind != "commit":
                # A commit cannot keep a tag, nor the target of a ref to a file.
                store.set_ref(f"refs/held/{id_}", id_)
        empty = store.objects.put_tree([])
        text = commit_text(empty, commits, _LONG_AGO, "symposium anchor\n")
        if len(memory.anchors) > 2:  # noqa: PLR2004 - two groups, and those of before
            memory.anchors.clear()
        memory.anchors[ids] = store.objects.put("commit", text) if commits else None
    return memory.anchors[ids]


def _work_commit(store: Store, tree: str, tip: str, at: int) -> str:
    text = commit_text(tree, [tip] if tip else [], at, "symposium work\n")
    return store.objects.put("commit", text)


def _tree(subject: SnapshotTarget, store: Store, parts: Parts, lost: list[str]) -> str:
    objects = store.objects
    lines = tuple(f"{id_} is missing in the clone" for id_ in lost)
    details = Details(
        stash=parts.stash,
        nested=parts.nested,
        upstream=upstream_of(subject.common, parts.head),
        skipped=(*parts.unkept, *lines),
        links=parts.links,
        is_whole=True,
    )
    refs = objects.put("blob", msgspec.json.encode(_encoded(parts.refs)))
    clone = _Tree()
    for name, data in parts.clone.items():
        clone.add(name, objects.put("blob", data))
    entries = [
        _entry("details.json", objects.put("blob", encode_details(details)), BLOB),
        _entry("refs.json", refs, BLOB),
        _entry("files", parts.files),
        _entry("clone", clone.write(store)),
    ]
    trees = (("modules", parts.modules), ("staged", parts.staged), ("private", parts.private))
    entries += [_entry(name, id_) for name, id_ in trees if id_]
    return objects.put_tree(entries)


def _encoded(refs: Mapping[str, str]) -> dict[str, str]:
    return {name.encode(errors="surrogateescape").decode("latin-1"): refs[name] for name in refs}
