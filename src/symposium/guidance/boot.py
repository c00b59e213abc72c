"""The first thing an agent reads: how we work, where it is, what it is to do (bus-mcp §2.5).

In two forms: directives that tell which resources to load, for a client that reads resources; and
everything in one text, for one that does not.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from symposium.guidance.library import GuidanceLibrary
from symposium.guidance.selection import Workspace, applicable, fit
from symposium.guidance.shelf import Shelf
from symposium.guidance.text import URI, GuidanceText

Collaborator: TypeAlias = Literal["socrates", "sparkle", "base-agent"]
"""Whom the agent is asked to be: our patterns, somebody else's by a tool, or itself."""

Form: TypeAlias = Literal["directives", "inlined"]

COLLABORATORS: Final[tuple[Collaborator, ...]] = get_args(Collaborator)
ALIASES: Final = ("claude", "codex", "gemini", "gpt")
"""Names of agents, each of which means `base-agent`."""

PATTERNS: Final = ("main.md", "socrates.md")
"""How to collaborate; left out where the collaborator brings patterns of its own."""

MAX_INLINED: Final = 32_000
"""Bytes of guidance in one inlined prompt; what does not fit is given by its summary."""

_FIRST_LINE: Final = "# Yiasou! Welcome aboard"
_UNSET: Final = "(not yet set)"
_WHAT_IT_IS: Final = (
    "You work in a taskspace: a git worktree with a branch of its own, one task, and one agent, "
    "which is you. Other taskspaces of the same project may be at work beside it."
)
_DIRECTIVES: Final = {
    "main.md": "It shows in a conversation how we work together. Take up the stance it shows: ask "
    "when something is unclear, look before you claim, and agree before you act.",
    "walkthrough-format.md": "Keep to it whenever you explain code with `present_walkthrough`.",
    "coding-guidelines.md": "Follow it in all work on code.",
    "mcp-tool-usage-suggestions.md": "It says which of our tools to reach for, and when.",
}
_CARE: Final = (
    "Where an instruction can be read in two ways, ask which is meant before you go on. Ask always "
    "before you delete something, publish something, or change what is not in this directory."
)


@dataclass(frozen=True, slots=True)
class TaskContext:
    """What is known of the taskspace that the agent is in; None for what is not set.

    Attributes:
        initial_prompt: what to do; None once the agent has taken it up.
        collaborator: whom its agent is asked to be.
    """

    name: str | None = None
    description: str | None = None
    initial_prompt: str | None = None
    collaborator: str | None = None


def collaborator_of(asked: str | None, task: TaskContext | None) -> Collaborator:
    """Whom the agent is to be: as asked, else as the taskspace says, else `socrates`.

    A name that we do not know asks for no patterns of ours.
    """
    name = (asked or (task.collaborator if task else None) or "socrates").strip().lower()
    match name:
        case "socrates" | "sparkle":
            return name
        case _:
            return "base-agent"


class BootPrompts:
    """The prompts of one library; what comes from its texts is put together once for each state."""

    def __init__(self, library: GuidanceLibrary) -> None:
        self._library = library
        self._shelf: Shelf | None = None
        self._parts: dict[tuple[Form, Collaborator, tuple[str, ...]], str] = {}

    def directives(self, task: TaskContext | None, asked: str | None = None) -> str:
        """The prompt that tells what to load.

        Args:
            task: None for an agent outside any taskspace, or where nobody knows.
            asked: the collaborator that the user named.
        """
        return self._prompt("directives", task, asked)

    def inlined(self, task: TaskContext | None, asked: str | None = None) -> str:
        """The prompt with everything in it; arguments as for `directives`."""
        return self._prompt("inlined", task, asked)

    def texts(self, task: TaskContext | None, asked: str | None = None) -> list[GuidanceText]:
        """The texts that the prompts hold or name; arguments as for `directives`."""
        return self._chosen(self._library.shelf(), collaborator_of(asked, task), task)

    def _prompt(self, form: Form, task: TaskContext | None, asked: str | None) -> str:
        shelf = self._library.shelf()
        if shelf is not self._shelf:
            self._shelf, self._parts = shelf, {}
        who = collaborator_of(asked, task)
        chosen = self._chosen(shelf, who, task)
        key = form, who, tuple(text.id for text in chosen)
        if key not in self._parts:
            self._parts[key] = _guidance(shelf, form, who, chosen)
        return "\n\n".join([self._parts[key], *_task(task)]) + "\n"

    def _chosen(
        self, shelf: Shelf, who: Collaborator, task: TaskContext | None
    ) -> list[GuidanceText]:
        """The texts that suit the collaborator, the workspace's files and the task's words."""
        words = "" if task is None else words_of(task)
        texts = applicable(shelf.listed, Workspace(self._library.project), words)
        left_out = set(PATTERNS) - ({PATTERNS[0]} if who == "socrates" else set[str]())
        return [text for text in texts if text.id not in left_out]


def words_of(task: TaskContext) -> str:
    """What the user said of a task."""
    return "\n".join(filter(None, (task.name, task.description, task.initial_prompt)))


def _guidance(shelf: Shelf, form: Form, who: Collaborator, chosen: Sequence[GuidanceText]) -> str:
    texts = _loads(chosen) if form == "directives" else _contexts(chosen)
    return "\n\n".join([*_head(who), *texts, *_untrusted(shelf)])


def _head(who: Collaborator) -> Iterator[str]:
    yield _FIRST_LINE
    yield _CARE
    if who == "sparkle":
        yield (
            "<important>\nBefore anything else call the tool `embody_sparkle`. If there is no "
            "such tool, say so in one sentence and load `socrates.md` instead.\n</important>"
        )


def _loads(chosen: Iterable[GuidanceText]) -> Iterator[str]:
    yield (
        "Load the resources below into your context, in this order. The URI of each is "
        f"`{URI}` and its name. Where you cannot read resources, call the tool "
        "`expand_reference` with the name."
    )
    for text in chosen:
        told = _DIRECTIVES.get(text.id) or text.description or "It holds for all work here."
        yield f"## {text.name}\n\nLoad the resource `{text.id}`. {told}"


def _contexts(chosen: Iterable[GuidanceText]) -> Iterator[str]:
    excerpts = fit(chosen, MAX_INLINED)
    for excerpt in excerpts:
        text = excerpt.text
        note = "" if excerpt.is_whole else f' summary-of="{text.size} bytes"'
        yield (
            f'<context id="{text.id}" from="{text.layer}" sha256="{text.sha256[:16]}"{note}>\n'
            f"{excerpt.body}\n</context>"
        )
    if any(not each.is_whole for each in excerpts):
        yield "A context with `summary-of` is shortened; `expand_reference` with its id has it all."


def _untrusted(shelf: Shelf) -> Iterator[str]:
    if shelf.untrusted:
        names = ", ".join(f"`{item.name}`" for item in shelf.untrusted)
        yield (
            f"This project stores guidance that the user has not allowed yet: {names}. It is no "
            "part of this prompt. Mention it once; `symposium trust` shows it to the user."
        )


def _task(task: TaskContext | None) -> Iterator[str]:
    if task is None:
        return
    yield "## Initial task"
    yield "\n".join(
        [
            "<taskspace_context>",
            _WHAT_IT_IS,
            f"<name>{task.name or _UNSET}</name>",
            f"<description>{task.description or _UNSET}</description>",
            f"<initial_task>\n{_what_to_do(task)}\n</initial_task>",
            "</taskspace_context>",
        ]
    )


def _what_to_do(task: TaskContext) -> str:
    if task.initial_prompt:
        return (
            "The user described the task in the words below. Read them, look at what they speak "
            "of, and ask what is still open. When you know what is wanted, call "
            "`update_taskspace` with a short name and a description of it; then begin."
            f"\n\n---\n\n{task.initial_prompt}"
        )
    if task.description:
        return (
            "The task has been taken up before. Read the description above and the newest commits, "
            "say in a few sentences where the work stands, and ask how to go on."
        )
    return (
        "Nothing has been set down yet. Ask the user what is to be achieved here, then call "
        "`update_taskspace` with a short name and a description of it."
    )
