"""What a mod says of a message or an answer, and what is made of it when the mod fails instead."""

import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final

from peerwire.errors import INTERNAL_ERROR, RpcError
from symposium.conductor.component import Answer, Crossing, Forward, Outcome, Refuse, Reply

FAULTS: Final = "symposium.mods"
"""The logger of what mods do wrong: shown to whoever asked for no log, too."""

_log = logging.getLogger(FAULTS)


def guarded(mod: str, function: Callable[[Any], Any], argument: object, crossing: Crossing) -> Any:
    """What a function of a mod returns; its fault is told as ours, not the peer's (§1.6)."""
    try:
        return function(argument)
    except Exception as error:  # noqa: BLE001 - the mods' boundary: what is called at once
        return _outcome_of_fault(mod, error, crossing)


async def guarded_wait(mod: str, outcome: Awaitable[Any], crossing: Crossing) -> Any:
    """What a coroutine of a mod returns, with the same care."""
    try:
        return await outcome
    except Exception as error:  # noqa: BLE001 - the mods' boundary: what takes its time
        return _outcome_of_fault(mod, error, crossing)


def _outcome_of_fault(mod: str, error: Exception, crossing: Crossing) -> Outcome:
    if not isinstance(error, RpcError):
        _log.error("mod %s failed on %s", mod, crossing.method, exc_info=error)
        fault = str(error) or type(error).__name__
        data = {"reason": "mod_failed", "mod": mod, "method": crossing.method, "fault": fault}
        error = RpcError(INTERNAL_ERROR, data)
    # A notification has nobody to tell: it goes on as it came, not lost with the mod's fault.
    return Refuse(error) if crossing.is_request else Forward()


def told(mod: str, outcome: Any, crossing: Crossing) -> Any:
    """What becomes of a notification; one that a mod returns nothing for travels on as it came."""
    if outcome is not None or crossing.is_request:
        return outcome
    _log.error("mod %s returned nothing for %s; it must say Forward or Drop", mod, crossing.method)
    return Forward()


def answer_of(mod: str, outcome: object, crossing: Crossing) -> Answer:
    """The answer that a mod gives to a request."""
    match outcome:
        case Reply(result):
            return Answer(value=result)
        case Refuse(error):
            return Answer(error=error)
        case _:
            data = {"reason": "mod_gave_no_answer", "mod": mod, "method": crossing.method}
            return Answer(error=RpcError(INTERNAL_ERROR, data))


def revised(answer: Answer, revision: object) -> Answer:
    """What a mod makes of an answer."""
    match revision:
        case Reply(result):
            return Answer(value=result)
        case Refuse(error):
            return Answer(error=error)
        case _:
            return answer


def writable(answer: Answer, crossing: Crossing) -> Answer:
    """The same answer, sure to have a JSON form; where a mod made one that has none, an error."""
    fault = guarded("that answered", Answer.encode, answer, crossing)
    return Answer(error=fault.error) if isinstance(fault, Refuse) else answer


def fault_of(encoded: object) -> RpcError | None:
    """What was wrong with params that mods have made; None where they have a JSON form."""
    if isinstance(encoded, bytes):
        return None
    match encoded:
        case Refuse(error):
            return error
        case Forward():
            return RpcError(INTERNAL_ERROR)
        case _:
            return None
