"""Files and directories: atomic writes, private directories, bounded reads, trusted places."""

import os
import stat
from errno import EACCES, EDQUOT, ENOSPC, EPERM, EROFS
from pathlib import Path
from typing import Final

PRIVATE_FILE_MODE: Final = 0o600
"""Mode of new files, which may contain keys: only the user can read them."""

_ANY_WRITE: Final = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


_FIXES: Final = {
    ENOSPC: "free space on its file system",
    EDQUOT: "free space, your quota is used up",
    EROFS: "its file system is read-only; set SYMPOSIUM_HOME to another directory",
    EACCES: "make it writable",
    EPERM: "make it writable",
}


def storage_error_text(error: OSError) -> str:
    """Explain why something cannot be stored, with the path and what to do."""
    path = error.filename or "a file of Symposium"
    text = f"cannot write {path}: {error.strerror or error}"
    fix = _FIXES.get(error.errno or 0, "")
    return f"{text}; {fix}" if fix else text


def expand_home(text: str) -> Path:
    """Path with `~` expanded; the home of a user who does not exist stays as written."""
    return Path(os.path.expanduser(text))  # noqa: PTH111 - pathlib raises for an unknown user


def write_whole(path: Path, text: str | bytes) -> None:
    """Replace the text of a file atomically; keep its mode (default: 0600) and links.

    Raises:
        OSError: it cannot be written; it is unchanged.
    """
    target = path.resolve()
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    check_writable(path)
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else PRIVATE_FILE_MODE
    # Do not use tempfile, whose import takes milliseconds at every start.
    temporary = target.with_name(f".{target.name}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE_MODE)
        with os.fdopen(handle, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(mode)
        temporary.replace(target)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        # Errors of a write name no file, or the temporary one.
        raise OSError(error.errno, error.strerror, str(target)) from error
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_path(target.parent)


def read_text(path: Path) -> str | None:
    """Text of a file with its line endings; None if it does not exist.

    Raises:
        OSError, UnicodeDecodeError: it cannot be read, or is not UTF-8.
    """
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        return None


def check_writable(path: Path) -> None:
    """Check that neither the file nor its directory is marked as read-only.

    Raises:
        OSError: one of them is.
    """
    # A rename needs no permission on the file, and root needs none at all; but a user who
    # removed the write permission wants the file protected.
    target = path.resolve()
    for each in (target, target.parent):
        if each.exists() and not (each.stat().st_mode & _ANY_WRITE and os.access(each, os.W_OK)):
            raise PermissionError(EACCES, "it is read-only", str(each))


def sync_path(path: Path | str) -> None:
    """Sync a file, or the names in a directory, to the disk, to survive a power loss."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


PRIVATE_DIRECTORY_MODE: Final = 0o700


def make_private_directory(directory: Path, *, is_synced: bool = False) -> None:
    """Create a directory and its missing parents with private permissions.

    `Path.mkdir` applies its mode to the last one only. Its parents would be readable by all, and
    the next process would reject the directory of the sockets (users §7.4).

    Args:
        directory: the directory.
        is_synced: whether to sync each new name to the disk.

    Raises:
        OSError: it cannot be created, or is not a directory.
    """
    if not directory.parent.is_dir():
        make_private_directory(directory.parent, is_synced=is_synced)
    is_new = is_synced and not directory.exists()
    directory.mkdir(mode=PRIVATE_DIRECTORY_MODE, exist_ok=True)
    if is_new:
        sync_path(directory.parent)


def regular_content(path: Path, most: int) -> bytes:
    """Content of a regular file.

    Args:
        path: path of the file; links are followed.
        most: maximum size in bytes.

    Raises:
        OSError: it cannot be read.
        ValueError: it is too large, or not a regular file.
    """
    # Opening a pipe without a writer would block.
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError("it is not a regular file")
        with open(handle, "rb", closefd=False) as file:
            content = file.read(most + 1)
    finally:
        os.close(handle)
    if len(content) > most:
        raise ValueError(f"it is larger than {most} bytes")
    return content


def trusted_places(search_path: str, workspace: Path | None = None) -> list[str]:
    """Directories of a PATH that are trusted while a workspace is open.

    Relative directories, and those inside the workspace, are not trusted: opening a workspace must
    not start programs in it. A workspace that contains the user's home does not count.

    Args:
        search_path: value of PATH.
        workspace: default: the current directory.
    """
    absolute = [each for each in search_path.split(os.pathsep) if os.path.isabs(each)]  # noqa: PTH117 - starts fast
    try:
        inside = (Path() if workspace is None else workspace).resolve()
    except FileNotFoundError:
        return absolute  # the current directory was deleted, so it contains nothing
    if is_in(Path.home(), inside):
        return absolute
    return [each for each in absolute if not Path(each).resolve().is_relative_to(inside)]


def is_in(place: Path, folder: Path) -> bool:
    """Whether a path is the folder or inside it, after resolving links."""
    return place.resolve().is_relative_to(folder.resolve())
