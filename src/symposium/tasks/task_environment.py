"""Environment variables of a task for its agent and commands, and the check for free ports."""

import socket
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from localio.git_settings import clean_environment
from symposium.tasks.model import Taskspace, slug_of


def is_unused(port: int) -> bool:
    """Whether a port of this machine is free."""
    with closing(socket.socket()) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def variables(taskspace: Taskspace) -> dict[str, str]:
    """Environment variables of a task, for its agent and commands."""
    found = {
        "SYMPOSIUM_TASKSPACE": taskspace.id,
        "SYMPOSIUM_PROJECT": taskspace.project,
        "SYMPOSIUM_WORKTREE": taskspace.worktree,
        "SYMPOSIUM_BRANCH": taskspace.branch,
        "COMPOSE_PROJECT_NAME": f"{slug_of(taskspace.name)}-{taskspace.id[:8]}",
    }
    if ports := taskspace.ports:
        found["SYMPOSIUM_PORT"] = str(ports.first)
        for offset in range(1, ports.count):
            found[f"SYMPOSIUM_PORT_{offset}"] = str(ports.first + offset)
    return found


def command_environment(
    taskspace: Taskspace, clone: Path, environment: Mapping[str, str]
) -> dict[str, str]:
    """Environment of commands, under the variable names of every supported tool.

    Args:
        taskspace: the task.
        clone: the project's own checkout.
        environment: the base environment: that of the task's agent.
    """
    worktree, port = taskspace.worktree, taskspace.ports
    return {
        **clean_environment(environment),
        **variables(taskspace),
        "ROOT_WORKTREE_PATH": str(clone),
        "CODEX_WORKTREE_PATH": worktree,
        "CODEX_SOURCE_TREE_PATH": str(clone),
        "CONDUCTOR_WORKSPACE_PATH": worktree,
        "CONDUCTOR_ROOT_PATH": str(clone),
        "CONDUCTOR_WORKSPACE_NAME": Path(worktree).name,
        **({"CONDUCTOR_PORT": str(port.first)} if port else {}),
    }
