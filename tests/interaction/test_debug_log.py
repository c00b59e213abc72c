"""Debug log of a whole chain: each wire under the place of its component."""

import re
from pathlib import Path

import pytest

from peerwire.jsonrpc.transport import Transport
from symposium.chain.blueprint import Blueprint, InProcess, Served
from symposium.chain.conductor import Conductor, Settings
from symposium.chain.debug_log import open_debug_log
from symposium.mods.arrow import Arrow
from symposium.testing import FakeAgent, chain_of


async def serve_arrow(transport: Transport) -> None:
    blueprint = Blueprint([InProcess("arrow", Arrow())], None)
    await Conductor(transport, lambda _: blueprint, Settings(is_proxy=True)).run()


@pytest.mark.requirement("conductor.debug-log")
async def test_log_line_names_the_component_by_its_place_counted_from_1(tmp_path: Path) -> None:
    log = open_debug_log(tmp_path)
    wired = Served("wired", serve_arrow)
    settings = Settings(tap=log.tap)
    async with chain_of("arrow", wired, agent=FakeAgent("Hi"), settings=settings) as editor:
        await editor.prompt("Hello")
    log.close()

    header, *lines = log.file.path.read_text().splitlines()
    assert header == "=== Conductor Debug Log ==="
    assert all(re.fullmatch(r"[12] [→←] \+\d+ms \{.*\}", line) for line in lines)
    prompts = [line[:3] for line in lines if '"session/prompt"' in line]
    assert prompts == ["1 →", "1 ←", "2 →"]
