"""The git directories of a folder, the settings of a clone that reach git, and allowed protocols.

Git reads the clone's configuration while it looks for the clone, so Symposium looks by itself.

None of these names a program, a file that names one, or a way to reach another host. The settings
of the user and of the system are not the clone's and reach git unchanged.
"""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

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
            if found is not None:
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
