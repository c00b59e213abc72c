"""The idle timeout of a daemon."""

from math import inf

import pytest

from symposium.daemon.server import IdleTimer


@pytest.mark.requirement("daemon.idle")
def test_timeout_is_due_after_the_last_client_left() -> None:
    idle = IdleTimer(30, now=100)

    assert idle.due == 130
    assert not idle.is_due(129.9)
    assert idle.is_due(130)


@pytest.mark.requirement("daemon.idle")
def test_never_idle_while_a_client_is_connected() -> None:
    idle = IdleTimer(30, now=100)
    idle.came()
    idle.came()
    idle.left(200)
    assert idle.due == inf

    idle.left(300)
    assert idle.due == 330


@pytest.mark.requirement("daemon.idle")
def test_work_without_clients_postpones_the_timeout() -> None:
    idle = IdleTimer(30, now=100)
    idle.busy(120)

    assert idle.due == 150


@pytest.mark.requirement("daemon.idle")
def test_timeout_of_zero_means_never() -> None:
    assert IdleTimer(0, now=100).due == inf
