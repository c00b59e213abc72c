"""Held messages to the editor: order and size."""

from collections.abc import Callable

import pytest

from symposium.run_mode.editor_route_end import ALL_SESSIONS, MessageGate


class Passage:
    """Sends messages through the gate and records those that passed."""

    def __init__(self, gate: MessageGate) -> None:
        self.gate = gate
        self.passed: list[str] = []

    def send(self, session: str | None, name: str) -> None:
        if not self.gate.hold(session, len(name), self._go(name)):
            self.passed.append(name)

    def _go(self, name: str) -> Callable[[], None]:
        return lambda: self.passed.append(name)


@pytest.mark.requirement("run-mode.pause-session")
def test_messages_of_a_closed_session_are_held_in_order_and_others_pass() -> None:
    it = Passage(MessageGate())
    it.gate.close("s")
    for session, name in (("s", "1"), ("t", "2"), (None, "3"), ("s", "4")):
        it.send(session, name)
    assert it.passed == ["2", "3"]
    it.gate.open("s")
    assert it.passed == ["2", "3", "1", "4"]
    assert it.gate.is_idle


@pytest.mark.requirement("run-mode.pause-counted")
def test_nested_closings_are_counted() -> None:
    it = Passage(MessageGate())
    it.gate.close(ALL_SESSIONS)
    it.gate.close(ALL_SESSIONS)
    it.send(None, "1")
    it.gate.open(ALL_SESSIONS)
    assert it.passed == []
    it.gate.open(ALL_SESSIONS)
    assert it.passed == ["1"]


@pytest.mark.requirement("run-mode.known-before-updates")
def test_messages_of_known_sessions_pass_while_a_new_one_is_expected() -> None:
    it = Passage(MessageGate())
    it.gate.expect()
    it.gate.know("old")
    it.send("new", "1")
    it.send("old", "2")
    assert it.passed == ["2"]
    it.gate.expected("new")
    assert it.passed == ["2", "1"]


@pytest.mark.requirement("run-mode.pause-bounded")
def test_size_of_held_messages_is_reported() -> None:
    sizes: list[int] = []
    it = Passage(MessageGate(sizes.append))
    it.gate.close("s")
    it.send("s", "four")
    it.send("s", "more")
    it.gate.open("s")
    assert sizes == [4, 8, 0]


@pytest.mark.requirement("run-mode.known-before-updates")
def test_a_session_that_has_ended_is_no_longer_known() -> None:
    it = Passage(MessageGate())
    it.gate.know("s")
    it.gate.forget("s")
    it.gate.expect()
    it.send("s", "1")
    assert it.passed == []
    it.gate.expected("s")
    assert it.passed == ["1"]


@pytest.mark.requirement("run-mode.pause-death")
def test_the_end_of_a_chain_releases_everything() -> None:
    it = Passage(MessageGate())
    it.gate.expect()
    it.gate.close("s")
    it.gate.close(ALL_SESSIONS)
    it.send("s", "1")
    it.send("new", "2")
    assert it.passed == []
    it.gate.open_all()
    assert it.passed == ["1", "2"]
    assert it.gate.is_idle
    it.send("later", "3")
    assert it.passed == ["1", "2", "3"]


@pytest.mark.requirement("run-mode.known-before-updates")
def test_a_session_that_does_not_open_releases_what_waits_for_it() -> None:
    it = Passage(MessageGate())
    it.gate.expect()
    it.gate.expect()
    it.send("new", "1")
    it.gate.expected(None)
    assert it.passed == []
    it.gate.expected(None)
    assert it.passed == ["1"]
    # One answer more than expected does not count for the next session.
    it.gate.expected(None)
    it.gate.expect()
    it.send("new", "2")
    assert it.passed == ["1"]
