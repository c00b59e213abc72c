"""Offers in the chat, beside the agent's messages, message by message."""

import threading
from pathlib import Path
from typing import Any

import pytest
from tests.support.chain_harness import Peer
from tests.support.run_mode_harness import CONFIG, RunModeHarness, run_mode_harness

from symposium.errors import SymposiumError
from symposium.run_mode.offers import NO_OFFERS, OpenOffers


class FakeOffer:
    """One question; `do` records the answer, and fails on `break`."""

    def __init__(self, name: str, answers: list[str]) -> None:
        self._name = name
        self._answers = answers

    def text(self) -> str:
        return f"{self._name}?"

    def takes(self, answer: str) -> bool:
        return answer in {"yes", "break"}

    def do(self, answer: str) -> str:
        if answer == "break":
            raise SymposiumError("it broke", "")
        self._answers.append(f"{self._name} {answer}")
        return "done. "


class FakeOffering:
    """Makes these offers one after the other, once its gate is open."""

    def __init__(self, *names: str) -> None:
        self.names = list(names)
        self.answers: list[str] = []
        self.asked: list[tuple[str, bool]] = []
        self.gate = threading.Event()
        self.gate.set()

    def offer(self, directory: str, *, include_postponed: bool) -> FakeOffer | None:
        self.gate.wait(45)
        self.asked.append((directory, include_postponed))
        left = [name for name in self.names if f"{name} yes" not in self.answers]
        return FakeOffer(left[0], self.answers) if left else None

    async def refresh(self) -> None:
        """Do nothing."""


def offering(it: RunModeHarness, *names: str) -> FakeOffering:
    made = FakeOffering(*names)
    it.agent.offers = OpenOffers(it.agent.sessions, it.agent.write, it.agent.spawn, made)
    it.agent.sessions.on_begun = it.agent.offers.begin
    return made


async def update(it: RunModeHarness) -> Any:
    return (await it.editor.read())["params"]["update"]["content"]["text"]


async def answered(it: RunModeHarness, agent: Peer, text: str) -> list[str]:
    """Send a prompt, let the agent say `ok`; return the messages until the turn ends."""
    asked = it.prompt(text)
    request = await agent.read()
    assert request["params"]["prompt"][0]["text"] == text
    agent.answer(request, {"stopReason": "end_turn"})
    texts, _ = await it.said(asked)
    return texts


@pytest.mark.requirement("recommendations.asked-in-chat")
async def test_offer_is_sent_after_the_response_to_session_new(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        made = offering(it, "one", "two")
        await it.begin()
        assert await update(it) == "one?"
        assert made.asked == [("/", False)]
        assert await it.say("yes") == ["done. two?"]
        assert await it.say("yes") == ["done. "]
        assert made.answers == ["one yes", "two yes"]


@pytest.mark.requirement("recommendations.agent-undisturbed")
async def test_other_text_goes_to_the_agent_and_ends_the_offer(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        made = offering(it, "one")
        agent = await it.begin()
        assert await update(it) == "one?"
        assert await answered(it, agent, "Hello") == []
        assert await answered(it, agent, "yes") == []
        assert made.answers == []


@pytest.mark.requirement("recommendations.agent-undisturbed")
async def test_late_offer_waits_for_the_next_turn_and_delays_nothing(
    tmp_path: Path,
) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        made = offering(it, "one")
        made.gate.clear()
        agent = await it.begin()
        asked = it.prompt("yes")
        request = await agent.read()
        looked = it.agent.offers
        made.gate.set()
        while not looked.is_open("s"):
            agent.tell("session/update", {"sessionId": "s", "update": {"sessionUpdate": "x"}})
            assert (await it.editor.read())["params"]["update"] == {"sessionUpdate": "x"}
        agent.answer(request, {"stopReason": "end_turn"})
        assert (await it.editor.read())["id"] == asked
        assert await answered(it, agent, "yes") == ["one?"]
        assert made.answers == []
        assert await it.say("yes") == ["done. "]


@pytest.mark.requirement("recommendations.asked-in-chat")
async def test_failed_answer_changes_nothing_and_is_reported(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        offering(it, "one")
        await it.begin()
        assert await update(it) == "one?"
        assert await it.say("break") == ["Nothing was changed: it broke\n\n"]


@pytest.mark.requirement("recommendations.chat-command")
async def test_command_shows_the_offers_or_that_there_are_no_offers(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        made = offering(it, "one")
        await it.begin()
        assert await update(it) == "one?"
        assert await it.say("/symposium:recommendations") == ["one?"]
        assert made.asked[-1] == ("/", True)
        assert await it.say("yes") == ["done. "]
        assert await it.say("symposium:recommendations") == [NO_OFFERS]


@pytest.mark.requirement("recommendations.agent-undisturbed")
async def test_same_words_reach_the_agent_without_offers(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.begin()
        assert await answered(it, agent, "yes") == []


@pytest.mark.requirement("recommendations.asked-in-chat")
async def test_session_of_a_first_time_setup_gets_offers_too(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path) as it:
        offering(it, "one")
        await it.open()
        it.editor.ask("new", "session/new", {"cwd": "/w", "mcpServers": []})
        session = (await it.editor.read())["result"]["sessionId"]
        await it.say("1", session)
        saved = it.prompt("SAVE", session)
        agent = await it.initialized_agent()
        agent.answer(await agent.read(), {"sessionId": "inner"})
        texts, _ = await it.said(saved)
        while "one?" not in texts:
            texts.append(await update(it))
