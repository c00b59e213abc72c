"""Where log records go: to stderr, which is for talk."""

import logging
import re
from collections import deque
from collections.abc import Sequence
from typing import Final

from localio.text import plain_text
from symposium.chain.calls import FAULTS

FORM: Final = "symposium %(levelname)s %(name)s: %(message)s"


QUOTE: Final = "| "
"""Before a line that a component has written."""

ABOVE: Final = f"{QUOTE}[… what stands above]"
"""In place of lines that were shown as they came."""

REMEMBERED: Final = 100
"""Lines that are known to have been shown."""

_FAULT: Final = r"mod \S+ (?:failed on|returned nothing for|wants) "
"""What a mod written with our library says of itself."""

_log = logging.getLogger(__name__)
_faults = logging.getLogger(FAULTS)


def set_up_logs(level: str) -> None:
    """Log to stderr, from this level on."""
    root = logging.getLogger()
    stderr = logging.StreamHandler()
    stderr.setFormatter(logging.Formatter(FORM))
    root.addHandler(stderr)
    root.setLevel(level.upper())


def hush() -> None:
    """Log nothing but what mods do wrong: for a command that says itself what else is wrong."""
    logging.getLogger().addHandler(logging.NullHandler())
    stderr = logging.StreamHandler()
    stderr.setFormatter(logging.Formatter(FORM))
    faults = logging.getLogger(FAULTS)
    faults.addHandler(stderr)
    faults.propagate = False


class ComponentTalk:
    """Logs what components write to their stderr: as news where a mod has failed, else as talk."""

    def __init__(self) -> None:
        self._in_traceback: set[str] = set()
        self._shown: deque[str] = deque(maxlen=REMEMBERED)

    def __call__(self, component: str, line: bytes) -> None:
        """Take one line."""
        text = line.decode(errors="replace")
        if self._tells_fault(component, text):
            _faults.error("%s! %s", component, plain_text(text))
            self._shown.append(plain_text(text).rstrip())
        else:
            _log.info("%s! %s", component, text)
            if _log.isEnabledFor(logging.INFO):
                self._shown.append(plain_text(text).rstrip())

    def not_yet_shown(self, lines: Sequence[str]) -> list[str]:
        """These lines of a message, without the last words in them that have been shown already.

        Args:
            lines: those that quote a component begin with `QUOTE`.
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
            # It ends with the line that names the exception, the first that is not indented.
            if not text.startswith((" ", "\t")):
                self._in_traceback.discard(component)
            return True
        return re.match(_FAULT, text) is not None


log_stderr: Final = ComponentTalk()
"""Takes a component's name and a line."""
