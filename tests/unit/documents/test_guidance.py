"""Layers of guidance, trust, and reloading."""

import os
from pathlib import Path

import pytest

from symposium.documents.guidance import (
    FIRST,
    MAX_TEXTS,
    GuidanceChange,
    GuidanceLibrary,
    library_for,
    places_for,
    project_items,
)
from symposium.permissions.trust_store import TrustStore
from symposium.permissions.trusted_content import MAX_BYTES


class Scene:
    """A home with layers, and a checkout in it."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.checkout = root / "checkout"
        self.inside = self.checkout / "src" / "deep"
        self.inside.mkdir(parents=True)
        (self.checkout / ".git").mkdir()
        self.library = library_for(self.inside, {"HOME": str(root), "SYMPOSIUM_HOME": "~/home"})

    def write(self, layer: str, id_: str, text: str) -> Path:
        folders = {
            "project": self.checkout / ".symposium" / "guidance",
            "team": self.home / "team" / "guidance",
            "user": self.home / "guidance",
        }
        folders[layer].mkdir(parents=True, exist_ok=True)
        path = folders[layer] / id_
        path.write_text(text, encoding="utf-8")
        return path

    def trust(self) -> None:
        TrustStore(self.home).grant(project_items(self.checkout))

    def body(self, id_: str) -> str:
        text = self.library.shelf().get(id_)
        return "" if text is None else f"{text.layer}: {text.body}"


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


@pytest.mark.requirement("guidance.built-in")
def test_built_in_texts_always_exist(scene: Scene) -> None:
    shelf = scene.library.shelf()

    always = [text.id for text in shelf.listed if not text.conditions]
    conditional = {text.id for text in shelf.listed if text.conditions}
    assert always == [*FIRST, "socrates.md"]
    assert conditional == {
        *("python-projects.md", "rust-projects.md", "node-projects.md"),
        *("debugging-tasks.md", "refactoring-tasks.md"),
    }
    assert all(text.layer == "built-in" and text.description for text in shelf.listed)
    assert [text.name for text in shelf.listed if not text.conditions] == [
        "Collaboration Patterns",
        "Walkthrough Format",
        "Coding Guidelines",
        "Tool Habits",
        "Collaboration Patterns",
    ]
    assert shelf.problems == ()


@pytest.mark.requirement("guidance.layers")
def test_first_layer_with_a_text_wins(scene: Scene) -> None:
    bodies = [scene.body("main.md")[:9]]
    for layer in ("user", "team", "project"):
        scene.write(layer, "main.md", f"of the {layer}")
        scene.trust()
        bodies.append(scene.body("main.md"))

    assert bodies == [
        "built-in:",
        "user: of the user",
        "team: of the team",
        "project: of the project",
    ]
    assert scene.body("coding-guidelines.md").startswith("built-in: ")


@pytest.mark.requirement("guidance.layers")
def test_a_layer_may_add_texts_and_the_second_id_follows_the_first(scene: Scene) -> None:
    scene.write("user", "zebra.md", "striped")
    scene.write("team", "main.md", "of the team")

    assert [text.id for text in scene.library.shelf().listed][-2:] == ["socrates.md", "zebra.md"]
    assert scene.body("socrates.md") == "team: of the team"
    scene.write("user", "socrates.md", "another")
    assert scene.body("socrates.md") == "user: another"


@pytest.mark.requirement("guidance.layers")
def test_the_team_may_be_elsewhere(tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path), "SYMPOSIUM_TEAM_GUIDANCE": str(tmp_path / "shared")}
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "main.md").write_text("theirs", encoding="utf-8")
    text = library_for(tmp_path, environment).shelf().get("main.md")

    assert text is not None
    assert (text.layer, text.body) == ("team", "theirs")


@pytest.mark.requirement("guidance.trust")
def test_project_texts_require_trust(scene: Scene) -> None:
    scene.write("project", "main.md", "obey me")
    before = scene.body("main.md")
    waiting = [item.name for item in scene.library.shelf().untrusted]
    scene.trust()
    trusted = scene.body("main.md")
    scene.write("project", "main.md", "obey me now")

    assert before.startswith("built-in")
    assert waiting == [".symposium/guidance/main.md"]
    assert trusted == "project: obey me"
    assert scene.body("main.md").startswith("built-in")


@pytest.mark.requirement("guidance.trust")
def test_refused_text_is_neither_used_nor_mentioned(scene: Scene) -> None:
    scene.write("project", "main.md", "obey me")
    TrustStore(scene.home).refuse(project_items(scene.checkout))

    assert scene.body("main.md").startswith("built-in")
    assert scene.library.shelf().untrusted == ()


@pytest.mark.requirement("guidance.trust")
def test_a_project_whose_link_leads_out_shows_the_link(scene: Scene, tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("private", encoding="utf-8")
    scene.write("project", "other.md", "x").unlink()
    (scene.checkout / ".symposium" / "guidance" / "other.md").symlink_to(secret)
    (item,) = project_items(scene.checkout)

    assert any("outside the workspace" in effect.detail for effect in item.effects)
    assert scene.library.shelf().get("other.md") is None


@pytest.mark.requirement("guidance.bounds")
def test_unusable_text_is_reported_and_hides_no_other(scene: Scene) -> None:
    scene.write("user", "good.md", "good")
    scene.write("user", "large.md", "x" * (MAX_BYTES + 1))
    scene.write("user", "bytes.md", "").write_bytes(b"\xff\xfe")
    scene.write("user", "no markdown.md", "x")
    scene.write("user", "notes.txt", "x")
    scene.write("user", "terms.md", "---\napplies_to: files:*.py\n---\nx")
    # It is listed as a regular file, and reading its first byte fails.
    (scene.home / "guidance" / "odd.md").symlink_to("/proc/self/mem")
    scene.write("project", "large.md", "x" * (MAX_BYTES + 1))
    (scene.home / "team").mkdir()
    (scene.home / "team" / "guidance").symlink_to("guidance")
    shelf = scene.library.shelf()

    assert scene.body("good.md") == "user: good"
    assert not {"large.md", "bytes.md", "no markdown.md", "notes.txt"} & shelf.texts.keys()
    user, project = scene.home / "guidance", scene.checkout / ".symposium" / "guidance"
    form = "write `file:PATTERN` or `word:WORD`"
    assert set(shelf.problems) == {
        f"{user / 'bytes.md'}: not UTF-8 text",
        f"{user / 'large.md'}: larger than {MAX_BYTES} bytes",
        f"{user / 'odd.md'}: Input/output error",
        f"{user / 'terms.md'}: unknown condition 'files:*.py' in `applies_to`; {form}",
        f"{scene.home / 'team' / 'guidance'}: Too many levels of symbolic links",
        f"{project / 'large.md'}: larger than {MAX_BYTES} bytes; ignored; fix or delete it",
    }


@pytest.mark.requirement("guidance.bounds")
def test_a_folder_full_of_texts_is_cut_off(scene: Scene) -> None:
    built_in = len(scene.library.shelf().texts)
    for number in range(MAX_TEXTS + 5):
        scene.write("user", f"note-{number:03}.md", "x")

    assert len(scene.library.shelf().texts) == MAX_TEXTS + built_in
    assert f"the first {MAX_TEXTS}" in scene.library.shelf().problems[0]


@pytest.mark.requirement("guidance.cached")
def test_texts_are_read_again_only_after_a_change(scene: Scene) -> None:
    path = scene.write("user", "main.md", "one")
    first = scene.library.shelf()
    again = scene.library.shelf()
    path.write_text("two!", encoding="utf-8")
    after = scene.library.shelf()
    scene.write("project", "main.md", "three")
    waiting = scene.library.shelf()
    scene.trust()

    assert again is first
    assert after is not first
    assert after.changed_since(first) == {"main.md", "socrates.md"}
    assert waiting.untrusted
    assert scene.body("main.md") == "project: three"


@pytest.mark.requirement("guidance.change-notice")
async def test_change_has_the_ids_of_texts(scene: Scene) -> None:
    edits = iter(
        [
            lambda: scene.write("user", "new.md", "---\nname: N\n---\none"),
            lambda: scene.write("user", "new.md", "---\nname: N\n---\ntwo"),
            lambda: os.utime(scene.write("user", "new.md", "---\nname: N\n---\ntwo"), ns=(1, 1)),
            (scene.home / "guidance" / "new.md").unlink,
        ]
    )
    seen: list[GuidanceChange] = []

    async def next_edit() -> None:
        next(edits)()

    changes = scene.library.changes(next_edit)
    seen.extend([await anext(changes) for _ in range(3)])
    await changes.aclose()

    assert seen == [
        GuidanceChange(frozenset({"new.md"}), is_list=True),
        GuidanceChange(frozenset({"new.md"}), is_list=False),
        GuidanceChange(frozenset({"new.md"}), is_list=True),
    ]


@pytest.mark.requirement("guidance.bare-directory")
def test_a_directory_without_a_checkout_is_its_own_project(tmp_path: Path) -> None:
    places = places_for(tmp_path, {"HOME": str(tmp_path)})

    assert places.project == tmp_path
    assert GuidanceLibrary(places).shelf().listed
