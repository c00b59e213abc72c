"""Log of a command on stderr, and the stderr of its components."""

import logging
import re
from collections import deque
from collections.abc import Sequence
from typing import Final

from localio.text import plain_text
from symposium.chain.calls import FAULTS

FORM: Final = "symposium %(levelname)s %(name)s: %(message)s"


QUOTE: Final = "| "
"""Prefix of a line that a component has written."""

ABOVE: Final = f"{QUOTE}[… shown above]"
"""Replacement for lines that were already shown."""

REMEMBERED: Final = 100
"""Number of shown lines to remember."""

_FAULT: Final = r"mod \S+ (?:failed on|returned nothing for|intercepts|wants) "
"""Beginning of a problem that the mod library logs; older versions of it write `wants`."""

_log = logging.getLogger(__name__)
_faults = logging.getLogger(FAULTS)


def set_up_logs(level: str) -> None:
    """Log to stderr at this level and above."""
    root = logging.getLogger()
    stderr = logging.StreamHandler()
    stderr.setFormatter(logging.Formatter(FORM))
    root.addHandler(stderr)
    root.setLevel(level.upper())


def hush() -> None:
    """Log only faults of mods, for a command that reports its other errors itself."""
    logging.getLogger().addHandler(logging.NullHandler())
    stderr = logging.StreamHandler()
    stderr.setFormatter(logging.Formatter(FORM))
    faults = logging.getLogger(FAULTS)
    faults.addHandler(stderr)
    faults.propagate = False


class ComponentTalk:
    """Log the stderr of components: as an error if a mod has failed, else as information."""

    def __init__(self) -> None:
        self._in_traceback: set[str] = set()
        self._shown: deque[str] = deque(maxlen=REMEMBERED)

    def __call__(self, component: str, line: bytes) -> None:
        text = plain_text(line.decode(errors="replace"))
        if self._tells_fault(component, text):
            _faults.error("%s! %s", component, text)
            self._shown.append(text.rstrip())
        else:
            _log.info("%s! %s", component, text)
            if _log.isEnabledFor(logging.INFO):
                self._shown.append(text.rstrip())

    def not_yet_shown(self, lines: Sequence[str]) -> list[str]:
        """Remove quoted lines from a message that were already shown.

        Args:
            lines: the message; a quoted line begins with `QUOTE`.
        """
        left: list[str] = []
        for line in lines:
            if not line.startswith(QUOTE) or line.removeprefix(QUOTE).rstrip() not in self._shown:
                left.append(line)
            elif left[-1:] != [ABOVE]:
                left.append(ABOVE)
        return left

    def _tells_fault(self, component: str, text: str) -> bool:
        if text.startswith("Traceback (most recent call last)"):
            self._in_traceback.add(component)
            return True
        if component in self._in_traceback:
            # A traceback ends with its first line without an indent, the exception.
            if not text.startswith((" ", "\t")):
                self._in_traceback.discard(component)
            return True
        return re.match(_FAULT, text) is not None


log_stderr: Final = ComponentTalk()
"""Logs a line of a component's stderr."""
