"""Directories and variables with which git ignores the configuration of a clone.

For each clone, Symposium writes a stand-in: a directory that git uses in place of the shared git
directory. It links to the clone's objects, refs, and worktrees. Its `config` has only the allowed
settings, and it has no hooks. `GIT_COMMON_DIR` names it (git(1)), so git never opens the clone's
own `config`.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from localio.files import make_private_directory
from localio.git_settings import (
    GitDirectories,
    Setting,
    allowed,
    as_config_file,
    is_on,
    last_value,
    repository_at,
    unknown_extensions,
)
from symposium.config.paths import paths
from symposium.errors import SymposiumError

LINKED: Final = (
    *("objects", "refs", "packed-refs", "logs", "info", "shallow", "worktrees"),
    *("rr-cache", "reftable", "lfs"),
)
"""Data in the shared directory that git can use. Not `hooks`, `config`, `remotes`, `branches`."""

_DIRECTORIES: Final = ("logs", "worktrees", "info")
"""Directories that git creates when it needs them; it cannot create them through a link."""

_FILES: Final = frozenset({"packed-refs", "shallow"})
"""Files that git creates through a link when they are missing."""

EMPTY: Final = "empty"
"""An empty checkout, for commands that need no files."""

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
"""For a git that serves a local fetch: it does not get our command line's settings."""


def stand_in_of(common: Path) -> Path:
    """Path of the stand-in for a clone's shared directory; it may not exist yet."""
    return _folder() / sha256(os.fsencode(common)).hexdigest()[:24]


def remote_stand_in_of(common: Path) -> Path:
    """Path of the stand-in that a fetch from a repository on this machine uses."""
    return _folder() / f"{stand_in_of(common).name}-remote"


def common_of(stand_in: Path) -> Path | None:
    """Shared directory of the clone that a stand-in belongs to; None for another path."""
    if stand_in.parent != _folder():
        return None
    try:
        return (stand_in / _OBJECTS).readlink().parent
    except OSError:
        return None


def in_words(said: str) -> str:
    """Replace the paths of stand-ins in git's output by the paths of their clones."""
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
    # The home is full or read-only: the files are small and can be written again.
    # Without tempfile: importing it takes milliseconds.
    folder = Path(os.environ.get("TMPDIR") or "/tmp") / f"symposium-git-{os.urandom(8).hex()}"  # noqa: S108 - the name is not to be guessed, and the directory is made here
    folder.mkdir(mode=0o700)
    return folder


def _folder() -> Path:
    return _private_folder(paths().cache / "git")


def is_current(stand_in: Path, config: bytes, common: Path) -> bool:
    """Whether the stand-in exists and is up to date."""
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
    """Create or update a stand-in.

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
    """Content of `HEAD`; a symbolic link is resolved, since git rejects one in a stand-in."""
    head = common / _HEAD
    if head.is_symlink() and (named := os.fsencode(head.readlink())).startswith(b"refs/"):
        return b"ref: " + named + b"\n"
    with head.open("rb") as opened:
        return opened.read(_MAX_HEAD)


def _put(file: Path, text: bytes) -> None:
    """Replace a small file atomically, without fsync: it can be written again."""
    aside = file.with_name(f".{file.name}.{os.getpid()}.{os.urandom(4).hex()}")
    aside.write_bytes(text)
    aside.replace(file)


def _is_linked(common: Path, name: str) -> bool:
    return name in _FILES or os.path.lexists(common / name)


def _make_directory(directory: Path) -> None:
    try:
        directory.mkdir(exist_ok=True)
    except OSError:
        # Git reports an unwritable clone itself, when it has to write.
        return


def _link(link: Path, target: Path) -> None:
    aside = link.with_name(f".{link.name}.{os.getpid()}.{os.urandom(4).hex()}")
    aside.symlink_to(target)
    try:
        aside.replace(link)
    except IsADirectoryError:
        # Git created the directory here before it existed in the clone.
        aside.unlink()


def _remove_old(folder: Path) -> None:
    """Remove stand-ins whose clones no longer exist."""
    for each in folder.glob("*"):
        try:
            is_old = not (each / _OBJECTS).readlink().parent.is_dir()
        except OSError:
            continue
        if is_old:
            shutil.rmtree(each, ignore_errors=True)


def config_of(settings: Sequence[Setting], found: GitDirectories) -> tuple[bytes, list[Path]]:
    """Content of `config`, and the repositories on this machine that it names as remotes.

    The stand-in of a local repository replaces its path: otherwise git would obey that
    repository's settings at the other end of the fetch. A path without a repository is replaced
    by one that does not exist.
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
    """Local path that a remote's URL refers to; None for a URL on another host."""
    if url.startswith("file://"):
        rest = unquote(url.removeprefix("file://"))
        return Path(rest if rest.startswith("/") else f"//{rest}")
    if "://" in url:
        return None
    before, colon, _ = url.partition(":")
    if colon and "/" not in before:
        # scp syntax (host:path), or a transport (`ext::`), which is not allowed.
        return None
    return root / os.path.expanduser(url)  # noqa: PTH111 - an unknown user is no error


_PARSE_SECONDS: Final = 20.0
_MAX_CONFIG: Final = 16 * 1024 * 1024

_OF_THE_WORKTREE: Final = ("core.sparsecheckout", "core.sparsecheckoutcone", "index.sparse")
"""Settings that git keeps in `config.worktree` (git-sparse-checkout(1))."""

_SERVER_HOOKS: Final = (
    *("pre-receive", "update", "proc-receive", "post-receive", "post-update"),
    *("reference-transaction", "push-to-checkout"),
)
"""Hooks of a repository that is pushed to (githooks(5))."""

_USUAL_PROTOCOLS: Final = frozenset({"file", "git", "http", "https", "ssh"})
"""Protocols built into git; any other starts a program that the URL of a remote names."""

_NEVER_ALLOWED: Final = frozenset({"ext", "fd"})
"""Their URL is a command or an open file (git-remote-ext(1), git-remote-fd(1))."""

KEPT_VARIABLES: Final = frozenset(
    {
        *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH"),
        *("GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH"),
        *("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"),
    }
)
"""Variables that a user sets for git in general; other `GIT_` variables redirect git."""


class GitConfigError(SymposiumError):
    """The configuration of a clone cannot be read or is not supported."""


@dataclass(frozen=True, slots=True)
class Isolation:
    """Settings and variables to run git in a clone.

    Attributes:
        variables: name the clone's data and the stand-in for its shared directory.
        stand_in: the directory that git uses as the clone's shared one.
        settings: allowed settings of the clone.
        of_worktree: settings of this worktree alone, for the command line.
        promisors: `remote.<name>.promisor` and `.partialclonefilter`: the remotes that complete
            a partial clone, for commands that may fetch.
    """

    directories: GitDirectories
    variables: Mapping[str, str]
    stand_in: Path
    settings: tuple[Setting, ...]
    of_worktree: tuple[Setting, ...]
    promisors: tuple[Setting, ...]

    @property
    def is_bare(self) -> bool:
        """Whether the clone has no main checkout."""
        return is_on(self.settings, "core.bare")


def clean_environment(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Environment (default: this process's) without variables that redirect git."""
    return {
        name: value
        for name, value in (os.environ if environment is None else environment).items()
        if not name.startswith("GIT_") or name in KEPT_VARIABLES
    }


def allowed_protocols(rules: Mapping[str, str], environment: Mapping[str, str]) -> str:
    """A value for `GIT_ALLOW_PROTOCOL` (git(1)).

    Args:
        rules: the user's own `protocol.<name>.allow`, by name; never the clone's.
        environment: may restrict the protocols further with `GIT_ALLOW_PROTOCOL`.
    """
    added = {name for name, rule in rules.items() if rule == "always"}
    refused = {name for name, rule in rules.items() if rule == "never"}
    found = (_USUAL_PROTOCOLS | added) - refused - _NEVER_ALLOWED
    narrowed = environment.get("GIT_ALLOW_PROTOCOL")
    if narrowed is not None:
        found &= set(narrowed.split(":"))
    return ":".join(sorted(found))


def isolate(found: GitDirectories) -> Isolation:
    """Create or update the stand-in of a clone. Blocks for some milliseconds.

    Raises:
        GitConfigError: the configuration cannot be read, or the stand-in cannot be written.
    """
    config = _read(found.common / "config")
    settings = _parsed(config, found.common / "config")
    of_worktree: tuple[Setting, ...] = ()
    if is_on(settings, "extensions.worktreeconfig"):
        settings = (*settings, *_bare_of_all(found))
        of_worktree = _of_worktree(found)
    if unknown := unknown_extensions(settings):
        raise GitConfigError(
            f"{found.common} uses the unknown git extension {unknown[0]!r}",
            "update Symposium",
        )
    kept = allowed(settings)
    text, remotes = config_of(kept, found)
    stand_in = stand_in_of(found.common)
    try:
        if not is_current(stand_in, text, found.common):
            make_stand_in(stand_in, text, found.common)
    except OSError as error:
        reason = error.strerror or str(error)
        message = f"cannot write {stand_in}: {reason}"
        raise GitConfigError(message, "free disk space, or check permissions") from error
    for common in remotes:
        if common != found.common:
            _prepare_remote(common)
    variables = {"GIT_DIR": str(found.git_dir), "GIT_COMMON_DIR": str(stand_in)}
    if found.worktree is not None:
        variables["GIT_WORK_TREE"] = str(found.worktree)
    promisors = tuple(each for each in settings if _is_promisor(each[0]))
    return Isolation(found, variables, stand_in, tuple(kept), of_worktree, promisors)


def config_variables(settings: Sequence[Setting]) -> dict[str, str]:
    """Variables that set these for one git command, like `git -c`, with any character in a key."""
    found = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings):
        found[f"GIT_CONFIG_KEY_{number}"] = key
        found[f"GIT_CONFIG_VALUE_{number}"] = "true" if value is None else value
    return found


def _is_promisor(key: str) -> bool:
    return key.startswith("remote.") and key.endswith((".promisor", ".partialclonefilter"))


def _prepare_remote(common: Path) -> None:
    """Create the stand-in for a fetch from a repository on this machine.

    It has no remotes: git follows none at the other end of a fetch.
    """
    settings = _parsed(_read(common / "config"), common / "config")
    kept = [each for each in allowed(settings) if not each[0].startswith("remote.")]
    text, _ = config_of(kept, GitDirectories(common, common, None))
    stand_in = remote_stand_in_of(common)
    try:
        if not is_current(stand_in, text, common):
            make_stand_in(stand_in, text, common)
    except OSError as error:
        message = f"cannot write {stand_in}: {error}"
        raise GitConfigError(message, "free disk space, or check permissions") from error


def url_to_fetch(url: str, folder: Path) -> str:
    """URL to clone from; for a repository on this machine, the path of its stand-in.

    Raises:
        GitConfigError: the repository's configuration cannot be read.
    """
    local = local_path(url, folder)
    other = None if local is None else repository_at(local)
    if other is None:
        return url
    _prepare_remote(other.common)
    return str(remote_stand_in_of(other.common))


def push_hook(url: str) -> Path | None:
    """Path of a hook that a push to a repository on this machine would run, or None.

    Raises:
        GitConfigError: the repository's configuration cannot be read.
    """
    common = common_of(Path(url))
    if common is None:
        return None
    named = last_value(_parsed(_read(common / "config"), common / "config"), "core.hookspath")
    folder = common / "hooks" if named is None else common / named
    found = (folder / name for name in _SERVER_HOOKS)
    return next((hook for hook in found if os.access(hook, os.X_OK)), None)


def _of_worktree(found: GitDirectories) -> tuple[Setting, ...]:
    own = found.git_dir / "config.worktree"
    return tuple(each for each in _parsed(_read(own), own) if each[0] in _OF_THE_WORKTREE)


def _bare_of_all(found: GitDirectories) -> list[Setting]:
    shared = found.common / "config.worktree"
    bare = last_value(_parsed(_read(shared), shared), "core.bare")
    return [] if bare is None else [("core.bare", bare)]


def _read(file: Path) -> bytes:
    try:
        if not file.is_file():
            return b""
        with file.open("rb") as opened:
            text = opened.read(_MAX_CONFIG + 1)
    except OSError as error:
        raise GitConfigError(f"cannot read {file}: {error.strerror}", "") from error
    if len(text) > _MAX_CONFIG:
        raise GitConfigError(f"{file} is larger than {_MAX_CONFIG} bytes", "make it smaller")
    return text


def _parsed(text: bytes, file: Path) -> tuple[Setting, ...]:
    try:
        return _settings(text)
    except GitConfigError as error:
        raise GitConfigError(f"{file}: {error.message}", error.hint) from error


@lru_cache(maxsize=512)
def _settings(text: bytes) -> tuple[Setting, ...]:
    """Settings in a configuration file; includes are ignored."""
    if not text.strip():
        return ()
    command = ("git", "config", "--file", "-", "--no-includes", "--list", "-z")
    environment = clean_environment() | {"GIT_DIR": "/nonexistent", "LC_ALL": "C"}
    try:
        done = subprocess.run(  # noqa: S603 - the words are constants
            command,
            input=text,
            capture_output=True,
            check=False,
            cwd="/",
            env=environment,
            timeout=_PARSE_SECONDS,
        )
    except FileNotFoundError as error:
        raise GitConfigError("git was not found", "install git 2.38 or newer") from error
    except subprocess.TimeoutExpired as error:
        raise GitConfigError(f"git config took longer than {_PARSE_SECONDS:g} s", "") from error
    if done.returncode:
        said = os.fsdecode(done.stderr).strip().removeprefix("fatal: ")
        raise GitConfigError(said, "fix the file")
    entries = [os.fsdecode(entry).partition("\n") for entry in done.stdout.split(b"\0") if entry]
    return tuple((key, value if newline else None) for key, newline, value in entries)
