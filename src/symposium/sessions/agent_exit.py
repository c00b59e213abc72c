"""Explain why an agent exited, and how to log in."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final

from localio.text import exact, one_line, plain_text
from peerwire.errors import AUTH_REQUIRED, RpcError
from peerwire.jsonrpc.values import as_list, as_object
from symposium.client.auth_methods import auth_methods
from symposium.errors import StepError
from symposium.sessions.session import Login

WIDTH: Final = 200
"""Longest quoted line of an agent's stderr, in characters."""


def exit_reason(error: Exception) -> str:
    """Explain an error in one or two sentences, the most useful first."""
    if not isinstance(error, StepError) or not isinstance(error.reason, RpcError):
        return plain_text(str(error))
    found = as_object(error.reason.data)
    match found.get("reason"):
        case "component_start_failed":
            return plain_text(str(found.get("detail") or error))
        case "component_exited":
            return _exit(found)
        case _:
            return plain_text(str(error))


def _exit(found: Mapping[str, Any]) -> str:
    argv = found.get("argv")
    words = as_list(argv)
    agent = f"`{plain_text(shlex.join(map(str, words)))}`" if words else "the agent"
    if (signal := found.get("signal")) is not None:
        manner = f"was killed by {signal}"
    elif (code := found.get("exitCode")) is not None:
        manner = f"exited with code {code}"
    else:
        manner = "closed its output"
    lines = plain_text(str(found.get("stderrTail") or "")).strip().splitlines()
    said = f": {one_line(lines[-1], width=WIDTH)}" if lines else ""
    return f"{agent} {manner}{said}"


INBOX: Final = "in the shell where you run `symposium inbox answer`; then answer `retry`"


def wants_login(error: Exception) -> bool:
    """Whether an agent refuses to answer until the user logs in (acp-host §7.1)."""
    if not isinstance(error, StepError) or not isinstance(error.reason, RpcError):
        return False
    # A failed login asks for another one, whatever its error code.
    return error.reason.code == AUTH_REQUIRED or error.step == "authenticate"


def login_of(error: StepError, initialize_result: Mapping[str, Any], argv: Sequence[str]) -> Login:
    """Describe the login that an agent requires.

    Args:
        error: the agent's error.
        initialize_result: the agent's initialize result, which names the methods.
        argv: the agent's command; empty if unknown.
    """
    methods = auth_methods(initialize_result, argv, INBOX)
    lines = [
        f"{each.name}: {each.opens} {each.command}".rstrip().replace("\n", " ") for each in methods
    ]
    ways = {each.id: each.name for each in methods if each.is_ours}
    if not lines:
        lines = ["the agent names no login method; log in with its own command in a terminal"]
    return Login(_said(error), tuple(exact(line) for line in lines), ways)


def _said(error: StepError) -> str:
    if not isinstance(error.reason, RpcError):
        return exact(str(error))
    details = as_object(error.reason.data).get("details")
    more = f": {details}" if isinstance(details, str) and details else ""
    before = "the login failed: " if error.step == "authenticate" else ""
    return exact(f"{before}{error.reason.message}{more}")
