"""A directory that git takes for a clone's shared git directory: the clone's data, other settings.

Links lead to the clone's objects, refs, and worktrees; `config` is written here, of settings that
are allowed; there are no hooks. `GIT_COMMON_DIR` names it (git(1)), so git never opens the
clone's own `config`, whatever a later version of git looks up there.
"""

import os
import re
import shutil
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from localio.files import make_private_directory
from localio.git_settings import GitDirectories, Setting, as_config_file, repository_at
from symposium.config.paths import paths

LINKED: Final = (
    *("objects", "refs", "packed-refs", "logs", "info", "shallow", "worktrees"),
    *("rr-cache", "reftable", "lfs"),
)
"""What of the shared directory git finds: data. Not `hooks`, `config`, `remotes`, `branches`."""

_DIRECTORIES: Final = ("logs", "worktrees", "info")
"""Directories that git makes when it needs them, which it cannot do through a link."""

_FILES: Final = frozenset({"packed-refs", "shallow"})
"""Files that git makes through a link when they are missing."""

EMPTY: Final = "empty"
"""A checkout without files, for what needs none."""

_HEAD: Final = "HEAD"
_MAX_HEAD: Final = 4096
_OBJECTS: Final = "objects"
_NO_REPOSITORY: Final = "no-repository"
_URLS: Final = frozenset({"url", "pushurl"})

_OWN: Final[Sequence[Setting]] = (
    *(("gc.auto", "0"), ("maintenance.auto", "false"), ("receive.autogc", "false")),
    *(("core.alternaterefscommand", "true"), ("core.fsmonitor", "false")),
    *(("core.hookspath", "/dev/null"), ("uploadpack.hiderefs", "refs/symposium/")),
)
"""For a git at the other end of a path, which gets none of the settings of our command line."""


def stand_in_of(common: Path) -> Path:
    """Where the directory is that stands for a clone's; it need not exist."""
    return _folder() / sha256(os.fsencode(common)).hexdigest()[:24]


def remote_stand_in_of(common: Path) -> Path:
    """Where the directory is that a clone fetches from instead of a repository on this machine."""
    return _folder() / f"{stand_in_of(common).name}-remote"


def common_of(stand_in: Path) -> Path | None:
    """The clone's directory that a path stands for; None if it is another path."""
    if stand_in.parent != _folder():
        return None
    try:
        return (stand_in / _OBJECTS).readlink().parent
    except OSError:
        return None


def in_words(said: str) -> str:
    """What git says, with the user's own paths in place of those made here."""
    folder = str(_folder())
    if folder not in said:
        return said
    found = re.compile(re.escape(folder) + r"/[0-9a-f]{24}(?:-remote)?")
    return found.sub(lambda match: str(common_of(Path(match[0])) or match[0]), said)


@cache
def _private_folder(wanted: Path) -> Path:
    try:
        make_private_directory(wanted)
        found = wanted.stat()
        if os.access(wanted, os.W_OK | os.X_OK) and found.st_uid == os.geteuid():
            return wanted
    except OSError:
        pass
    # A home that is full or read-only: what is needed is small and can be made again.
    # Not from tempfile: its import alone takes milliseconds.
    folder = Path(os.environ.get("TMPDIR") or "/tmp") / f"symposium-git-{os.urandom(8).hex()}"  # noqa: S108 - the name is not to be guessed, and the directory is made here
    folder.mkdir(mode=0o700)
    return folder


def _folder() -> Path:
    return _private_folder(paths().cache / "git")


def is_current(stand_in: Path, config: bytes, common: Path) -> bool:
    """Whether the directory is there and says what it should."""
    try:
        if (stand_in / "config").read_bytes() != config:
            return False
        if (stand_in / _HEAD).read_bytes() != _head_of(common):
            return False
    except OSError:
        return False
    linked = all((stand_in / name).is_symlink() for name in LINKED if _is_linked(common, name))
    return linked and all((stand_in / name).is_dir() for name in _DIRECTORIES)


def make_stand_in(stand_in: Path, config: bytes, common: Path) -> None:
    """Make the directory, or bring it up to date.

    Raises:
        OSError: it cannot be written.
    """
    if not stand_in.is_dir():
        _remove_old(stand_in.parent)
    (stand_in / EMPTY).mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in _DIRECTORIES:
        _make_directory(common / name)
    for name in LINKED:
        if _is_linked(common, name) and not (stand_in / name).is_symlink():
            _link(stand_in / name, common / name)
    _put(stand_in / _HEAD, _head_of(common))
    _put(stand_in / "config", config)


def _head_of(common: Path) -> bytes:
    """The text of `HEAD`: of a copy, for a git directory whose `HEAD` is a link is none to git."""
    head = common / _HEAD
    if head.is_symlink() and (named := os.fsencode(head.readlink())).startswith(b"refs/"):
        return b"ref: " + named + b"\n"
    with head.open("rb") as opened:
        return opened.read(_MAX_HEAD)


def _put(file: Path, text: bytes) -> None:
    """Write a small file whole; it is made again if it is lost, so nothing waits for the disk."""
    aside = file.with_name(f".{file.name}.{os.getpid()}.{os.urandom(4).hex()}")
    aside.write_bytes(text)
    aside.replace(file)


def _is_linked(common: Path, name: str) -> bool:
    return name in _FILES or os.path.lexists(common / name)


def _make_directory(directory: Path) -> None:
    try:
        directory.mkdir(exist_ok=True)
    except OSError:
        # A clone that cannot be written is read all the same; git says so where it must write.
        return


def _link(link: Path, target: Path) -> None:
    aside = link.with_name(f".{link.name}.{os.getpid()}.{os.urandom(4).hex()}")
    aside.symlink_to(target)
    try:
        aside.replace(link)
    except IsADirectoryError:
        # Git has made a directory here before the clone had one.
        aside.unlink()


def _remove_old(folder: Path) -> None:
    """Remove what stands for clones that are gone."""
    for each in folder.glob("*"):
        try:
            is_old = not (each / _OBJECTS).readlink().parent.is_dir()
        except OSError:
            continue
        if is_old:
            shutil.rmtree(each, ignore_errors=True)


def config_of(settings: Sequence[Setting], found: GitDirectories) -> tuple[bytes, list[Path]]:
    """The text of `config`, and the repositories on this machine that it names as remotes.

    A path to fetch from becomes the directory that stands for the repository there: git would
    obey that repository's settings at the other end of the fetch. A path that leads to none
    becomes one that does not exist.
    """
    root = found.main_checkout
    named: list[Path] = []
    written: list[Setting] = []
    for key, value in settings:
        if key.startswith("remote.") and key.rpartition(".")[2] in _URLS and value is not None:
            local = local_path(value, root)
            if local is not None:
                other = repository_at(local)
                if other is not None:
                    named.append(other.common)
                place = stand_in_of(found.common) / _NO_REPOSITORY
                url = str(place if other is None else remote_stand_in_of(other.common))
                written.append((key, url))
                continue
        written.append((key, value))
    return as_config_file([*written, *_OWN]), named


def local_path(url: str, root: Path) -> Path | None:
    """The path that a URL of a remote means on this machine; None for one on another host."""
    if url.startswith("file://"):
        rest = unquote(url.removeprefix("file://"))
        return Path(rest if rest.startswith("/") else f"//{rest}")
    if "://" in url:
        return None
    before, colon, _ = url.partition(":")
    if colon and "/" not in before:
        # A host and a path as scp writes them, or a transport (`ext::`), which is not allowed.
        return None
    return root / os.path.expanduser(url)  # noqa: PTH111 - a user who does not exist is no error
