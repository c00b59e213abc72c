"""An agent that asks no permission destroys its tree in every way that is listed."""

from collections.abc import Iterator

import pytest
from tests.support.chaos import WAYS, Unasked, unasked, whole


@pytest.fixture(scope="module")
def chaos(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Unasked]:
    """One task for all."""
    with unasked(tmp_path_factory.mktemp("chaos")) as made:
        yield made


@pytest.mark.requirement("tasks.undo-unasked")
@pytest.mark.parametrize("way", WAYS)
def test_an_agent_that_asks_nobody_and_destroys_its_tree_at_once_loses_nothing(
    way: str, chaos: Unasked
) -> None:
    before = whole(chaos.tree)

    chaos.turn(WAYS[way])
    chaos.undo()

    assert whole(chaos.tree) == before
