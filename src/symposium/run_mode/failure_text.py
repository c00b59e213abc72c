"""Why an agent failed, as text for the chat."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from localio.text import one_line, plain_text
from peerwire.errors import AUTH_REQUIRED, RpcError
from peerwire.jsonrpc.values import as_list, as_object
from symposium.chain.handshake import VERSION_MISMATCH
from symposium.config.component_source import shown_agent
from symposium.config.user_config import Config, ConfigError

Return: TypeAlias = Literal["session/resume", "session/load", "fresh"]
"""The request that restored a session at its new agent, or `fresh` for a new session."""

BEING_STARTED: Final = "It is being restarted."

_OTHER_AGENT: Final = "To choose another agent before that, type `/symposium:config`."

_WAYS_ON: Final = f"`/symposium:retry` tries again. {_OTHER_AGENT}"

NOT_RUNNING: Final = (
    f"The agent of this session is not running. `/symposium:retry` restarts it. {_OTHER_AGENT}"
)

NOTHING_TO_SEND: Final = "The agent is running; there is no unanswered message to send again.\n"

NOT_RUNNING_YET: Final = (
    "The agent is not running yet; there is no unanswered message to send again.\n"
)

NOTHING_SAID: Final = "There is nothing to summarize: this session has no messages yet.\n"

_WIDTH: Final = 300


def exit_manner(death: RpcError) -> str:
    """Describe which component ended, and how."""
    data = as_object(death.data)
    name = f"`{data.get('component', 'the agent')}`"
    if data.get("reason") == "cancel_ignored":
        return f"{name} did not stop when asked, so it was killed."
    if (signal := data.get("signal")) is not None:
        return f"{name} was killed by {signal}."
    if (code := data.get("exitCode")) is not None:
        return f"{name} exited with code {code}."
    said = one_line(str(data.get("stderrTail") or ""), width=_WIDTH)
    return f"{name} ended: {said}." if said else f"{name} closed the connection."


def came_back(how: Return, *, has_memory: bool) -> str:
    """Report that the agent was restarted, and whether it knows the session."""
    match how:
        case "session/resume" | "session/load":
            return "It was restarted; this session continues where it left off."
        case "fresh":
            offer = " `/symposium:recap` sends it a short summary of them." if has_memory else ""
            return (
                "It was restarted with a **fresh context**: it cannot reopen sessions, "
                f"so it does not know the earlier messages.{offer}"
            )


def offer(*, was_interrupted: bool) -> str:
    """Offer to send the unanswered prompt again."""
    if not was_interrupted:
        return ""
    return (
        "Your last message was not answered. It is not sent again automatically: "
        "type `/symposium:retry` to send it."
    )


def gave_up(failures: int, window: float, reason: str) -> str:
    """Report that the agent is no longer restarted."""
    often = (
        f"It has failed {failures} times within {window / 60:g} minutes, so Symposium does not "
        "restart it again"
    )
    start = "It is not restarted" if failures == 1 else often
    why = f" ({one_line(reason, width=_WIDTH)})" if reason else ""
    return f"{start}{why}. {_WAYS_ON}"


def not_reopened(reason: str) -> str:
    """Report that the restarted agent did not open the session."""
    why = f" ({one_line(reason, width=_WIDTH)})" if reason else ""
    return f"It was restarted but did not open this session{why}. {_WAYS_ON}"


def notice(*parts: str) -> str:
    """Format the parts as one paragraph, separate from the agent's text."""
    return f"\n\n⚠ {' '.join(part for part in parts if part)}\n\n"


LAST_WORDS: Final = 8
"""Number of the last stderr lines of a program that are shown."""

NO_AGENT: Final = "**This session has no agent yet.**"

CHOICES: Final = (
    "- `/symposium:config` - choose another agent, or turn mods off; "
    "`SAVE` continues this session\n"
    "- or fix the problem and send any message to try again\n"
)
"""Available inputs in a session without an agent; most screens there end with them."""

WAIT_CHOICES: Final = (
    "- `/symposium:config` - choose another agent, or turn mods off; "
    "`SAVE` continues this session\n"
    "- or send any message to wait for the agent again\n"
)
"""Available inputs after the user has stopped waiting for a slow agent."""

MESSAGE_SAVED: Final = "Your message is saved; the agent answers it as soon as it runs."

MESSAGE_NOT_SAVED: Final = (
    "Your message is not saved: at most 16 MiB of messages can wait for the agent. "
    "Send it again when the agent runs."
)

STILL: Final = "The problem is still there."

_LOG_IN: Final = (
    "Log in with the agent's own command in a terminal, then send any message here to try "
    "again.\n\n"
)


_HOST_ORIGINS: Final = frozenset({"component_start_failed", "config"})
"""Reasons that Symposium gives itself; their detail is complete."""


class StartProblem(Struct, frozen=True):
    """The reason why a session has no agent.

    Attributes:
        reason: the problem and its place, in Markdown.
        fix: advice for a fix; may be empty.
        choices: the available inputs, at the end of the text.
    """

    reason: str
    fix: str = ""
    choices: str = CHOICES

    def text(self) -> str:
        """Format the reason, the fix, and the available inputs."""
        fix = f"{self.fix.rstrip()}\n\n" if self.fix else ""
        return f"{NO_AGENT} {self.reason.rstrip()}\n\n{fix}{self.choices}".rstrip() + "\n"


def of_file(error: ConfigError) -> StartProblem:
    """Describe a config file that cannot be used."""
    fix = (
        "The file is unchanged. If you set up a new one, Symposium saves the old content in a file "
        "next to it."
    )
    return StartProblem(f"The config file cannot be used:\n\n{error}", fix)


def of_chain(error: RpcError, config: Config, path: Path) -> StartProblem:
    """Describe a chain that does not start or opens no session.

    Args:
        error: the error of the start.
        config: the config of the chain.
        path: the config file.
    """
    data = as_object(error.data)
    if data.get("reason") == "policy":
        return StartProblem(
            f"Your policy rules cannot be read, so no agent starts:\n\n{data.get('detail')}",
            "Fix the file, then send any message to try again.",
            choices="",
        )
    name = str(data.get("component") or data.get("mod") or "")
    mods = {mod.name for mod in config.mods if mod.enabled}
    if name in mods:
        who = f"The mod `{name}`"
        number = [mod.name for mod in config.mods].index(name) + 1
        fix = f"To turn it off, type `/symposium:config`, then `{number}`, then `SAVE`. "
    else:
        agent = shown_agent(config.agent)
        who, fix = f"The agent `{agent}`", ""
    reason = f"{who} {failure_manner(error)}\n\nThe config file is `{path}`."
    return StartProblem(reason, (_LOG_IN if error.code == AUTH_REQUIRED else "") + fix)


def failure_manner(error: RpcError) -> str:
    """Complete the sentence about a component that did not start."""
    data = as_object(error.data)
    if error.code == AUTH_REQUIRED:
        return f"requires a login: {_shown(error)}"
    match data.get("reason"):
        case "component_exited":
            return f"did not start: {_ended(data)}"
        case "initialize_timeout":
            wait = f"did not answer `initialize` within {data.get('seconds')} seconds"
            return f"{wait}; check that it speaks ACP."
        case "missing_capability":
            return f"needs `{data.get('capability')}`, which neither the editor nor a mod offers."
        case _:
            return f"did not start: {_version(data) or _shown(error)}"


def _version(data: Mapping[str, Any]) -> str:
    """Describe a mismatch of protocol versions, and what to do."""
    if data.get("reason") != VERSION_MISMATCH:
        return ""
    answered, selected = data.get("answered"), data.get("selected")
    differs = f"it uses version {answered} of ACP, but this connection uses version {selected}"
    return f"{differs}. To fix that, {data.get('hint')}."


def _ended(data: Mapping[str, Any]) -> str:
    argv = data.get("argv")
    words = as_list(argv)
    command = f"its command `{shlex.join(map(str, words))}`" if words else "it"
    if data.get("signal") is not None:
        how = f"was killed by {data['signal']}"
    elif data.get("exitCode") is not None:
        how = f"exited with code {data['exitCode']}"
    else:
        how = "closed the connection"
    tail = plain_text(str(data.get("stderrTail") or "")).strip().splitlines()[-LAST_WORDS:]
    if not tail:
        return f"{command} {how} and wrote nothing to stderr. Check that it speaks ACP."
    said = "\n".join(f"    {line}" for line in tail)
    return f"{command} {how}. Its last stderr lines:\n\n{said}"


def _shown(error: RpcError) -> str:
    """Format an agent's own error, with the details it adds for the user."""
    data = as_object(error.data)
    if data.get("reason") in _HOST_ORIGINS:
        # Errors of the SPEC parser name an option of the command line.
        return str(data.get("detail")).removeprefix("--agent: ")
    known = [data.get(name) for name in ("detail", "details", "message", "fault", "reason")]
    more = next((text for text in known if isinstance(text, str) and text), "")
    if not more and error.data is not None:
        more = str(error.data)
    return plain_text(f"{error.message}: {more}" if more else error.message)
