"""Commands, files, and tools against rules: the strictest rule wins, and doubts are asked."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposium.permissions.policy import Policy, PolicyDecision, read_policy
from symposium.permissions.rules import (
    Access,
    Effect,
    PolicyWorkspace,
    RunScript,
    ToolAction,
    TouchFile,
)

POLICY = read_policy(
    """
[[rule]]
name = "status"
effect = "allow"
command = "git status"

[[rule]]
name = "listing"
effect = "allow"
command = "ls"
anywhere = true

[[rule]]
name = "outside"
effect = "ask"
write = ["outside-workspace"]

[[rule]]
name = "inside"
effect = "allow"
write = ["inside-workspace"]

[[rule]]
name = "no-force"
effect = "forbid"
command = "git push"
options = ["--force", "-f", "--force-with-lease", "+*"]

[[rule]]
name = "push"
effect = "allow"
command = "git push"

[[rule]]
name = "deploy"
effect = "ask"
command = "git push production"

[[rule]]
name = "secrets"
effect = "forbid"
read = [".env", "**/.ssh/*"]

[[rule]]
name = "ide"
effect = "allow"
tool = "ide::*"
""",
    "policy.toml",
)


def judge(script: str, workspace: Path) -> PolicyDecision:
    return POLICY.judge([RunScript(script)], PolicyWorkspace(workspace))


@pytest.mark.requirement("policy.whole-script")
def test_one_forbidden_command_forbids_the_whole_script(tmp_path: Path) -> None:
    judgement = judge("git status && git push --force", tmp_path)

    assert (judgement.effect, judgement.rule) == (Effect.FORBID, "no-force")
    assert str(judgement.decisive) == "forbid: git push --force (rule no-force)"


@pytest.mark.requirement("policy.whole-script")
@pytest.mark.parametrize(
    "script",
    [
        "trap 'reboot;' EXIT",
        "su -c 'reboot;'",
        "ssh host 'reboot;'",
        "watch 'reboot;'",
        "parallel 'reboot;'",
        "script -c 'reboot;'",
        "eval 'reboot;'",
    ],
)
def test_a_script_of_one_word_is_read_too(script: str, tmp_path: Path) -> None:
    rule = '[[rule]]\nname = "no"\neffect = "forbid"\ncommand = "reboot"\n'
    judgement = read_policy(rule, "policy.toml").judge(
        [RunScript(script)], PolicyWorkspace(tmp_path)
    )

    assert judgement.rule == "no"


@pytest.mark.requirement("policy.command-words")
@pytest.mark.parametrize(
    ("script", "is_meant"),
    [
        ("make clean all", True),
        ("make -j4 clean now all", True),
        ("/usr/bin/make clean all", True),
        ("make all clean", False),
        ("make clean", False),
        ("make", False),
    ],
)
def test_words_of_a_rule_that_forbids_match_in_their_order(
    script: str, tmp_path: Path, *, is_meant: bool
) -> None:
    rule = '[[rule]]\nname = "no"\neffect = "forbid"\ncommand = "make clean all"\n'
    policy = read_policy(rule, "policy.toml")
    judgement = policy.judge([RunScript(script)], PolicyWorkspace(tmp_path))

    assert (judgement.rule == "no") is is_meant


@pytest.mark.requirement("policy.strictest")
def test_a_rule_is_named_before_a_doubt_of_the_same_effect(tmp_path: Path) -> None:
    judgement = judge("unknown; git push production", tmp_path)

    assert (judgement.effect, judgement.rule) == (Effect.ASK, "deploy")


@pytest.mark.requirement("policy.strictest")
@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize(
    ("script", "rule", "effect"),
    [
        ("git push origin main", "push", Effect.ALLOW),
        ("git push production main", "deploy", Effect.ASK),
        ("git push --force production", "no-force", Effect.FORBID),
    ],
)
def test_the_strictest_rule_wins_in_any_order_of_the_file(
    script: str, rule: str, effect: Effect, order: int, tmp_path: Path
) -> None:
    policy = Policy(POLICY.rules[::order])
    judgement = policy.judge([RunScript(script)], PolicyWorkspace(tmp_path))

    assert (judgement.effect, judgement.rule) == (effect, rule)


@pytest.mark.requirement("policy.strictest")
def test_the_strictest_rule_on_a_file_wins(tmp_path: Path) -> None:
    policy = read_policy(
        "\n".join(
            f'[[rule]]\nname = "{name}"\neffect = "{effect}"\nread = ["{pattern}"]'
            for name, effect, pattern in (("f", "forbid", "*.key"), ("a", "allow", "*"))
        ),
        "p",
    )

    def rule(path: str) -> str | None:
        return policy.judge([TouchFile(Access.READ, path)], PolicyWorkspace(tmp_path)).rule

    assert (rule("a.key"), rule("a.txt")) == ("f", "a")


@pytest.mark.requirement("policy.no-such-path")
@pytest.mark.parametrize("access", list(Access))
def test_a_path_that_no_file_can_have_is_never_allowed(access: Access, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    for path in ("a\0b", ".env\0.txt", "loop/x"):
        judgement = POLICY.judge([TouchFile(access, path)], PolicyWorkspace(tmp_path))

        assert judgement.effect is not Effect.ALLOW


@pytest.mark.requirement("policy.whole-script")
@pytest.mark.parametrize(
    "script",
    [
        "git status",
        "git status --short | ls",
        "bash -lc 'git status'",
        "/usr/bin/bash -c 'git status'",
        "bash -eo pipefail -c 'git status'",
        "ls /",
        "git status > log",
        "git push -u origin main",
        "cd src && git status",
    ],
)
def test_a_script_is_allowed_if_each_command_in_it_is(script: str, tmp_path: Path) -> None:
    assert judge(script, tmp_path).effect is Effect.ALLOW


@pytest.mark.requirement("policy.no-way-around")
@pytest.mark.parametrize(
    "script",
    [
        "git push -f",
        "git push -uf origin main",
        "git push --forc",
        "git push --force-with-lease=main",
        "git push origin +main",
        "git -C elsewhere push --force",
        "/usr/bin/git push --force",
        "'gi't pu\"sh\" -\\f",
        "git \\\n push -f",
        "git status\ngit push -f",
        "echo $(git push -f)",
        "echo `git push -f`",
        'echo "$(git push -f)"',
        "cat <(git push -f)",
        "cat <<E\n$(git push -f)\nE",
        "cat <<< $(git push -f)",
        "(git push -f)",
        "{ git push -f; }",
        "if true; then git push -f; fi",
        "for x in 1; do git push -f; done",
        "case x in x) git push -f;; esac",
        "f() { git push -f; }; f",
        "! git push -f",
        "git push -f &",
        "git push -f > /dev/null 2>&1",
        "sudo git push -f",
        "sudo -u me git push -f",
        "env A=b git push -f",
        "A=b git push -f",
        "env -S 'git push -f'",
        "su -c 'git push -f' me",
        "nohup git push -f",
        "timeout 5 git push -f",
        "command git push -f",
        "xargs git push -f",
        "find . -exec git push -f {} \\;",
        "bash -c 'git push -f'",
        "bash -c \"bash -c 'git push -f'\"",
        "sh -exc 'git push -f'",
        "eval git push -f",
        "eval 'git push' -f",
        "trap 'git push -f' EXIT",
        "ssh host 'git push -f'",
        "time git push -f",
        "git > log push -f",
        "git <<E push -f\nE",
        "ls | git > log push -f",
        "bash -c -l 'git push -f'",
        "bash -x -c 'git push -f'",
        "bash -o pipefail -c 'git push -f'",
        "bash --rcfile x -c 'git push -f'",
        "bash -co pipefail 'git push -f'",
        "bash -euco pipefail 'git push -f'",
        "bash -cO extglob 'git push -f'",
        "bash -coO pipefail extglob 'git push -f'",
        "bash -c -o pipefail 'git push -f'",
        "bash -c -- 'git push -f'",
        "./bash -c 'git push -f'",
        "tar --to-command='git push -f' -xf a.tar",
        "tar -cf a.tar --checkpoint-action='exec=git push -f' x",
        "tar -I 'git push -f' -xf a.tar",
        "sort --compress-program='git push -f' x",
        "rg --pre 'git push -f' x",
        "git -c alias.x='!git push -f' x",
        "git -c core.pager='git push -f' log",
        "awk 'BEGIN{system(\"git push -f\")}'",
        "sed '1e git push -f' x",
        "find . -execdir git push -f +",
        "node -e 'x' && git push -f",
        "PATH=. git push -f",
    ],
)
def test_a_forbidden_command_is_found_wherever_it_stands(script: str, tmp_path: Path) -> None:
    judgement = judge(script, tmp_path)

    assert (judgement.effect, judgement.rule) == (Effect.FORBID, "no-force")


@pytest.mark.requirement("policy.doubt-is-asked")
@pytest.mark.parametrize(
    "script",
    [
        "git $SUB",
        "$GIT status",
        "git status $(x)",
        "GIT_PAGER=x git status",
        "PATH=/tmp; git status",
        "export PATH=/tmp; git status",
        "git() { x; }; git status",
        "./git status",
        "git status; unknown",
        "git status > $OUT",
        "git status >& ../log",
        "cd .. && git status > file",
        "git stat*",
        "git status *",
        "git -c core.pager=x status",
        "eval " * 12_000 + "git status",
        "sudo git status",
        'bash -c "$X"',
        "bash -c",
        "bash -c -l 'git status'",
        "bash -co pipefail 'git status'",
        "bash -o evil -c 'git status'",
        "bash x -c 'git status'",
        "./bash -c 'git status'",
        "A=b",
        "cd src && git status && cd /etc",
        "find . -exec git push {} +",
        "bash script.sh",
        'eval "$X"',
        "git status ((",
        "",
        "ls\0",
        "ls " + "x" * 70_000,
        "bash -c '" * 20,
    ],
)
def test_what_cannot_be_known_is_asked(script: str, tmp_path: Path) -> None:
    assert judge(script, tmp_path).effect is Effect.ASK


@pytest.mark.requirement("policy.workspace")
def test_a_write_outside_the_workspace_is_asked_also_through_a_link(tmp_path: Path) -> None:
    workspace, outside = tmp_path / "in", tmp_path / "out"
    workspace.mkdir()
    outside.mkdir()
    (workspace / "link").symlink_to(outside)

    def effect(path: str) -> tuple[Effect, str | None]:
        action = TouchFile(Access.WRITE, path)
        judgement = POLICY.judge([action], PolicyWorkspace(workspace))
        return judgement.effect, judgement.rule

    assert effect("a/b.txt") == (Effect.ALLOW, "inside")
    assert effect(str(workspace / "a")) == (Effect.ALLOW, "inside")
    assert effect("../out/x") == (Effect.ASK, "outside")
    assert effect("link/x") == (Effect.ASK, "outside")
    assert effect("/etc/passwd") == (Effect.ASK, "outside")


@pytest.mark.requirement("policy.workspace")
def test_an_allowed_command_that_names_a_path_outside_is_asked(tmp_path: Path) -> None:
    judgement = judge("git status ../elsewhere", tmp_path)

    assert (judgement.effect, judgement.rule) == (Effect.ASK, None)
    assert "it is outside the workspace" in str(judgement.decisive)
    assert judge("git status > ../log", tmp_path).rule == "outside"


@pytest.mark.requirement("policy.workspace")
def test_only_a_program_that_is_known_to_write_is_forbidden_to(tmp_path: Path) -> None:
    policy = read_policy(
        '[[rule]]\nname = "x"\neffect = "forbid"\nwrite = ["outside-workspace"]', "p"
    )

    def effect(script: str) -> Effect:
        return policy.judge([RunScript(script)], PolicyWorkspace(tmp_path)).effect

    assert effect("tee ../x") is Effect.FORBID
    assert effect("cat ../x") is Effect.ASK
    assert effect("tee x") is Effect.ASK


@pytest.mark.requirement("policy.files-and-tools")
def test_files_and_tools_have_rules_of_their_own(tmp_path: Path) -> None:
    def judged(action: TouchFile | ToolAction) -> tuple[Effect, str | None]:
        judgement = POLICY.judge([action], PolicyWorkspace(tmp_path))
        return judgement.effect, judgement.rule

    assert judged(TouchFile(Access.READ, ".env")) == (Effect.FORBID, "secrets")
    assert judged(TouchFile(Access.READ, "sub/.env")) == (Effect.FORBID, "secrets")
    assert judged(TouchFile(Access.READ, "/home/me/.ssh/id")) == (Effect.FORBID, "secrets")
    assert judged(TouchFile(Access.READ, "readme")) == (Effect.ASK, None)
    assert judged(ToolAction("ide::hover", "other")) == (Effect.ALLOW, "ide")
    assert judged(ToolAction("web::fetch", "fetch")) == (Effect.ASK, None)


@pytest.mark.requirement("policy.files-and-tools")
def test_a_tool_without_a_title_is_shown_by_its_kind(tmp_path: Path) -> None:
    judgement = POLICY.judge([ToolAction("", "fetch")], PolicyWorkspace(tmp_path))

    assert str(judgement.decisive) == "ask: fetch (no rule matches)"


@pytest.mark.requirement("policy.git-files")
@pytest.mark.parametrize(
    ("effect", "access", "written"),
    [
        ("allow", Access.WRITE, Effect.ASK),
        ("allow", Access.READ, Effect.ALLOW),
        ("forbid", Access.WRITE, Effect.FORBID),
    ],
)
def test_leave_to_write_inside_the_workspace_leaves_out_what_git_runs(
    effect: str, access: Access, written: Effect, tmp_path: Path
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "link").symlink_to(".git")
    rule = f'[[rule]]\nname = "x"\neffect = "{effect}"\n{access.value} = ["inside-workspace"%s]'
    policy, named = (read_policy(rule % more, "p") for more in ("", ', "*.git*"'))

    def effects(policy: Policy, *paths: str) -> set[Effect]:
        actions = [TouchFile(access, path) for path in paths]
        return {policy.judge([each], PolicyWorkspace(tmp_path)).effect for each in actions}

    assert effects(policy, "a.py", "git/x", ".gitignore") == {Effect(effect)}
    assert effects(policy, ".git/config", "sub/.GIT/hooks/x", "link/config") == {written}
    assert effects(policy, "../a.py") == {Effect.ASK}
    assert effects(named, ".git/config") == {Effect(effect)}


@pytest.mark.requirement("policy.workspace")
def test_the_folders_above_the_workspace_match_no_pattern(tmp_path: Path) -> None:
    workspace = tmp_path / "src" / "app"
    workspace.mkdir(parents=True)
    policy = read_policy('[[rule]]\nname = "x"\neffect = "allow"\nwrite = ["src/*"]', "p")

    def effect(path: str) -> Effect:
        return policy.judge([TouchFile(Access.WRITE, path)], PolicyWorkspace(workspace)).effect

    assert effect("src/a") is Effect.ALLOW
    assert effect("a") is Effect.ASK


@pytest.mark.requirement("policy.whole-script")
def test_reasons_list_only_the_parts_that_run_or_need_a_decision(tmp_path: Path) -> None:
    assert [*map(str, judge("git status > log", tmp_path).reasons)] == [
        "allow: git status (rule status)"
    ]
    assert Effect.ALLOW not in {each.effect for each in judge("sudo ls", tmp_path).reasons}


@pytest.mark.requirement("policy.doubt-is-asked")
def test_without_rules_everything_is_asked(tmp_path: Path) -> None:
    judgement = Policy().judge([RunScript("ls")], PolicyWorkspace(tmp_path))

    assert (judgement.effect, judgement.rule) == (Effect.ASK, None)


@pytest.mark.requirement("policy.no-way-around")
@given(st.text(alphabet="git push-f \n;&|$(){}<>'\"\\`#!=~*[]x", max_size=60))
def test_no_script_of_any_shape_crashes_or_is_allowed_by_an_odd_reading(script: str) -> None:
    judgement = POLICY.judge([RunScript(script)], PolicyWorkspace(Path("/tmp/nowhere")))

    # Every part of it that runs is then one that a rule names.
    if judgement.effect is Effect.ALLOW:
        assert all(reason.rule is not None for reason in judgement.reasons)


@pytest.mark.requirement("policy.no-way-around")
@given(st.binary(max_size=80))
def test_arbitrary_bytes_are_judged(data: bytes) -> None:
    script = data.decode("utf-8", errors="surrogateescape")

    assert POLICY.judge([RunScript(script)], PolicyWorkspace(Path("/tmp/nowhere"))).reasons
