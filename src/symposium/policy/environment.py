"""Environment variables that change only how a program prints, never what it runs."""

import re
from typing import Final

_HARMLESS: Final = frozenset(
    {
        *("LANG", "LANGUAGE", "TZ", "TERM", "COLUMNS", "LINES", "CI", "DEBIAN_FRONTEND"),
        *("NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR", "PY_COLORS", "COLORTERM"),
        *("GIT_TERMINAL_PROMPT", "GIT_OPTIONAL_LOCKS", "GIT_LITERAL_PATHSPECS"),
        *("PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "PYTHONUTF8"),
        *(
            "PYTHONIOENCODING",
            "RUST_BACKTRACE",
            "RUST_LOG",
            "CARGO_TERM_COLOR",
            "CARGO_INCREMENTAL",
        ),
        *("NODE_ENV", "NPM_CONFIG_LOGLEVEL", "NPM_CONFIG_COLOR", "NPM_CONFIG_FUND"),
        *("GOOS", "GOARCH", "CGO_ENABLED", "SOURCE_DATE_EPOCH", "PIP_NO_INPUT"),
        *("PIP_DISABLE_PIP_VERSION_CHECK", "HYPOTHESIS_PROFILE", "POSIXLY_CORRECT"),
    }
)
_HARMLESS_NAME: Final = re.compile(r"LC_[A-Z]+")
_PLAIN_VALUE: Final = re.compile(r"[\w.,:@+= -]*")
_ZONE: Final = re.compile(r"[A-Za-z]\w*(?:/[A-Za-z][\w+-]*)*")
_PAGERS: Final = frozenset({"PAGER", "GIT_PAGER", "MANPAGER"})


def is_harmless(name: str, value: str | None) -> bool:
    """Whether a variable leaves open neither what runs nor which files are read.

    Every other variable is in doubt: of most programs, no list of the dangerous ones is complete.

    Args:
        name: its name.
        value: its value; None if only a running shell could know it.
    """
    if value is None:
        return False
    if name in _PAGERS:
        return value in {"", "cat"}
    if name == "TZ":
        return value == "" or _ZONE.fullmatch(value) is not None
    is_known = name in _HARMLESS or _HARMLESS_NAME.fullmatch(name) is not None
    # A locale or terminal with a slash in its name is read from that file.
    return is_known and _PLAIN_VALUE.fullmatch(value) is not None
