"""A chat with the built-in test agent in this process."""

import asyncio
from pathlib import Path

import pytest
from tests.support.stdin_pieces import stdin_pieces

from symposium.agents.testy.agent import serve_testy
from symposium.chain.blueprint import Served
from symposium.chain.conductor import Settings
from symposium.cli.chat import Chat, run_chat
from symposium.cli.talk_options import Permits
from symposium.planning.chain_spec import ChainSpec

CALLBACKS = b'{"command":"callbacks"}\n'


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SYMPOSIUM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.fixture
def chat(tmp_path: Path) -> Chat:
    chain = ChainSpec((), Served("testy", serve_testy))
    return Chat(chain, tmp_path, Permits("ask", "fail"), None, Settings())


@pytest.mark.requirement("cli.chat-leave", "cli.prompt-permission-no-tty")
async def test_request_that_no_user_can_answer_is_named_and_ends_the_turn(
    chat: Chat, capsys: pytest.CaptureFixture[str]
) -> None:
    with stdin_pieces() as lines:
        lines.type(CALLBACKS, b"  \n", b'{"command":"echo","message":"next"}\n', b" /quit \n")
        async with asyncio.timeout(20):
            code = await run_chat(chat)
    out, err = capsys.readouterr()

    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "[permission] edit: Do something that needs permission: no terminal to ask the user",
        "[permission] edit: Do something that needs permission: no answer",
        "[stopped: cancelled]",
        "next",
    ]
