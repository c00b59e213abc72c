"""Errors of commands with `--json`."""

import json
from pathlib import Path
from typing import Final

import pytest

from symposium.__main__ import main

FAILING: Final = [
    ("agents show nosuch", 4, "NOT_FOUND", "not_found"),
    ("timeline show nosuch", 4, "NOT_FOUND", "not_found"),
    ("plan --capabilities no-such-file", 2, "USAGE", "usage"),
    ("task show", 2, "USAGE", "usage"),
    ("agents nosuch", 2, "USAGE", "usage"),
    ("nosuch", 2, "USAGE", "usage"),
    ("prompt --agent no-such-program hello", 2, "USAGE", "bad_spec"),
    ("prompt --agent eliza --no-such-option hello", 2, "USAGE", "usage"),
]


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYMPOSIUM_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def end_of(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(words, prog_name="symposium")
    assert isinstance(ended.value.code, int)
    return ended.value.code


@pytest.mark.requirement("cli.json-errors")
@pytest.mark.parametrize(("line", "code", "name", "detail"), FAILING)
def test_error_is_one_event_on_stdout_with_json(
    line: str, code: int, name: str, detail: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = line.split()

    assert end_of(*words, "--json") == code

    (event,) = capsys.readouterr().out.splitlines()
    told = json.loads(event)
    assert (told["v"], told["seq"], told["type"]) == (1, 1, "error")
    error = told["data"]
    assert (error["code"], error["detailCode"]) == (name, detail)
    assert error.keys() == {
        *("code", "detailCode", "message", "hint", "retryable", "origin", "docs")
    }


@pytest.mark.requirement("cli.json-errors")
@pytest.mark.parametrize("line", [line for line, *_ in FAILING])
def test_stdout_is_empty_on_an_error_without_json(
    line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    end_of(*line.split())

    said = capsys.readouterr()
    assert said.out == ""
    assert said.err


@pytest.mark.requirement("cli.json-errors")
def test_command_without_json_option_prints_its_error_to_stderr(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert end_of("run-with", "--json") == 2

    assert capsys.readouterr().out == ""


@pytest.mark.requirement("cli.json-errors")
def test_json_after_two_dashes_is_not_an_option_of_the_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert end_of("agents", "show", "nosuch", "--", "--json") == 2

    assert capsys.readouterr().out == ""
