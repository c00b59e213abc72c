"""The menu in the chat, row by row of acp-host §4.7: input, output, and effect."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import pytest
from msgspec.structs import replace
from tests.support.run_mode_harness import AGENTS, MENU, MODS

from symposium.config.component_source import ComponentSource
from symposium.config.user_config import Config, ConfigChangedError, ModEntry
from symposium.errors import SymposiumError
from symposium.run_mode.chat import Dialog, Input
from symposium.run_mode.failure_text import StartProblem
from symposium.run_mode.menu.main_menu import WELCOME, NotStartedError, first_time, main_menu
from symposium.run_mode.menu.pickers import (
    agent_label,
    choices_line,
    code,
    render,
    render_agents,
    render_mods,
)
from symposium.run_mode.menu_ports import AgentChoice, AgentChoices, ModChoice, ModChoices

SPARKLE, FERRIS, CARGO = ModEntry("sparkle"), ModEntry("ferris", enabled=False), ModEntry("cargo")
THREE = Config("claude", (SPARKLE, FERRIS, CARGO))
NONE = Config("claude")
SAVED, CANCELLED = "saved", "cancelled"


@dataclass
class FakeHost:
    """A host that records saved configs and raises the given errors."""

    offered: AgentChoices = AGENTS
    later: AgentChoices | None = None
    faults: list[SymposiumError] = field(default_factory=list[SymposiumError])
    saved: list[Config] = field(default_factory=list[Config])
    overwritten: list[Config] = field(default_factory=list[Config])

    lookups: list[bool] = field(default_factory=list[bool])
    offered_mods: ModChoices = MODS

    async def agents(self, *, is_fresh: bool = False) -> AgentChoices:
        self.lookups.append(is_fresh)
        return self.later if is_fresh and self.later is not None else self.offered

    async def mods(self) -> ModChoices:
        return self.offered_mods

    async def own_answer(self, text: str) -> str | None:
        return "help" if text == "/symposium:help" else None

    async def save(self, config: Config) -> Sequence[str]:
        if self.faults:
            raise self.faults.pop(0)
        self.saved.append(config)
        return [SAVED]

    async def overwrite(self, config: Config) -> Sequence[str]:
        self.overwritten.append(config)
        return [SAVED]

    def cancelled(self) -> str:
        return CANCELLED


class Dialogue:
    """Runs a script with all its input at once."""

    def __init__(self, host: FakeHost) -> None:
        self.host = host
        self.said: list[list[str]] = [[]]
        self.is_over = False

    async def play(
        self,
        script: Callable[[Dialog], Awaitable[None]],
        words: Sequence[str],
        *,
        opened_in_turn: bool = True,
    ) -> None:
        talk = Dialog(self._say, self._input("") if opened_in_turn else None)
        all_read = asyncio.Event()
        for word in words:
            talk.put(self._input(word))
        talk.put(Input("", lambda: None, lambda: None, lambda: all_read.set() is not None))

        async def run() -> None:
            await script(talk)
            self.is_over = True
            talk.end()
            all_read.set()

        async with asyncio.timeout(45), asyncio.TaskGroup() as tasks:
            task = tasks.create_task(run())
            await all_read.wait()
            task.cancel()

    def _say(self, text: str) -> None:
        self.said[-1].append(text)

    def _input(self, text: str) -> Input:
        return Input(text, lambda: self.said.append([]), lambda: None, lambda: True)


async def visit(config: Config, *words: str, host: FakeHost | None = None) -> Dialogue:
    """Open the main menu; `said` has the menu, then the answer to each word."""
    dialogue = Dialogue(host or FakeHost())
    await dialogue.play(lambda talk: main_menu(talk, dialogue.host, config), words)
    return dialogue


async def first_visit(*words: str, host: FakeHost | None = None) -> Dialogue:
    dialogue = Dialogue(host or FakeHost())
    mods = ((SPARKLE, "Guides the agent. About 620 tokens per session."), (CARGO, ""))
    await dialogue.play(lambda talk: first_time(talk, dialogue.host, mods), words)
    return dialogue


def shown(config: Config) -> str:
    return render(config, AGENTS.agents)


def with_mods(*mods: ModEntry) -> Config:
    return THREE.with_mods(*mods)


@pytest.mark.requirement("run-mode.menu-text")
def test_menu_has_the_text_of_the_seed() -> None:
    assert shown(Config("claude", (SPARKLE, FERRIS))) == MENU


@pytest.mark.requirement("run-mode.menu-text-empty")
def test_menu_without_mods_offers_no_toggle_or_move() -> None:
    assert shown(Config("some command")) == (
        "## Current Configuration\n\n**Agent:** some command\n\n**Mods:**\n(none configured)\n\n"
        "## Commands\n\n- `SAVE` - Save changes and exit\n- `CANCEL` - Discard changes and exit\n"
        "- `A` or `AGENT` - Change agent\n- `M` or `ADD` - Add a mod\n"
    )


@pytest.mark.requirement("run-mode.menu-numbers")
@pytest.mark.parametrize(
    ("count", "line"),
    [(1, "`1`"), (5, "`1`, `2`, `3`, `4`, `5`"), (6, "`1`, `2`, ..., `6`")],
)
def test_menu_lists_up_to_five_numbers(count: int, line: str) -> None:
    mods = [ModEntry(f"mod{at}") for at in range(count)]
    assert f"- {line} - Toggle mod on/off\n" in shown(with_mods(*mods))


@pytest.mark.requirement("run-mode.menu-agent-label")
@pytest.mark.parametrize(
    ("agent", "label"),
    [
        ("claude", "Claude Code"),
        ("npx claude", "Claude Code"),
        ("own --acp", "own --acp"),
        ("", "(not configured)"),
        (ComponentSource("registry", "claude-x"), "claude-x"),
        (ComponentSource("builtin", "claude"), "Claude Code"),
        (ComponentSource("npx", {"package": "@zed/claude-code-acp@latest"}), "claude-code-acp"),
    ],
)
def test_known_agent_is_shown_by_its_name(agent: str | ComponentSource, label: str) -> None:
    assert f"**Agent:** {label}\n" in shown(Config(agent))


@pytest.mark.requirement("run-mode.menu-save")
@pytest.mark.parametrize("word", ["save", "SAVE", "  Save "])
async def test_save_stores_the_config_and_closes_the_menu(word: str) -> None:
    it = await visit(THREE, word)
    assert (it.said[1], it.is_over, it.host.saved) == ([SAVED], True, [THREE])


@pytest.mark.requirement("run-mode.menu-cancel")
@pytest.mark.parametrize("word", ["cancel", "CANCEL"])
async def test_cancel_closes_the_menu_and_stores_nothing(word: str) -> None:
    it = await visit(THREE, "1", word)
    assert (it.said[2], it.is_over, it.host.saved) == ([CANCELLED], True, [])


@pytest.mark.requirement("run-mode.menu-agent")
@pytest.mark.parametrize("word", ["a", "A", "agent", "AGENT"])
async def test_agent_is_changed_in_a_separate_menu(word: str) -> None:
    it = await visit(THREE, word, "2")
    assert it.said[1] == [render_agents(AGENTS.agents)]
    assert it.said[2] == ["Agent set to `Other`.", shown(replace(THREE, agent="other"))]


@pytest.mark.requirement("run-mode.menu-agent-back")
@pytest.mark.parametrize("word", ["back", "BACK", "cancel"])
async def test_back_returns_to_the_menu_with_the_agent_unchanged(word: str) -> None:
    it = await visit(THREE, "a", word)
    assert (it.said[2], it.is_over) == ([shown(THREE)], False)


@pytest.mark.requirement("run-mode.menu-agent-invalid")
@pytest.mark.parametrize(
    ("word", "refusal"),
    [
        ("0", "Invalid index. Please enter 1-2."),
        ("3", "Invalid index. Please enter 1-2."),
        ("9" * 5000, "Invalid index. Please enter 1-2."),
        ("x", "Unknown input: `x`. Enter a number or `back`."),
        ("", "Unknown input: ``. Enter a number or `back`."),
        ("-1", "Unknown input: `-1`. Enter a number or `back`."),
    ],
)
async def test_invalid_choice_of_an_agent_shows_the_agents_again(word: str, refusal: str) -> None:
    it = await visit(THREE, "a", word)
    assert it.said[2] == [refusal, render_agents(AGENTS.agents)]


@pytest.mark.requirement("run-mode.menu-agents-long")
async def test_short_list_is_shown_again_after_an_invalid_choice() -> None:
    few = [AgentChoice(f"Agent {at}", "", f"agent-{at}") for at in range(1, 4)]

    it = await visit(THREE, "a", "10", "x", host=FakeHost(AgentChoices(few)))

    assert it.said[1] == [render_agents(few)]
    assert it.said[2] == ["Invalid index. Please enter 1-3.", render_agents(few)]
    assert it.said[3] == ["Unknown input: `x`. Enter a number or `back`.", render_agents(few)]


@pytest.mark.requirement("run-mode.menu-agents-long")
async def test_long_list_is_shown_once_and_on_request() -> None:
    many = [AgentChoice(f"Agent {at}", "", f"agent-{at}") for at in range(1, 10)]
    host = FakeHost(AgentChoices(many))

    it = await visit(THREE, "a", "10", "x", "/symposium:help", "list", "agent 9", host=host)

    again = "`list` shows the agents again."
    assert it.said[1] == [render_agents(many)]
    assert it.said[2] == [f"Invalid index. Please enter 1-9. {again}"]
    assert it.said[3] == [f"Unknown input: `x`. Enter a number or `back`. {again}"]
    assert it.said[4] == [f"help\n{again}"]
    assert it.said[5] == [render_agents(many)]
    assert it.said[6][0] == "Agent set to `Agent 9`."


@pytest.mark.requirement("run-mode.setup-first-turn")
@pytest.mark.parametrize("opened_in_turn", [False, True])
async def test_first_answer_repeats_a_long_list_when_setup_opened_before_a_prompt(
    opened_in_turn: bool,  # noqa: FBT001 - a case
) -> None:
    many = [AgentChoice(f"Agent {at}", "", f"agent-{at}") for at in range(1, 10)]
    it = Dialogue(FakeHost(AgentChoices(many)))

    await it.play(
        lambda talk: first_time(talk, it.host, ()),
        ["what is 2+2?", "10"],
        opened_in_turn=opened_in_turn,
    )

    *earlier, last, _ = it.said
    shown_lists = [text for texts in earlier for text in texts if text.startswith("# Select Agent")]
    assert len(shown_lists) == (1 if opened_in_turn else 2)
    assert last == ["Invalid index. Please enter 1-9. `list` shows the agents again."]


@pytest.mark.requirement("run-mode.menu-agents-grouped")
def test_installed_and_downloadable_agents_are_listed_separately() -> None:
    here, away = AgentChoice("Eliza", "Built in", "eliza"), AgentChoice("Goose", "", "goose")
    fetched = replace(away, is_here=False)

    assert render_agents([here, fetched]) == (
        "# Select Agent\n\n"
        "**Ready**\n\n"
        "| # | Agent | Description |\n"
        "|---|-------|-------------|\n"
        "| 1 | Eliza | Built in |\n\n"
        "**Not installed yet** (installed at the first start)\n\n"
        "| # | Agent | Description |\n"
        "|---|-------|-------------|\n"
        "| 2 | Goose |  |\n\n"
        "Enter a number to select, or `back` to return.\n"
        "You can also enter a name.\n"
    )
    assert "**" not in render_agents([here, away])
    assert "**" not in render_agents([fetched])


@pytest.mark.requirement("run-mode.menu-help")
async def test_help_works_in_the_menu() -> None:
    it = await visit(THREE, "/symposium:help")

    assert it.said[1] == ["help", choices_line(3)]


@pytest.mark.requirement("run-mode.menu-agents-empty")
async def test_empty_list_of_agents_is_reported() -> None:
    host = FakeHost(AgentChoices([]))
    it = await visit(THREE, "a", "1", host=host)
    assert it.said[1] == [
        "# Select Agent\n\nNo agents available.\n\nEnter a number to select, or `back` to return.\n"
    ]
    assert it.said[2][0] == "No agents available."


@pytest.mark.requirement("run-mode.menu-agents-warning")
async def test_registry_failure_is_shown_above_the_agents() -> None:
    warning = "Failed to fetch registry: no route"
    host = FakeHost(AgentChoices(AGENTS.agents, warning))
    it = await visit(THREE, "a", host=host)
    assert it.said[1] == [f"Warning: {warning}", render_agents(AGENTS.agents)]


@pytest.mark.requirement("run-mode.menu-escapes")
def test_names_are_escaped_in_tables_and_code() -> None:
    table = render_agents([AgentChoice("a|b", "c\nd", "x")])
    assert "| 1 | a\\|b | c d |" in table
    assert code("a`b``c") == "``` a`b``c ```"


@pytest.mark.requirement("run-mode.menu-toggle")
async def test_number_toggles_its_mod() -> None:
    it = await visit(THREE, "2", "2")
    on = with_mods(SPARKLE, replace(FERRIS, enabled=True), CARGO)
    assert it.said[1] == ["Mod `ferris` is now enabled.", shown(on)]
    assert it.said[2] == ["Mod `ferris` is now disabled.", shown(THREE)]


@pytest.mark.requirement("run-mode.menu-index-invalid")
@pytest.mark.parametrize("word", ["0", "4", "99999999999999999999", "1" * 5000])
async def test_invalid_number_is_refused_without_the_menu(word: str) -> None:
    assert (await visit(THREE, word)).said[1] == ["Invalid index. Please enter 1-3."]


@pytest.mark.requirement("run-mode.menu-no-mods")
@pytest.mark.parametrize("word", ["0", "1", "move 1 to 2"])
async def test_number_is_refused_without_mods(word: str) -> None:
    assert (await visit(NONE, word)).said[1] == ["No mods configured."]


@pytest.mark.requirement("run-mode.menu-move")
@pytest.mark.parametrize(
    ("word", "order", "message"),
    [
        ("move 1 to 3", (FERRIS, CARGO, SPARKLE), "Moved `sparkle` to position 3."),
        ("move 3 to 1", (CARGO, SPARKLE, FERRIS), "Moved `cargo` to position 1."),
        ("MOVE 2 TO START", (FERRIS, SPARKLE, CARGO), "Moved `ferris` to position 1."),
        ("move  1   to end", (FERRIS, CARGO, SPARKLE), "Moved `sparkle` to position 3."),
        ("move 2 to 2", (SPARKLE, FERRIS, CARGO), "Moved `ferris` to position 2."),
    ],
)
async def test_mod_is_moved(word: str, order: tuple[ModEntry, ...], message: str) -> None:
    assert (await visit(THREE, word)).said[1] == [message, shown(with_mods(*order))]


@pytest.mark.requirement("run-mode.menu-move-invalid")
@pytest.mark.parametrize(
    ("word", "refusal"),
    [
        ("move 0 to 1", "Invalid source index. Please enter 1-3."),
        ("move 4 to 9", "Invalid source index. Please enter 1-3."),
        (f"move {'9' * 5000} to 1", "Invalid source index. Please enter 1-3."),
        ("move 1 to 0", "Invalid destination index. Please enter 1-3, `start`, or `end`."),
        ("move 1 to 4", "Invalid destination index. Please enter 1-3, `start`, or `end`."),
        (
            f"move 1 to {'9' * 5000}",
            "Invalid destination index. Please enter 1-3, `start`, or `end`.",
        ),
    ],
)
async def test_move_with_an_invalid_index_is_refused(word: str, refusal: str) -> None:
    assert (await visit(THREE, word)).said[1] == [refusal]


@pytest.mark.requirement("run-mode.menu-unknown")
@pytest.mark.parametrize(
    "word", ["", "-1", "1.5", "move 1 2", "move a to b", "hello", "save it", "٣", "x`y"]
)
async def test_unknown_input_changes_nothing(word: str) -> None:
    it = await visit(THREE, word, "save")
    assert it.said[1] == [f"Unknown command: {code(word)}", choices_line(3)]
    assert it.host.saved == [THREE]


@pytest.mark.requirement("run-mode.menu-save-failed")
async def test_menu_stays_open_when_saving_fails() -> None:
    host = FakeHost(faults=[SymposiumError("the disk is full", "make room")])
    it = await visit(THREE, "save", "save", host=host)
    assert it.said[1] == ["Error saving configuration: the disk is full; make room"]
    assert (it.said[2], it.is_over) == ([SAVED], True)


@pytest.mark.requirement("run-mode.menu-changed-on-disk")
async def test_file_changed_on_disk_is_overwritten_only_by_a_second_save() -> None:
    host = FakeHost(faults=[ConfigChangedError("changed", "look"), ConfigChangedError("again", "")])
    it = await visit(THREE, "save", "1", "save", "save", host=host)
    assert "has changed since" in it.said[1][0]
    assert "has changed since" in it.said[3][0]
    assert (len(host.overwritten), host.saved, it.is_over) == (1, [], True)


@pytest.mark.requirement("run-mode.setup-start-failed")
async def test_setup_stays_open_when_the_agent_does_not_start() -> None:
    host = FakeHost(
        faults=[NotStartedError(StartProblem("it did not start: no such file", "Choose another."))]
    )
    it = await first_visit("1", "save", "save", host=host)
    (answer,) = it.said[2]
    assert "it did not start: no such file\n\nChoose another.\n\n" in answer
    assert "`A`" in answer
    assert (it.said[3], it.is_over) == ([SAVED], True)


@pytest.mark.requirement("run-mode.setup-text")
async def test_setup_welcomes_and_then_shows_the_menu_with_every_mod() -> None:
    it = await first_visit("1", "save")
    config = Config("claude", (SPARKLE, CARGO))
    assert it.said[0] == [WELCOME, render_agents(AGENTS.agents, "cancel")]
    explained = (
        "**Mods for this workspace**\n\n"
        "- `sparkle`: Guides the agent. About 620 tokens per session.\n- `cargo`\n\n"
        "They are on. To turn one off, type its number in the menu below, then `SAVE`."
    )
    assert it.said[1] == ["Agent set to `Claude Code`.", explained, shown(config)]
    assert it.host.saved == [config]


@pytest.mark.requirement("run-mode.setup-new-agent")
@pytest.mark.parametrize(
    ("word", "expected"),
    [("added", "Agent set to `Added`."), ("list", "| 3 | Added | Just now |")],
)
async def test_recently_added_agent_is_found(word: str, expected: str) -> None:
    added = AgentChoice("Added", "Just now", "npx added --acp")
    host = FakeHost(later=AgentChoices([*AGENTS.agents, added]))
    it = await first_visit(word, host=host)

    assert "Added" not in it.said[0][1]
    assert expected in it.said[1][0]


@pytest.mark.requirement("run-mode.mod-alias")
async def test_mod_is_not_added_again_under_its_other_name() -> None:
    class Offering(FakeHost):
        async def mods(self) -> ModChoices:
            return ModChoices([ModChoice("guidance", "", ModEntry("guidance"))])

    it = await visit(Config("claude", (SPARKLE,)), "add guidance", "add", host=Offering())

    assert it.said[1][0].startswith("Unknown mod: `guidance`.")
    assert "guidance" not in it.said[2][0]


@pytest.mark.requirement("run-mode.agent-label-version")
@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("npx -y @zed-industries/claude-code-acp", "Claude Code"),
        ("npx -y @zed-industries/claude-code-acp@0.9.1", "Claude Code"),
        ("npx -y @zed-industries/claude-code", "npx -y @zed-industries/claude-code"),
    ],
)
def test_menu_names_an_agent_of_any_version(written: str, name: str) -> None:
    package = "npx -y @zed-industries/claude-code-acp@0.16.2"
    choice = AgentChoice("Claude Code", "", "claude", (package,))

    assert agent_label(written, [choice]) == name


@pytest.mark.requirement("run-mode.setup-cancel")
@pytest.mark.parametrize("words", [["cancel"], ["back"], ["1", "cancel"]])
async def test_canceled_setup_saves_nothing(words: list[str]) -> None:
    it = await first_visit(*words)
    assert (it.said[len(words)], it.is_over, it.host.saved) == ([CANCELLED], True, [])


@pytest.mark.requirement("run-mode.setup-unknown")
async def test_setup_reports_unknown_input() -> None:
    it = await first_visit("hello")
    assert it.said[1][0] == "Unknown input: `hello`. Enter a number or `cancel`."


TAG = ModEntry("tag")


@pytest.mark.requirement("run-mode.menu-names")
@pytest.mark.parametrize("word", ["Other", "other", " OTHER "])
async def test_agent_can_be_chosen_by_name(word: str) -> None:
    it = await visit(THREE, "a", word)
    assert it.said[2] == ["Agent set to `Other`.", shown(replace(THREE, agent="other"))]


@pytest.mark.requirement("run-mode.menu-names")
async def test_similar_name_is_suggested() -> None:
    it = await first_visit("Othr")
    assert it.said[1][0] == "Unknown input: `Othr`. Did you mean `Other`?"


@pytest.mark.requirement("run-mode.menu-names")
async def test_sentence_is_not_a_misspelled_name() -> None:
    it = await first_visit("Othr r")
    assert "Did you mean" not in it.said[1][0]


@pytest.mark.requirement("run-mode.menu-names")
async def test_mod_can_be_toggled_and_moved_by_name() -> None:
    it = await visit(THREE, "FERRIS", "move ferris to start")
    enabled = replace(FERRIS, enabled=True)
    assert it.said[1][0] == "Mod `ferris` is now enabled."
    moved = shown(with_mods(enabled, SPARKLE, CARGO))
    assert it.said[2] == ["Moved `ferris` to position 1.", moved]


@pytest.mark.requirement("run-mode.menu-names")
@pytest.mark.parametrize(("word", "saved"), [("s", [THREE]), ("C", [])])
async def test_single_letter_saves_or_cancels(word: str, saved: list[Config]) -> None:
    it = await visit(THREE, word)
    assert (it.is_over, it.host.saved) == (True, saved)


@pytest.mark.requirement("run-mode.menu-add")
@pytest.mark.parametrize("word", ["m", "M", "add", "ADD"])
@pytest.mark.parametrize("choice", ["1", "tag", "TAG"])
async def test_mod_is_added_from_the_list_of_unused_mods(word: str, choice: str) -> None:
    it = await visit(THREE, word, choice)
    assert it.said[1] == [render_mods(MODS.mods[:1])]
    added = with_mods(*THREE.mods, TAG)
    assert it.said[2] == ["Added `tag` at position 4.", shown(added)]


@pytest.mark.requirement("run-mode.menu-add")
async def test_a_registry_that_fails_is_reported_before_the_mods() -> None:
    warning = "the registry cannot be reached"
    host = FakeHost(offered_mods=ModChoices(MODS.mods, warning))
    it = await visit(THREE, "m", host=host)

    assert it.said[1] == [f"Warning: {warning}", render_mods(MODS.mods[:1])]


@pytest.mark.requirement("run-mode.menu-add")
@pytest.mark.parametrize("word", ["add tag", "M Tag", "add 1"])
async def test_mod_is_added_directly_by_name(word: str) -> None:
    it = await visit(THREE, word, "save")
    assert it.host.saved == [with_mods(*THREE.mods, TAG)]


@pytest.mark.requirement("run-mode.menu-add-own")
@pytest.mark.parametrize(
    ("word", "name", "value"),
    [
        (
            "add python mods/shout.py -v",
            "shout",
            {"command": "python", "args": ["mods/shout.py", "-v"]},
        ),
        ("add /opt/my-mod", "my-mod", {"command": "/opt/my-mod", "args": []}),
        ("add K=v /opt/mod", "mod", {"command": "/opt/mod", "args": [], "env": {"K": "v"}}),
    ],
)
async def test_custom_mod_is_added_by_its_command_line(
    word: str, name: str, value: dict[str, object]
) -> None:
    it = await visit(NONE, word, "save")
    entry = ModEntry(name, source=ComponentSource("local", value))
    assert it.host.saved == [with_mods(entry)]


@pytest.mark.requirement("run-mode.menu-add-invalid")
@pytest.mark.parametrize(
    ("word", "refusal"),
    [
        ("9", "Invalid index. Please enter 1-1."),
        ("tga", "Unknown mod: `tga`. Did you mean `tag`?"),
        ("a 'b", "`a 'b` is not a command line: "),
    ],
)
async def test_unknown_mod_is_reported_and_the_mods_shown_again(word: str, refusal: str) -> None:
    it = await visit(THREE, "add", word)
    assert it.said[2][0].startswith(refusal)
    assert it.said[2][1] == render_mods(MODS.mods[:1])
    said = (await visit(THREE, f"add {word}")).said[1]
    assert said[0].startswith(refusal)
    assert len(said) == 1


@pytest.mark.requirement("run-mode.menu-add-invalid")
async def test_listed_mod_is_not_added_twice() -> None:
    it = await visit(THREE, "add /opt/cargo")
    assert it.said[1] == ["The mod `cargo` is already in the list."]


@pytest.mark.requirement("run-mode.menu-add")
@pytest.mark.parametrize("word", ["back", "cancel"])
async def test_back_returns_from_the_mods_to_the_menu(word: str) -> None:
    it = await visit(THREE, "add", word)
    assert (it.said[2], it.is_over) == ([shown(THREE)], False)


@pytest.mark.requirement("run-mode.menu-remove")
@pytest.mark.parametrize("word", ["remove 2", "REMOVE ferris", "r 2"])
async def test_mod_is_removed_by_number_or_name(word: str) -> None:
    it = await visit(THREE, word)
    assert it.said[1] == ["Removed `ferris`.", shown(with_mods(SPARKLE, CARGO))]


@pytest.mark.requirement("run-mode.menu-remove")
@pytest.mark.parametrize(
    ("config", "word", "refusal"),
    [
        (THREE, "remove 4", "Invalid index. Please enter 1-3."),
        (THREE, "remove it", "Invalid index. Please enter 1-3."),
        (NONE, "remove 1", "No mods configured."),
    ],
)
async def test_unknown_mod_is_not_removed(config: Config, word: str, refusal: str) -> None:
    assert (await visit(config, word)).said[1] == [refusal]
