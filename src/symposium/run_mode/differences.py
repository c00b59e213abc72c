"""What a save changes, as a diff to read."""

from symposium.config.user_config import Config


def differences(before: Config | None, after: Config) -> str:
    """The lines that go and those that come; empty where nothing changes."""
    if before is None or before.key() == after.key():
        return ""
    old, new = _lines(before), _lines(after)
    gone = [f"- {line}" for line in old if line not in new]
    come = [f"+ {line}" for line in new if line not in old]
    return "\n".join(["```diff", *gone, *come, "```", "", ""])


def _lines(config: Config) -> list[str]:
    agent = config.agent if isinstance(config.agent, str) else str(config.agent.as_json())
    marks = {True: "x", False: " "}
    mods = [f"{at}. [{marks[mod.enabled]}] {mod.name}" for at, mod in enumerate(config.mods, 1)]
    return [f"agent {agent}", *mods]
