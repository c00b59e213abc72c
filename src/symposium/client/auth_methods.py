"""Login methods of an agent, as text for the user. No I/O (acp-host §7.1)."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from localio.text import one_line
from peerwire.jsonrpc.values import as_list, as_object

_WIDTH: Final = 300

EDITOR: Final = (
    "in the environment of your editor. Then restart the editor and open this session again"
)

TERMINAL_META: Final = "terminal-auth"
"""Member of `_meta` for a terminal login, from before the stable form of the protocol."""


class AuthMethod(Struct, frozen=True):
    """Login method, as offered by an agent.

    Attributes:
        id: the id for `authenticate`.
        name: the agent's name for it.
        opens: the effect, in one sentence.
        command: a command to copy into a terminal; empty if not needed.
        is_ours: whether `authenticate` starts it; otherwise the user has to.
    """

    id: str
    name: str
    opens: str
    command: str = ""
    is_ours: bool = True


def auth_methods(
    initialize_result: Mapping[str, Any], argv: Sequence[str], place: str = EDITOR
) -> Sequence[AuthMethod]:
    """Read the login methods from the result of `initialize`.

    Args:
        initialize_result: that result.
        argv: the agent's command line.
        place: text that says in which place to set a variable.
    """
    listed = initialize_result.get("authMethods")
    entries = as_list(listed)
    found = [_method(as_object(entry), argv, place) for entry in entries]
    return [method for method in found if method is not None]


def login_text(methods: Sequence[AuthMethod], argv: Sequence[str]) -> str:
    """Format the numbered methods and the available inputs."""
    if not methods:
        command = f":\n\n    {shlex.join(argv)}\n\n" if argv else ".\n\n"
        own = f"The agent offers no login method. Log in with its command in a terminal{command}"
        return f"{own}Then type `retry`; `cancel` leaves.\n"
    lines = ["To log in:", ""]
    for number, method in enumerate(methods, 1):
        lines.append(f"{number}. **{method.name}** - {method.opens}")
        if method.command:
            lines += ["", f"        {method.command}", ""]
    return "\n".join(
        [*lines, "", "Type a number, or `retry` after a login elsewhere. `cancel` leaves.", ""]
    )


def _method(entry: Mapping[str, Any], argv: Sequence[str], place: str) -> AuthMethod | None:
    method_id = entry.get("id")
    if not isinstance(method_id, str):
        return None
    name = one_line(str(entry.get("name") or method_id), width=_WIDTH)
    said = one_line(str(entry.get("description") or ""), width=_WIDTH).rstrip(".")
    said = f"{said}. " if said else ""
    older = as_object(as_object(entry.get("_meta")).get(TERMINAL_META))
    if isinstance(older.get("command"), str):
        command = _command([str(older["command"])], older)
        return AuthMethod(method_id, name, f"{said}In a terminal:", command, is_ours=False)
    match entry.get("type", "agent"):
        case "terminal":
            command = _command(argv, entry)
            return AuthMethod(method_id, name, f"{said}In a terminal:", command, is_ours=False)
        case "env_var":
            text = f"{said}Set {_variables(entry)} {place}."
            return AuthMethod(method_id, name, text, is_ours=False)
        case _:
            text = f"{said}The agent runs the login; it may open your browser."
            return AuthMethod(method_id, name, text)


def _command(argv: Sequence[str], entry: Mapping[str, Any]) -> str:
    arguments = entry.get("args")
    words = as_list(arguments)
    variables = as_object(entry.get("env"))
    before = [f"{name}={shlex.quote(str(value))}" for name, value in variables.items()]
    command = shlex.join([*argv, *(str(word) for word in words)])
    return one_line(" ".join([*before, command]), width=2 * _WIDTH)


def _variables(entry: Mapping[str, Any]) -> str:
    listed = entry.get("vars")
    entries = as_list(listed)
    names = [str(as_object(each).get("name", each)) for each in entries]
    names = names or [str(entry.get("varName") or entry.get("name") or "its variable")]
    return " and ".join(f"`{one_line(name, width=_WIDTH)}`" for name in names)
