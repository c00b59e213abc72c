"""The ways to log in that an agent offers, as a person is told of them; pure (acp-host §7.1)."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from msgspec import Struct

from localio.text import one_line
from peerwire.jsonrpc.values import as_object

_WIDTH: Final = 300

EDITOR: Final = "where your editor is started, and restart it"

TERMINAL_META: Final = "terminal-auth"
"""Where agents of before the stable form put the command for a terminal, and editors said that they
would run one."""


class AuthMethod(Struct, frozen=True):
    """One way.

    Attributes:
        id: what `authenticate` is asked with.
        name: as the agent calls it.
        opens: what will happen.
        command: for a terminal, ready to be copied; empty if there is none.
        is_ours: whether the agent can be asked to do it; otherwise the person has to.
    """

    id: str
    name: str
    opens: str
    command: str = ""
    is_ours: bool = True


def auth_methods(
    greeting: Mapping[str, Any], argv: Sequence[str], place: str = EDITOR
) -> Sequence[AuthMethod]:
    """What the answer to `initialize` offers.

    Args:
        greeting: that answer.
        argv: how the agent was started.
        place: where a variable has to be set for the agent to find it.
    """
    listed = greeting.get("authMethods")
    entries = cast("list[Any]", listed) if isinstance(listed, list) else []
    found = [_method(as_object(entry), argv, place) for entry in entries]
    return [method for method in found if method is not None]


def login_text(methods: Sequence[AuthMethod], argv: Sequence[str]) -> str:
    """The ways, numbered, and what can be typed."""
    if not methods:
        command = f":\n\n    {shlex.join(argv)}\n\n" if argv else ".\n\n"
        own = f"The agent names no way to log in. Use its own command in a terminal{command}"
        return f"{own}Then type `retry`; `cancel` leaves.\n"
    lines = ["To log in:", ""]
    for number, method in enumerate(methods, 1):
        lines.append(f"{number}. **{method.name}** - {method.opens}")
        if method.command:
            lines += ["", f"        {method.command}", ""]
    return "\n".join(
        [*lines, "", "Type a number. Logged in elsewhere? Type `retry`. `cancel` leaves.", ""]
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
            told = f"{said}Set {_variables(entry)} {place}."
            return AuthMethod(method_id, name, told, is_ours=False)
        case _:
            told = f"{said}The agent does it by itself; it may open your browser."
            return AuthMethod(method_id, name, told)


def _command(argv: Sequence[str], entry: Mapping[str, Any]) -> str:
    arguments = entry.get("args")
    words = cast("list[Any]", arguments) if isinstance(arguments, list) else []
    variables = as_object(entry.get("env"))
    before = [f"{name}={shlex.quote(str(value))}" for name, value in variables.items()]
    command = shlex.join([*argv, *(str(word) for word in words)])
    return one_line(" ".join([*before, command]), width=2 * _WIDTH)


def _variables(entry: Mapping[str, Any]) -> str:
    listed = entry.get("vars")
    entries = cast("list[Any]", listed) if isinstance(listed, list) else []
    names = [str(as_object(each).get("name", each)) for each in entries]
    names = names or [str(entry.get("varName") or entry.get("name") or "its variable")]
    return " and ".join(f"`{one_line(name, width=_WIDTH)}`" for name in names)
