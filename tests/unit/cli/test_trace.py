"""`symposium trace`: output, files, and exit codes."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from symposium.__main__ import main
from symposium.chain.conductor import Settings
from symposium.chain.trace import open_trace
from symposium.testing import FakeAgent, chain_of


def run(*words: str | Path, environment: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(main, ["trace", *map(str, words)], env=environment)


@pytest.fixture
async def trace(tmp_path: Path) -> Path:
    """The trace of a short conversation through one mod."""
    recorder = open_trace(tmp_path)
    settings = Settings(watcher=recorder)
    async with chain_of("arrow", agent=FakeAgent("Hi"), settings=settings) as editor:
        await editor.prompt("Hello")
    recorder.close()
    return recorder.file.path


@pytest.mark.requirement("cli.trace-show")
def test_show_prints_one_line_for_each_message(trace: Path) -> None:
    result = run("show", trace)

    head, *lines = result.stdout.splitlines()
    assert (result.exit_code, result.stderr) == (0, "")
    assert head.split()[2:] == ["Client", "Proxy(0)", "Agent"]
    assert len(lines) == len(trace.read_bytes().splitlines()) == 14
    assert lines[0].endswith(
        "│────────▶│         │     _proxy/initialize #1  version 1, fake-editor"
    )
    assert lines[11].endswith("│◀════════│         │     session/update  agent_message_chunk: >Hi")
    assert "\x1b" not in result.stdout


@pytest.mark.requirement("cli.trace-show")
def test_show_prints_only_selected_messages(trace: Path) -> None:
    of_session = run("show", trace, "--session", "session-1").stdout
    of_method = run("show", trace, "--method", "session/update", "--method", "initialize").stdout

    assert [len(text.splitlines()) for text in (of_session, of_method)] == [9, 5]
    assert len(run("show", trace, "--protocol", "mcp").stdout.splitlines()) == 1
    assert run("show", trace, "--protocol", "http").exit_code == 2


@pytest.mark.requirement("cli.trace-show-json")
def test_show_json_prints_the_events_unchanged(trace: Path) -> None:
    all_of_it = run("show", trace, "--json")
    updates = run("show", trace, "--json", "--method", "session/update")

    assert all_of_it.stdout_bytes == trace.read_bytes()
    assert {json.loads(line)["type"] for line in updates.stdout.splitlines()} == {"notification"}


@pytest.mark.requirement("cli.trace-broken-file")
@pytest.mark.parametrize("words", [("show",), ("show", "--json"), ("view",)])
def test_broken_line_is_reported_with_the_rest(trace: Path, words: tuple[str, ...]) -> None:
    whole = trace.read_bytes()
    trace.write_bytes(b"broken\n" + whole + b'{"type":"requ')

    result = run(*words, trace)

    assert result.exit_code == 0
    assert result.stderr == (
        "symposium: skipped 1 unreadable line: 1; "
        "the last line is cut off: the trace may still be being written\n"
    )


@pytest.mark.requirement("cli.trace-view")
def test_view_writes_a_page_next_to_the_trace_and_prints_its_path(trace: Path) -> None:
    result = run("view", trace)

    page = trace.with_suffix(".html")
    assert (result.exit_code, result.stdout) == (0, f"{page}\n")
    assert page.read_text().startswith("<!DOCTYPE html>")


@pytest.mark.requirement("cli.trace-view")
def test_view_writes_the_page_to_the_output_path(trace: Path) -> None:
    page = trace.with_name("other.html")

    assert run("view", trace, "-o", page).stdout == f"{page}\n"
    assert page.exists()


@pytest.mark.requirement("cli.trace-view")
def test_view_does_not_overwrite_the_trace(trace: Path) -> None:
    before = trace.read_bytes()

    result = run("view", trace, "-o", trace)

    assert (result.exit_code, trace.read_bytes()) == (2, before)
    assert "the trace itself" in result.stderr


@pytest.mark.requirement("cli.trace-missing-file")
@pytest.mark.parametrize("verb", ["show", "view"])
def test_missing_file_exits_with_code_4(tmp_path: Path, verb: str) -> None:
    result = run(verb, tmp_path / "none.jsons")

    assert result.exit_code == 4
    assert f"there is no file {tmp_path / 'none.jsons'}" in result.stderr
    assert "--trace-dir" in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.requirement("cli.trace-broken-file")
@pytest.mark.parametrize("verb", ["show", "view"])
@pytest.mark.parametrize("content", ["hello\n", '{"a":1}\n'])
def test_invalid_trace_is_reported_and_writes_nothing(
    tmp_path: Path, verb: str, content: str
) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(content)

    result = run(verb, path)

    assert result.exit_code == 1
    assert "is no trace" in result.stderr
    assert list(tmp_path.iterdir()) == [path]
