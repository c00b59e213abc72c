"""Command language of the scripted test agent: a prompt is one JSON object.

`{"command": "echo", "message": "hi"}`; the names are those of the reference's test agent (acp-host
§5, row `testy`), and so is the longer form `{"command": "run_scenario", "scenario": "content"}`.
This module parses commands only.
"""

from decimal import Decimal
from typing import Any, Literal, TypeAlias, get_args

import msgspec
from msgspec import Struct, field


class ScenarioError(ValueError):
    """A prompt is not a command of this agent; the message explains the syntax."""


def _wire_name(class_name: str) -> str:
    words = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in class_name)
    return words.removeprefix("_")


class _Command(
    Struct, frozen=True, forbid_unknown_fields=True, tag_field="command", tag=_wire_name
):
    pass


class Greet(_Command, frozen=True):
    """Answer with a greeting."""


class Echo(_Command, frozen=True):
    """Answer with the message."""

    message: str


class WaitForCancel(_Command, frozen=True):
    """Report that the turn waits, and end it only when it is canceled."""


class SessionUpdates(_Command, frozen=True):
    """Send one `session/update` of every kind."""


class Content(_Command, frozen=True):
    """Send a message with one content block of every kind."""


class ToolCalls(_Command, frozen=True):
    """Report tool calls that complete and one that fails."""


class Callbacks(_Command, frozen=True):
    """Send every supported request to the client: permission, files, terminals."""


class Elicitations(_Command, frozen=True):
    """Ask the user for input in every mode and scope."""


class CancelStatus(_Command, frozen=True):
    """Report whether the session was canceled, and end the turn accordingly."""


class Full(_Command, frozen=True):
    """Run every scenario that ends by itself, in order."""


class ListTools(_Command, frozen=True):
    """List the tools of one of the session's MCP servers."""

    server: str


class CallTool(_Command, frozen=True):
    """Call a tool of one of the session's MCP servers."""

    server: str
    tool: str
    params: dict[str, Any] = field(default_factory=dict[str, Any])


Scenario: TypeAlias = (
    SessionUpdates
    | Content
    | ToolCalls
    | Callbacks
    | Elicitations
    | CancelStatus
    | WaitForCancel
    | Full
)
Command: TypeAlias = Greet | Echo | ListTools | CallTool | Scenario

_ScenarioName = Literal[
    "session_updates",
    "content",
    "tool_calls",
    "callbacks",
    "elicitations",
    "cancel_status",
    "wait_for_cancel",
    "full",
]


class _RunScenario(_Command, frozen=True, tag="run_scenario"):
    scenario: _ScenarioName


COMMAND_NAMES = tuple(sorted(_wire_name(command.__name__) for command in get_args(Command)))
"""Names of all commands."""

_SCENARIOS = {
    **{_wire_name(scenario.__name__): scenario for scenario in get_args(Scenario)},
    "elicitation": Elicitations,
}

_decode = msgspec.json.Decoder[Command | _RunScenario](
    Command | _RunScenario, float_hook=Decimal
).decode
_encode = msgspec.json.Encoder(decimal_format="number").encode


def parse_command(text: str) -> Command:
    """Parse the text of a prompt.

    A scenario may be named in plain words, such as `wait for cancel`; other text gets a greeting.

    Raises:
        ScenarioError: the text starts like a JSON object but is invalid, names no command, or
            has a wrong, unknown, or missing field.
    """
    if not text.lstrip().startswith("{"):
        return _SCENARIOS.get("_".join(text.lower().split()), Greet)()
    try:
        command = _decode(text)
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise ScenarioError(
            f"{_explain(error)}. A JSON prompt to this agent is an object such as"
            f' {{"command": "greet"}}; the commands are {", ".join(COMMAND_NAMES)}.'
        ) from error
    match command:
        case _RunScenario(scenario):
            return _SCENARIOS[scenario]()
        case _:
            return command


def _explain(error: ValueError | ArithmeticError | RecursionError) -> str:
    match error:
        case RecursionError():
            return "The JSON is nested too deeply"
        case UnicodeError():
            return "The text holds half a character"
        case ArithmeticError():
            return "A number's exponent is out of range"
        case _:
            return str(error)


def render_command(command: Command) -> str:
    """Text of a prompt that encodes a command."""
    return _encode(command).decode()
