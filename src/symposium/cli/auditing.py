"""Has each permission that a chain's agent asks for taken down, with who decided."""

import logging
import os
from collections.abc import Callable, Sequence

from symposium.chain_spec import ChainSpec
from symposium.conductor.blueprint import InProcess
from symposium.conductor.witness import WITNESS, Chooser, Entry, TakeDown, Witness, the_user
from symposium.config.paths import paths

_log = logging.getLogger(__name__)


def witnessed(chain: ChainSpec, chooser: Chooser = the_user) -> Callable[[], Sequence[InProcess]]:
    """Makes the mod that sees the questions of a chain's agent."""
    name = "" if chain.agent is None else chain.agent.name
    take_down = _taking_down(chain.secrets)
    return lambda: [InProcess(WITNESS, Witness(name, take_down, chooser), is_hidden=True)]


def _taking_down(secrets: Sequence[str]) -> TakeDown:
    def take_down(entry: Entry) -> None:
        from symposium.audit.audit_log import AuditLog  # noqa: PLC0415 - see IMPORTS_LATE
        from symposium.redaction import Redactor, secret_values  # noqa: PLC0415 - the same

        redactor = Redactor((*secrets, *secret_values(os.environ)))
        try:
            AuditLog(paths().audit, redactor).write({"host": os.getpid(), **entry})
        except OSError as error:
            _log.warning("a permission is not on record: %s", error)

    return take_down
