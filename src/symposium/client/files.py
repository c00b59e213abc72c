"""Files that an agent may reach through its client: only those below one directory."""

from pathlib import Path
from typing import Final

from localio.files import regular_content
from peerwire.errors import INVALID_PARAMS, RESOURCE_NOT_FOUND, RpcError

LARGEST: Final = 16 * 1024 * 1024
"""Maximum size of a file that is read for an agent, in bytes."""


class Files:
    """Read and write text below a root; a link that leaves the root is outside."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()

    def read(self, path: str, *, line: int | None = None, limit: int | None = None) -> str:
        """Read a file, or `limit` lines of it from `line`, counted from 1.

        Raises:
            RpcError: the file is missing, outside, too large, or not text.
        """
        place = self._inside(path)
        try:
            whole = regular_content(place, LARGEST).decode()
            text = whole.replace("\r\n", "\n").replace("\r", "\n")
        except OSError as error:
            raise _refusal(path, error) from error
        except UnicodeDecodeError as error:
            raise RpcError(INVALID_PARAMS, f"{path} is not UTF-8 text") from error
        except ValueError as error:
            raise RpcError(INVALID_PARAMS, f"{path}: {error}") from error
        if line is None and limit is None:
            return text
        first = max((line or 1) - 1, 0)
        last = None if limit is None else first + max(limit, 0)
        return "".join(text.splitlines(keepends=True)[first:last])

    def write(self, path: str, content: str) -> None:
        """Write the file; create it and its directories if necessary.

        Raises:
            RpcError: it is outside, or cannot be written.
        """
        place = self._inside(path)
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(content, encoding="utf-8", newline="")
        except OSError as error:
            raise _refusal(path, error) from error

    def check(self, path: str) -> None:
        """Check that a path is below the root.

        Raises:
            RpcError: it is outside, or not absolute.
        """
        self._inside(path)

    def _inside(self, path: str) -> Path:
        written = Path(path)
        if not written.is_absolute():
            raise RpcError(INVALID_PARAMS, f"{path} is not an absolute path")
        try:
            place = written.resolve()
        except (OSError, ValueError, RuntimeError) as error:
            raise RpcError(INVALID_PARAMS, f"{path!r} names no file: {error}") from error
        if not place.is_relative_to(self._root):
            reason = f"{path} is outside {self._root}, and this client offers nothing else"
            raise RpcError(INVALID_PARAMS, reason)
        return place


def _refusal(path: str, error: OSError) -> RpcError:
    code = RESOURCE_NOT_FOUND if isinstance(error, FileNotFoundError) else INVALID_PARAMS
    return RpcError(code, f"{path}: {error.strerror}")
