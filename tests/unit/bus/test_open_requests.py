"""Requests that wait for an answer: their number and their deadlines."""

import pickle

import pytest

from symposium.bus.routing import MAX_OPEN, OpenBusRequests, OpenRequest


def request(id_: str, deadline: float) -> OpenRequest:
    return OpenRequest(id_, "marco", "asker", {"answerer"}, 0.0, deadline)


@pytest.mark.requirement("bus.open-requests-forgotten")
def test_answered_requests_are_forgotten_while_an_older_one_is_open() -> None:
    waiting = OpenBusRequests()
    waiting.add(request("first", 1.0))

    for number in range(3 * MAX_OPEN):
        closed = request(f"later {number}", 2.0)
        waiting.add(closed)
        waiting.close(closed)

    one = OpenBusRequests()
    one.add(request("first", 1.0))
    assert len(pickle.dumps(waiting)) < len(pickle.dumps(one)) + 30 * MAX_OPEN
    assert (len(waiting), waiting.count_of("asker"), waiting.next_deadline) == (1, 1, 1.0)
    assert [each.id for each in waiting.overdue(1.0)] == ["first"]
    assert (len(waiting), waiting.count_of("asker"), waiting.next_deadline) == (0, 0, None)


@pytest.mark.requirement("bus.open-requests-forgotten")
def test_requests_are_overdue_in_the_order_of_their_deadlines() -> None:
    waiting = OpenBusRequests()
    for id_, deadline in (("b", 2.0), ("a", 1.0), ("c", 3.0)):
        waiting.add(request(id_, deadline))

    assert [each.id for each in waiting.overdue(0.9)] == []
    assert [each.id for each in waiting.overdue(2.0)] == ["a", "b"]
    assert waiting.next_deadline == 3.0


@pytest.mark.requirement("bus.latency")
def test_response_times_of_a_message_type_are_counted_added_and_compared() -> None:
    waiting = OpenBusRequests()
    for id_, took in (("a", 2.0), ("b", 3.0), ("c", 1.0)):
        each = request(id_, 9.0)
        waiting.add(each)
        waiting.answered(each, took)

    took = waiting.response_times["marco"]
    assert (took.count, took.total, took.worst) == (3, 6.0, 3.0)
