"""The first prompt of an agent, and the selection of its guidance.

`applies_to` in the front matter limits a text; without it, the text always applies:

    applies_to: "file:pyproject.toml, file:*.py, word:test"

A text with `file` conditions applies if a pattern matches a file of the workspace; one with `word`
conditions, if a word of the task starts with one of them; one with both, if both match.
There are two forms: directives with the resources to load, for clients that read resources, and
the complete text, for other clients.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

from symposium.documents.guidance import URI, GuidanceIndex, GuidanceLibrary, GuidanceText

MAX_ENTRIES: Final = 5000
"""Maximum number of files and folders compared with patterns."""

MAX_DEPTH: Final = 3
"""Maximum depth of folders compared with patterns, including the root."""

SKIPPED_FOLDERS: Final = frozenset({"node_modules", "target", "venv", "build", "dist"})
"""Folders of generated files; hidden folders are skipped too."""

MAX_SENTENCE: Final = 200
"""Maximum length of a sentence in an outline, in characters."""


class GuidanceWorkspace:
    """Files of one workspace, listed when the first pattern is compared."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def has(self, pattern: str) -> bool:
        """Whether a file or folder matches, by its path if the pattern has a slash."""
        names = self._paths if "/" in pattern else self._names
        return any(fnmatchcase(name, pattern) for name in names)

    @cached_property
    def _paths(self) -> Sequence[str]:
        return list(_paths_below(self._root))

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(path.rpartition("/")[2] for path in self._paths)


def applicable(
    texts: Iterable[GuidanceText], workspace: GuidanceWorkspace, words: str
) -> list[GuidanceText]:
    """Texts that apply, in order.

    Args:
        texts: all texts.
        workspace: the agent's workspace.
        words: name, description, and prompt of the task; may be empty.
    """
    return [text for text in texts if _applies(text, workspace, words)]


@dataclass(frozen=True, slots=True)
class GuidanceExcerpt:
    """A text in a prompt: complete or summarized.

    Attributes:
        text: original text.
        body: included text.
        is_whole: whether it is complete.
    """

    text: GuidanceText
    body: str
    is_whole: bool


def fit(texts: Iterable[GuidanceText], budget: int) -> list[GuidanceExcerpt]:
    """Include each text completely while the budget lasts, then its summary, then its name.

    Duplicate content under two names is included once.

    Args:
        texts: texts, most important first.
        budget: maximum total size, in bytes.
    """
    excerpts: list[GuidanceExcerpt] = []
    seen: set[str] = set()
    left = budget
    for text in texts:
        body = text.body.strip()
        if body in seen:
            continue
        seen.add(body)
        for candidate in (body, summary_of(text), text.description):
            size = len(candidate.encode())
            if size <= left:
                excerpts.append(GuidanceExcerpt(text, candidate, candidate == body))
                left -= size
                break
        else:
            excerpts.append(GuidanceExcerpt(text, "", is_whole=False))
    return excerpts


def summary_of(text: GuidanceText) -> str:
    """The author's summary, otherwise each heading with its first sentence."""
    return text.summary or "\n".join(_outline(text.body))


def _applies(text: GuidanceText, workspace: GuidanceWorkspace, words: str) -> bool:
    patterns = [value for kind, value in text.conditions if kind == "file"]
    wanted = [value for kind, value in text.conditions if kind == "word"]
    if wanted and not any(_begins_a_word(each, words) for each in wanted):
        return False
    return not patterns or any(workspace.has(each) for each in patterns)


def _begins_a_word(wanted: str, words: str) -> bool:
    return re.search(rf"\b{re.escape(wanted)}", words, re.IGNORECASE) is not None


def _outline(body: str) -> Iterator[str]:
    heading = ""
    for block in re.split(r"\n\s*\n", body.strip()):
        line = " ".join(block.split())
        if line.startswith("#"):
            heading = line.lstrip("# ")
        elif line and not line.startswith((">", "```", "|")):
            sentence = re.split(r"(?<=[.!?])\s", line, maxsplit=1)[0][:MAX_SENTENCE]
            if heading:
                yield f"- {heading}: {sentence}"
            heading = ""


def _paths_below(root: Path) -> Iterator[str]:
    """Paths relative to the root, nearest first, within the limits above."""
    count = 0
    folders = [("", 1)]
    for folder, depth in folders:
        try:
            with os.scandir(root / folder) as found:
                entries = sorted((each.name, each.is_dir(follow_symlinks=False)) for each in found)
        except OSError:
            continue
        for name, is_folder in entries:
            if (count := count + 1) > MAX_ENTRIES:
                return
            path = f"{folder}/{name}" if folder else name
            yield path
            is_skipped = name.startswith(".") or name in SKIPPED_FOLDERS
            if is_folder and depth < MAX_DEPTH and not is_skipped:
                folders.append((path, depth + 1))


Collaborator: TypeAlias = Literal["socrates", "sparkle", "base-agent"]
"""Collaboration style: built-in patterns, those of another tool, or the agent's own."""

Form: TypeAlias = Literal["directives", "inlined"]

COLLABORATORS: Final[tuple[Collaborator, ...]] = get_args(Collaborator)
ALIASES: Final = ("claude", "codex", "gemini", "gpt")
"""Names of agents that are aliases of `base-agent`."""

PATTERNS: Final = ("main.md", "socrates.md")
"""Texts on collaboration; left out if the collaborator has its own patterns."""

MAX_INLINED: Final = 32_000
"""Budget for guidance in one inlined prompt, in bytes; texts beyond it are summarized."""

_FIRST_LINE: Final = "# Yiasou! Welcome aboard"
_UNSET: Final = "(not yet set)"
_WHAT_IT_IS: Final = (
    "You work in a taskspace: a git worktree with its own branch, one task, and one agent: you. "
    "Other taskspaces of the same project may be active at the same time."
)
_DIRECTIVES: Final = {
    "main.md": "It shows in a conversation how to work with the user. Work the same way: ask when "
    "something is unclear, look before you make a claim, and agree before you act.",
    "walkthrough-format.md": "Use this format to explain code with `present_walkthrough`.",
    "coding-guidelines.md": "Follow it in all work on code.",
    "mcp-tool-usage-suggestions.md": "It explains which Symposium tool to use, and when.",
}
_ASK_FIRST: Final = (
    "If an instruction has two meanings, ask which one is meant before you continue. Always ask "
    "before you delete or publish something, or change a file outside this directory."
)


@dataclass(frozen=True, slots=True)
class TaskContext:
    """The agent's taskspace; None for values that are not set.

    Attributes:
        initial_prompt: the task; None once the agent has started it.
        collaborator: the collaboration style of its agent.
    """

    name: str | None = None
    description: str | None = None
    initial_prompt: str | None = None
    collaborator: str | None = None


def collaborator_of(asked: str | None, task: TaskContext | None) -> Collaborator:
    """Collaboration style: as requested, else that of the taskspace, else `socrates`.

    An unknown name selects no built-in patterns.
    """
    name = (asked or (task.collaborator if task else None) or "socrates").strip().lower()
    match name:
        case "socrates" | "sparkle":
            return name
        case _:
            return "base-agent"


class BootPrompts:
    """Prompts of one library; cached until its texts change."""

    def __init__(self, library: GuidanceLibrary) -> None:
        self._library = library
        self._shelf: GuidanceIndex | None = None
        self._parts: dict[tuple[Form, Collaborator, tuple[str, ...]], str] = {}

    def directives(self, task: TaskContext | None, asked: str | None = None) -> str:
        """The prompt that lists the resources to load.

        Args:
            task: the agent's task; None outside a taskspace, or if unknown.
            asked: collaborator chosen by the user.
        """
        return self._prompt("directives", task, asked)

    def inlined(self, task: TaskContext | None, asked: str | None = None) -> str:
        """The complete prompt; arguments as for `directives`."""
        return self._prompt("inlined", task, asked)

    def texts(self, task: TaskContext | None, asked: str | None = None) -> list[GuidanceText]:
        """The texts that the prompts contain or list; arguments as for `directives`."""
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
        self, shelf: GuidanceIndex, who: Collaborator, task: TaskContext | None
    ) -> list[GuidanceText]:
        """Texts for the collaborator, the workspace's files, and the task's words."""
        words = "" if task is None else words_of(task)
        texts = applicable(shelf.listed, GuidanceWorkspace(self._library.project), words)
        left_out = set(PATTERNS) - ({PATTERNS[0]} if who == "socrates" else set[str]())
        return [text for text in texts if text.id not in left_out]


def words_of(task: TaskContext) -> str:
    """The user's description of a task."""
    return "\n".join(filter(None, (task.name, task.description, task.initial_prompt)))


def _guidance(
    shelf: GuidanceIndex, form: Form, who: Collaborator, chosen: Sequence[GuidanceText]
) -> str:
    texts = _loads(chosen) if form == "directives" else _contexts(chosen)
    return "\n\n".join([*_head(who), *texts, *_untrusted(shelf)])


def _head(who: Collaborator) -> Iterator[str]:
    yield _FIRST_LINE
    yield _ASK_FIRST
    if who == "sparkle":
        yield (
            "<important>\nFirst call the tool `embody_sparkle`. If this tool does not exist, say "
            "so in one sentence and load `socrates.md` instead.\n</important>"
        )


def _loads(chosen: Iterable[GuidanceText]) -> Iterator[str]:
    yield (
        "Load the resources below into your context, in this order. The URI of each is "
        f"`{URI}` followed by its name. If you cannot read resources, call the tool "
        "`expand_reference` with the name."
    )
    for text in chosen:
        about = _DIRECTIVES.get(text.id) or text.description or "It applies to all work here."
        yield f"## {text.name}\n\nLoad the resource `{text.id}`. {about}"


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
        yield (
            "A context with `summary-of` is shortened; call `expand_reference` with its id to get "
            "the complete text."
        )


def _untrusted(shelf: GuidanceIndex) -> Iterator[str]:
    if shelf.untrusted:
        names = ", ".join(f"`{item.name}`" for item in shelf.untrusted)
        yield (
            f"This project has guidance that the user has not allowed yet: {names}. This prompt "
            "does not include it. Mention it once; `symposium trust` shows it to the user."
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
            "The user described the task in the words below. Read them, look at the code they "
            "mention, and ask what is still open. When you know the goal, call `update_taskspace` "
            "with a short name and a description of it; then begin."
            f"\n\n---\n\n{task.initial_prompt}"
        )
    if task.description:
        return (
            "Work on the task has started before. Read the description above and the latest "
            "commits, summarize the state of the work in a few sentences, and ask how to continue."
        )
    return (
        "The task has no description yet. Ask the user for its goal, then call `update_taskspace` "
        "with a short name and a description of it."
    )
