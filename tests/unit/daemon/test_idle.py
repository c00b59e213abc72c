"""When a daemon may end: told the time, never waiting."""

from math import inf

import pytest

from symposium.daemon.server import IdleTimer


@pytest.mark.requirement("daemon.idle")
def test_it_is_due_when_nobody_has_been_there_for_so_long() -> None:
    idle = IdleTimer(30, now=100)

    assert idle.due == 130
    assert not idle.is_due(129.9)
    assert idle.is_due(130)


@pytest.mark.requirement("daemon.idle")
def test_while_somebody_is_there_it_is_never_due() -> None:
    idle = IdleTimer(30, now=100)
    idle.came()
    idle.came()
    idle.left(200)
    assert idle.due == inf

    idle.left(300)
    assert idle.due == 330


@pytest.mark.requirement("daemon.idle")
def test_work_without_clients_puts_it_off() -> None:
    idle = IdleTimer(30, now=100)
    idle.busy(120)

    assert idle.due == 150


@pytest.mark.requirement("daemon.idle")
def test_a_time_of_nothing_means_never() -> None:
    assert IdleTimer(0, now=100).due == inf
