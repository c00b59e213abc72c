"""Why a session has no agent, said so that whoever reads it in the chat can mend it."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from localio.text import plain_text
from peerwire.errors import AUTH_REQUIRED, RpcError
from peerwire.jsonrpc.values import as_object
from symposium.chain.handshake import VERSION_MISMATCH
from symposium.config.component_source import shown_agent
from symposium.config.user_config import Config, ConfigError

LAST_WORDS: Final = 8
"""Lines of a program's standard error that are shown."""

NO_AGENT: Final = "**This session has no agent yet.**"

CHOICES: Final = (
    "- `/symposium:config` - choose another agent, or switch mods off; "
    "`SAVE` goes on in this session\n"
    "- or mend it, and send any message: each one tries anew\n"
)
"""What can be typed in a session that has no agent; every screen there ends with it."""

KEPT: Final = "Your message is kept: the agent answers it as soon as there is one."

STILL: Final = "It is still so."

_LOG_IN: Final = (
    "Log in with the agent's own command in a terminal, then send any message here: "
    "it tries anew.\n\n"
)


_OURS: Final = frozenset({"component_start_failed", "config"})
"""Reasons of our own, whose detail says it all."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """What stands between a session and its agent.

    Attributes:
        reason: what is wrong, and where; Markdown.
        mend: how to mend it; may be empty.
    """

    reason: str
    mend: str = ""

    def text(self) -> str:
        """All of it, with what can be typed now."""
        mend = f"{self.mend.rstrip()}\n\n" if self.mend else ""
        return f"{NO_AGENT} {self.reason.rstrip()}\n\n{mend}{CHOICES}"


def of_file(error: ConfigError) -> Trouble:
    """A config file that cannot be used."""
    mend = (
        "Nothing in it is changed; should you choose anew, what it says is kept beside the new one."
    )
    return Trouble(f"The configuration cannot be used:\n\n{error}", mend)


def of_chain(error: RpcError, config: Config, path: Path) -> Trouble:
    """A chain that does not start, or makes no session.

    Args:
        error: what came instead.
        config: what the chain was made from.
        path: where that stands.
    """
    data = as_object(error.data)
    if data.get("reason") == "policy":
        return Trouble(f"No agent starts while your rules cannot be read:\n\n{data.get('detail')}")
    name = str(data.get("component") or data.get("mod") or "")
    mods = {mod.name for mod in config.mods if mod.enabled}
    if name in mods:
        who = f"The mod `{name}`"
        place = "It is one of the mods"
        number = [mod.name for mod in config.mods].index(name) + 1
        mend = f"`/symposium:config`, then `{number}`, switches it off. "
    else:
        agent = shown_agent(config.agent)
        who, place, mend = f"The agent `{agent}`", "It is the agent", ""
    reason = f"{who} {failure_manner(error)}\n\n{place} in `{path}`."
    return Trouble(reason, (_LOG_IN if error.code == AUTH_REQUIRED else "") + mend)


def failure_manner(error: RpcError) -> str:
    """What a component did instead of starting: the rest of a sentence about it."""
    data = as_object(error.data)
    if error.code == AUTH_REQUIRED:
        return f"wants you to log in first: {_shown(error)}"
    match data.get("reason"):
        case "component_exited":
            return f"did not start: it{_ended(data)}"
        case "initialize_timeout":
            wait = f"has not answered `initialize` within {data.get('seconds')} seconds"
            return f"{wait}; is it one that speaks ACP?"
        case "missing_capability":
            return f"needs `{data.get('capability')}`, which neither the editor nor a mod has."
        case _:
            return f"did not start: {_version(data) or _shown(error)}"


def _version(data: Mapping[str, Any]) -> str:
    """Both protocol versions and what to do, for a component that speaks another one."""
    if data.get("reason") != VERSION_MISMATCH:
        return ""
    answered, selected = data.get("answered"), data.get("selected")
    differs = f"it speaks version {answered} of ACP; this connection uses version {selected}"
    return f"{differs}. To fix that, {data.get('hint')}."


def _ended(data: Mapping[str, Any]) -> str:
    argv = data.get("argv")
    words = cast("list[Any]", argv if isinstance(argv, list) else [])
    command = f" (`{shlex.join(map(str, words))}`)" if words else ""
    if data.get("signal") is not None:
        how = f"was ended by {data['signal']}"
    elif data.get("exitCode") is not None:
        how = f"ended with exit code {data['exitCode']}"
    else:
        how = "closed its side"
    tail = plain_text(str(data.get("stderrTail") or "")).strip().splitlines()[-LAST_WORDS:]
    if not tail:
        return f"{command} {how}, and said nothing. Is it one that speaks ACP?"
    said = "\n".join(f"    {line}" for line in tail)
    return f"{command} {how}. Its last words:\n\n{said}"


def _shown(error: RpcError) -> str:
    """An agent's own error: its text, and whatever it adds for people."""
    if isinstance(error.data, str):
        more = error.data
    else:
        data = as_object(error.data)
        if data.get("reason") in _OURS:
            # Whoever reads a SPEC takes it for an option of the command line.
            return str(data.get("detail")).removeprefix("--agent: ")
        known = [data.get(name) for name in ("detail", "details", "message", "fault", "reason")]
        more = next((text for text in known if isinstance(text, str) and text), "")
        if not more and error.data is not None:
            more = str(error.data)
    return plain_text(f"{error.message}: {more}" if more else error.message)
