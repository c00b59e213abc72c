"""The chain between a taskspace and an agent that speaks ACP."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

from localio.jsonc import JsoncError, parse

_TIMELINE: Final = "timeline"


def task_mods(config: Path) -> tuple[str, ...]:
    """The timeline, by which another agent can go on, unless the user's config wants none."""
    try:
        root: Any = parse(config.read_text(encoding="utf-8")).value
    except (OSError, UnicodeDecodeError, JsoncError):
        # Whoever starts an agent is told what is wrong with the file.
        return (_TIMELINE,)
    members = cast("Mapping[str, Any]", root if isinstance(root, Mapping) else {})
    match members.get("tasks"):
        case {"timeline": False}:
            return ()
        case _:
            return (_TIMELINE,)
