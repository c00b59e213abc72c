"""The config file: parsing with positions, and safe changes."""

import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from tests.support.synced_files import SyncedFiles

from symposium.config.component_source import ComponentSource
from symposium.config.user_config import (
    Config,
    ConfigChangedError,
    ConfigError,
    ModEntry,
    io_reason,
    load,
    read_config,
    save,
    save_replacement,
)

SEED = """{
  // Downstream agent command (parsed as shell words)
  "agent": "npx -y @zed-industries/claude-code-acp",

  // Proxy extensions to enable
  "proxies": [
    { "name": "sparkle", "enabled": true },
    { "name": "ferris", "enabled": true }, // dependencies
    { "name": "cargo", "enabled": true }
  ],
  "theirs": [1, 2] // of another version
}
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "config.jsonc"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


def loaded(path: Path) -> Config:
    found = load(path)
    assert found is not None
    return found.config


# -- reading


@pytest.mark.requirement("config.fields")
def test_seed_config_is_read(path: Path) -> None:
    write(path, SEED)

    assert loaded(path) == Config(
        "npx -y @zed-industries/claude-code-acp",
        (ModEntry("sparkle"), ModEntry("ferris"), ModEntry("cargo")),
    )


@pytest.mark.requirement("config.fields")
def test_every_member_is_read() -> None:
    value: dict[str, Any] = {
        "agent": {"registry": "claude"},
        "proxies": [
            {"name": "x", "enabled": False, "unknown": 1},
            {"source": {"npx": {"package": "@a/b@1"}}, "kind": "mcp", "when": {"file-exists": "f"}},
            {"name": "z", "optional": False},
            {"name": "y", "source": {"url": "u"}, "origin": "recommendation"},
        ],
        "unknown": None,
    }

    npx = ComponentSource("npx", {"package": "@a/b@1"})
    assert read_config(value) == Config(
        ComponentSource("registry", "claude"),
        (
            ModEntry("x", enabled=False),
            ModEntry("b", source=npx, kind="mcp", when={"file-exists": "f"}),
            ModEntry("z", optional=False),
            ModEntry("y", source=ComponentSource("url", "u"), origin="recommendation"),
        ),
    )


@pytest.mark.requirement("config.needs")
def test_requires_and_provides_are_read_saved_and_compared(path: Path) -> None:
    needs = {"requires": ["a"], "provides": ["b", "c"]}
    value = {"agent": "x", "proxies": [{"name": "y", "kind": "adapter", **needs}]}

    config = read_config(value)

    expected = ModEntry("y", kind="adapter", requires=("a",), provides=("b", "c"))
    assert config.mods == (expected,)
    save(path, config, None)
    loaded = load(path)
    assert loaded is not None
    assert loaded.config == config
    assert config.key() != config.with_mods(ModEntry("y", kind="adapter")).key()


@pytest.mark.requirement("config.mods-alias")
def test_mods_is_an_alias_of_proxies() -> None:
    assert read_config({"agent": "x", "mods": [{"name": "a"}]}).mods == (ModEntry("a"),)
    with pytest.raises(ConfigError) as caught:
        read_config({"agent": "x", "mods": [], "proxies": []})
    assert str(caught.value) == "`proxies` and `mods` name one list; keep one of them"
    with pytest.raises(ConfigError) as caught:
        read_config([])
    assert caught.value.message == "the config is not an object"


@pytest.mark.requirement("config.missing")
def test_missing_file_is_no_config(path: Path) -> None:
    assert load(path) is None


KINDS = "binary, builtin, cargo, http, local, npx, pipx, python, registry, sse, url, uvx"
ENTRY = 'write an object such as { "name": "ferris", "enabled": true }'
IN_SOURCE = (
    'write { "name": "mine", "source": { "local": { "command": "python", "args": ["mine.py"] } } }'
)


@pytest.mark.requirement("config.missing", "config.errors-have-places")
@pytest.mark.parametrize(
    ("text", "place", "message", "hint"),
    [
        ("", ":1:1", "expected a value, but the file ends", ""),
        ('{\n  "agent" "x"\n}', ":2:11", "expected `:` after the key 'agent'", ""),
        (
            "[]",
            ":1:1",
            "the config is not an object",
            'write { "agent": "command of your agent", "proxies": [] }',
        ),
        (
            '{\n "proxies": []}',
            ":1:1",
            "`agent` is missing",
            'write "agent": "command of your agent"',
        ),
        (
            '{"agent": 1}',
            ":1:11",
            "`agent` is neither a string nor an object",
            'write "agent": "command of your agent"',
        ),
        ('{"agent": "x",\n "mods": {}}', ":2:10", "`mods` is not a list", 'write "mods": []'),
        (
            '{"agent": "x",\n "mods": [],\n "proxies": []}',
            ":2:10",
            "`proxies` and `mods` name one list",
            "keep one of them",
        ),
        ('{"agent": "x", "proxies": [\n  "a"]}', ":2:3", "proxies[0]: not an object", ENTRY),
        ('{"agent": "x", "proxies": [\n  {}]}', ":2:3", "proxies[0]: `name` is missing", ENTRY),
        ('{"agent": "x", "mods": [{"name":\n ""}]}', ":2:2", "mods[0]: `name` is missing", ENTRY),
        (
            '{"agent": "x", "mods": [{"name": "a",\n "enabled": 1}]}',
            ":2:13",
            "mods[0].enabled: wrong value",
            "write true or false",
        ),
        (
            '{"agent": "x", "mods": [{"name": "a",\n "kind": "MCP"}]}',
            ":2:10",
            "mods[0].kind: wrong value",
            'write "proxy", "mcp" or "adapter"',
        ),
        (
            '{"agent": "x", "mods": [{"name": "a",\n "requires": "b"}]}',
            ":2:14",
            "mods[0].requires: wrong value",
            'write a list of names, such as ["ide_operations"]',
        ),
        (
            '{"agent": "x", "mods": [{"name": "a",\n "provides": [1]}]}',
            ":2:14",
            "mods[0].provides: wrong value",
            'write a list of names, such as ["ide_operations"]',
        ),
        (
            '{"agent": "x", "mods": [{"name": "a", "kind": "mcp",\n "requires": ["b"]}]}',
            ":2:14",
            "mods[0].requires: an MCP server has no place in the chain",
            'leave it out, or write "kind": "proxy"',
        ),
        (
            '{"agent": "x", "mods": [{"name": "a", "kind": "mcp",\n "provides": ["b"]}]}',
            ":2:14",
            "mods[0].provides: an MCP server has no place in the chain",
            'leave it out, or write "kind": "proxy"',
        ),
        (
            '{"agent": "x", "mods": [{"source": {"url": "u"},\n "kind": "adapter"}]}',
            ":2:10",
            "mods[0]: an adapter provides nothing",
            'write "provides": ["name of a primitive"]',
        ),
        (
            '{"agent": "x", "mods": [{"name": "a",\n "origin": 1}]}',
            ":2:12",
            "mods[0].origin: wrong value",
            "write a string",
        ),
        (
            '{"agent": "x", "mods": [{"name": "a",\n "command": "y"}]}',
            ":2:13",
            "mods[0]: `command` belongs in `source`",
            IN_SOURCE,
        ),
        (
            '{"agent": "x", "mods": [{"name": "a",\n "optional": 1}]}',
            ":2:14",
            "mods[0].optional: wrong value",
            "write true or false",
        ),
        (
            '{"agent":\n {"brew": "x"}}',
            ":2:2",
            "agent: unknown source 'brew'",
            f"known are {KINDS}",
        ),
        (
            '{"agent": {"local":\n {"command": "x",\n "args": 1}}}',
            ":3:10",
            "agent.local.args: not a list of strings",
            "write a list of strings",
        ),
    ],
)
def test_error_names_file_line_and_column(
    path: Path, text: str, place: str, message: str, hint: str
) -> None:
    write(path, text)

    with pytest.raises(ConfigError) as caught:
        load(path)

    assert (caught.value.message, caught.value.hint) == (f"{path}{place}: {message}", hint)


@pytest.mark.requirement("config.missing")
def test_binary_file_or_directory_is_an_error(path: Path) -> None:
    write(path, "")
    path.write_bytes(b'{"agent": "\xff"}')
    hint = "fix its permissions, or its encoding (UTF-8)"
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert str(caught.value) == f"cannot read {path}: it is not UTF-8; {hint}"

    folder = path.parent
    with pytest.raises(ConfigError) as caught:
        load(folder)
    assert str(caught.value) == f"cannot read {folder}: Is a directory ({folder}); {hint}"


# -- equality


ALIKE: list[tuple[dict[str, Any], ...]] = [
    ({"agent": "a  'b c'"}, {"agent": 'a "b c"', "proxies": []}),
    ({"agent": "A=1 B=2 a"}, {"agent": "B=2 A=1 a"}),
    ({"agent": {"npx": {"package": "p", "args": []}}},) * 2,
    (
        {"agent": {"npx": {"package": "p", "env": {"A": "1", "B": "2"}}}},
        {"agent": {"npx": {"env": {"B": "2", "A": "1"}, "package": "p"}}},
    ),
    (
        {"agent": "a", "mods": [{"name": "x", "when": {"any": []}}]},
        {"proxies": [{"enabled": True, "name": "x", "kind": "proxy"}], "agent": "a"},
    ),
    ({"agent": "a 'b"}, {"agent": "a 'b"}),
]


@pytest.mark.requirement("config.equality")
@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_equivalent_configs_have_the_same_key(one: Any, other: Any) -> None:
    assert read_config(one).key() == read_config(other).key()


@pytest.mark.requirement("config.equality")
def test_configs_with_other_agent_order_or_flags_have_different_keys() -> None:
    on, off = {"name": "x"}, {"name": "x", "enabled": False}
    other = {"name": "y"}
    values: list[Any] = [
        {"agent": "a"},
        {"agent": "a b"},
        {"agent": "a 'b"},
        {"agent": "a 'c"},
        {"agent": {"registry": "a"}},
        {"agent": "a", "mods": [on]},
        {"agent": "a", "mods": [off]},
        {"agent": "a", "mods": [on, other]},
        {"agent": "a", "mods": [other, on]},
        {"agent": "a", "mods": [{**on, "kind": "mcp"}]},
        {"agent": "a", "mods": [{**on, "optional": True}]},
        {"agent": "a", "mods": [{**on, "source": {"url": "u"}}]},
    ]

    assert len({read_config(value).key() for value in values}) == len(values)


# -- saving

NAMES = st.text("abc", min_size=1, max_size=2)
SOURCES = st.none() | st.sampled_from(
    [
        ComponentSource("builtin", "x"),
        ComponentSource("npx", {"package": "p", "args": ["--acp"]}),
        ComponentSource("http", {"name": "web", "url": "u", "headers": []}),
    ]
)
ENTRIES = st.builds(
    ModEntry,
    NAMES,
    st.booleans(),
    SOURCES,
    st.sampled_from(["proxy", "mcp"]),
    st.none() | st.just({"file-exists": "f"}),
    st.none() | st.just("recommendation"),
    st.none() | st.booleans(),
)
AGENTS = st.text(max_size=5) | st.builds(ComponentSource, st.just("registry"), NAMES)
CONFIGS = st.builds(Config, AGENTS, st.lists(ENTRIES, max_size=4).map(tuple))


@pytest.mark.requirement("config.save-round-trip")
@given(first=CONFIGS, second=CONFIGS)
def test_saved_config_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, first: Config, second: Config
) -> None:
    path = tmp_path_factory.mktemp("home") / "config.jsonc"

    text = save(path, first, None)
    assert loaded(path) == first
    text = save(path, second, text)
    assert loaded(path) == second
    assert path.read_bytes().decode() == text


@pytest.mark.requirement("config.save-changes-only")
def test_save_changes_differences_and_keeps_the_rest(path: Path) -> None:
    write(path, SEED)
    config = loaded(path)
    sparkle, ferris, cargo = config.mods
    changed = Config("eliza", (cargo, ModEntry("ferris", enabled=False), sparkle))

    save(path, changed, SEED)

    assert path.read_text() == SEED.replace(
        '"npx -y @zed-industries/claude-code-acp"', '"eliza"'
    ).replace(
        """    { "name": "sparkle", "enabled": true },
    { "name": "ferris", "enabled": true }, // dependencies
    { "name": "cargo", "enabled": true }
""",
        """    { "name": "cargo", "enabled": true },
    { "name": "ferris", "enabled": false }, // dependencies
    { "name": "sparkle", "enabled": true }
""",
    )
    assert ferris.enabled
    assert path.with_name("config.jsonc.bak").read_text() == SEED


@pytest.mark.requirement("config.save-changes-only")
@pytest.mark.parametrize(
    "text",
    [
        SEED,
        '\ufeff{"agent": "x"}',
        '{"agent": {"cargo": "x"}, "mods": [{"source": {"cargo": "y"}, "more": 1}]}\r\n',
    ],
)
def test_saving_an_unchanged_config_changes_nothing(path: Path, text: str) -> None:
    write(path, text)

    assert save(path, loaded(path), text) == text
    assert path.read_bytes().decode() == text
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.requirement("config.save-changes-only")
def test_only_the_changed_member_of_an_entry_is_written(path: Path) -> None:
    text = '{"agent": "x", "mods": [{"source": {"cargo": "y"}, "when": {"all": []}, "more": 1}]}'
    write(path, text)
    (entry,) = loaded(path).mods
    changed = ModEntry(entry.name, enabled=False, source=entry.source)

    save(path, Config("x", (changed,)), text)

    assert path.read_text() == (
        '{"agent": "x", "mods": [{"source": {"cargo": "y"}, "more": 1, "enabled": false}]}'
    )


@pytest.mark.requirement("config.save-private")
def test_new_config_is_private(path: Path) -> None:
    save(path, Config("x", (ModEntry("ferris"),)), None)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.requirement("config.save-private")
def test_save_keeps_mode_and_link(path: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "symposium.jsonc"
    write(real, SEED)
    real.chmod(0o640)
    path.parent.mkdir()
    path.symlink_to(real)

    save(path, Config("y"), SEED)

    assert path.is_symlink()
    assert '"agent": "y"' in real.read_text()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


AGAIN = "read it again, then change it"
UNCHANGED = "nothing was changed; fix its permissions, or those of its directory"


@pytest.mark.requirement("config.save-changed")
@pytest.mark.parametrize("now", ['{"agent": "z"}', None, "{ broken"])
def test_changed_file_is_not_overwritten(path: Path, now: str | None) -> None:
    write(path, SEED)
    config = loaded(path)
    path.unlink()
    if now is not None:
        write(path, now)

    with pytest.raises(ConfigChangedError) as caught:
        save(path, config, SEED)

    assert str(caught.value) == f"{path} was changed since it was read; {AGAIN}"
    assert (path.read_text() if path.exists() else None) == now


@pytest.mark.requirement("config.save-changed")
def test_newly_created_file_is_not_overwritten(path: Path) -> None:
    write(path, SEED)

    with pytest.raises(ConfigChangedError):
        save(path, Config("x"), None)

    assert path.read_text() == SEED


@pytest.mark.requirement("config.save-private", "config.save-unreadable")
def test_replaced_broken_config_is_backed_up(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = SyncedFiles(monkeypatch)
    kept: list[str] = []
    for content in (b"{ broken", b"{ broken again", b"{ broken"):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        kept.append(save_replacement(path, Config("x"), content).name)

    assert kept == ["config.jsonc.broken", "config.jsonc.broken-2", "config.jsonc.broken"]
    assert path.with_name(kept[1]).read_bytes() == b"{ broken again"
    assert path.with_name(kept[1]).stat().st_mode & 0o077 == 0
    assert loaded(path) == Config("x")
    assert synced.lost(path.parent) == []


@pytest.mark.requirement("config.save-changed")
def test_changed_broken_config_is_not_replaced(path: Path) -> None:
    write(path, "{ broken")

    with pytest.raises(ConfigChangedError) as caught:
        save_replacement(path, Config("x"), b"{")

    assert str(caught.value) == f"{path} was changed since it was read; {AGAIN}"
    assert [each.name for each in path.parent.iterdir()] == [path.name]


@pytest.mark.requirement("config.save-read-only")
def test_broken_config_that_is_read_only_is_not_replaced(path: Path) -> None:
    write(path, "{ broken")
    path.chmod(0o400)
    with pytest.raises(ConfigError) as caught:
        save_replacement(path, Config("x"), b"{ broken")

    assert str(caught.value) == f"cannot replace {path}: it is read-only ({path}); {UNCHANGED}"
    assert path.read_text() == "{ broken"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.requirement("config.save-read-only")
def test_error_names_the_config_that_cannot_be_replaced(path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        save_replacement(path, Config("x"), None)
    reason = f"No such file or directory ({path})"
    assert str(caught.value) == f"cannot replace {path}: {reason}; {UNCHANGED}"


@pytest.mark.requirement("config.save-unreadable")
@pytest.mark.parametrize("text", ["{ broken", "[]", '{"agent": 1}', ""])
def test_invalid_config_is_not_overwritten(path: Path, text: str) -> None:
    write(path, text)

    with pytest.raises(ConfigError):
        save(path, Config("x"), text)

    assert path.read_text() == text
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.requirement("config.save-unreadable")
def test_invalid_new_config_is_not_written(path: Path) -> None:
    write(path, SEED)

    with pytest.raises(ConfigError, match="half a character"):
        save(path, Config("\ud800"), SEED)

    assert path.read_text() == SEED


@pytest.mark.requirement("config.save-read-only")
@pytest.mark.parametrize("is_directory", [False, True])
def test_read_only_config_is_unchanged(path: Path, *, is_directory: bool) -> None:
    write(path, SEED)
    marked = path.parent if is_directory else path
    mode = stat.S_IMODE(marked.stat().st_mode)
    marked.chmod(mode & ~0o222)
    try:
        with pytest.raises(ConfigError) as caught:
            save(path, Config("x"), SEED)
    finally:
        marked.chmod(mode)

    assert str(caught.value) == f"cannot write {path}: it is read-only ({marked}); {UNCHANGED}"
    assert path.read_text() == SEED
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.requirement("config.save-read-only")
def test_failed_creation_of_the_directory_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    file = tmp_path / "file" / "config.jsonc"
    with pytest.raises(ConfigError) as caught:
        save(file, Config("x"), None)
    assert str(caught.value) == f"cannot write {file}: Not a directory ({file}); {UNCHANGED}"


KILLED_SAVE = """
import os, signal, sys
from pathlib import Path
from symposium.config.user_config import Config, load, save

path, deadly, steps = Path(sys.argv[1]), int(sys.argv[2]), []
seen = load(path)

def step(event, *rest):
    if event in {"open", "os.mkdir", "os.chmod", "os.rename", "os.remove", "fsync"}:
        steps.append(event)
        if len(steps) == deadly:
            os.kill(os.getpid(), signal.SIGKILL)

def watched(handle, fsync=os.fsync):
    step("fsync")
    fsync(handle)

os.fsync = watched
sys.addaudithook(step)
save(path, Config("changed", seen.config.mods), seen.text)
print(*steps)
"""
"""Program that saves, and is killed before its n-th step that changes the disk."""


def save_and_kill(path: Path, deadly: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", KILLED_SAVE, str(path), str(deadly)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.requirement("config.save-atomic")
@pytest.mark.chaos
@pytest.mark.timeout(240)
def test_kill_during_a_save_leaves_a_complete_file(path: Path) -> None:
    after, deadly = SEED.replace("npx -y @zed-industries/claude-code-acp", "changed"), 0
    done, texts = None, list[str]()
    while done is None or done.returncode:
        write(path, SEED)
        deadly += 1
        done = save_and_kill(path, deadly)
        assert done.returncode in {0, -signal.SIGKILL}, done.stderr
        texts.append(path.read_text())

    steps = done.stdout.split()
    assert texts == [SEED] * texts.index(after) + [after] * texts.count(after)
    assert len(steps) == deadly - 1
    # Sync before renaming, or a power cut leaves an empty file.
    last = len(steps) - 1 - steps[::-1].index("os.rename")
    assert steps[:last].count("fsync") > steps[:last].count("os.rename")
    assert "fsync" in steps[last:]


@pytest.mark.requirement("config.fields")
def test_empty_name_of_a_primitive_is_an_error() -> None:
    entry = {"name": "a", "source": {"builtin": "a"}, "requires": [""]}

    with pytest.raises(ConfigError, match=r"requires.* a list of names"):
        read_config({"agent": "x", "mods": [entry]})


@pytest.mark.requirement("config.save-changes-only")
def test_mods_with_the_same_name_keep_their_unknown_members(path: Path) -> None:
    write(path, '{"agent": "x", "mods": [{"name": "a", "mine": 1}, {"name": "a", "mine": 2}]}')
    found = load(path)
    assert found is not None

    text = save(path, structs.replace(found.config, agent="y"), found.text)

    assert text == ('{"agent": "y", "mods": [{"name": "a", "mine": 1}, {"name": "a", "mine": 2}]}')


@pytest.mark.requirement("config.save-changes-only")
def test_system_error_is_explained() -> None:
    assert io_reason(OSError(5, "Input/output error")) == "Input/output error"
    assert io_reason(OSError(5, "Input/output error", "/x")) == "Input/output error (/x)"
    assert io_reason(OSError("odd")) == "odd"
