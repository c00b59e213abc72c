"""`symposium setup`: print, write, and undo editor settings."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.support.typed_answer import typed

from localio.plugins import names_in
from symposium.__main__ import main
from symposium.cli.exit_codes import ExitCode

SETTINGS = """// mine
{
    "theme": "One", // nice
    "agent_servers": {
        "Other": {"command": "x"} // another
    },
}
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_CONFIG_HOME", "SYMPOSIUM_HOME", "SYMPOSIUM_CONFIG", "NVIM_APPNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    return tmp_path


@pytest.fixture
def settings(home: Path) -> Path:
    path = home / ".config" / "zed" / "settings.json"
    path.parent.mkdir(parents=True)
    path.write_text(SETTINGS)
    return path


def setup(*words: str, answer: str | None = None) -> Result:
    return CliRunner().invoke(main, ["setup", *words], input=answer)


def files(home: Path) -> list[Path]:
    return sorted(path for path in home.rglob("*") if path.is_file())


@pytest.mark.requirement("editors.snippet")
@pytest.mark.parametrize("editor", names_in("symposium.editors"))
def test_snippet_is_printed_and_nothing_is_changed(home: Path, editor: str) -> None:
    result = setup(editor)

    assert result.exit_code == ExitCode.OK
    assert "symposium" in result.stdout
    assert "Add this to" in result.stderr or "Run this command" in result.stderr
    lines = result.stderr.splitlines()
    needs = (" needs ", " need ", "Close every session", "Toad is the package")
    found = [line for line in lines if any(each in line for each in needs)]
    assert len(found) == (editor not in {"zed", "codex-mcp"})
    assert files(home) == []


@pytest.mark.requirement("editors.write", "editors.backup")
def test_change_is_shown_and_written_with_a_backup(home: Path, settings: Path) -> None:
    result = setup("zed", "--write", "--yes")

    assert result.exit_code == ExitCode.OK, result.output
    assert '+        "Symposium": {' in result.stdout
    text = settings.read_text()
    for line in ("// mine", '    "theme": "One", // nice', "// another"):
        assert line in text
    backup = home / ".symposium" / "editors" / "zed.settings.json.bak"
    assert backup.read_text() == SETTINGS
    assert str(backup) in result.stderr
    again = setup("zed", "--write")
    assert (again.exit_code, again.stdout) == (ExitCode.OK, "")
    assert settings.read_text() == text


@pytest.mark.requirement("editors.write")
def test_nothing_is_written_without_a_terminal_or_yes(home: Path, settings: Path) -> None:
    result = setup("zed", "--write")

    assert result.exit_code == ExitCode.USAGE
    assert "--yes" in result.stderr
    assert settings.read_text() == SETTINGS
    assert files(home) == [settings]


@pytest.mark.requirement("editors.write", "editors.undo")
def test_user_at_a_terminal_is_asked_before_a_change_and_before_its_undo(
    settings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found: list[tuple[object, bool]] = []
    for option, answer in (
        ("--write", b"n\n"),
        ("--write", b"y\n"),
        ("--undo", b"\n"),
        ("--undo", b"y\n"),
    ):
        question = "Make this change? [y/N]:"
        with typed(question, answer), pytest.raises(SystemExit) as ended:
            main(["setup", "zed", option])
        found.append((ended.value.code, "Symposium" in settings.read_text()))
    diffs = capsys.readouterr().out

    assert found == [(5, False), (0, True), (5, True), (0, False)]
    assert settings.read_text() == SETTINGS
    assert diffs.count('+        "Symposium": {') == 2
    assert diffs.count('-        "Symposium": {') == 2


@pytest.mark.requirement("editors.unreadable")
def test_unreadable_settings_are_not_changed(home: Path, settings: Path) -> None:
    settings.write_text('{\n  "theme": One\n}')

    result = setup("zed", "--write", "--yes")

    assert result.exit_code == ExitCode.RUNTIME
    assert f"{settings}:2:12" in result.stderr
    assert settings.read_text() == '{\n  "theme": One\n}'
    assert files(home) == [settings]


@pytest.mark.requirement("editors.unreadable")
def test_read_only_file_is_not_changed(home: Path, settings: Path) -> None:
    settings.chmod(0o444)

    result = setup("zed", "--write", "--yes")

    assert result.exit_code == ExitCode.RUNTIME
    assert "read-only" in result.stderr
    assert files(home) == [settings]


@pytest.mark.requirement("editors.undo")
@pytest.mark.parametrize(
    ("editor", "title"),
    [
        ("zed", "Zed"),
        ("jetbrains", "JetBrains IDEs"),
        ("vscode", "VS Code"),
        ("neovim", "Neovim"),
        ("emacs", "Emacs"),
    ],
)
def test_undo_removes_the_written_settings_completely(home: Path, editor: str, title: str) -> None:
    assert setup(editor, "--write", "--yes").exit_code == ExitCode.OK
    assert len(files(home)) == 2

    result = setup(editor, "--undo", "--yes")

    assert result.exit_code == ExitCode.OK, result.output
    assert files(home) == []
    again = setup(editor, "--undo")
    assert (again.exit_code, again.stdout) == (ExitCode.NOT_FOUND, "")
    assert again.stderr == (
        "symposium: `symposium setup --write` has not changed the settings of "
        f"{title}\n  --undo only undoes changes made by --write\n"
    )


@pytest.mark.requirement("editors.undo")
def test_undo_keeps_later_changes_of_the_user(settings: Path) -> None:
    setup("zed", "--write", "--yes")
    settings.write_text(settings.read_text().replace("One", "Two"))

    assert setup("zed", "--undo", "--yes").exit_code == ExitCode.OK

    assert settings.read_text() == SETTINGS.replace("One", "Two")


@pytest.mark.requirement("editors.undo")
def test_one_undo_reverts_two_writes(settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    setup("zed", "--write", "--yes")
    monkeypatch.setenv("SYMPOSIUM_CONFIG", "/elsewhere.jsonc")
    setup("zed", "--write", "--yes")
    assert "/elsewhere.jsonc" in settings.read_text()

    setup("zed", "--undo", "--yes")

    assert settings.read_text() == SETTINGS


@pytest.mark.requirement("editors.undo-changed")
def test_undo_keeps_a_setting_the_user_edited(settings: Path) -> None:
    setup("zed", "--write", "--yes")
    changed = settings.read_text().replace('"run"', '"run", "--more"')
    settings.write_text(changed)

    result = setup("zed", "--undo", "--yes")

    assert result.exit_code == ExitCode.RUNTIME
    assert "remove it manually" in result.stderr
    assert settings.read_text() == changed


@pytest.mark.requirement("editors.own-file")
def test_own_file_is_written_where_the_editor_loads_it(home: Path) -> None:
    setup("neovim", "--write", "--yes")

    text = (home / ".config/nvim/after/plugin/symposium.lua").read_text()

    assert text.startswith("-- >>> symposium >>>\n")
    assert text.endswith("-- <<< symposium <<<\n")
    assert "init.el" in setup("emacs", "--write", "--yes").stderr


@pytest.mark.requirement("editors.write")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("toad", "--write"), "run the command"),
        (("zed", "--write", "--undo"), "exclude each other"),
        (("vi",), "'vi' is not one of"),
    ],
)
def test_invalid_arguments_are_reported(words: tuple[str, ...], message: str) -> None:
    result = setup(*words)

    assert result.exit_code == ExitCode.USAGE
    assert message in result.stderr


RULE = """[[rule]]
name = "status"
effect = "allow"
command = "git status"
match = ["git status -s"]
not_match = ["git stash"]
"""


@pytest.mark.requirement("policy.setup")
@pytest.mark.parametrize(
    ("text", "says", "code"),
    [
        (RULE, ["1 rule of policy.toml: all tests passed."], ExitCode.OK),
        (
            RULE.replace("git stash", "git status"),
            ["policy.toml: rule status matches `git status`, listed in `not_match`"],
            ExitCode.RUNTIME,
        ),
        (
            RULE.replace('"git status"', '"dd"\nanywhere = true', 1),
            [
                (
                    "policy.toml: `dd if=/dev/zero of=/dev/sda`"
                    " would be allowed without asking (by status)"
                )
            ],
            ExitCode.RUNTIME,
        ),
        (
            "[[rule",
            ["policy.toml: line 1, column 7: ", "No agent starts until that is fixed."],
            ExitCode.RUNTIME,
        ),
    ],
)
def test_setup_tests_the_policy_after_its_change(
    home: Path, settings: Path, text: str, says: list[str], code: ExitCode
) -> None:
    rules = home / ".symposium" / "policy.toml"
    rules.parent.mkdir()
    rules.write_text(text)
    shown = setup("zed")
    written = setup("zed", "--write", "--yes")

    for result in (shown, written):
        assert result.exit_code == code
        for each in says:
            assert each in result.stderr
    assert '"Symposium": {' in settings.read_text()


@pytest.mark.requirement("policy.setup")
def test_setup_does_not_mention_a_missing_policy(home: Path) -> None:
    del home
    assert "policy" not in setup("zed").stderr
