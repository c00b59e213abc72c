"""Says what a server would find where it stands: for people whose agent is in no taskspace."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from symposium.documents.guidance import library_for
from symposium.mcp_server.detection import standing_of
from symposium.mcp_server.processes import terminal_of


def probed(directory: Path, environment: Mapping[str, str]) -> dict[str, Any]:
    """The taskspace, the terminal and the guidance of a directory; nothing is asked or started."""
    standing = standing_of(directory, environment)
    terminal = terminal_of(os.getpid(), environment)
    shelf = library_for(directory, environment).shelf()
    return {
        "directory": str(directory),
        "project": standing.project or None,
        "taskspace": standing.taskspace or None,
        "shell_pid": terminal.shell,
        "editor_pid": terminal.editor,
        "guidance": {text.id: text.layer for text in shelf.listed},
        "untrusted": [item.name for item in shelf.untrusted],
        "troubles": list(shelf.troubles),
    }
