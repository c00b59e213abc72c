"""Chains that are shared by their config, while they start."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.support.run_mode_harness import FixedDirectory
from tests.support.set_clock import SetClock, on_set_clock

from peerwire.errors import RpcError
from peerwire.transports.memory import memory_pair
from symposium.chain.link import Link
from symposium.config.user_config import Config
from symposium.run_mode.open_chain import OpenChain
from symposium.run_mode.settings import RunSettings
from symposium.run_mode.supervisor import Supervisor


class Owner:
    """Receives no events here."""

    def link_ended(self, link: Link, error: Exception | None) -> None:
        raise AssertionError(link, error)

    def link_overflowed(self, link: Link) -> None:
        raise AssertionError(link)


async def never(*_: Any, **__: Any) -> Any:
    await asyncio.Event().wait()


@pytest.mark.requirement("run-mode.start-failed-fault")
async def test_fault_without_a_text_is_named_by_its_class(tmp_path: Path) -> None:
    async def compose(*_: Any, **__: Any) -> Any:
        raise LookupError

    settings = RunSettings(tmp_path / "c.jsonc", compose, FixedDirectory())
    async with asyncio.TaskGroup() as tasks:
        editor = Link("editor", memory_pair()[0], Owner())
        supervisor = Supervisor(editor, tasks, settings, lambda _: None)
        with pytest.raises(RpcError) as failed:
            await supervisor.chain_for(Config("a"))
    assert failed.value.data == {"reason": "chain_not_made", "fault": "LookupError"}


@pytest.mark.requirement("run-mode.slow-start")
def test_every_session_waits_for_a_start_from_its_beginning(tmp_path: Path) -> None:
    async def scene(loop: SetClock) -> None:
        settings = RunSettings(tmp_path / "c.jsonc", never, FixedDirectory(), start_timeout=10.0)
        died: list[OpenChain] = []
        async with asyncio.TaskGroup() as tasks:
            editor = Link("editor", memory_pair()[0], Owner())
            supervisor = Supervisor(editor, tasks, settings, died.append)
            asked: list[asyncio.Task[OpenChain | None]] = []
            for _ in range(2):
                asked.append(tasks.create_task(supervisor.chain_within_timeout(Config("a"))))
                await loop.advance(0)
                await loop.advance(6)
            for _ in range(5):
                await loop.advance(0)
            assert [each.done() for each in asked] == [True, True]
            assert [each.result() for each in asked] == [None, None]
            await supervisor.end()
        assert died == []

    on_set_clock(scene)
