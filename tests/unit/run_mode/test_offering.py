"""Recommendations in a chat, and the effect of answers."""

import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.support.git_repository import GitRepository
from tests.support.web import reply, serving

from symposium.config.component_source import ComponentSource
from symposium.config.paths import paths
from symposium.config.user_config import ModEntry, load
from symposium.errors import SymposiumError
from symposium.permissions.trust_store import Question
from symposium.permissions.trusted_content import TrustEffect, TrustItem
from symposium.planning.mod_advisor import (
    Addition,
    Advisor,
    RecommendationChanges,
    RecommendationRemoval,
)
from symposium.planning.recommendations import ALWAYS, Recommendation
from symposium.run_mode.offers import WorkspaceOfferSource
from symposium.run_mode.workspace_offers import (
    ChangeOffer,
    TrustOffer,
    WorkspaceOffer,
    adviser_for,
    custom_mods,
    next_offer,
)

CONFIG = """{
  "agent": "eliza", // mine
  "proxies": [
    { "name": "own" }, // by hand
    /* between */
  ]
}
"""
USERS = """
[[recommendation]]
source.npx = { package = "one" }
[[recommendation]]
source.npx = { package = "two", env = { KEY = "v" } }
when.file-exists = "x"
"""


class Scene:
    """One user, one workspace, and its recommendations."""

    def __init__(self, folder: Path) -> None:
        self.home, self.workspace = folder / "home", folder / "w"
        (self.home / "config").mkdir(parents=True, mode=0o700)
        (self.workspace / ".symposium").mkdir(parents=True)
        self.config = self.home / "config.jsonc"
        self.config.write_text(CONFIG)
        self.passed: set[str] = set()

    def users(self, text: str) -> None:
        (self.home / "config" / "recommendations.toml").write_text(text)

    def stored(self, text: str) -> None:
        (self.workspace / ".symposium" / "recommendations.toml").write_text(text)

    def adviser(self) -> Advisor:
        env = {"SYMPOSIUM_HOME": str(self.home), "SYMPOSIUM_RECOMMENDATIONS": "none"}
        return Advisor(paths(env), env, tuple)

    def offer(self, *, include_postponed: bool = False) -> WorkspaceOffer | None:
        return next_offer(
            self.adviser(),
            str(self.workspace),
            self.config,
            self.passed,
            include_postponed=include_postponed,
        )

    def do(self, answer: str) -> str:
        offer = self.offer()
        assert offer is not None
        assert offer.takes(answer)
        return offer.do(answer)

    def mods(self) -> list[str]:
        loaded = load(self.config)
        assert loaded is not None
        return [mod.name for mod in loaded.config.mods]


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


@pytest.mark.requirement("recommendations.asked-in-chat", "recommendations.config-kept")
def test_suited_mods_are_offered_and_added_only_by_an_answer(scene: Scene) -> None:
    scene.users(USERS)
    (scene.workspace / "x").write_text("")
    offer = scene.offer()
    assert offer is not None
    text = offer.text()
    assert "+ 1. one (from your own list)" in text
    assert "+ 2. two (because `x` exists; from your own list)" in text
    assert "runs: npx -y two" in text
    assert "sets: KEY=v" in text
    assert scene.config.read_text() == CONFIG
    assert scene.do("add") == "Added `one`, `two`. New sessions use the changed list of mods.\n\n"
    assert scene.mods() == ["own", "one", "two"]
    after = scene.config.read_text()
    for kept in ("// mine", '{ "name": "own" }, // by hand', "/* between */"):
        assert kept in after
    assert after.count('"origin": "recommendation"') == 2
    assert scene.offer() is None


@pytest.mark.requirement("recommendations.asked-in-chat")
def test_part_of_an_offer_can_be_added(scene: Scene) -> None:
    scene.users(USERS)
    (scene.workspace / "x").write_text("")
    assert scene.do("ADD 2") == "Added `two`. New sessions use the changed list of mods.\n\n"
    assert scene.mods() == ["own", "two"]
    offer = scene.offer()
    assert offer is not None
    assert "+ 1. one" in offer.text()
    assert "two" not in offer.text()


@pytest.mark.requirement("recommendations.asked-in-chat", "recommendations.chat-command")
def test_not_now_postpones_an_offer_for_this_run(scene: Scene) -> None:
    scene.users(USERS)
    scene.do("not now")
    assert scene.offer() is None
    assert scene.offer(include_postponed=True) is not None
    scene.passed.clear()
    assert scene.offer() is not None
    assert scene.config.read_text() == CONFIG


@pytest.mark.requirement("recommendations.asked-in-chat", "recommendations.answers-kept")
def test_never_is_saved(scene: Scene) -> None:
    scene.users(USERS)
    scene.do("never")
    assert scene.offer(include_postponed=True) is None
    assert scene.config.read_text() == CONFIG


@pytest.mark.requirement("recommendations.removes-only-its-own", "recommendations.config-kept")
def test_unsuited_mods_are_removed_only_by_an_answer(scene: Scene) -> None:
    scene.users(USERS)
    (scene.workspace / "x").write_text("")
    scene.do("add")
    (scene.workspace / "x").unlink()
    offer = scene.offer()
    assert offer is not None
    assert "- 1. two (`x` no longer exists)" in offer.text()
    assert not offer.takes("add")
    before = scene.config.read_text()
    assert scene.do("never") == "Nothing was changed. This is not offered again.\n\n"
    assert scene.config.read_text() == before
    (scene.home / "recommendation-answers.json").write_text(
        (scene.home / "recommendation-answers.json").read_text().replace('"kept"', '"unkept"')
    )
    assert scene.do("remove") == "Removed `two`. New sessions use the changed list of mods.\n\n"
    assert scene.mods() == ["own", "one"]
    assert "// by hand" in scene.config.read_text()


@pytest.mark.requirement("recommendations.config-kept")
def test_config_broken_meanwhile_is_not_changed(scene: Scene) -> None:
    scene.users(USERS)
    offer = scene.offer()
    assert offer is not None
    scene.config.write_text("{")
    with pytest.raises(SymposiumError):
        offer.do("add")
    assert scene.config.read_text() == "{"
    assert scene.offer() is None
    scene.config.unlink()
    assert scene.offer() is None
    with pytest.raises(SymposiumError) as caught:
        offer.do("add")
    assert caught.value.message == f"{scene.config} no longer exists"
    assert not scene.config.exists()


@pytest.mark.requirement("recommendations.config-kept")
def test_mod_added_by_hand_meanwhile_is_not_added_twice(scene: Scene) -> None:
    scene.users(USERS)
    offer = scene.offer()
    assert offer is not None
    scene.config.write_text(CONFIG.replace('"own"', '"one"'))
    assert offer.do("add") == "Nothing was changed: the config already has this.\n\n"
    assert scene.mods() == ["one"]


@pytest.mark.requirement("recommendations.trust-screen")
def test_workspace_recommendations_need_trust_before_an_offer(scene: Scene) -> None:
    scene.stored(USERS)
    offer = scene.offer()
    assert isinstance(offer, TrustOffer)
    assert ".symposium/recommendations.toml (recommendations, new, sha256 " in offer.text()
    assert "runs: npx -y one" in offer.text()
    assert "Trusted" in scene.do("trust")
    offer = scene.offer()
    assert isinstance(offer, ChangeOffer)
    assert "+ 1. one (recommended by this workspace)" in offer.text()
    scene.stored(USERS.replace("one", "evil"))
    offer = scene.offer()
    assert isinstance(offer, TrustOffer)
    assert '-source.npx = { package = "one" }' in offer.text()
    assert '+source.npx = { package = "evil" }' in offer.text()


@pytest.mark.requirement("recommendations.trust-screen", "trust.change-asks-again")
def test_yes_applies_only_to_the_content_shown(scene: Scene) -> None:
    scene.stored(USERS)
    offer = scene.offer()
    assert offer is not None
    scene.stored(USERS.replace("one", "evil"))
    offer.do("trust")
    after = scene.offer()
    assert isinstance(after, TrustOffer)
    assert "evil" in after.text()


@pytest.mark.parametrize("answer", ["not now", "no", "never", "NEVER"])
@pytest.mark.requirement("recommendations.trust-screen")
def test_no_leaves_workspace_recommendations_unused(scene: Scene, answer: str) -> None:
    scene.stored(USERS)
    scene.do(answer)
    assert scene.offer() is None
    scene.passed.clear()
    assert (scene.offer() is None) is (answer.lower() == "never")


@pytest.mark.requirement("recommendations.agent-undisturbed")
def test_only_offered_words_are_answers(scene: Scene) -> None:
    scene.users(USERS)
    offer = scene.offer()
    assert offer is not None
    for word in ("add", "Add 1", "add 1,1", "never", "never 1", "not now", "no"):
        assert offer.takes(word), word
    for word in (
        "",
        "add a test",
        "add 2",
        "add 0",
        "remove",
        "trust",
        "yes",
        "add\n1 x",
        "add 99999",
    ):
        assert not offer.takes(word), word


def trust_question(text: str) -> str:
    item = TrustItem(Path("/w" + text), "mods", text, b"x", (), (TrustEffect("command", text),))
    return TrustOffer(None, Path("/w" + text), [Question(item)], set()).text()  # pyright: ignore[reportArgumentType]  it is only shown


@example("`````")
@given(st.text(alphabet="`~\n\r\u202e\x1b a", max_size=12))
@pytest.mark.requirement("recommendations.nothing-breaks-out")
def test_no_text_ends_its_code_block(text: str) -> None:
    mod = ModEntry(f"m{text}")
    changes = RecommendationChanges(
        (Addition(Recommendation(mod, ALWAYS, "user"), text),), (RecommendationRemoval(mod, text),)
    )
    change = ChangeOffer(None, Path("/w"), Path("/c"), changes, set()).text()  # pyright: ignore[reportArgumentType]  it is only shown
    for shown in (trust_question(text), change):
        assert not re.search("[\r\u202e\x1b]", shown)
        opening = re.search(r"^(`{3,})(?:text|diff)$", shown, re.MULTILINE)
        assert opening is not None
        longest = max(map(len, re.findall("`+", shown[opening.end() :].split("\n\nAnswer")[0])))
        assert len(opening[1]) >= longest
        lines = shown[opening.end() + 1 :].split("\n")
        closing = next(at for at, line in enumerate(lines) if re.fullmatch(f"{opening[1]}`*", line))
        assert lines[closing + 1] == ""
        assert lines[closing + 2].startswith("Answer `")


@pytest.mark.requirement("run-mode.mod-alias")
def test_mod_is_not_recommended_under_its_other_name(scene: Scene) -> None:
    scene.users('[[recommendation]]\nsource.builtin = "guidance"\n')
    env = {"SYMPOSIUM_HOME": str(scene.home), "SYMPOSIUM_RECOMMENDATIONS": "none"}

    def offer() -> WorkspaceOffer | None:
        adviser = Advisor(paths(env), env, lambda: ("guidance",))
        return next_offer(
            adviser, str(scene.workspace), scene.config, set(), include_postponed=False
        )

    before = offer()
    scene.config.write_text('{"agent": "eliza", "proxies": [{"name": "sparkle"}]}')

    assert before is not None
    assert "guidance" in before.text()
    assert offer() is None


@pytest.mark.requirement("recommendations.trust-screen")
def test_set_up_files_are_asked_about_only_where_there_are_any(tmp_path: Path) -> None:
    env = {"SYMPOSIUM_HOME": str(tmp_path / "home"), "SYMPOSIUM_RECOMMENDATIONS": "none"}
    repository = GitRepository(tmp_path / "w")
    advisor = adviser_for(paths(env), env)

    assert advisor.advise(repository.path).questions == []

    repository.write(".worktreeinclude", ".env\n")
    repository.write(".cursor/worktrees.json", '{"setup-worktree": ["make"]}')
    (question,) = advisor.advise(repository.path).questions
    assert "make" in question.item.content.decode()


@pytest.mark.requirement("recommendations.registry-lists-custom")
def test_mod_of_the_config_hides_a_recommended_one_of_its_name(scene: Scene) -> None:
    scene.config.write_text(
        '{"agent": "eliza", "proxies": [{"name": "one", "source": {"npx": {"package": "mine"}}},'
        ' {"name": "own"}]}'
    )
    scene.users(USERS)
    (scene.workspace / "x").touch()
    env = {"SYMPOSIUM_HOME": str(scene.home), "SYMPOSIUM_RECOMMENDATIONS": "none"}

    found = custom_mods(scene.config, paths(env), env, scene.workspace)
    assert found.whose == {"one": "of the config", "two": "recommended (user)"}
    assert found.mods["one"].source == ComponentSource("npx", {"package": "mine"})
    assert found.problem == ""

    scene.config.write_text("{")
    broken = custom_mods(scene.config, paths(env), env, scene.workspace)
    assert list(broken.mods) == ["one", "two"]
    assert str(scene.config) in broken.problem


@pytest.mark.requirement("recommendations.asked-in-chat", "recommendations.remote-cache")
@pytest.mark.parametrize("is_offline", [False, True])
async def test_recommendations_of_others_are_requested_once_unless_offline(
    scene: Scene,
    is_offline: bool,  # noqa: FBT001 - pytest passes it
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with serving() as web:
        web.answers["/r.toml"] = reply(USERS.encode())
        monkeypatch.setenv("SYMPOSIUM_HOME", str(scene.home))
        monkeypatch.setenv("XDG_CACHE_HOME", str(scene.home / "cache"))
        monkeypatch.setenv("SYMPOSIUM_RECOMMENDATIONS", web.url("/r.toml"))
        recommending = WorkspaceOfferSource(scene.config, is_offline=is_offline)
        await recommending.refresh()
        await recommending.refresh()
        assert len(web.asked) == (0 if is_offline else 1)

    offer = recommending.offer(str(scene.workspace), include_postponed=False)
    texts = [] if offer is None else [offer.text()]
    assert any("one" in text for text in texts) is not is_offline
    if offer is not None:
        offer.do("not now")
        assert recommending.offer(str(scene.workspace), include_postponed=False) is None
        assert recommending.offer(str(scene.workspace), include_postponed=True) is not None
