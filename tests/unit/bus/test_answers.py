"""Tables of handlers: one per type, and only for messages that arrive."""

import pytest

from symposium.bus.handlers import HandlerTable, RequestContext
from symposium.bus.messages.agents import LogProgress
from symposium.bus.messages.announcements import SnapshotTaken
from symposium.bus.messages.broker import Traffic
from symposium.bus.messages.worktrees import SnapshotTaskspace


async def handle(message: object, asked: RequestContext) -> None:
    """Do nothing."""
    del message, asked


@pytest.mark.requirement("bus.one-listener")
def test_handler_for_a_request_without_copies_is_an_error() -> None:
    with pytest.raises(ValueError, match="snapshot_taskspace is a request that is not public"):
        HandlerTable().on_announcement(SnapshotTaskspace, handle)


@pytest.mark.requirement("bus.one-listener")
def test_second_handler_for_a_type_is_an_error() -> None:
    answers = HandlerTable()
    answers.on_announcement(LogProgress, handle)
    answers.on_announcement(SnapshotTaken, handle)
    answers.on_request(SnapshotTaskspace, handle)

    for kind in (LogProgress, SnapshotTaken):
        with pytest.raises(ValueError, match="already has a handler"):
            answers.on_announcement(kind, handle)
    with pytest.raises(ValueError, match="snapshot_taskspace already has a handler"):
        answers.on_request(SnapshotTaskspace, handle)
    assert answers.announcements.keys() == {"log_progress", "snapshot_taken"}


@pytest.mark.requirement("bus.one-listener")
def test_tables_with_the_same_handler_cannot_be_joined() -> None:
    one, two = HandlerTable(), HandlerTable()
    one.on_request(SnapshotTaskspace, handle)
    two.on_request(SnapshotTaskspace, handle)

    with pytest.raises(ValueError, match="two handlers for snapshot_taskspace"):
        one.extend(two)


@pytest.mark.requirement("bus.subscriptions", "bus.traffic")
def test_peer_subscribes_to_what_it_handles_and_to_the_traffic_by_its_own_name() -> None:
    answers = HandlerTable()
    answers.on_announcement(SnapshotTaken, handle)
    answers.on_announcement(Traffic, handle)
    answers.on_request(SnapshotTaskspace, handle)

    assert answers.subscribes == {"snapshot_taken", "*"}
