"""Starts the test agent on standard input and output: `python -m symposium.agents.testy`."""

import asyncio

from peerwire.transports.stdio import stdio_transport
from symposium.agents.testy.agent import serve_testy


async def _main() -> None:
    await serve_testy(stdio_transport())


if __name__ == "__main__":
    asyncio.run(_main())
