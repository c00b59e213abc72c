"""What is kept for the editor, in which order it goes on, and how much."""

from collections.abc import Callable

import pytest

from symposium.run_mode.turnstile import EVERYTHING, Turnstile


class Passage:
    """Notes what has passed, and sends the rest to the turnstile."""

    def __init__(self, turnstile: Turnstile) -> None:
        self.turnstile = turnstile
        self.passed: list[str] = []

    def send(self, session: str | None, name: str) -> None:
        if not self.turnstile.keeps(session, len(name), self._go(name)):
            self.passed.append(name)

    def _go(self, name: str) -> Callable[[], None]:
        return lambda: self.passed.append(name)


@pytest.mark.requirement("run-mode.pause-session")
def test_a_closed_session_is_kept_in_order_and_others_pass() -> None:
    it = Passage(Turnstile())
    it.turnstile.close("s")
    for session, name in (("s", "1"), ("t", "2"), (None, "3"), ("s", "4")):
        it.send(session, name)
    assert it.passed == ["2", "3"]
    it.turnstile.open("s")
    assert it.passed == ["2", "3", "1", "4"]
    assert it.turnstile.is_idle


@pytest.mark.requirement("run-mode.pause-counted")
def test_closings_are_counted() -> None:
    it = Passage(Turnstile())
    it.turnstile.close(EVERYTHING)
    it.turnstile.close(EVERYTHING)
    it.send(None, "1")
    it.turnstile.open(EVERYTHING)
    assert it.passed == []
    it.turnstile.open(EVERYTHING)
    assert it.passed == ["1"]


@pytest.mark.requirement("run-mode.known-before-updates")
def test_while_a_session_is_expected_those_that_are_known_pass() -> None:
    it = Passage(Turnstile())
    it.turnstile.expect()
    it.turnstile.know("old")
    it.send("new", "1")
    it.send("old", "2")
    assert it.passed == ["2"]
    it.turnstile.expected("new")
    assert it.passed == ["2", "1"]


@pytest.mark.requirement("run-mode.pause-bounded")
def test_what_is_kept_is_counted_for_whoever_stops_the_source() -> None:
    sizes: list[int] = []
    it = Passage(Turnstile(sizes.append))
    it.turnstile.close("s")
    it.send("s", "four")
    it.send("s", "more")
    it.turnstile.open("s")
    assert sizes == [4, 8, 0]
