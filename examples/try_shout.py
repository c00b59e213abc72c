"""The mod of `shout.py`, tried in a chain."""

import asyncio

from shout import Shout

from symposium.testing import chain_of


async def main() -> None:
    """Say hello to the built-in agent through the mod."""
    async with chain_of(Shout(), agent="eliza") as editor:
        turn = await editor.prompt("Hello")

    print(turn.text)


if __name__ == "__main__":
    asyncio.run(main())
