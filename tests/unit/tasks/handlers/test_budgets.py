"""What tasks may spend, as the daemon asks the user and answers session servers."""

from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.task_harness import Scene, make_template, open_scene, settings_file
from tests.support.task_views import asked

from symposium.bus.messages.agents import BudgetChecked, CheckBudget
from symposium.config.paths import paths
from symposium.sessions.session import SessionStore
from symposium.sessions.spending import FILE, Spending, write_spending
from symposium.tasks.budget import budget_text, read_budget
from symposium.tasks.handlers.approvals import Budgets
from symposium.tasks.model import RefusedNameError, Taskspace, TaskState


class Desk:
    """Budgets over an engine; nobody's agent runs."""

    def __init__(self, scene: Scene, folder: Path) -> None:
        self.scene = scene
        self.store = SessionStore(paths({"SYMPOSIUM_HOME": str(folder / "home")}))
        self.budgets = Budgets(scene.engine, self.store)

    async def make(self, name: str, budget: str = "", parent: str | None = None) -> Taskspace:
        made = await self.scene.make(name)
        limits = read_budget(budget) if budget else made.limits
        made = replace(made, limits=limits, parent=parent)
        await self.scene.ground.put(made)
        return made

    def spend(self, taskspace: Taskspace, spending: Spending) -> None:
        directory = self.store.directory(taskspace.id)
        directory.mkdir(parents=True, exist_ok=True)
        write_spending(directory, spending)

    async def check(self, taskspace: Taskspace) -> BudgetChecked:
        answer = self.budgets.answers().requests[CheckBudget.about.type]
        told = await answer(CheckBudget(taskspace_uuid=taskspace.id), asked())
        assert isinstance(told, BudgetChecked)
        return told

    async def limits(self, taskspace: Taskspace) -> str:
        return budget_text((await self.scene.engine.get(taskspace.id)).limits)

    async def log(self, taskspace: Taskspace) -> list[str]:
        found = await self.scene.engine.logs.summaries([taskspace.id])
        last = found[taskspace.id].last
        return [] if last is None else [last.message]


@pytest.fixture
async def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Desk]:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings_file(tmp_path)))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    made = open_scene(make_template(tmp_path))
    yield Desk(made, tmp_path)
    made.engine.close()


@pytest.mark.requirement("tasks.budget")
async def test_an_agent_may_go_on_until_its_budget_is_spent_exactly(desk: Desk) -> None:
    task = await desk.make("counts turns", "10turns")
    seen: list[tuple[bool, int]] = []
    for turns in (7, 8, 9, 10):
        desk.spend(task, Spending({"usd": 0.5}, turns=turns))
        seen.append(((await desk.check(task)).is_over, len(await desk.log(task))))

    assert seen == [(False, 0), (False, 1), (False, 1), (True, 1)]
    (warning,) = await desk.log(task)
    assert warning.startswith("80% of 10turns is spent: 0.50 usd")


@pytest.mark.requirement("tasks.budget")
async def test_a_child_without_a_budget_is_held_by_that_of_its_parent(desk: Desk) -> None:
    parent = await desk.make("parent", "2turns")
    child = await desk.make("child", parent=parent.id)
    alone = await desk.make("alone")
    for each in (child, alone):
        desk.spend(each, Spending(turns=2))

    assert [(await desk.check(each)).is_over for each in (parent, child, alone)] == [
        True,
        True,
        False,
    ]
    (item,) = await desk.budgets.items([parent, child, alone])
    assert (item.kind, item.taskspace) == ("budget", parent.id)
    assert await desk.budgets.items([replace(parent, standing=TaskState.ARCHIVED)]) == []


@pytest.mark.requirement("tasks.budget")
@pytest.mark.parametrize(
    ("answer", "of_parent", "of_child"),
    [("more", "4turns", "3turns"), ("5turns", "7turns", "6turns")],
)
async def test_more_for_a_parent_is_more_for_all_that_it_spawned(
    desk: Desk, answer: str, of_parent: str, of_child: str
) -> None:
    parent = await desk.make("parent", "2turns")
    child = await desk.make("child", "1turns", parent=parent.id)
    other = await desk.make("other", "1turns")

    assert of_parent in await desk.budgets.grant(parent.id, answer)
    assert [await desk.limits(each) for each in (parent, child, other)] == [
        of_parent,
        of_child,
        "1turns",
    ]


@pytest.mark.requirement("tasks.budget")
@pytest.mark.parametrize(
    ("answer", "reason"),
    [("5eur", "adds nothing to the budget of 2turns"), ("a lot", "not a budget")],
)
async def test_an_answer_that_adds_nothing_is_refused_and_changes_nothing(
    desk: Desk, answer: str, reason: str
) -> None:
    task = await desk.make("counts turns", "2turns")
    with pytest.raises(RefusedNameError, match=reason):
        await desk.budgets.grant(task.id, answer)
    assert await desk.limits(task) == "2turns"


@pytest.mark.requirement("tasks.budget")
@pytest.mark.parametrize(
    ("spending", "unknown"),
    [
        (Spending(), 0),
        (Spending(turns=1), 1),
        (Spending(seconds=1.0), 1),
        (Spending({"usd": 0.1}, turns=1), 0),
    ],
)
async def test_a_cost_is_unknown_only_of_an_agent_that_worked_and_told_none(
    desk: Desk, spending: Spending, unknown: int
) -> None:
    task = await desk.make("works")
    desk.spend(task, spending)
    assert desk.budgets.spent(task.id).unknown == unknown


@pytest.mark.requirement("tasks.budget")
async def test_a_damaged_record_of_spending_counts_as_nothing_spent(desk: Desk) -> None:
    task = await desk.make("works")
    desk.spend(task, Spending(turns=1))
    (desk.store.directory(task.id) / FILE).write_text("{", encoding="utf-8")
    assert desk.budgets.spent(task.id).turns == 0
