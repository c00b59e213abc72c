"""A proxy on the Python ACP SDK that changes nothing: `python_sdk_proxy.py AGENT [ARGUMENT]...`.

Typed on both sides, as the SDK's guides have it: an agent towards the client, a client towards the agent.
"""

import asyncio
import sys

import acp

LONGEST = 64 * 1024 * 1024


class Downstream(acp.Client):
    """Hears the agent and tells the client."""

    client: acp.Client

    async def session_update(self, session_id, update, **rest):
        await self.client.session_update(session_id, update, **rest)

    async def request_permission(self, session_id, tool_call, options, **rest):
        return await self.client.request_permission(
            session_id=session_id, tool_call=tool_call, options=options, **rest
        )

    async def read_text_file(self, session_id, path, **rest):
        return await self.client.read_text_file(session_id=session_id, path=path, **rest)


class Upstream(acp.Agent):
    """Hears the client and asks the agent."""

    def __init__(self, agent: acp.Agent, downstream: Downstream) -> None:
        self._agent = agent
        self._downstream = downstream

    def on_connect(self, conn: acp.Client) -> None:
        self._downstream.client = conn

    async def initialize(self, protocol_version, **rest):
        return await self._agent.initialize(protocol_version=protocol_version, **rest)

    async def new_session(self, cwd, **rest):
        return await self._agent.new_session(cwd=cwd, **rest)

    async def prompt(self, session_id, prompt, **rest):
        rest.pop("message_id", None)
        return await self._agent.prompt(session_id=session_id, prompt=prompt, **rest)

    async def cancel(self, session_id, **rest):
        await self._agent.cancel(session_id=session_id, **rest)


async def main(command: list[str]) -> None:
    downstream = Downstream()
    limits = {"limit": LONGEST, "stderr": None}
    async with acp.spawn_agent_process(downstream, *command, transport_kwargs=limits) as (agent, _):
        await acp.run_agent(Upstream(agent, downstream), stdio_buffer_limit_bytes=LONGEST)


asyncio.run(main(sys.argv[1:]))
