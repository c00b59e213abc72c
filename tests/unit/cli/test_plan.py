"""`symposium plan`: the chain for an editor, with reasons."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from symposium.__main__ import main


def run(given: str, *words: str) -> Result:
    return CliRunner().invoke(main, ["plan", "--capabilities", "-", *words], input=given)


@pytest.mark.requirement("planning.cli")
def test_plan_prints_the_chain_with_reasons() -> None:
    result = run('{"terminal": true}')
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        "The editor offers: bash",
        "Editor → ide-ops-adapter → ide-ops → Agent",
        "- ide-ops-adapter is added: ide-ops needs ide_operations, the editor has none",
        "- ide-ops is in the chain: ide_operations from ide-ops-adapter",
    ]


@pytest.mark.requirement("planning.cli")
@pytest.mark.parametrize("form", ["capabilities", "params", "request"])
def test_plan_accepts_each_form_of_capabilities(form: str, tmp_path: Path) -> None:
    capabilities = {"_meta": {"symposium": {"ide_operations": True}}}
    params = {"protocolVersion": 1, "clientCapabilities": capabilities}
    forms = {
        "capabilities": capabilities,
        "params": params,
        "request": {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params},
    }
    file = tmp_path / "editor.json"
    file.write_text(json.dumps(forms[form]), encoding="utf-8")
    words = ["plan", "--capabilities", str(file), "--mods", " pass, ide-ops ,", "--json"]
    told = json.loads(CliRunner().invoke(main, words).stdout)
    assert told["chain"] == [
        {"id": "pass", "kind": "component"},
        {"id": "ide-ops", "kind": "component"},
    ]
    assert told["provided_by"] == {"ide_operations": "editor"}
    assert told["degraded"] == []
    assert len(told["reasons"]) == 2


NO_JSON = (
    "<stdin> is not valid JSON: Expecting property name enclosed in double quotes: "
    "line 1 column 2 (char 1)\n"
    "  fix the file"
)
NO_OBJECT = '<stdin> does not contain a JSON object\n  a minimal one is {"terminal": true}'
NO_MOD = (
    "--proxy: 'ide-opps' is neither a built-in mod (arrow, cargo, echo, ferris, guidance, "
    "ide-ops, ide-ops-adapter, npm, pass, policy, tag, timeline, uv, defaults) nor a program on "
    "PATH\n"
    "  did you mean ide-ops or ide-ops-adapter? Otherwise: a SPEC is the name of a built-in, a "
    "command line such as 'npx some-agent --acp', or JSON such as "
    '{"command": "some-agent", "args": ["--acp"]}'
)


@pytest.mark.requirement("planning.cli")
@pytest.mark.parametrize(
    ("given", "words", "code", "says"),
    [
        ("{", (), 1, NO_JSON),
        ("[]", (), 1, NO_OBJECT),
        ("{}", ("--mods", "ide-opps"), 2, NO_MOD),
    ],
)
def test_plan_reports_wrong_input(given: str, words: tuple[str, ...], code: int, says: str) -> None:
    result = run(given, *words)
    assert (result.exit_code, result.stdout, result.stderr) == (code, "", f"symposium: {says}\n")
