"""Broken bytes: nothing is raised, nothing hangs, and each request is answered exactly once.

What is owed is worked out a second time here, from the specification and with the standard library.
`FUZZ_ROUNDS=100000 pytest tests/unit/jsonrpc/test_fuzz.py --timeout 0` runs longer.
"""

import asyncio
import json
import os
import random
from collections import Counter
from typing import Any, cast

import pytest
from tests.support.random_inputs import random_source

from peerwire.errors import RpcError
from peerwire.jsonrpc.connection import Connection
from peerwire.jsonrpc.handlers import Handlers, Request
from peerwire.jsonrpc.transport import LineSplitter, OversizedLine
from peerwire.testing import LinePeer
from peerwire.transports.memory import memory_pair

ROUNDS = int(os.environ.get("FUZZ_ROUNDS", "400"))

SEEDS = [
    b'{"jsonrpc":"2.0","id":1,"method":"ok","params":{"a":[1.50,null,"\\u00e9"]}}',
    b'{"jsonrpc":"2.0","id":"a","method":"wait"}',
    b'{"jsonrpc":"2.0","method":"note","params":["x"]}',
    b'{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"a"}}',
    b'{"jsonrpc":"2.0","id":null,"method":"fail","params":[]}',
    b'{"id":2,"result":{"x":1}}',
    b'{"id":2,"error":{"code":-32603,"message":"m"}}',
    b'[{"id":7,"method":"ok"},{"method":"note"},{"id":8,"method":"later"},3]',
    b'[{"id":7,"method":"wait"},[]]',
    b"[]",
    b'{"id":12345678901234567890,"method":"refuse","params":null}',
    '{"id":"é\\ud800","method":"none","params":{"é":"\U0001f600"}}'.encode(),
]
SCRAPS = [
    *(b'"id":', b'"method":', b'"result":1,', b"null", b"1e999", b"NaN", b"0", b"-"),
    *(b"{", b"}", b"[", b"]", b",", b'"', b"\\", b"\\ud800", b"\n", b"\r", b" "),
    *(b"\xff", b"\xef\xbb\xbf"),
]


def fail(_: Any) -> Any:
    raise KeyError("fault")


def refuse(_: Request) -> Any:
    raise RpcError(-32000)


async def later(_: Request) -> str:
    await asyncio.sleep(0)
    return "later"


async def wait(_: Request) -> None:
    await asyncio.Event().wait()


HANDLERS = Handlers(
    requests={
        "ok": lambda request: request.params,
        "later": later,
        "wait": wait,
        "fail": fail,
        "refuse": refuse,
    },
    notifications={"note": fail},
)


def mutated(rng: random.Random) -> bytes:
    """Some lines, most of them broken."""
    lines = [bytearray(rng.choice(SEEDS)) for _ in range(rng.randint(1, 8))]
    for line in lines:
        for _ in range(rng.choice([0, 0, 1, 1, 2, 5])):
            at = rng.randrange(len(line) + 1)
            match rng.randrange(4):
                case 0:
                    line[at:at] = rng.choice(SCRAPS)
                case 1:
                    del line[at : at + rng.randint(1, 6)]
                case 2:
                    line[at : at + 1] = bytes([rng.randrange(256)])
                case _:
                    line[at:at] = rng.choice(SEEDS)
    return b"".join(bytes(line) + rng.choice([b"\n", b"\n", b"\r\n", b"\n\n"]) for line in lines)


def reject(constant: str) -> Any:
    raise ValueError(constant)


def parsed(text: bytes) -> Any:
    return json.loads(text.decode(), parse_float=str, parse_int=str, parse_constant=reject)


def is_id(value: Any) -> bool:
    return value is None or isinstance(value, str)


def owed_to(value: Any) -> list[str]:
    """The id that must come back for one entry, as JSON; nothing where none must."""
    if not isinstance(value, dict):
        return ["null"]
    value = cast("dict[str, Any]", value)
    looks_like_response = "result" in value or "error" in value
    own = json.dumps(value["id"]) if "id" in value and is_id(value["id"]) else "null"
    match value.get("method", reject):
        case str():
            return [own] if "id" in value else []
        case found if found is reject:
            return [] if looks_like_response or "id" in value else ["null"]
        case _:
            return [] if looks_like_response else [own]


def entries_of(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) and value else [value]


def owed(stream: bytes) -> Counter[str]:
    """The ids that must come back for all of a stream."""
    ids: list[str] = []
    for line in stream.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        try:
            value = parsed(line)
        except ValueError:
            ids += ["null"] if line.decode(errors="replace").strip(" \t\r") else []
            continue
        for entry in entries_of(value):
            ids += owed_to(entry)
    return Counter(ids)


def paid(lines: list[Any]) -> Counter[str]:
    """The ids that came back."""
    entries: list[Any] = []
    for line in lines:
        entries += entries_of(parsed(line))
    assert all(entry["jsonrpc"] == "2.0" for entry in entries)
    assert all(("result" in entry) != ("error" in entry) for entry in entries)
    return Counter(json.dumps(entry["id"]) for entry in entries)


async def converse(stream: bytes, rng: random.Random) -> list[Any]:
    """Everything a connection writes when it reads this stream in pieces of any size."""
    near, far = memory_pair()
    connection, peer, splitter = Connection(near, HANDLERS), LinePeer(far), LineSplitter()
    faults: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, fault: faults.append(fault))
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(connection.run())
        asked = tasks.create_task(outcome_of(connection))
        await peer.lines.count(1)
        connection.notify("feeding")
        await peer.lines.count(2)
        at = 0
        while at < len(stream):
            size = rng.choice([1, 7, 60, 1000])
            if lines := splitter.feed(stream[at : at + size]):
                connection.lines_received(lines)
            at += size
        connection.lines_received([b'{"id":"the last","method":"ok"}'])
        await peer.lines.until(lambda lines: any(b'"the last"' in text(line) for line in lines))
        connection.close()
    await peer.ends.count(1)
    assert asked.done()
    assert faults == []
    assert len(asyncio.all_tasks()) == 1
    return peer.lines.items[2:]


def text(line: bytes | OversizedLine) -> bytes:
    assert isinstance(line, bytes)
    return line


async def outcome_of(connection: Connection) -> object:
    try:
        return await connection.request("anything")
    except Exception as error:  # noqa: BLE001 - whatever the broken peer made of it
        return error


@pytest.mark.fuzz
@pytest.mark.requirement("jsonrpc.fuzz-codec", "jsonrpc.error-nothing-multiline")
@pytest.mark.parametrize("seed", range(4))
def test_broken_bytes_are_answered_each_once_and_break_nothing(seed: int) -> None:
    rng = random_source("jsonrpc", seed)
    for _ in range(ROUNDS // 4):
        stream = mutated(rng)
        lines = asyncio.run(converse(stream, rng))
        expected = owed(stream) + Counter(['"the last"'])
        assert paid(lines) == expected, stream
