"""Recorded bus messages: which are shown, how, and which are sent again."""

import json
from pathlib import Path
from typing import Any

import pytest

from localio.errors import ExplainedError
from localio.text import clock_of
from symposium.bus.messages.broker import Logged
from symposium.cli.bus import (
    BusChoice,
    as_json_line,
    as_text_line,
    payload_from,
    read_recorded,
    replayable,
)

TASK = "0b5e1a52-0000-4000-8000-00000000000A"
ID = "12345678-9abc-4000-8000-000000000000"


def line(kind: str, payload: str = "{}") -> str:
    sender = f'{{"workingDirectory":"/w","taskspaceUuid":"{TASK.lower()}"}}'
    return f'{{"type":"{kind}","id":"{ID}","sender":{sender},"payload":{payload}}}'


def passed(text: str, *, by: str = "c1", name: str = "editor(pid:7)") -> Logged:
    return Logged(at=1_700_000_000.25, by=by, name=name, size=len(text), line=text)


LOG, POLO, CUT = passed(line("log")), passed(line("polo"), by="c2", name="cli"), passed('{"type"')


@pytest.mark.requirement("bus.cli-tail")
@pytest.mark.parametrize(
    ("choice", "found"),
    [
        (BusChoice(), [LOG, POLO, CUT]),
        (BusChoice(types=frozenset({"log", "marco"})), [LOG]),
        (BusChoice(taskspace=TASK), [LOG, POLO]),
        (BusChoice(names=("edi",)), [LOG, CUT]),
        (BusChoice(names=("c2", "nobody")), [POLO]),
        (BusChoice(names=("tor",)), []),
        (BusChoice(types=frozenset({"log"}), names=("c2",)), []),
        (BusChoice(types=frozenset({"log"}), taskspace="other"), []),
    ],
)
def test_filter_matches_types_task_and_beginning_of_the_sender(
    choice: BusChoice, found: list[Logged]
) -> None:
    assert [each for each in (LOG, POLO, CUT) if choice.has(each)] == found


@pytest.mark.requirement("bus.cli-tail")
def test_message_is_cut_to_one_line_of_160_characters() -> None:
    clock = clock_of(LOG.at)
    long = as_text_line(passed(line("log", '{"message":"' + "x" * 200 + '"}')))

    assert as_text_line(LOG) == f"{clock} editor(pid:7) (c1) log 12345678 {{}}"
    assert as_text_line(CUT) == f'{clock} editor(pid:7) (c1) {{"type"'
    assert (len(long), long[-2:]) == (160, "x…")


@pytest.mark.requirement("bus.cli-tail", "bus.cli-replay")
def test_json_lines_are_read_again_with_valid_and_cut_messages(tmp_path: Path) -> None:
    file = tmp_path / "recorded.jsonl"
    umlaut = passed(line("log", '{"message":"ü"}'))
    lines = [as_json_line(each) for each in (umlaut, CUT)]
    file.write_text("\n".join(lines), encoding="utf-8")
    read = list(read_recorded(file))

    members = {"at": CUT.at, "by": "c1", "name": "editor(pid:7)", "size": CUT.size}
    assert lines[0] == json.dumps(
        members | {"size": umlaut.size, "message": json.loads(umlaut.line)},
        ensure_ascii=False,
        separators=(",", ":"),
    )
    assert json.loads(lines[1]) == members | {"line": CUT.line}
    assert json.loads(read[0].line) == json.loads(umlaut.line)
    assert read[1] == CUT


@pytest.mark.requirement("bus.cli-replay")
@pytest.mark.parametrize(
    "entry", ["no JSON", '{"at":1,"by":"b","name":"n","size":1}', '{"line":"x"}', "[]", "1"]
)
def test_line_that_is_no_recorded_message_is_named(tmp_path: Path, entry: str) -> None:
    file = tmp_path / "recorded.jsonl"
    file.write_text(f"{as_json_line(LOG)}\n{entry}\n", encoding="utf-8")
    with pytest.raises(ExplainedError) as caught:
        list(read_recorded(file))

    assert caught.value.message == f"{file}:2 is not a recorded message"
    assert caught.value.hint == "record messages with: symposium bus tail --json"


@pytest.mark.requirement("bus.cli-replay")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (line("polo"), "polo"),
        ('{"type"', "it was recorded incompletely"),
        ("", "it is not a message"),
        (line("response"), "a response belongs to a past exchange"),
        (line("progress"), "a progress belongs to a past exchange"),
        (line("hello"), "a hello belongs to a past exchange"),
        (line("cancel_request"), "a cancel_request belongs to a past exchange"),
        (line("log"), "a log belongs to a past exchange"),
        (line("polo", '{"x":"[redacted]"}'), "a secret was removed from it"),
    ],
)
def test_message_is_sent_again_only_whole_and_outside_an_exchange(text: str, reason: str) -> None:
    recorded = passed(text)
    ((message, found),) = replayable([recorded])

    assert message is recorded
    assert (found if isinstance(found, str) else found.type) == reason


@pytest.mark.requirement("bus.cli-send")
@pytest.mark.parametrize(
    ("text", "problem"),
    [("{", "the payload is not valid JSON: "), ("[]", "the payload is not a JSON object")],
)
def test_payload_that_is_no_object_is_refused_with_an_example(text: str, problem: str) -> None:
    with pytest.raises(ExplainedError) as caught:
        payload_from(text)
    payload: Any = payload_from(' {"message": "hi"} ')

    assert caught.value.message.startswith(problem)
    assert caught.value.hint == 'example: {"message":"hi"}'
    assert bytes(payload) == b'{"message":"hi"}'
