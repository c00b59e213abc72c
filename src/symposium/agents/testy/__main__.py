"""Starts the test agent on standard input and output: `python -m symposium.agents.testy`."""

import asyncio
import sys

from peerwire.transports.fd import stdio_transport
from symposium.agents.testy.agent import serve_testy

INTERRUPTED = 130
"""The exit code of a program that was interrupted from its terminal."""


async def _main() -> None:
    await serve_testy(stdio_transport())


if __name__ == "__main__":
    try:
        asyncio.run(_main())
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
