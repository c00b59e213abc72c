"""Records of the agents of tasks: audit log, timeline, prompt."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest
from tests.support.mcp_process import speaking
from tests.support.task_cli import TaskCli, until

pytestmark = pytest.mark.timeout(240)

Spec: TypeAlias = Callable[..., str]


@pytest.mark.requirement("front.tasks-on-record")
def test_answer_in_the_inbox_is_recorded(task_cli: TaskCli, scripted: Spec) -> None:
    task_cli.new("asks", "--agent", scripted("prompt=ask:edit"))
    (item,) = until(lambda: task_cli.json("inbox"))

    task_cli.ok("inbox", "answer", item["id"], "y")

    (entry,) = until(lambda: task_cli.json("audit", "list"))
    assert (entry["outcome"], entry["chosen"], entry["by"]) == ("selected", "y", "user")
    assert entry["toolCall"]["title"] == "do it"
    assert [option["optionId"] for option in entry["options"]] == ["y", "n"]
    task_cli.ok("audit", "verify")


@pytest.mark.requirement("front.tasks-timeline")
@pytest.mark.parametrize(
    ("config", "is_kept"),
    [(None, True), ({"tasks": {"timeline": False}}, False), ({"tasks": {}}, True)],
)
def test_timeline_of_a_task_can_be_switched_off(
    task_cli: TaskCli, scripted: Spec, config: object, *, is_kept: bool
) -> None:
    if config is not None:
        task_cli.home.mkdir(exist_ok=True)
        (task_cli.home / "config.jsonc").write_text(json.dumps(config))

    made = task_cli.new("works", "Do it", "--agent", scripted("any=text"))
    until(lambda: task_cli.tasks()["works"]["state"] == "idle")

    mods = json.loads((task_cli.home / "sessions" / made["id"] / "session.json").read_text())[
        "mods"
    ]
    assert mods == (["timeline"] if is_kept else [])
    assert bool(task_cli.json("timeline", "list")) is is_kept


@pytest.mark.requirement("front.task-prompt-waits")
@pytest.mark.parametrize(
    ("words", "waiting"),
    [(("later", "Write the docs."), True), (("bare",), False)],
)
def test_task_without_an_agent_saves_only_its_prompt(
    task_cli: TaskCli, words: tuple[str, ...], *, waiting: bool
) -> None:
    made = task_cli.new(*words, "--agent", "none")
    (path,) = task_cli.clone.parent.rglob(f"*{made['id']}/taskspace.json")
    state = json.loads(path.read_text(encoding="utf-8"))["state"]

    prompt = state.get("hatchling", {}).get("initialPrompt", "")
    assert prompt.endswith("Write the docs.\n") is waiting
    assert "bare" not in prompt


@pytest.mark.requirement("tasks.agent-finds-host")
def test_tools_of_an_agent_with_another_home_reach_its_own_daemon(
    task_cli: TaskCli, scripted: Spec, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    made = task_cli.new("away", "--agent", scripted("any=text"))
    until(lambda: task_cli.tasks()["away"]["state"] == "idle")
    spec = json.loads((task_cli.home / "sessions" / made["id"] / "session.json").read_text())
    own = {"HOME": str(elsewhere), "XDG_RUNTIME_DIR": str(elsewhere), **spec["env"]}

    async def report() -> str:
        words = {"message": "Half of it", "category": "milestone"}
        status = ""
        async with speaking(Path(made["worktree"]), **own) as server, asyncio.timeout(30):
            while status != "recorded":
                status = (await server.call("log_progress", words))["structuredContent"]["status"]
        return status

    assert asyncio.run(report()) == "recorded"
    assert list(elsewhere.iterdir()) == [], "no second home was made"
    assert "Half of it" in task_cli.ok("task", "log", "away")
