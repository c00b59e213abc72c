"""Set-up files of many tools: read, shown, and run after the user agrees once."""

import asyncio
import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.task_harness import AskedTrust, EngineOptions, Scene, git, open_scene, there

from symposium.tasks import setup_steps
from symposium.tasks.engine_context import NoAgents
from symposium.tasks.events import Said
from symposium.tasks.model import Taskspace, TaskState
from symposium.tasks.recipe import Guess, Recipe, SetUpRecipe
from symposium.tasks.recipe_files import FORMATS, MAX_BYTES, UnreadableError, read_set_up
from symposium.tasks.setup_steps import run_commands
from symposium.tasks.tables import SPACING

SAMPLES = [
    (
        ".symposium/workspace.toml",
        (
            'copy = [".env"]\nlink = ["data"]\nsetup = "make"\nrun = "serve"\n'
            'check = ["make test", " "]\nteardown = ["make down"]\n'
            'ports = 3\nodd = 1\n[env]\nMODE = "dev"\n'
        ),
        Recipe(
            ".symposium/workspace.toml",
            copy=(".env",),
            link=("data",),
            setup=("make",),
            run=("serve",),
            check=("make test",),
            teardown=("make down",),
            env={"MODE": "dev"},
            ports=3,
            notes=("unknown key `odd`",),
        ),
    ),
    (
        ".worktreeinclude",
        "# secrets\n.env\n\n!.env.example\nconfig/*.local\n",
        Recipe(".worktreeinclude", copy=(".env", "!.env.example", "config/*.local")),
    ),
    (
        ".cursor/worktrees.json",
        '{"setup-worktree": ["npm ci", "cp $ROOT_WORKTREE_PATH/.env .env"]}',
        Recipe(".cursor/worktrees.json", setup=("npm ci", "cp $ROOT_WORKTREE_PATH/.env .env")),
    ),
    (
        ".cursor/worktrees.json",
        '{"setup-worktree-unix": "set up.sh", "setup-worktree": ["other"]} // why',
        Recipe(".cursor/worktrees.json", setup=("sh .cursor/'set up.sh'",)),
    ),
    (
        ".codex/environments/environment.toml",
        (
            'version = 1\n[setup]\nscript = "npm i\\nnpm run build"\n'
            '[cleanup]\nscript = "rm -rf x"\n'
            '[[actions]]\nname = "Run"\ncommand = "npm start"\n'
        ),
        Recipe(
            ".codex/environments/environment.toml",
            setup=("npm i\nnpm run build",),
            teardown=("rm -rf x",),
            run=("npm start",),
        ),
    ),
    (
        ".conductor/settings.toml",
        (
            '[scripts]\nsetup = "pnpm i"\nrun = "pnpm dev"\narchive = "./down.sh"\n'
            '[files]\ncopy = [".env"]\n'
        ),
        Recipe(
            ".conductor/settings.toml",
            setup=("pnpm i",),
            run=("pnpm dev",),
            teardown=("./down.sh",),
            copy=(".env",),
        ),
    ),
    (
        "conductor.json",
        '{"scripts": {"setup": "npm install", "run": "npm run dev"}}',
        Recipe("conductor.json", setup=("npm install",), run=("npm run dev",)),
    ),
    (
        ".config/wt.toml",
        (
            'post-create = "npm ci"\npre-start = "make"\npost-start = "npm run dev"\n'
            'pre-merge = "npm test"\npost-switch = "x"\npre-commit = "y"\n'
            '[pre-remove]\na = "one"\nb = "two"\n'
        ),
        Recipe(
            ".config/wt.toml",
            setup=("npm ci", "make"),
            run=("npm run dev",),
            check=("npm test",),
            teardown=("one", "two"),
            notes=("post-switch is not run", "pre-commit is not run"),
        ),
    ),
    (
        ".devcontainer/devcontainer.json",
        (
            '{// a comment\n"image": "x", "build": {}, "features": {},'
            '"onCreateCommand": {"a": "one", "b": ["two", "it\'s"]},'
            '"updateContentCommand": "update", "postCreateCommand": "three",}'
        ),
        Recipe(
            ".devcontainer/devcontainer.json",
            setup=("one", "two 'it'\"'\"'s'", "update", "three"),
            notes=tuple(f"{key} is for containers" for key in ("image", "build", "features")),
        ),
    ),
]


@pytest.mark.requirement("taskspaces.set-up-formats")
@pytest.mark.parametrize(("source", "text", "recipe"), SAMPLES)
def test_each_format_is_read(source: str, text: str, recipe: Recipe) -> None:
    assert FORMATS[source](source, text) == recipe


@pytest.mark.requirement("taskspaces.set-up-formats")
def test_every_format_has_a_sample() -> None:
    assert {source for source, _, _ in SAMPLES} == FORMATS.keys()


@pytest.mark.requirement("taskspaces.set-up-broken")
@pytest.mark.parametrize("source", FORMATS)
@given(text=st.text() | st.recursive(st.text(), st.lists).map(repr))
def test_any_text_is_parsed_or_refused(source: str, text: str) -> None:
    try:
        recipe = FORMATS[source](source, text)
    except UnreadableError:
        return
    assert recipe.source == source


@pytest.mark.requirement("taskspaces.set-up-broken")
def test_unreadable_file_is_reported_and_the_rest_is_read(tmp_path: Path) -> None:
    (tmp_path / "conductor.json").write_text("{", encoding="utf-8")
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".cursor/worktrees.json").write_text('{"setup-worktree": [1]}', encoding="utf-8")
    (tmp_path / ".worktreeinclude").symlink_to("/etc/passwd")
    (tmp_path / ".config").symlink_to("/etc")
    (tmp_path / ".devcontainer").mkdir()
    os.mkfifo(tmp_path / ".devcontainer/devcontainer.json")
    (tmp_path / ".conductor").mkdir()
    (tmp_path / ".conductor/settings.toml").write_bytes(b"#" * (MAX_BYTES + 1))
    (tmp_path / ".codex/environments").mkdir(parents=True)
    (tmp_path / ".codex/environments/environment.toml").write_bytes(b"a = '\xff'")
    (tmp_path / ".symposium").mkdir()
    (tmp_path / ".symposium/workspace.toml").write_text(f"ports = {SPACING + 1}", encoding="utf-8")
    (tmp_path / "uv.lock").touch()

    found = read_set_up(tmp_path, tmp_path)

    assert found.recipes == ()
    linked = "it is a link, or in a linked folder; links are not followed"
    commands = "`setup-worktree` must be a command, or a list of commands"
    assert found.broken[:-1] == (
        f".worktreeinclude: {linked}",
        ".codex/environments/environment.toml: not valid UTF-8",
        f".conductor/settings.toml: larger than {MAX_BYTES} bytes",
        f".config/wt.toml: {linked}",
        f".symposium/workspace.toml: `ports` must be a number from 1 to {SPACING}",
        f".cursor/worktrees.json: {commands}",
    )
    assert found.broken[-1].startswith("conductor.json: ")
    assert found.guesses == (Guess("uv.lock", "uv sync"),)


@pytest.mark.requirement("taskspaces.set-up-broken")
@pytest.mark.parametrize("source", FORMATS)
@pytest.mark.parametrize(
    "text",
    ["a = " + "[" * 100_000, '{"a":' * 100_000, "a." * 100_000 + "b = 1", "[a" + ".a" * 201 + "]"],
)
def test_hostile_nesting_is_refused_at_once(source: str, text: str) -> None:
    if source != ".worktreeinclude":
        with pytest.raises(UnreadableError):
            FORMATS[source](source, text)


@pytest.mark.requirement("taskspaces.set-up-broken")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('teardown = "a\\u0000b"', r"'a\x00b' has a NUL character"),
        ('[env]\nA = "a\\u0000b"', r"'A=a\x00b' has a NUL character"),
        ('[env]\n"A=B" = "c"', "'A=B' is not a name of a variable"),
        ('[env]\n"" = "c"', "'' is not a name of a variable"),
        ("check = 5", "`check` must be a command, or a list of commands"),
        ("teardown = [5]", "`teardown` must be a command, or a list of commands"),
        ("copy = true", "expected a list of strings"),
        ("ports = 0", "`ports` must be a number from 1 to 10"),
        ("ports = 11", "`ports` must be a number from 1 to 10"),
    ],
)
def test_text_that_no_program_accepts_is_refused(text: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / ".symposium").mkdir()
    (tmp_path / ".symposium/workspace.toml").write_text(text, encoding="utf-8")

    found = read_set_up(tmp_path, tmp_path)

    assert found == SetUpRecipe(broken=(f".symposium/workspace.toml: {reason}",))


@pytest.mark.requirement("taskspaces.set-up-formats")
def test_key_of_many_parts_and_hooks_in_lists_are_read() -> None:
    text = "[a" + ".a" * 200 + "]"
    assert FORMATS[".config/wt.toml"](".config/wt.toml", text) == Recipe(".config/wt.toml")
    assert FORMATS[".config/wt.toml"]("x", 'post-create = ["a", ["b", " "]]').setup == ("a", "b")


@pytest.mark.requirement("taskspaces.set-up-formats")
def test_legacy_file_is_used_only_without_its_successor(tmp_path: Path) -> None:
    (tmp_path / ".conductor").mkdir()
    (tmp_path / ".conductor/settings.toml").write_text('[scripts]\nsetup="new"', encoding="utf-8")
    (tmp_path / "conductor.json").write_text('{"scripts":{"setup":"old"}}', encoding="utf-8")

    assert read_set_up(tmp_path, tmp_path).all_of("setup") == ("new",)


@pytest.mark.requirement("taskspaces.set-up-trust")
def test_digest_changes_with_every_part_of_a_recipe() -> None:
    recipes = [
        Recipe("a", setup=("x",)),
        Recipe("a", check=("x",)),
        Recipe("a", copy=("x",)),
        Recipe("a", setup=("x", "y")),
        Recipe("b", setup=("x",)),
        Recipe("a", env={"x": "y"}, setup=("x",)),
    ]

    assert len({SetUpRecipe((each,)).digest for each in recipes}) == len(recipes)


def put(scene: Scene, files: dict[str, str]) -> None:
    """Write files to the user's checkout without a commit."""
    for name, text in files.items():
        path = scene.clone / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@pytest.mark.requirement("taskspaces.set-up-done", "taskspaces.set-up-trust")
async def test_trusted_files_are_copied_and_commands_run_in_order(
    place: Path,
) -> None:
    trust = AskedTrust()
    scene = open_scene(place, EngineOptions(trust=trust))
    put(
        scene,
        {
            ".env": "SECRET=1",
            "secret/key": "k",
            "data/big": "b",
            ".worktreeinclude": ".env\n/secret/\nREADME.md\n",
            ".symposium/workspace.toml": 'link=["data"]\nsetup=["cat .env > seen", '
            '"echo $SYMPOSIUM_PORT $MODE $CODEX_SOURCE_TREE_PATH >> seen"]\n[env]\nMODE="dev"\n',
        },
    )

    made = await scene.make()
    again = await scene.make()

    scene.engine.close()
    worktree = Path(made.worktree)
    assert made.ports is not None
    assert (worktree / "secret/key").read_text(encoding="utf-8") == "k"
    assert (worktree / "data").readlink() == scene.clone / "data"
    seen = (worktree / "seen").read_text(encoding="utf-8")
    assert seen == f"SECRET=1{made.ports.first} dev {scene.clone}\n"
    assert next(event.line for event in scene.events if isinstance(event, Said)).startswith("$ cat")
    assert len({digest for _, digest, _ in trust.asked}) == 1
    assert "copy: .env" in trust.asked[0][2]
    assert again.standing is TaskState.READY


@pytest.mark.requirement("taskspaces.set-up-trust")
async def test_task_without_trust_is_ready_with_nothing_copied_or_run(
    place: Path,
) -> None:
    scene = open_scene(place, EngineOptions(trust=AskedTrust(answer=False)))
    put(
        scene,
        {
            ".env": "x",
            ".worktreeinclude": ".env",
            "conductor.json": '{"scripts":{"setup":"touch ran"}}',
        },
    )

    made = await scene.make()

    scene.engine.close()
    assert made.standing is TaskState.READY
    assert "not trusted" in made.reason
    assert not there(f"{made.worktree}/.env")
    assert not there(f"{made.worktree}/ran")


class StartedAgents(NoAgents):
    """Counts the starts of agents."""

    starts = 0

    async def start(self, taskspace: Taskspace, env: Mapping[str, str]) -> None:
        del taskspace, env
        self.starts += 1


@pytest.mark.requirement("taskspaces.set-up-trust", "tasks.trust-first")
async def test_refusal_applies_only_to_the_recipe_that_was_shown(place: Path) -> None:
    agents = StartedAgents()
    scene = open_scene(place, EngineOptions(trust=AskedTrust(answer=False), agents=agents))
    put(scene, {"conductor.json": '{"scripts":{"setup":"touch ran"}}'})
    made = await scene.make()
    digest = (await scene.engine.recipe(made.id)).digest
    file = Path(made.worktree) / "conductor.json"
    file.write_text('{"scripts":{"setup":"touch stolen"}}', encoding="utf-8")
    changed = await scene.engine.retry(made.id, declined=digest)
    was_resumed = await scene.engine.resume(made.id)
    before = agents.starts
    file.write_text('{"scripts":{"setup":"touch ran"}}', encoding="utf-8")
    declined = await scene.engine.retry(made.id, declined=digest)

    scene.engine.close()
    assert ("not trusted" in changed.reason, was_resumed, before) == (True, False, 0)
    assert (declined.reason, agents.starts) == (
        "continues without what its set-up files ask for",
        1,
    )
    assert not there(f"{made.worktree}/ran")


@pytest.mark.requirement("taskspaces.set-up-trust")
def test_one_command_never_has_the_digest_of_two() -> None:
    two = SetUpRecipe((Recipe("conductor.json", setup=("a", "b")),))
    one = SetUpRecipe((Recipe("conductor.json", setup=("a\nconductor.json\0setup\0b",)),))

    assert one.digest != two.digest


@pytest.mark.requirement("taskspaces.set-up-failed")
async def test_failed_command_keeps_the_worktree_and_can_be_retried(scene: Scene) -> None:
    put(scene, {".symposium/workspace.toml": 'setup=["echo one; exit 3", "touch ran"]'})

    failed = await scene.make()
    put(scene, {".symposium/workspace.toml": 'setup=["touch ran"]'})
    again = await scene.engine.retry(failed.id)

    assert failed.standing is TaskState.SETUP_FAILED
    assert "exit code 3" in failed.reason
    assert (again.standing, again.reason) == (TaskState.READY, "")
    assert there(f"{failed.worktree}/ran")
    assert git("branch", "--show-current", cwd=Path(failed.worktree)) == failed.branch


@pytest.mark.requirement("taskspaces.set-up-inside")
@pytest.mark.parametrize("name", ["../x", "/etc/passwd", ".git/config", "a/../../x", ""])
async def test_path_outside_the_clone_is_refused(name: str, scene: Scene) -> None:
    put(scene, {".symposium/workspace.toml": f'link=["{name}"]'})

    made = await scene.make()

    assert made.standing is TaskState.SETUP_FAILED
    assert "is outside of" in made.reason


@pytest.mark.requirement("taskspaces.set-up-inside")
async def test_file_is_not_copied_through_a_link_of_the_worktree(scene: Scene) -> None:
    (scene.upstream / "out").symlink_to(scene.root / "victim")
    (scene.root / "victim").mkdir()
    git("add", "-A", cwd=scene.upstream)
    git("commit", "-qm", "link", cwd=scene.upstream)
    put(scene, {"out/file.log": "x", ".worktreeinclude": "*.log"})

    made = await scene.make()

    assert made.standing is TaskState.SETUP_FAILED
    assert "behind the link" in made.reason
    assert list((scene.root / "victim").iterdir()) == []


@pytest.mark.requirement("taskspaces.set-up-guesses")
async def test_guesses_are_shown_and_never_run(scene: Scene) -> None:
    put(scene, {})
    (scene.upstream / "package-lock.json").write_text("{}", encoding="utf-8")
    git("add", "-A", cwd=scene.upstream)
    git("commit", "-qm", "lock", cwd=scene.upstream)

    made = await scene.make()
    recipe = await scene.engine.recipe(made.id)

    assert recipe.guesses == (Guess("package-lock.json", "npm ci"),)
    assert recipe.recipes == ()
    assert not [event for event in scene.events if isinstance(event, Said)]


@pytest.mark.requirement("taskspaces.set-up-done")
@pytest.mark.parametrize("command", ["setsid sleep 30 & echo $!", "sleep 30 & echo $!"])
async def test_background_process_of_a_command_is_not_awaited(command: str, tmp_path: Path) -> None:
    said: list[str] = []
    env = {"PATH": os.environ["PATH"]}
    async with asyncio.timeout(45):
        failure = await run_commands([command, "yes | head -100000"], tmp_path, env, said.append)
    with suppress(ProcessLookupError):
        os.kill(int(said[1]), signal.SIGKILL)

    assert failure is None
    assert said.count("y") == 100_000


@pytest.mark.requirement("taskspaces.set-up-done")
async def test_endless_command_with_much_output_times_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setup_steps, "COMMAND_TIMEOUT", 0.2)
    async with asyncio.timeout(45):
        failure = await run_commands(["yes"], tmp_path, {"PATH": os.environ["PATH"]}, print)

    assert failure is not None
    assert "timed out after" in failure.text


@pytest.mark.requirement("taskspaces.set-up-formats")
def test_highest_number_of_ports_counts() -> None:
    files = tuple(Recipe(str(count), ports=count) for count in (2, 7, None, 5))

    assert SetUpRecipe(files).ports == 7
    assert SetUpRecipe(files[2:3]).ports is None
