"""Why an agent ended, and the login that it asks for."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from localio.text import exact, one_line, plain_text
from peerwire.errors import AUTH_REQUIRED, RpcError
from peerwire.jsonrpc.values import as_object
from symposium.client.auth_methods import auth_methods
from symposium.errors import StepError
from symposium.sessions.session import Login

WIDTH: Final = 200
"""Characters of the last words of an agent that are shown."""


def exit_reason(error: Exception) -> str:
    """In one or two sentences, the most useful first."""
    if not isinstance(error, StepError) or not isinstance(error.reason, RpcError):
        return str(error)
    found = as_object(error.reason.data)
    match found.get("reason"):
        case "component_start_failed":
            return plain_text(str(found.get("detail") or error))
        case "component_exited":
            return _exit(found)
        case _:
            return str(error)


def _exit(found: Mapping[str, Any]) -> str:
    argv = found.get("argv")
    words = cast("list[Any]", argv if isinstance(argv, list) else [])
    agent = f"`{plain_text(shlex.join(map(str, words)))}`" if words else "the agent"
    if (signal := found.get("signal")) is not None:
        manner = f"was ended by {signal}"
    elif (code := found.get("exitCode")) is not None:
        manner = f"exited with code {code}"
    else:
        manner = "closed its side"
    lines = plain_text(str(found.get("stderrTail") or "")).strip().splitlines()
    said = f": {one_line(lines[-1], width=WIDTH)}" if lines else ""
    return f"{agent} {manner}{said}"


INBOX: Final = "where you answer with retry: the agent is started with what you have there"


def wants_login(error: Exception) -> bool:
    """Whether an agent refuses to answer before somebody has logged in (acp-host §7.1)."""
    if not isinstance(error, StepError) or not isinstance(error.reason, RpcError):
        return False
    # The answer to a login is that it did not work, whatever its code.
    return error.reason.code == AUTH_REQUIRED or error.step == "authenticate"


def login_of(error: StepError, greeting: Mapping[str, Any], argv: Sequence[str]) -> Login:
    """What a person can do.

    Args:
        error: the agent's refusal.
        greeting: its answer to `initialize`, which names the ways.
        argv: how it was started; empty if that is not known.
    """
    methods = auth_methods(greeting, argv, INBOX)
    lines = [
        f"{each.name}: {each.opens} {each.command}".rstrip().replace("\n", " ") for each in methods
    ]
    ways = {each.id: each.name for each in methods if each.is_ours}
    if not lines:
        lines = ["the agent names no way to log in: use its own command in a terminal"]
    return Login(_said(error), tuple(exact(line) for line in lines), ways)


def _said(error: StepError) -> str:
    if not isinstance(error.reason, RpcError):
        return exact(str(error))
    details = as_object(error.reason.data).get("details")
    more = f": {details}" if isinstance(details, str) and details else ""
    before = "that did not work: " if error.step == "authenticate" else ""
    return exact(f"{before}{error.reason.message}{more}")
