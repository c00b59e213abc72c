"""Every word that the judge knows: shells, wrappers, variables, members of a call."""

from pathlib import Path
from typing import Any

import pytest

from symposium.permissions.policy import Policy, PolicyDecision, read_policy
from symposium.permissions.rules import (
    INSIDE,
    Access,
    Effect,
    PolicyWorkspace,
    Rule,
    RunScript,
    TouchFile,
)
from symposium.permissions.tool_calls import actions_of

POLICY = read_policy(
    """
[[rule]]
name = "status"
effect = "allow"
command = "git status"

[[rule]]
name = "no-force"
effect = "forbid"
command = "git push"
options = ["--force", "-f"]

[[rule]]
name = "mytool"
effect = "allow"
command = "mytool"
accepts = ["*"]

[[rule]]
name = "cat"
effect = "allow"
command = "cat"
""",
    "policy.toml",
)


def judge(script: str, workspace: Path, policy: Policy = POLICY) -> PolicyDecision:
    return policy.judge([RunScript(script)], PolicyWorkspace(workspace))


WRAPPERS = (
    *("sudo", "doas", "su", "runuser", "env", "nohup", "nice", "ionice", "chrt", "taskset"),
    *("time", "timeout", "stdbuf", "unbuffer", "setsid", "script", "strace", "ltrace"),
    *("command", "builtin", "exec", "eval", "source", ".", "trap", "coproc", "busybox"),
    *("xargs", "parallel", "watch", "entr", "flock", "ssh"),
    *("chroot", "unshare", "nsenter", "systemd-run"),
    *("find . -exec", "find . -ok", "fd x -x", "fd x -X", "fd x --exec"),
)


@pytest.mark.requirement("policy.no-way-around")
def test_a_forbidden_command_is_found_behind_every_wrapper(tmp_path: Path) -> None:
    scripts = [f"{each} x git push -f" for each in WRAPPERS]

    assert [each for each in scripts if judge(each, tmp_path).rule != "no-force"] == []


@pytest.mark.requirement("policy.no-way-around")
@pytest.mark.parametrize("options", ["-c --", "-c -", "-c -- ", "-x -c -", "+x -c --"])
def test_a_script_behind_the_end_of_options_is_found(options: str, tmp_path: Path) -> None:
    assert judge(f"bash {options} '-x; git push -f'", tmp_path).rule == "no-force"


@pytest.mark.requirement("policy.command-words")
def test_a_rule_on_the_dot_command_matches_it(tmp_path: Path) -> None:
    rule = Rule("no-source", Effect.FORBID, (".",))

    assert judge(". ./x", tmp_path, Policy((rule,))).rule == "no-source"
    assert judge("./x", tmp_path, Policy((rule,))).rule is None


@pytest.mark.requirement("policy.doubt-is-asked")
def test_an_allowed_wrapper_is_asked_because_it_runs_another_command(tmp_path: Path) -> None:
    allowed = Policy(tuple(Rule(each, Effect.ALLOW, tuple(each.split())) for each in WRAPPERS))
    asked = {
        wrapper: [str(each) for each in judge(f"{wrapper} x", tmp_path, allowed).reasons]
        for wrapper in WRAPPERS
    }

    assert [
        wrapper
        for wrapper, reasons in asked.items()
        if not any("` runs another command)" in each for each in reasons)
    ] == []


@pytest.mark.requirement("policy.no-way-around", "policy.whole-script")
@pytest.mark.parametrize(
    ("shell", "allowed"),
    [
        *((shell, Effect.ALLOW) for shell in ("sh", "bash", "dash", "zsh")),
        *((shell, Effect.ASK) for shell in ("ksh", "ash", "fish")),
    ],
)
def test_every_shell_is_followed_and_plain_ones_are_allowed(
    shell: str, allowed: Effect, tmp_path: Path
) -> None:
    for folder in ("", "/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/"):
        assert judge(f"{folder}{shell} -c 'git status'", tmp_path).effect is allowed
    for folder in ("./", "/opt/", "/"):
        assert judge(f"{folder}{shell} -c 'git status'", tmp_path).effect is Effect.ASK
    assert judge(f"{shell} -c 'git push -f'", tmp_path).rule == "no-force"


@pytest.mark.requirement("policy.strictest", "policy.no-way-around")
@pytest.mark.parametrize("rule_effect", [Effect.ASK, Effect.FORBID])
def test_a_rule_on_a_shell_holds_although_its_script_is_allowed(
    rule_effect: Effect, tmp_path: Path
) -> None:
    rules = (*POLICY.rules, Rule("no-bash", rule_effect, ("bash",)))
    policy = Policy((*rules, Rule("all-of-bash", Effect.ALLOW, ("bash",))))

    for script in ("bash -c 'git status'", "/bin/bash -lc 'git status'", "bash x"):
        judged = judge(script, tmp_path, policy)
        assert (judged.effect, judged.rule) == (rule_effect, "no-bash")
    assert judge("sh -c \"bash -c 'git status'\"", tmp_path, policy).rule == "no-bash"
    assert judge("sh -c 'git status'", tmp_path, policy).effect is Effect.ALLOW


@pytest.mark.requirement("policy.doubt-is-asked")
@pytest.mark.parametrize("script", ["bash reboot", "bash", "bash -l reboot"])
def test_a_file_that_a_shell_runs_is_no_command(script: str, tmp_path: Path) -> None:
    judged = judge(script, tmp_path, Policy((Rule("no", Effect.FORBID, ("reboot",)),)))

    assert "`bash` runs code that cannot be analyzed here" in " ".join(map(str, judged.reasons))
    assert judged.effect is Effect.ASK


@pytest.mark.requirement("policy.whole-script", "policy.doubt-is-asked")
@pytest.mark.parametrize(
    ("options", "effect"),
    [
        *((f"-o {each} -c", Effect.ALLOW) for each in ("errexit", "nounset", "pipefail")),
        *((f"-euo {each} -c", Effect.ALLOW) for each in ("noglob", "xtrace")),
        ("-eluxv -c", Effect.ALLOW),
        ("-o pipefail", Effect.ASK),
        ("-o history -c", Effect.ASK),
        ("pipefail -c", Effect.ASK),
        ("-i -c", Effect.ASK),
        ("$X -c", Effect.ASK),
        ("-o $X -c", Effect.ASK),
    ],
)
def test_options_of_a_shell_are_plain_only_if_each_is_known(
    options: str, effect: Effect, tmp_path: Path
) -> None:
    assert judge(f"bash {options} 'git status'", tmp_path).effect is effect


HARMLESS = (
    *("LANG", "LANGUAGE", "TERM", "COLUMNS", "LINES", "CI", "DEBIAN_FRONTEND", "LC_ALL"),
    *("NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR", "PY_COLORS", "COLORTERM"),
    *("GIT_TERMINAL_PROMPT", "GIT_OPTIONAL_LOCKS", "GIT_LITERAL_PATHSPECS"),
    *("PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "PYTHONUTF8"),
    *("PYTHONIOENCODING", "RUST_BACKTRACE", "RUST_LOG", "CARGO_TERM_COLOR"),
    *("CARGO_INCREMENTAL", "NODE_ENV", "NPM_CONFIG_LOGLEVEL", "NPM_CONFIG_COLOR"),
    *("NPM_CONFIG_FUND", "GOOS", "GOARCH", "CGO_ENABLED", "SOURCE_DATE_EPOCH"),
    *("PIP_NO_INPUT", "PIP_DISABLE_PIP_VERSION_CHECK", "HYPOTHESIS_PROFILE"),
    "POSIXLY_CORRECT",
)


@pytest.mark.requirement("policy.doubt-is-asked", "policy.ordinary-commands")
@pytest.mark.parametrize(
    ("value", "effect"),
    [
        ("en_US.UTF-8", Effect.ALLOW),
        ("", Effect.ALLOW),
        ("./x", Effect.ASK),
        ("$X", Effect.ASK),
        ("a:../b", Effect.ASK),
    ],
)
def test_harmless_variables_are_allowed_only_with_plain_values(
    value: str, effect: Effect, tmp_path: Path
) -> None:
    judged = {name: judge(f"{name}={value} git status", tmp_path).effect for name in HARMLESS}

    assert judged == dict.fromkeys(HARMLESS, effect)


@pytest.mark.requirement("policy.doubt-is-asked")
@pytest.mark.parametrize(
    ("assignment", "effect"),
    [
        *((f"{name}=cat", Effect.ALLOW) for name in ("PAGER", "GIT_PAGER", "MANPAGER")),
        *((f"{name}=", Effect.ALLOW) for name in ("PAGER", "GIT_PAGER", "MANPAGER")),
        *((f"{name}=less", Effect.ASK) for name in ("PAGER", "GIT_PAGER", "MANPAGER")),
        ("TZ=Europe/Berlin", Effect.ALLOW),
        ("TZ=", Effect.ALLOW),
        ("TZ=/tmp/x", Effect.ASK),
        ("TZ=../x", Effect.ASK),
        ("LC_ALL2=C", Effect.ASK),
        ("EDITOR=cat", Effect.ASK),
    ],
)
def test_pagers_and_time_zones_have_values_of_their_own(
    assignment: str, effect: Effect, tmp_path: Path
) -> None:
    assert judge(f"{assignment} git status", tmp_path).effect is effect


@pytest.mark.requirement("policy.unknown-directory")
@pytest.mark.parametrize("move", ["cd -", "cd", "cd a b", "cd $X", "pushd src", "popd"])
def test_every_move_to_an_unknown_directory_is_asked_with_its_relative_paths(
    move: str, tmp_path: Path
) -> None:
    reasons = list(map(str, judge(f"{move} && cat notes", tmp_path).reasons))

    assert "ask: cat notes (notes) (the script changes its directory)" in reasons
    assert any("(it changes to an unknown directory)" in each for each in reasons)


@pytest.mark.requirement("policy.doubt-is-asked")
@pytest.mark.parametrize("script", ["", "# ls", "cd src"])
def test_a_script_without_commands_is_asked(script: str, tmp_path: Path) -> None:
    assert [*map(str, judge(script, tmp_path).reasons)] == ["ask: nothing known (no rule matches)"]
    assert POLICY.judge([], PolicyWorkspace(tmp_path)).effect is Effect.ASK


@pytest.mark.requirement("policy.git-files")
def test_files_of_git_are_read_without_a_question(tmp_path: Path) -> None:
    assert judge("cat .git/HEAD", tmp_path).effect is Effect.ALLOW
    assert judge("mytool .git/HEAD", tmp_path).effect is Effect.ASK


@pytest.mark.requirement("policy.reads-and-writes", "policy.unknown-directory")
@pytest.mark.parametrize(
    ("script", "rule"),
    [
        ("git -C sub diff secret", "below"),
        ("tar cf a.tar -C sub secret", "below"),
        ("tar cf a.tar top -C sub", "above"),
        ("git diff secret", "git"),
        ("tar cf a.tar secret", "tar"),
    ],
)
def test_paths_are_judged_in_the_directory_that_an_option_enters(
    script: str, rule: str, tmp_path: Path
) -> None:
    rules = (
        Rule("git", Effect.ALLOW, ("git",)),
        Rule("tar", Effect.ALLOW, ("tar",)),
        Rule("write", Effect.ALLOW, files=(Access.WRITE, (INSIDE,))),
        Rule("below", Effect.FORBID, files=(Access.READ, (str(tmp_path / "sub/secret"),))),
        Rule("above", Effect.FORBID, files=(Access.READ, (str(tmp_path / "top"),))),
    )

    assert judge(script, tmp_path, Policy(rules)).rule == rule


@pytest.mark.requirement("policy.named-words")
def test_a_pattern_in_a_rule_names_no_word(tmp_path: Path) -> None:
    rules = (Rule("any", Effect.ALLOW, ("mytool", "*")), Rule("fast", Effect.ALLOW, ("ls", "--x")))

    assert judge("mytool build", tmp_path, Policy(rules)).effect is Effect.ALLOW
    assert judge("mytool --evil", tmp_path, Policy(rules)).effect is Effect.ASK
    assert judge("mytool /etc/x", tmp_path, Policy(rules)).effect is Effect.ASK
    assert judge("ls --x", tmp_path, Policy(rules)).effect is Effect.ALLOW


@pytest.mark.requirement("policy.named-words")
def test_an_option_of_a_rule_names_its_word_but_not_the_program(tmp_path: Path) -> None:
    rule = Rule("x", Effect.ALLOW, ("mytool",), options=("--fast", "--slow"))

    assert judge("mytool --fast", tmp_path, Policy((rule,))).effect is Effect.ALLOW
    assert judge("mytool --fast --evil", tmp_path, Policy((rule,))).effect is Effect.ASK
    assert judge("mytool x", tmp_path, Policy((rule,))).effect is Effect.ASK


@pytest.mark.requirement("policy.reads-and-writes")
def test_a_script_that_an_interpreter_runs_is_judged_as_a_file(tmp_path: Path) -> None:
    named = Rule("build", Effect.ALLOW, ("python", "scripts/build.py"))
    secret = Rule("secret", Effect.FORBID, files=(Access.READ, ("scripts/*",)))

    assert judge("python scripts/build.py", tmp_path, Policy((named,))).rule == "build"
    assert judge("python scripts/build.py", tmp_path, Policy((named, secret))).rule == "secret"


@pytest.mark.requirement("policy.unknown-directory")
@pytest.mark.parametrize("option", ["-P", "-L", "--"])
def test_options_of_cd_leave_its_directory_known(option: str, tmp_path: Path) -> None:
    assert judge(f"cd {option} src && cat notes", tmp_path).effect is Effect.ALLOW


@pytest.mark.requirement("policy.accepts")
def test_anywhere_reaches_no_place_that_is_forbidden_as_outside(tmp_path: Path) -> None:
    rules = (
        Rule("cat", Effect.ALLOW, ("cat",), anywhere=True),
        Rule("inside-only", Effect.FORBID, files=(Access.READ, ("outside-workspace",))),
    )

    assert judge("cat /etc/hosts", tmp_path, Policy(rules)).rule == "inside-only"
    assert judge("cat notes", tmp_path, Policy(rules)).effect is Effect.ALLOW


@pytest.mark.requirement("policy.git-files")
def test_a_file_of_git_is_known_by_its_name_although_a_link_leads_to_another(
    tmp_path: Path,
) -> None:
    (tmp_path / "meta").mkdir()
    (tmp_path / ".git").symlink_to("meta")
    policy = Policy((Rule("inside", Effect.ALLOW, files=(Access.WRITE, (INSIDE,))),))

    def rule(path: str) -> str | None:
        return policy.judge([TouchFile(Access.WRITE, path)], PolicyWorkspace(tmp_path)).rule

    assert rule(".git/config") is None
    assert rule("meta-file") == "inside"


@pytest.mark.requirement("policy.accepts")
def test_a_value_behind_an_equals_sign_is_judged_as_a_path(tmp_path: Path) -> None:
    assert judge("mytool out=x", tmp_path).effect is Effect.ALLOW
    assert judge("mytool out=/etc/x", tmp_path).effect is Effect.ASK
    assert judge("mytool --out=/etc/x", tmp_path).effect is Effect.ASK
    assert judge("mytool -o/etc/x", tmp_path).effect is Effect.ASK


@pytest.mark.requirement("policy.whole-call")
def test_a_script_is_found_in_every_member_for_one(tmp_path: Path) -> None:
    for key in ("command", "cmd", "commandLine", "script"):
        for script in ("git push -f", ["git", "push", "-f"]):
            assert effect({key: script}, tmp_path) is Effect.FORBID, key


@pytest.mark.requirement("policy.whole-call")
def test_a_directory_is_found_in_every_member_for_one(tmp_path: Path) -> None:
    for key in ("cwd", "workdir", "working_directory", "workingDirectory", "directory"):
        assert effect({"command": "git status", key: "src"}, tmp_path) is Effect.ALLOW, key
        assert effect({"command": "git status", key: "/etc"}, tmp_path) is Effect.ASK, key


@pytest.mark.requirement("policy.whole-call")
@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"env": {"CI": "1"}}, Effect.ALLOW),
        ({"environment": {"CI": "1"}}, Effect.ALLOW),
        ({"environment": {"PATH": "."}}, Effect.ASK),
        ({"args": ["--short"]}, Effect.ALLOW),
        ({"arguments": ["--short"]}, Effect.ALLOW),
        ({"argv": ["--short"]}, Effect.ALLOW),
        ({"arguments": ["/etc"]}, Effect.ASK),
        ({"argv": ["/etc"]}, Effect.ASK),
    ],
)
def test_arguments_and_variables_are_found_in_every_member_for_them(
    more: dict[str, Any], expected: Effect, tmp_path: Path
) -> None:
    assert effect({"command": "git status", **more}, tmp_path) is expected


WITHOUT_EFFECT = (
    *("description", "explanation", "reason", "justification", "title", "summary", "thought"),
    *("timeout", "timeout_ms", "timeoutMs", "timeout_seconds", "yield_time_ms"),
    *("max_output_tokens", "max_output_length", "outputByteLimit", "output_byte_limit"),
    *("run_in_background", "is_background", "background", "call_id", "turn_id", "id"),
    *("parsed_cmd", "process_id", "_meta", "toolName", "tool_name"),
)


@pytest.mark.requirement("policy.whole-call")
def test_members_without_effect_on_the_script_are_no_doubts(tmp_path: Path) -> None:
    judged = {key: effect({"command": "git status", key: "x"}, tmp_path) for key in WITHOUT_EFFECT}

    assert judged == dict.fromkeys(WITHOUT_EFFECT, Effect.ALLOW)


NAMES_OF_FILES = (
    *("destination", "source", "target", "directory", "dir", "folder"),
    *("file_path", "filePath", "notebook_path", "abs_path", "file", "fileName"),
)


@pytest.mark.requirement("policy.files-and-tools")
@pytest.mark.parametrize(
    ("kind", "access"),
    [
        *((kind, Access.WRITE) for kind in ("edit", "delete", "move")),
        *((kind, Access.READ) for kind in ("read", "search")),
    ],
)
def test_a_file_is_found_in_every_member_for_one(kind: str, access: Access) -> None:
    found = {key: actions_of({"kind": kind, "rawInput": {key: "x"}}) for key in NAMES_OF_FILES}

    assert found == {key: [TouchFile(access, "x")] for key in NAMES_OF_FILES}


def effect(raw: dict[str, Any], workspace: Path) -> Effect:
    actions = actions_of({"kind": "execute", "rawInput": raw})
    return POLICY.judge(actions, PolicyWorkspace(workspace)).effect
