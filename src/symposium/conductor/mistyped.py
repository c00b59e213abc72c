"""Finds names of methods that a mod has misspelt: it would wait for them in silence."""

import logging
from typing import Final

from symposium.conductor.blueprint import InProcess
from symposium.conductor.component import EVERY_METHOD, Interception
from symposium.conductor.outcomes import FAULTS

_log = logging.getLogger(FAULTS)

_USUAL: Final = frozenset(
    {
        *("initialize", "session/new", "session/load", "session/resume", "session/fork"),
        *("session/close", "session/delete", "session/prompt", "session/cancel", "session/update"),
        *("session/request_permission", "fs/read_text_file", "fs/write_text_file"),
        *("terminal/create", EVERY_METHOD),
    }
)
"""Names that need no looking up: a start is to cost nothing for them."""

_FREE: Final = ("_", "$/", "mcp/")
"""How names begin that are nobody's, the wire's, or another protocol's."""


def checked(component: InProcess) -> list[Interception]:
    """What a mod wants to see; a name that is almost one of ACP's is warned of."""
    wanted = component.mod.interceptions()
    for method in dict.fromkeys(each.method for each in wanted):
        if method not in _USUAL and not method.startswith(_FREE):
            meant = _meant(method)
            if meant:
                _log.warning(
                    "mod %s wants `%s`, which is no method of ACP; did you mean `%s`?",
                    component.name,
                    method,
                    meant,
                )
    return wanted


def _meant(method: str) -> str | None:
    from localio.text import near_names  # noqa: PLC0415 - the same
    from peerwire.acp.methods import METHODS  # noqa: PLC0415 - see IMPORTS_LATE

    if method in METHODS:
        return None
    return next(iter(near_names(method, METHODS)), None)
