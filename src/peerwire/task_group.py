"""A task group that raises an exception of its block itself, not in a group."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from peerwire.errors import ErrorBoundary


@asynccontextmanager
async def flat_task_group() -> AsyncGenerator[asyncio.TaskGroup, None]:
    """Task group for the block; wait for the tasks, then raise the block's exception itself.

    The block stops its tasks in a `finally`. The exception of a task still arrives in a group.
    """
    async with asyncio.TaskGroup() as tasks:
        with ErrorBoundary() as caught:
            yield tasks
    if caught.error is not None:
        raise caught.error
