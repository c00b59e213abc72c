"""The git directories of a folder, the settings of a clone that reach git, and allowed protocols.

Git reads the clone's configuration while it looks for the clone, so the search is done here.

None of the allowed settings names a program, a file that names one, or a way to reach another
host. The settings of the user and of the system are not the clone's and reach git unchanged.
"""

import os
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import unquote

from localio.errors import LocalIOError
from localio.files import expand_home

_MAX_POINTER: Final = 8192
"""Bytes that are read of a file that names a directory (`.git`, `commondir`)."""


@dataclass(frozen=True, slots=True)
class GitDirectories:
    """Git directories of a clone or of one of its worktrees.

    Attributes:
        git_dir: private to the worktree: `HEAD`, the index.
        common: shared by all worktrees: objects, refs, the configuration.
        worktree: the top of the checkout; None in a bare repository and inside a git directory.
    """

    git_dir: Path
    common: Path
    worktree: Path | None

    @property
    def main_checkout(self) -> Path:
        """The clone's own checkout; the shared directory itself in a bare clone."""
        return self.common.parent if self.common.name == ".git" else self.common


def find_git_directories(folder: Path) -> GitDirectories | None:
    """Find the clone of a folder, upwards on one file system; None if it is in no clone."""
    try:
        start = folder.resolve(strict=True)
        device = start.stat().st_dev
        for place in (start, *start.parents):
            if place.stat().st_dev != device:
                return None
            found = _at(place)
            # Like git, do not take a checkout that lost its clone for a part of an outer one.
            if found is not None or (place / ".git").is_file():
                return found
    except (OSError, RuntimeError, ValueError):
        return None
    return None


def git_directories_at(git_dir: Path) -> GitDirectories | None:
    """The clone of a known git directory; None if it is not one."""
    try:
        return _git_directory(git_dir.resolve(strict=True), None)
    except (OSError, RuntimeError, ValueError):
        return None


def repository_at(path: Path) -> GitDirectories | None:
    """The repository that a path to fetch from names (gitrepository-layout(5)); None if none."""
    try:
        places = [path, path.with_name(f"{path.name}.git")] if path.name else [path]
        return next(filter(None, (_at(place) for place in places if place.is_dir())), None)
    except (OSError, RuntimeError, ValueError):
        return None


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
    return root / expand_home(url)


def _at(place: Path) -> GitDirectories | None:
    inner = place / ".git"
    if inner.is_file():
        named = _pointer(inner, "gitdir: ")
        return None if named is None else _git_directory((place / named).resolve(), place)
    if inner.is_dir() and (found := _git_directory(inner.resolve(), place)) is not None:
        return found
    return _git_directory(place, None)


def _git_directory(git_dir: Path, worktree: Path | None) -> GitDirectories | None:
    if not os.path.lexists(git_dir / "HEAD"):
        return None
    named = _pointer(git_dir / "commondir", "")
    common = git_dir if named is None else (git_dir / named).resolve()
    if not ((common / "objects").is_dir() and (common / "refs").is_dir()):
        return None
    return GitDirectories(git_dir, common, worktree)


def _pointer(file: Path, prefix: str) -> str | None:
    try:
        if not file.is_file():
            return None
        with file.open("rb") as opened:
            text = os.fsdecode(opened.read(_MAX_POINTER)).rstrip("\r\n")
    except OSError:
        return None
    return text.removeprefix(prefix) if text.startswith(prefix) else None


Setting: TypeAlias = tuple[str, str | None]
"""A key as `git config --list` writes it, and its value; None for a key without `=`."""

_CORE: Final = (
    *("repositoryformatversion", "bare", "filemode", "symlinks", "ignorecase"),
    *("precomposeunicode", "protecthfs", "protectntfs", "autocrlf", "eol", "safecrlf"),
    *("logallrefupdates", "sharedrepository", "compression", "loosecompression"),
    *("bigfilethreshold", "checkstat", "trustctime", "sparsecheckout", "sparsecheckoutcone"),
    *("excludesfile", "attributesfile", "untrackedcache", "preloadindex", "splitindex"),
    *("commitgraph", "multipackindex", "usereplacerefs", "longpaths", "hidedotfiles"),
    *("fsync", "fsyncmethod", "createobject", "filesreflocktimeout", "packedrefstimeout"),
    *("checkroundtripencoding", "ignorestat", "deltabasecachelimit"),
)

_EXACT: Final = frozenset(
    {
        *(f"core.{name}" for name in _CORE),
        *("user.name", "user.email", "user.useconfigonly", "user.signingkey", "gpg.format"),
        *("author.name", "author.email", "committer.name", "committer.email"),
        *("index.version", "index.threads", "index.sparse", "index.skiphash"),
        *("i18n.commitencoding", "diff.renames", "diff.renamelimit"),
        *("merge.renames", "merge.renamelimit", "merge.directoryrenames"),
        *("transfer.fsckobjects", "fetch.fsckobjects", "receive.fsckobjects"),
        *("receive.denynonfastforwards", "receive.denydeletes", "uploadpack.allowfilter"),
        *("uploadpack.allowanysha1inwant", "uploadpack.allowreachablesha1inwant"),
        *("uploadpack.allowtipsha1inwant", "uploadpack.allowrefinwant"),
        *("credential.username", "credential.usehttppath", "http.extraheader"),
    }
)

_IN_A_SUBSECTION: Final = frozenset(
    {
        *(("branch", "remote"), ("branch", "merge"), ("branch", "description")),
        *(("remote", "url"), ("remote", "pushurl"), ("remote", "fetch")),
        *(("credential", "username"), ("credential", "usehttppath"), ("http", "extraheader")),
    }
)
"""Section and key of settings whose middle part is a name that the user chose."""

_DENY_CURRENT: Final = frozenset({"true", "false", "refuse", "ignore", "warn"})
"""`updateInstead` is missing: it writes into a checkout, and asks a hook for it."""

KNOWN_EXTENSIONS: Final = frozenset(
    {"objectformat", "compatobjectformat", "refstorage", "preciousobjects", "noop"}
)
_LEFT_OUT: Final = frozenset({"worktreeconfig", "partialclone", "relativeworktrees"})
"""Extensions that are understood without git: their settings are read here, or not at all."""


def allowed(settings: Iterable[Setting]) -> list[Setting]:
    """Filter a clone's settings that may reach git, in their order."""
    return [each for each in settings if _is_allowed(*each)]


def _is_allowed(key: str, value: str | None) -> bool:
    section, _, rest = key.partition(".")
    subsection, dot, name = rest.rpartition(".")
    if key == "receive.denycurrentbranch":
        return (value or "true").lower() in _DENY_CURRENT
    if section == "extensions":
        return rest in KNOWN_EXTENSIONS
    if not dot:
        return key in _EXACT
    return bool(subsection) and (section, name) in _IN_A_SUBSECTION


def unknown_extensions(settings: Sequence[Setting]) -> list[str]:
    """The extensions of a repository's format that cannot be left out and are not known.

    Git ignores what it does not know of version 0 (gitrepository-layout(5)).
    """
    if last_value(settings, "core.repositoryformatversion") in {None, "", "0"}:
        return []
    names = {key.partition(".")[2] for key, _ in settings if key.startswith("extensions.")}
    return sorted(names - KNOWN_EXTENSIONS - _LEFT_OUT)


def last_value(settings: Iterable[Setting], key: str) -> str | None:
    """The value that git uses for a key: the last; `true` if there is no `=`."""
    found = None
    for each, value in settings:
        if each == key:
            found = "true" if value is None else value
    return found


def is_on(settings: Iterable[Setting], key: str) -> bool:
    """Whether a yes-or-no setting is on (git-config(1), `Values`)."""
    value = (last_value(settings, key) or "").lower()
    return value in {"true", "yes", "on"} or (value.isdigit() and int(value) != 0)


_ESCAPES: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\b": "\\b"}
_SPECIAL: Final = re.compile(r'[\\"\n\t\b]')


def as_config_file(settings: Iterable[Setting]) -> bytes:
    """Settings in the syntax of git's configuration files."""
    lines: list[str] = []
    for key, value in settings:
        section, _, rest = key.partition(".")
        subsection, dot, name = rest.rpartition(".")
        quoted = re.sub(r'[\\"]', lambda found: "\\" + found[0], subsection)
        lines.append(f'[{section} "{quoted}"]' if dot else f"[{section}]")
        lines.append(f"\t{name}" if value is None else f"\t{name} = {_quoted(value)}")
    return "".join(f"{line}\n" for line in lines).encode(errors="surrogateescape")


def _quoted(value: str) -> str:
    return '"' + _SPECIAL.sub(lambda found: _ESCAPES[found[0]], value) + '"'


_PARSE_SECONDS: Final = 20.0
_MAX_CONFIG: Final = 16 * 1024 * 1024

_USUAL_PROTOCOLS: Final = frozenset({"file", "git", "http", "https", "ssh"})
"""Protocols of git itself; any other starts a program that the URL of a remote names."""

_NEVER_ALLOWED: Final = frozenset({"ext", "fd"})
"""The URL is a command, or an open file (git-remote-ext(1), git-remote-fd(1))."""

_KEPT_VARIABLES: Final = frozenset(
    {
        *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH"),
        *("GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH"),
        *("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"),
    }
)
"""Variables that a user sets for all of git; every other `GIT_` variable names another place."""


class GitConfigError(LocalIOError):
    """The configuration of a clone cannot be read, or the clone needs what is not known here."""


def clean_environment(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment without variables that send git elsewhere; by default this process's."""
    return {
        name: value
        for name, value in (os.environ if environment is None else environment).items()
        if not name.startswith("GIT_") or name in _KEPT_VARIABLES
    }


def allowed_protocols(rules: Mapping[str, str], environment: Mapping[str, str]) -> str:
    """A value for `GIT_ALLOW_PROTOCOL` (git(1)).

    Args:
        rules: the user's own `protocol.<name>.allow`, by name; none of them a clone's.
        environment: where the user may allow less by `GIT_ALLOW_PROTOCOL`.
    """
    added = {name for name, rule in rules.items() if rule == "always"}
    refused = {name for name, rule in rules.items() if rule == "never"}
    found = (_USUAL_PROTOCOLS | added) - refused - _NEVER_ALLOWED
    narrowed = environment.get("GIT_ALLOW_PROTOCOL")
    if narrowed is not None:
        found &= set(narrowed.split(":"))
    return ":".join(sorted(found))


def config_variables(settings: Sequence[Setting]) -> dict[str, str]:
    """Variables that set these for one git, as `git -c` would, with any character in a key."""
    found = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings):
        found[f"GIT_CONFIG_KEY_{number}"] = key
        found[f"GIT_CONFIG_VALUE_{number}"] = "true" if value is None else value
    return found


def _read_config(file: Path) -> bytes:
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


def settings_in(file: Path) -> tuple[Setting, ...]:
    """Settings of a configuration file; none if it does not exist.

    Raises:
        GitConfigError: it cannot be read, or is not valid.
    """
    text = _read_config(file)
    try:
        return _settings(text)
    except GitConfigError as error:
        raise GitConfigError(f"{file}: {error.message}", error.hint) from error


@lru_cache(maxsize=512)
def _settings(text: bytes) -> tuple[Setting, ...]:
    """Settings as git reads them from a configuration file, without the files that it includes."""
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
