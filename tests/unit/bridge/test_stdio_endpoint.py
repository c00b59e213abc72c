"""TCP endpoint of one server, with a fake owner."""

import asyncio
import json
from typing import Any

import pytest

from peerwire.errors import INTERNAL_ERROR, REQUEST_CANCELLED, RpcError
from symposium.bridge.stdio_endpoint import MAX_BACKLOG, MAX_CONNECTIONS, MAX_UNPROVEN, ShimEndpoint


class Owner:
    """Opens tunnels that answer nothing, or refuses to."""

    def __init__(self, refusal: RpcError | None = None) -> None:
        self.refusal = refusal
        self.asked = asyncio.Event()
        self.notified: list[str] = []
        self.closed = asyncio.Event()

    async def open(self, server_id: str, client: object) -> Any:
        assert (server_id, client is not None) == ("s", True)
        if self.refusal is not None:
            raise self.refusal
        return self

    async def request(self, method: str, params: object) -> Any:
        assert (method, params is not None) == ("tools/call", True)
        self.asked.set()
        await asyncio.Event().wait()

    def notify(self, method: str, params: object) -> None:
        del params
        self.notified.append(method)

    async def aclose(self) -> None:
        self.closed.set()


def line(**members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}).encode() + b"\n"


CALL = line(id=7, method="tools/call", params={})


@pytest.mark.requirement("bridge.stdio-calls")
async def test_canceled_call_is_answered_and_its_owner_notified() -> None:
    owner = Owner()
    async with asyncio.TaskGroup() as tasks:
        endpoint = ShimEndpoint("s", owner, tasks)  # type: ignore[arg-type] - as much of one as is used
        declared = endpoint.declaration({}, is_typed=False)
        reader, writer = await asyncio.open_connection("127.0.0.1", int(declared["args"][-1]))
        writer.write(declared["env"][0]["value"].encode() + b"\n" + CALL)
        async with asyncio.timeout(30):
            await owner.asked.wait()
            writer.write(line(method="notifications/cancelled", params={"requestId": 7}))
            answer = json.loads(await reader.readline())
        assert (answer["id"], answer["error"]["code"]) == (7, REQUEST_CANCELLED)
        assert owner.notified == ["notifications/cancelled"]
        writer.close()
        async with asyncio.timeout(30):
            await owner.closed.wait()
        endpoint.close()


@pytest.mark.requirement("bridge.stdio-calls")
async def test_calls_fail_with_the_reason_when_there_is_no_owner() -> None:
    async with asyncio.TaskGroup() as tasks:
        endpoint = ShimEndpoint("s", Owner(RpcError(INTERNAL_ERROR, "no owner")), tasks)  # type: ignore[arg-type] - as above
        declared = endpoint.declaration({}, is_typed=False)
        reader, writer = await asyncio.open_connection("127.0.0.1", int(declared["args"][-1]))
        writer.write(declared["env"][0]["value"].encode() + b"\n" + CALL)
        async with asyncio.timeout(30):
            answer = json.loads(await reader.readline())
        assert (answer["id"], answer["error"]["data"]) == (7, "no owner")
        writer.close()
        endpoint.close()
    assert (MAX_CONNECTIONS, MAX_UNPROVEN, MAX_BACKLOG) == (64, 16, 16 * 1024 * 1024)
