"""The environment in which git works in a clone and reads none of the clone's configuration.

A stand-in takes the place of the clone's shared directory. Links in it lead to the clone's objects,
refs, and worktrees; its `config` holds only settings that are allowed; it has no hooks.
`GIT_COMMON_DIR` names it (git(1)), so git never opens the clone's own `config`, whatever a later
version of git looks up there.
"""

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

from localio.files import make_private_directory
from localio.git_settings import (
    GitConfigError,
    GitDirectories,
    Setting,
    allowed,
    as_config_file,
    is_on,
    last_value,
    local_path,
    repository_at,
    settings_in,
    unknown_extensions,
)

_LINKED: Final = (
    *("objects", "refs", "packed-refs", "logs", "info", "shallow", "worktrees"),
    *("rr-cache", "reftable", "lfs"),
)
"""Data of the shared directory that git finds. Not `hooks`, `config`, `remotes`, `branches`."""

_DIRECTORIES: Final = ("logs", "worktrees", "info")
"""Directories that git makes when it needs them, which it cannot do through a link."""

_FILES: Final = frozenset({"packed-refs", "shallow"})
"""Files that git makes through a link when they are missing."""

_EMPTY: Final = "empty"
"""A checkout without files."""

_HEAD: Final = "HEAD"
_MAX_HEAD: Final = 4096
_OBJECTS: Final = "objects"
_NO_REPOSITORY: Final = "no-repository"
_URLS: Final = frozenset({"url", "pushurl"})

_REMOTE: Final[Sequence[Setting]] = (
    *(("gc.auto", "0"), ("maintenance.auto", "false"), ("receive.autogc", "false")),
    *(("core.alternaterefscommand", "true"), ("core.fsmonitor", "false")),
    ("core.hookspath", "/dev/null"),
)
"""For a git at the other end of a path, which gets no settings from a command line."""

_OF_THE_WORKTREE: Final = ("core.sparsecheckout", "core.sparsecheckoutcone", "index.sparse")
"""Settings that git keeps in `config.worktree` (git-sparse-checkout(1))."""

_SERVER_HOOKS: Final = (
    *("pre-receive", "update", "proc-receive", "post-receive", "post-update"),
    *("reference-transaction", "push-to-checkout"),
)
"""Hooks of a repository that is pushed to (githooks(5))."""


@dataclass(frozen=True, slots=True)
class Isolation:
    """Variables and settings for git in a clone.

    Attributes:
        variables: name the clone's data, and the stand-in for its shared directory.
        stand_in: the directory that git takes for the clone's shared one.
        settings: what the clone has set and may reach git.
        of_worktree: settings of this worktree alone, for the command line.
        promisors: `remote.<name>.promisor` and `.partialclonefilter`: a partial clone is
            completed from these remotes where that is wanted.
    """

    directories: GitDirectories
    variables: Mapping[str, str]
    stand_in: Path
    settings: tuple[Setting, ...]
    of_worktree: tuple[Setting, ...]
    promisors: tuple[Setting, ...]

    @property
    def is_bare(self) -> bool:
        """Whether the clone has no checkout of its own."""
        return is_on(self.settings, "core.bare")


@dataclass(frozen=True, slots=True)
class StandIns:
    """Directories that git reads in place of the shared directories of clones.

    Attributes:
        wanted: the folder for them; where it cannot be written, a temporary one is used.
        hidden_refs: refs of a repository on this machine that a fetch from it does not see.
    """

    wanted: Path
    hidden_refs: str

    @property
    def folder(self) -> Path:
        """The folder that holds them."""
        return _private_folder(self.wanted)

    def stand_in_of(self, common: Path) -> Path:
        """The path of the directory for a clone; it need not exist."""
        return self.folder / sha256(os.fsencode(common)).hexdigest()[:24]

    def remote_of(self, common: Path) -> Path:
        """The path of a directory to fetch from instead of a repository on this machine."""
        return self.folder / f"{self.stand_in_of(common).name}-remote"

    def common_of(self, stand_in: Path) -> Path | None:
        """The clone's directory for the path of a stand-in; None for another path."""
        if stand_in.parent != self.folder:
            return None
        try:
            return (stand_in / _OBJECTS).readlink().parent
        except OSError:
            return None

    def in_words(self, said: str) -> str:
        """Put the paths of clones in place of their stand-ins in a message of git."""
        folder = str(self.folder)
        if folder not in said:
            return said
        found = re.compile(re.escape(folder) + r"/[0-9a-f]{24}(?:-remote)?")
        return found.sub(lambda match: str(self.common_of(Path(match[0])) or match[0]), said)

    def isolate(self, found: GitDirectories) -> Isolation:
        """Prepare a clone, or update what was prepared; blocks for some milliseconds.

        Raises:
            GitConfigError: its configuration cannot be read, or nothing can be written here.
        """
        settings = settings_in(found.common / "config")
        of_worktree: tuple[Setting, ...] = ()
        if is_on(settings, "extensions.worktreeconfig"):
            settings = (*settings, *_bare_of_all(found))
            own = settings_in(found.git_dir / "config.worktree")
            of_worktree = tuple(each for each in own if each[0] in _OF_THE_WORKTREE)
        if unknown := unknown_extensions(settings):
            raise GitConfigError(
                f"{found.common} uses the unknown git extension {unknown[0]!r}",
                "update Symposium",
            )
        kept = allowed(settings)
        text, remotes = self._config_of(kept, found)
        stand_in = self.stand_in_of(found.common)
        _update(stand_in, text, found.common)
        for common in remotes:
            if common != found.common:
                self._prepare_remote(common)
        variables = {"GIT_DIR": str(found.git_dir), "GIT_COMMON_DIR": str(stand_in)}
        if found.worktree is not None:
            variables["GIT_WORK_TREE"] = str(found.worktree)
        promisors = tuple(each for each in settings if _is_promisor(each[0]))
        return Isolation(found, variables, stand_in, tuple(kept), of_worktree, promisors)

    def url_to_fetch(self, url: str, folder: Path) -> str:
        """A URL to clone from: for a repository on this machine, the path of its stand-in.

        Raises:
            GitConfigError: the repository's configuration cannot be read.
        """
        local = local_path(url, folder)
        other = None if local is None else repository_at(local)
        if other is None:
            return url
        self._prepare_remote(other.common)
        return str(self.remote_of(other.common))

    def push_hook(self, url: str) -> Path | None:
        """A program that a push to a repository on this machine runs there; None without one.

        Raises:
            GitConfigError: the repository's configuration cannot be read.
        """
        common = self.common_of(Path(url))
        if common is None:
            return None
        named = last_value(settings_in(common / "config"), "core.hookspath")
        folder = common / "hooks" if named is None else common / named
        found = (folder / name for name in _SERVER_HOOKS)
        return next((hook for hook in found if os.access(hook, os.X_OK)), None)

    def _config_of(
        self, settings: Sequence[Setting], found: GitDirectories
    ) -> tuple[bytes, list[Path]]:
        """The text of `config`, and the repositories on this machine that it names as remotes.

        A path to fetch from becomes the stand-in of the repository there: git would obey that
        repository's settings at the other end of the fetch. A path that leads to no repository
        becomes one that does not exist.
        """
        named: list[Path] = []
        written: list[Setting] = []
        for key, value in settings:
            if key.startswith("remote.") and key.rpartition(".")[2] in _URLS and value is not None:
                local = local_path(value, found.main_checkout)
                if local is not None:
                    other = repository_at(local)
                    if other is not None:
                        named.append(other.common)
                    place = self.stand_in_of(found.common) / _NO_REPOSITORY
                    url = str(place if other is None else self.remote_of(other.common))
                    written.append((key, url))
                    continue
            written.append((key, value))
        hidden = ("uploadpack.hiderefs", self.hidden_refs)
        return as_config_file([*written, *_REMOTE, hidden]), named

    def _prepare_remote(self, common: Path) -> None:
        """Let a repository on this machine be fetched from without its settings.

        Its own remotes stay unchanged: nothing at the other end of a fetch follows them.
        """
        settings = allowed(settings_in(common / "config"))
        kept = [each for each in settings if not each[0].startswith("remote.")]
        text, _ = self._config_of(kept, GitDirectories(common, common, None))
        _update(self.remote_of(common), text, common)


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
    folder = Path(os.environ.get("TMPDIR") or "/tmp") / f"git-stand-ins-{os.urandom(8).hex()}"  # noqa: S108 - the name is not to be guessed, and the directory is made here
    folder.mkdir(mode=0o700)
    return folder


def _update(stand_in: Path, config: bytes, common: Path) -> None:
    """Make the directory, or update it if it differs.

    Raises:
        GitConfigError: it cannot be written.
    """
    try:
        if not _is_current(stand_in, config, common):
            _write(stand_in, config, common)
    except OSError as error:
        message = f"cannot write {stand_in}: {error.strerror or error}"
        raise GitConfigError(message, "free disk space, or check permissions") from error


def _write(stand_in: Path, config: bytes, common: Path) -> None:
    if not stand_in.is_dir():
        _remove_old(stand_in.parent)
    (stand_in / _EMPTY).mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in _DIRECTORIES:
        _make_directory(common / name)
    for name in _LINKED:
        if _is_linked(common, name) and not (stand_in / name).is_symlink():
            _link(stand_in / name, common / name)
    _put(stand_in / _HEAD, _head_of(common))
    _put(stand_in / "config", config)


def _is_current(stand_in: Path, config: bytes, common: Path) -> bool:
    try:
        if (stand_in / "config").read_bytes() != config:
            return False
        if (stand_in / _HEAD).read_bytes() != _head_of(common):
            return False
    except OSError:
        return False
    linked = all((stand_in / name).is_symlink() for name in _LINKED if _is_linked(common, name))
    return linked and all((stand_in / name).is_dir() for name in _DIRECTORIES)


def _head_of(common: Path) -> bytes:
    """The text of `HEAD`: git does not take a copied link for a git directory."""
    head = common / _HEAD
    if head.is_symlink() and (named := os.fsencode(head.readlink())).startswith(b"refs/"):
        return b"ref: " + named + b"\n"
    with head.open("rb") as opened:
        return opened.read(_MAX_HEAD)


def _put(file: Path, text: bytes) -> None:
    """Write a small file whole; a lost one is made again, so nothing waits for the disk."""
    aside = file.with_name(f".{file.name}.{os.getpid()}.{os.urandom(4).hex()}")
    aside.write_bytes(text)
    aside.replace(file)


def _is_linked(common: Path, name: str) -> bool:
    return name in _FILES or os.path.lexists(common / name)


def _make_directory(directory: Path) -> None:
    try:
        directory.mkdir(exist_ok=True)
    except OSError:
        # A clone that cannot be written is still read; git reports what it cannot write.
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
    """Remove the stand-ins of clones that no longer exist."""
    for each in folder.glob("*"):
        try:
            is_old = not (each / _OBJECTS).readlink().parent.is_dir()
        except OSError:
            continue
        if is_old:
            shutil.rmtree(each, ignore_errors=True)


def _is_promisor(key: str) -> bool:
    return key.startswith("remote.") and key.endswith((".promisor", ".partialclonefilter"))


def _bare_of_all(found: GitDirectories) -> list[Setting]:
    bare = last_value(settings_in(found.common / "config.worktree"), "core.bare")
    return [] if bare is None else [("core.bare", bare)]
