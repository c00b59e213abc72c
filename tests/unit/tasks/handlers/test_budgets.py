"""Budgets of tasks: questions to the user and answers to session servers."""

from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.task_harness import Scene, make_template, open_scene, settings_file
from tests.support.task_views import asked

from symposium.bus.messages.agents import BudgetChecked, CheckBudget
from symposium.bus.messages.tasks import InboxChoice, InboxItem
from symposium.config.paths import paths
from symposium.sessions.session import SessionStore
from symposium.sessions.spending import FILE, Spending, write_spending
from symposium.tasks.budget import budget_text, read_budget
from symposium.tasks.handlers.approvals import Budgets
from symposium.tasks.model import RefusedNameError, Taskspace, TaskState


class BudgetScene:
    """Budgets over an engine without running agents."""

    def __init__(self, scene: Scene, folder: Path) -> None:
        self.scene = scene
        self.store = SessionStore(paths({"SYMPOSIUM_HOME": str(folder / "home")}))
        self.budgets = Budgets(scene.engine, self.store)

    async def make(self, name: str, budget: str = "", parent: str | None = None) -> Taskspace:
        made = await self.scene.make(name)
        limits = read_budget(budget) if budget else made.limits
        made = replace(made, limits=limits, parent=parent)
        await self.scene.context.put(made)
        return made

    def spend(self, taskspace: Taskspace, spending: Spending) -> None:
        directory = self.store.directory(taskspace.id)
        directory.mkdir(parents=True, exist_ok=True)
        write_spending(directory, spending)

    async def check(self, taskspace: Taskspace) -> BudgetChecked:
        answer = self.budgets.answers().requests[CheckBudget.about.type]
        checked = await answer(CheckBudget(taskspace_uuid=taskspace.id), asked())
        assert isinstance(checked, BudgetChecked)
        return checked

    async def limits(self, taskspace: Taskspace) -> str:
        return budget_text((await self.scene.engine.get(taskspace.id)).limits)

    async def log(self, taskspace: Taskspace) -> list[str]:
        found = await self.scene.engine.logs.summaries([taskspace.id])
        last = found[taskspace.id].last
        return [] if last is None else [last.message]


@pytest.fixture
async def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[BudgetScene]:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings_file(tmp_path)))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    made = open_scene(make_template(tmp_path))
    yield BudgetScene(made, tmp_path)
    made.engine.close()


@pytest.mark.requirement("tasks.budget")
async def test_agent_continues_until_its_budget_is_used_up(scene: BudgetScene) -> None:
    task = await scene.make("counts turns", "10turns")
    seen: list[tuple[bool, int]] = []
    for turns in (7, 8, 9, 10):
        scene.spend(task, Spending({"usd": 0.5}, turns=turns))
        seen.append(((await scene.check(task)).is_over, len(await scene.log(task))))

    assert seen == [(False, 0), (False, 1), (False, 1), (True, 1)]
    (warning,) = await scene.log(task)
    assert warning.startswith("80% of 10turns is spent: 0.50 usd")


@pytest.mark.requirement("tasks.budget")
async def test_check_reports_the_spending_and_warns_the_task_that_has_the_budget(
    scene: BudgetScene,
) -> None:
    parent = await scene.make("parent", "2usd,10min")
    child = await scene.make("child", parent=parent.id)
    alone = await scene.make("alone")
    scene.spend(parent, Spending({"usd": 0.5}, seconds=60.0, turns=1))
    scene.spend(child, Spending(seconds=480.0, turns=2))
    scene.spend(alone, Spending({"usd": 0.25}, seconds=90.0, turns=3))
    checked = [await scene.check(each) for each in (child, alone)]
    spent = (await scene.budgets.items([child]), checked[0])
    scene.spend(child, Spending(seconds=600.0, turns=2))
    (item,) = await scene.budgets.items([child])
    entries = await scene.scene.engine.logs.entries(parent.id)

    total = "0.50 usd, cost unknown, 9.0 min, 3 turns"
    assert spent == ([], BudgetChecked(is_over=False, text=f"{total} of 2usd,10min"))
    assert checked[1] == BudgetChecked(is_over=False, text="0.25 usd, 1.5 min, 3 turns")
    assert [each.message for each in entries] == [f"80% of 2usd,10min is spent: {total}"]
    assert item == InboxItem(
        f"budget:{parent.id}:2usd,10min",
        *("budget", parent.id, "parent", parent.activated_at),
        f"its budget is spent ({total.replace('9.0', '11.0')} of 2usd,10min); may it spend more?",
        (InboxChoice("more", "The same amount again"),),
    )


@pytest.mark.requirement("tasks.budget")
async def test_child_without_a_budget_is_limited_by_its_parents_budget(scene: BudgetScene) -> None:
    parent = await scene.make("parent", "2turns")
    child = await scene.make("child", parent=parent.id)
    alone = await scene.make("alone")
    for each in (child, alone):
        scene.spend(each, Spending(turns=2))

    assert [(await scene.check(each)).is_over for each in (parent, child, alone)] == [
        True,
        True,
        False,
    ]
    (item,) = await scene.budgets.items([parent, child, alone])
    assert (item.kind, item.taskspace) == ("budget", parent.id)
    assert await scene.budgets.items([replace(parent, standing=TaskState.ARCHIVED)]) == []


@pytest.mark.requirement("tasks.budget")
@pytest.mark.parametrize(
    ("answer", "of_parent", "of_child"),
    [("more", "4turns", "3turns"), ("5turns", "7turns", "6turns")],
)
async def test_raising_a_parents_budget_raises_those_of_its_children(
    scene: BudgetScene, answer: str, of_parent: str, of_child: str
) -> None:
    parent = await scene.make("parent", "2turns")
    child = await scene.make("child", "1turns", parent=parent.id)
    other = await scene.make("other", "1turns")

    assert of_parent in await scene.budgets.grant(parent.id, answer)
    assert [await scene.limits(each) for each in (parent, child, other)] == [
        of_parent,
        of_child,
        "1turns",
    ]


@pytest.mark.requirement("tasks.budget")
@pytest.mark.parametrize(
    ("answer", "reason"),
    [("5eur", "adds nothing to the budget of 2turns"), ("a lot", "not a budget")],
)
async def test_answer_that_adds_nothing_is_refused_and_changes_nothing(
    scene: BudgetScene, answer: str, reason: str
) -> None:
    task = await scene.make("counts turns", "2turns")
    with pytest.raises(RefusedNameError, match=reason):
        await scene.budgets.grant(task.id, answer)
    assert await scene.limits(task) == "2turns"


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
async def test_cost_is_unknown_only_when_an_agent_worked_and_reported_none(
    scene: BudgetScene, spending: Spending, unknown: int
) -> None:
    task = await scene.make("works")
    scene.spend(task, spending)
    assert scene.budgets.spent(task.id).unknown == unknown


@pytest.mark.requirement("tasks.budget")
async def test_damaged_spending_file_counts_as_nothing_spent(scene: BudgetScene) -> None:
    task = await scene.make("works")
    scene.spend(task, Spending(turns=1))
    (scene.store.directory(task.id) / FILE).write_text("{", encoding="utf-8")
    assert scene.budgets.spent(task.id).turns == 0
