"""An agent destroys its worktree without asking, in every listed way."""

from collections.abc import Iterator

import pytest
from tests.support.chaos import ALL_WAYS, UnaskedTasks, whole

pytestmark = pytest.mark.chaos


@pytest.fixture(scope="module")
def chaos(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UnaskedTasks]:
    """One task for all, until a way is not undone."""
    tasks = UnaskedTasks(tmp_path_factory)
    yield tasks
    tasks.close()


@pytest.mark.requirement("tasks.undo-unasked")
@pytest.mark.parametrize("way", ALL_WAYS)
def test_agent_that_destroys_its_worktree_without_asking_loses_nothing(
    way: str, chaos: UnaskedTasks
) -> None:
    with chaos.one() as task:
        before = whole(task.tree)

        task.turn(ALL_WAYS[way])
        task.undo()

        assert whole(task.tree) == before
