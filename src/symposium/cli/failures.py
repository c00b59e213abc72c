"""Map exceptions to the messages that users read."""

import logging
import shlex
from collections.abc import Mapping
from errno import ENOENT
from typing import Any, Final, cast

from localio.errors import ExplainedError, ProgramNotFoundError
from localio.text import plain_text
from peerwire.errors import AUTH_REQUIRED, RESOURCE_NOT_FOUND, PeerwireError, RpcError
from peerwire.jsonrpc.values import as_list
from symposium.bus.errors import BusRefusedError
from symposium.cli.exit_codes import ExitCode, ReportedFailure
from symposium.errors import (
    AgentTimeoutError,
    BadValueError,
    NotFoundError,
    SpecError,
    StepError,
)
from symposium.permissions.verdict import PolicyError

STDERR_SHOWN: Final = 5
"""Number of the last stderr lines of a crashed program that its message shows."""

MAX_SHOWN: Final = 400
"""Maximum length of an agent's data in a message."""

_log = logging.getLogger(__name__)


def failure_of(error: Exception) -> ReportedFailure:
    """Map an exception to a failure; an unexpected exception is a bug in Symposium."""
    match error:
        case StepError():
            return _of_step(error)
        case ExplainedError():
            return _explained(error)
        case PeerwireError():
            return ReportedFailure(ExitCode.RUNTIME, "wire", str(error), "")
        case OSError():
            return _of_system(error)
        case _:
            _log.debug("unexpected exception", exc_info=error)
            cause = _first(error)
            kind = type(cause).__name__
            return ReportedFailure(
                ExitCode.RUNTIME,
                "bug",
                f"this is a bug in Symposium: {kind}: {cause}",
                "rerun the command with --log debug and report the output",
            )


def _first(error: Exception) -> Exception:
    while isinstance(error, ExceptionGroup):
        error = cast("ExceptionGroup[Exception]", error).exceptions[0]
    return error


def _explained(error: ExplainedError) -> ReportedFailure:
    match error:
        case SpecError():
            code, detail, origin = ExitCode.USAGE, "bad_spec", "cli"
        case BadValueError():
            code, detail, origin = ExitCode.USAGE, "bad_value", "cli"
        case NotFoundError() | ProgramNotFoundError():
            code, detail, origin = ExitCode.NOT_FOUND, "not_found", "cli"
        case PolicyError():
            code, detail, origin = ExitCode.RUNTIME, "policy", "cli"
        case AgentTimeoutError():
            code, detail, origin = ExitCode.TIMEOUT, "no_answer", "agent"
        case BusRefusedError(code=reason):
            code = _BUS_CODES.get(reason, ExitCode.RUNTIME)
            detail, origin = reason or "refused", "host"
        case _:
            code, detail, origin = ExitCode.RUNTIME, "failed", "host"
    is_retryable = code is ExitCode.TIMEOUT
    return ReportedFailure(code, detail, error.message, error.hint, origin, is_retryable)


def _of_system(error: OSError) -> ReportedFailure:
    is_missing = isinstance(error, FileNotFoundError)
    code = ExitCode.NOT_FOUND if is_missing else ExitCode.RUNTIME
    where = "" if error.filename is None else f"{error.filename}: "
    return ReportedFailure(code, "system", f"{where}{error.strerror or error}", "", "cli")


def _of_step(error: StepError) -> ReportedFailure:
    reason, at = error.reason, f"at {error.step}"
    if not isinstance(reason, RpcError):
        return ReportedFailure(
            ExitCode.RUNTIME, "ended", f"the chain ended {at}: {reason}", "", "component"
        )
    data: Any = reason.data
    if isinstance(data, Mapping):
        found = cast("Mapping[str, Any]", data)
        tell = _REASONS.get(str(found.get("reason")))
        if tell is not None:
            return tell(found, at)
    if reason.code == AUTH_REQUIRED:
        return ReportedFailure(
            ExitCode.DENIED,
            "auth_required",
            f"the agent requires a login ({at}): {_shown(reason)}",
            "log in with the agent's own command, then try again",
            "agent",
        )
    code = ExitCode.NOT_FOUND if reason.code == RESOURCE_NOT_FOUND else ExitCode.RUNTIME
    message = f"the agent answered {error.step} with error {reason.code}: {_shown(reason)}"
    hint = "the error comes from the agent; see its documentation or its log"
    return ReportedFailure(code, "agent_error", message, hint, "agent")


def _start_failed(data: Mapping[str, Any], at: str) -> ReportedFailure:
    detail = str(data.get("detail"))
    message, _, hint = detail.partition("; ")
    is_missing = data.get("errno") == ENOENT
    return ReportedFailure(
        ExitCode.NOT_FOUND if is_missing else ExitCode.RUNTIME,
        "start_failed",
        f"{_component(data)} did not start ({at}): {message}",
        hint,
        "component",
    )


def _exited(data: Mapping[str, Any], at: str) -> ReportedFailure:
    if (signal := data.get("signal")) is not None:
        manner = f"was killed by {signal}"
    elif (exit_code := data.get("exitCode")) is not None:
        manner = f"exited with code {exit_code}"
    else:
        manner = "closed the connection"
    argv = data.get("argv")
    words = as_list(argv)
    command = f" `{shlex.join(map(str, words))}`" if words else ""
    tail = plain_text(str(data.get("stderrTail") or "")).strip().splitlines()[-STDERR_SHOWN:]
    said = "\n".join(f"| {line}" for line in tail)
    silent = "it wrote nothing to stderr; try running it directly"
    hint = f"its last stderr lines:\n{said}" if tail else silent
    return ReportedFailure(
        ExitCode.RUNTIME, "exited", f"{_component(data)}{command} {manner} {at}", hint, "component"
    )


def _silent(data: Mapping[str, Any], at: str) -> ReportedFailure:
    return ReportedFailure(
        ExitCode.TIMEOUT,
        "no_answer",
        f"{_component(data)} timed out after {data.get('seconds')} s ({at})",
        "check that it is an ACP program; some need a flag such as --acp",
        "component",
        is_retryable=True,
    )


def _version(data: Mapping[str, Any], at: str) -> ReportedFailure:
    answered = f"answered {data.get('answered')!r} as its version of ACP"
    if data.get("answered") is None:
        answered = "answered without a protocolVersion"
    return ReportedFailure(
        ExitCode.RUNTIME,
        "version",
        f"{_component(data)} {answered} ({at})",
        str(data.get("hint", "")),
        "component",
    )


def _mod_failed(data: Mapping[str, Any], at: str) -> ReportedFailure:
    mod = plain_text(str(data.get("mod")))
    message = f"mod {mod} failed on {data.get('method')} ({at}): {data.get('fault')}"
    hint = "the error is in the mod, not in the agent; see the traceback above, or remove the mod"
    return ReportedFailure(ExitCode.RUNTIME, "mod_failed", plain_text(message), hint, "component")


def _mod_gave_nothing(data: Mapping[str, Any], at: str) -> ReportedFailure:
    mod = plain_text(str(data.get("mod")))
    message = f"mod {mod} gave no answer to {data.get('method')} ({at})"
    hint = "its handler must return Forward, Reply or Refuse; `return Forward()` passes it on"
    return ReportedFailure(ExitCode.RUNTIME, "mod_failed", plain_text(message), hint, "component")


def _rules_unreadable(data: Mapping[str, Any], at: str) -> ReportedFailure:
    message = f"cannot read your policy rules, so no agent starts ({at}): {data.get('detail')}"
    return ReportedFailure(ExitCode.RUNTIME, "policy", plain_text(message), "", "cli")


_REASONS: Final = {
    "policy": _rules_unreadable,
    "mod_failed": _mod_failed,
    "mod_gave_no_answer": _mod_gave_nothing,
    "component_start_failed": _start_failed,
    "component_exited": _exited,
    "initialize_timeout": _silent,
    "protocol_version_missing": _version,
    "protocol_version_mismatch": _version,
}


_BUS_CODES: Final = {
    "already_answered": ExitCode.NOT_FOUND,
    "bad_choice": ExitCode.USAGE,
    "bad_value": ExitCode.USAGE,
    "forbidden": ExitCode.DENIED,
    "no_handler": ExitCode.NOT_FOUND,
    "not_found": ExitCode.NOT_FOUND,
    "timeout": ExitCode.TIMEOUT,
}
"""Exit code by the error code of a refused bus message."""


def _component(data: Mapping[str, Any]) -> str:
    return f"component {plain_text(str(data.get('component')))}"


def _shown(error: RpcError) -> str:
    text = plain_text(error.message if error.data is None else f"{error.message}: {error.data}")
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"
