"""Broken lines and random conversations: no exceptions, and one answer per request.

`FUZZ_ROUNDS=100000 pytest tests/unit/bus/test_fuzz.py --timeout 0` runs longer.
"""

import json
import os
import random
from collections import Counter
from pathlib import Path

import pytest
from tests.support.bus_harness import SENDER, Scene
from tests.support.random_inputs import random_source

from symposium.bus.protocol import message_types

ROUNDS = int(os.environ.get("FUZZ_ROUNDS", "300"))
GOLDEN = Path(__file__).parents[2] / "golden" / "bus" / "messages"
LINES = [path.read_bytes().strip() for path in sorted(GOLDEN.glob("*.json"))]
SCRAPS = [
    *(b"{", b"}", b"[", b"]", b",", b'"', b":", b"null", b"-", b"1e999", b"\\ud800", b"\xff"),
    *(b'"type":"hello",', b'"to":{"role":"cli"},', b'"ack":true,', b'"from":"c9",', b"#", b" "),
]
ROLES = ("mcp-server", "host", "editor", "app", "cli", "observer")
TYPES = sorted(message_types())


def broken(dice: random.Random) -> bytes:
    """A line of the reference with a few things cut out, put in or doubled."""
    line = dice.choice(LINES)
    for _ in range(dice.randint(0, 3)):
        at = dice.randint(0, len(line))
        to = dice.randint(at, min(len(line), at + 30))
        line = line[:at] + dice.choice([b"", line[at:to] * 2, *SCRAPS]) + line[to:]
    return line.replace(b"\n", b" ")


def is_object(line: bytes) -> bool:
    """Whether a line is a JSON object, by another reader than ours."""
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


@pytest.mark.fuzz
@pytest.mark.requirement("bus.malformed")
def test_a_broken_line_of_version_2_gets_an_error_or_is_a_message() -> None:
    dice = random_source("bus", 7)
    scene = Scene()
    for _ in range(ROUNDS):
        name = scene.join("peer", dice.choice(ROLES))
        line = broken(dice)
        scene.write(name, line)
        if line.strip() and not is_object(line):
            assert scene.code(name) == "bad_message", line
        scene.leave(name)
        scene.closed.clear()
    assert len(scene.broker.open) == 0


@pytest.mark.fuzz
@pytest.mark.requirement("bus.v1-relay")
def test_broken_line_of_version_1_is_relayed_unchanged() -> None:
    dice = random_source("bus", 8)
    scene = Scene()
    scene.legacy("v1", "v2")
    for _ in range(ROUNDS):
        line = broken(dice).strip()
        scene.raw["v2"].clear()
        scene.write("v1", line)
        # Few begin as a log or a hello; those that do are not counted.
        is_special = b'"log"' in line or b'"hello"' in line
        if line and not line.startswith(b"#") and not is_special:
            assert scene.raw["v2"][0] == line


class Talk:
    """Peers who come, go, ask and answer at random; keeps count of what is owed."""

    def __init__(self, seed: int) -> None:
        self.dice = random_source("bus", seed)
        self.scene = Scene()
        self.here: dict[str, str] = {}
        self.gone: set[str] = set()
        self.asked: dict[str, str] = {}
        self._count = 0

    def step(self) -> None:
        dice = self.dice
        deeds = [self.come, self.ask, self.ask, self.ask, self.answer, self.answer, self.lie]
        deeds += [self.leave, self.wait, self.move, self.take_back]
        dice.choice(deeds)()

    def come(self) -> None:
        self._count += 1
        name, role = f"p{self._count}", self.dice.choice(ROLES)
        handles = self.dice.sample(TYPES, 12)
        self.scene.join(name, role, handles=handles, subscribes=self.dice.sample(TYPES, 5))
        self.here[name] = role

    def ask(self) -> None:
        if not self.here:
            return
        name, type_ = self.dice.choice(list(self.here)), self.dice.choice(TYPES)
        kind = message_types()[type_]
        if not kind.about.budget or type_ == "hello":
            self.scene.say(name, type_, {"request_id": "none"})
            return
        payload: dict[str, object] = {
            "types": [],
            "kind": "editor",
            "project_path": "",
            "taskspace_uuid": "t",
        }
        to = self.dice.choice([None, {"role": self.dice.choice(ROLES)}])
        self.asked[self.scene.say(name, type_, payload, to=to)] = name

    def answer(self) -> None:
        for name in self.here:
            for message in self.scene.received(name):
                kind = message_types()[message["type"]]
                if kind.about.budget and self.dice.random() < 0.5:
                    self.scene.answer(name, message)

    def lie(self) -> None:
        if self.here and self.asked:
            name = self.dice.choice(list(self.here))
            self.scene.say(name, "response", {"success": True}, id_=self.dice.choice([*self.asked]))

    def leave(self) -> None:
        if self.here:
            name = self.dice.choice(list(self.here))
            del self.here[name]
            self.gone.add(name)
            self.scene.leave(name)

    def wait(self) -> None:
        self.scene.wait(self.dice.choice([0.5, 3, 40]))

    def move(self) -> None:
        if self.here:
            name = self.dice.choice(list(self.here))
            folders = self.dice.choice([["/project"], ["/"], []])
            self.scene.say(name, "presence", {"kind": "editor", "workspace_folders": folders})

    def take_back(self) -> None:
        if self.asked:
            request_id, name = self.dice.choice(list(self.asked.items()))
            if name in self.here:
                self.scene.say(name, "cancel_request", {"request_id": request_id})


@pytest.mark.fuzz
@pytest.mark.requirement("bus.answered-once")
def test_each_request_is_answered_once_to_its_sender() -> None:
    for seed in range(max(1, ROUNDS // 30)):
        talk = Talk(seed)
        for _ in range(150):
            talk.step()
        talk.scene.wait(10**6)
        answers = Counter[str]()
        for name in (*talk.here, *talk.gone):
            for message in talk.scene.received(name):
                if message["type"] == "response" and message["id"] in talk.asked:
                    assert talk.asked[message["id"]] == name, "sent to another peer"
                    answers[message["id"]] += 1

        assert len(talk.scene.broker.open) == 0
        assert set(answers.values()) <= {1}, seed
        unanswered = {each for each, name in talk.asked.items() if name in talk.here} - set(answers)
        assert not unanswered, seed


@pytest.mark.requirement("house.samples-present")
def test_the_sender_of_these_conversations_is_a_real_one() -> None:
    assert set(SENDER) == {"workingDirectory", "taskspaceUuid", "shellPid"}
