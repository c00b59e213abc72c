"""An agent that asks no permission destroys its tree in every way that is listed."""

from collections.abc import Iterator

import pytest
from tests.support.chaos import ALL_WAYS, UnaskedTasks, whole

pytestmark = pytest.mark.chaos


@pytest.fixture(scope="module")
def chaos(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UnaskedTasks]:
    """One task for all, until a way is not brought back."""
    tasks = UnaskedTasks(tmp_path_factory)
    yield tasks
    tasks.close()


@pytest.mark.requirement("tasks.undo-unasked")
@pytest.mark.parametrize("way", ALL_WAYS)
def test_an_agent_that_asks_nobody_and_destroys_its_tree_at_once_loses_nothing(
    way: str, chaos: UnaskedTasks
) -> None:
    with chaos.one() as task:
        before = whole(task.tree)

        task.turn(ALL_WAYS[way])
        task.undo()

        assert whole(task.tree) == before
