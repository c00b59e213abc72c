"""`symposium policy`: decisions without an agent."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from symposium.__main__ import main

KEYS = (
    *("name", "effect", "command", "write", "read", "tool"),
    *("options", "anywhere", "accepts", "match", "not_match"),
)

RULES = """
[[rule]]
name = "status"
effect = "allow"
command = "git status"
match = ["git status -s"]
not_match = ["git stash"]

[[rule]]
name = "no-force"
effect = "forbid"
command = "git push"
options = ["--force"]
"""

MORE_RULES = """
[[rule]]
name = "keys"
effect = "ask"
write = ["/keys/**", "**/.env"]

[[rule]]
name = "search"
effect = "allow"
tool = "search"
"""


def run(tmp_path: Path, rules: str, *words: str) -> Result:
    file = tmp_path / "rules.toml"
    file.write_text(rules, encoding="utf-8")
    return CliRunner().invoke(main, ["policy", words[0], *words[1:], "--policy", str(file)])


@pytest.mark.requirement("policy.cli-explain")
@pytest.mark.parametrize(
    ("words", "code", "first", "last"),
    [
        (["git status"], 0, "allow", "- allow: git status (rule status)"),
        (["make"], 10, "ask", "- ask: make (no rule matches)"),
        (
            ["git status && git push --force"],
            5,
            "forbid",
            "- forbid: git push --force (rule no-force)",
        ),
        (["x", "--write"], 10, "ask", "- ask: write x (no rule matches)"),
        (["x", "--tool"], 10, "ask", "- ask: x (no rule matches)"),
        (["{file}", "--write"], 10, "ask", "- ask: write {file} (rule policy-file)"),
    ],
)
def test_explain_prints_the_decision_and_each_reason(
    words: list[str], code: int, first: str, last: str, tmp_path: Path
) -> None:
    file = str(tmp_path / "rules.toml")
    words, last = [each.format(file=file) for each in words], last.format(file=file)
    result = run(tmp_path, RULES, "explain", *words)
    lines = result.stdout.splitlines()

    assert (result.exit_code, lines[0], lines[-1]) == (code, first, last)


@pytest.mark.requirement("policy.cli-explain")
def test_explain_prints_json(tmp_path: Path) -> None:
    printed = json.loads(run(tmp_path, RULES, "explain", "make; git push --force", "--json").stdout)

    assert printed == {
        "effect": "forbid",
        "rule": "no-force",
        "reasons": [
            {"effect": "ask", "what": "make", "rule": None, "why": "no rule matches"},
            {
                "effect": "forbid",
                "what": "git push --force",
                "rule": "no-force",
                "why": "",
            },
        ],
    }


@pytest.mark.requirement("policy.cli-test")
def test_test_warns_about_missing_examples_and_fails_on_wrong_ones(tmp_path: Path) -> None:
    fine = run(tmp_path, RULES, "test")
    wrong = run(tmp_path, RULES.replace("git stash", "git status"), "test")

    assert (fine.exit_code, fine.stderr) == (0, "2 rules, 0 errors\n")
    assert fine.stdout.splitlines() == [
        "warning: rule no-force has no example in `match`",
        "warning: rule no-force has no example in `not_match`",
    ]
    assert (wrong.exit_code, wrong.stderr) == (1, "2 rules, 1 error\n")
    assert "error: rule status matches `git status`, listed in `not_match`" in wrong.stdout


@pytest.mark.requirement("policy.cli-test")
def test_test_fails_on_rules_that_allow_a_destructive_command(tmp_path: Path) -> None:
    result = run(tmp_path, RULES.replace('"git status"', '"dd"\nanywhere = true', 1), "test")

    assert result.exit_code == 1
    says = "error: `dd if=/dev/zero of=/dev/sda` would be allowed without asking (by status)"
    assert says in result.stdout


@pytest.mark.requirement("policy.cli-list")
def test_list_shows_the_rules_in_order(tmp_path: Path) -> None:
    rules = RULES.replace('"--force"', '"--force", "-f"') + MORE_RULES
    listed = run(tmp_path, rules, "list")

    assert listed.exit_code == 0
    assert listed.stdout.splitlines() == [
        "allow   status: `git status`",
        "forbid  no-force: `git push` with --force or -f",
        "ask     keys: write /keys/**, **/.env",
        "allow   search: tool search",
    ]
    assert json.loads(run(tmp_path, rules, "list", "--json").stdout) == [
        {"name": "status", "effect": "allow", "subject": "`git status`"},
        {"name": "no-force", "effect": "forbid", "subject": "`git push` with --force or -f"},
        {"name": "keys", "effect": "ask", "subject": "write /keys/**, **/.env"},
        {"name": "search", "effect": "allow", "subject": "tool search"},
    ]


@pytest.mark.requirement("policy.cli-explain")
def test_file_of_the_workspace_and_the_default_policy_are_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYMPOSIUM_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    none = CliRunner().invoke(main, ["policy", "explain", "git status"])
    read = '\n[[rule]]\nname = "docs"\neffect = "allow"\nread = ["docs/**"]\n'
    (tmp_path / "home" / "policy.toml").write_text(RULES + read, encoding="utf-8")
    found = [
        CliRunner().invoke(main, ["policy", "explain", *words]).stdout.splitlines()[0]
        for words in (
            ["git status"],
            ["docs/a.md", "--read", "--cwd", str(tmp_path)],
            ["docs/a.md", "--write", "--cwd", str(tmp_path)],
            ["search", "--tool"],
        )
    ]

    assert (none.exit_code, none.stdout) == (10, "ask\n- ask: git status (no rule matches)\n")
    assert found == ["allow", "allow", "ask", "ask"]


@pytest.mark.requirement("policy.file-errors")
@pytest.mark.parametrize("command", ["list", "test", "explain"])
def test_each_command_reports_where_a_policy_is_invalid_and_the_fix(
    command: str, tmp_path: Path
) -> None:
    subject = ["git push"] if command == "explain" else []
    result = run(tmp_path, RULES.replace('"allow"', '"allow"\ncolour = 1'), command, *subject)

    place = f"{tmp_path / 'rules.toml'}: line 5, column 1"
    assert result.stderr.splitlines() == [
        f"symposium: {place}: rule 1 (`status`): unknown key `colour`",
        f"  known keys: {', '.join(KEYS)}",
    ]
    assert (result.stdout, result.exit_code) == ("", 1)


@pytest.mark.requirement("policy.file-errors")
def test_named_policy_file_must_exist(tmp_path: Path) -> None:
    missing = CliRunner().invoke(main, ["policy", "list", "--policy", str(tmp_path / "none")])

    assert missing.stderr == (
        f"symposium: {tmp_path / 'none'} does not exist\n  name an existing policy file\n"
    )
    assert (missing.exit_code, missing.stdout) == (4, "")
