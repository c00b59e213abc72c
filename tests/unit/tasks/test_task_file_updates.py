"""The files of tasks are written at most once a second for lines of their logs."""

import pytest

from symposium.tasks.task_file_updates import MIN_INTERVAL, FileUpdates


class Clock:
    """Seconds that pass only in pauses."""

    def __init__(self) -> None:
        self.now = 100.0
        self.pauses: list[float] = []

    async def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds


@pytest.mark.requirement("taskspaces.file-once-a-second")
async def test_file_is_due_a_second_after_it_was_written() -> None:
    clock = Clock()
    updates = FileUpdates(lambda: clock.now, clock.pause)
    first = updates.postpone("a")
    updates.begins("a")
    clock.now += 0.25
    postponed = [updates.postpone("a"), updates.postpone("a")]

    assert (first, postponed, updates.due()) == (False, [True, True], ["a"])
    assert await updates.ready() == ["a"]
    assert clock.pauses == [0.75]
    updates.begins("a")
    assert updates.due() == []
    clock.now += MIN_INTERVAL
    assert not updates.postpone("a")


@pytest.mark.requirement("taskspaces.file-once-a-second")
async def test_file_that_was_written_meanwhile_is_not_due() -> None:
    clock = Clock()
    updates = FileUpdates(lambda: clock.now, clock.pause)
    for id_, seconds in (("a", 0.5), ("b", 0.25), ("a", 0.25)):
        updates.begins(id_)
        updates.postpone(id_)
        clock.now += seconds
    updates.begins("a")

    assert await updates.ready() == ["b"]
    assert clock.pauses == [0.5]
