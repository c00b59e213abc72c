"""Lists on the command line: order and limits."""

import json
from pathlib import Path
from uuid import UUID

import pytest
from click.testing import CliRunner, Result

from symposium.__main__ import main
from symposium.bus.daemon_start import daemon_address
from symposium.cli.agent_views import print_table
from symposium.config.paths import paths
from symposium.sessions.session import SessionKind, SessionSpec, SessionStore


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYMPOSIUM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))


def symposium(*words: str) -> Result:
    return CliRunner().invoke(main, words)


@pytest.mark.requirement("cli.session-list-order")
def test_oldest_session_is_listed_first(tmp_path: Path) -> None:
    store = SessionStore(paths())
    for number, year in [(1, 2026), (2, 2024), (3, 2025)]:
        id_ = str(UUID(int=number))
        store.add(
            SessionSpec(
                id_, SessionKind.ACP, ("x",), str(tmp_path), title=str(year), created_at=f"{year}"
            )
        )

    listed = json.loads(symposium("session", "list", "--json").stdout)

    assert [each["created"] for each in listed] == ["2024", "2025", "2026"]


@pytest.mark.requirement("cli.chat-terminal-text")
def test_cells_of_a_table_are_safe_for_a_terminal_aligned_and_cut(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_table([("a\x1b[2J", "b\nc", "d\te"), ("x" * 70, "", "y" * 210), ("z", "b", "")])

    assert capsys.readouterr().out.splitlines() == [
        f"{'a␛[2J':60}  b c  d e",
        f"{'x' * 59}…       {'y' * 199}…",
        f"{'z':60}  b",
    ]


@pytest.mark.requirement("cli.daemon-log-lines")
@pytest.mark.parametrize(
    ("count", "lines"),
    [("1", ["c"]), ("2", ["b", "c"]), ("3", ["a", "b", "c"]), ("9", ["a", "b", "c"])],
)
def test_last_lines_of_the_log_are_shown(count: str, lines: list[str]) -> None:
    log = daemon_address(None).log
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("a\nb\nc\n", encoding="utf-8")

    assert symposium("daemon", "logs", "-n", count).stdout.splitlines() == lines
    assert symposium("daemon", "logs", "--json", "-n", count).stdout.splitlines() == lines
