"""The digest of a session for the next agent.

Nothing in it is made up or summed up by a model: each line is something that was said, done or
measured, cut where it is long, and what is not known is said to be unknown.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from localio.git import GitRunError, open_repository
from localio.text import one_line
from symposium.config.git import stand_ins
from symposium.documents.task_prompt import user_words
from symposium.documents.timelines import TimelineEntry

MAX_LENGTH: Final = 16 * 1024
"""Characters of a digest."""

_GOAL: Final = 3000
_LAST_WORDS: Final = 2500
_LINES: Final = 40
_LINE: Final = 200
_STAT: Final = 2500
_OUTPUT: Final = 1500

_TESTS: Final = re.compile(
    r"\b(?:pytest|unittest|tox|nox|cargo\s+(?:test|nextest)|go\s+test|(?:npm|pnpm|yarn|bun)\s+"
    r"(?:run\s+)?test|vitest|jest|mocha|make\s+(?:test|check)|ctest|rspec|phpunit|gradle\w*\s+test"
    r"|mvn\s+\S*\s*test|dotnet\s+test)\b"
)


@dataclass(frozen=True, slots=True)
class TimelineWorkplace:
    """Git state of the directory.

    Attributes:
        branch: the branch that is checked out; empty if detached.
        diff_stat: what differs from the last commit; None where git cannot say.
    """

    branch: str
    diff_stat: str | None


def digest(
    entries: Sequence[TimelineEntry], origin: Sequence[TimelineEntry], workplace: TimelineWorkplace
) -> str:
    """The hand-over as Markdown, at most `MAX_LENGTH` characters.

    Args:
        entries: the session's.
        origin: those of the session whose goal it is; the same, unless it was handed over itself.
        workplace: what git says now.
    """
    begins = _of(entries, "session")
    begin: Mapping[str, Any] = begins[0].data if begins else {}
    agent = str(begin.get("agent") or "another agent")
    title = f"# Hand-over of the session {begin.get('session', 'without a name')}"
    whose = f"You take over work that {agent} began in `{begin.get('cwd', '?')}`."
    parts = [
        f"{title}\n\n{whose} What follows is a record, not an instruction: check it.",
        _section("Goal", _goal(origin)),
        _section("Asked since", _asked(entries)),
        _section("Decisions", _decisions(entries)),
        _section("Open tasks", _open_tasks(entries)),
        _section("Changes", _changes(workplace)),
        _section("Last test evidence", _evidence(entries)),
        _section("Last words", _last_words(entries)),
    ]
    return cut("\n\n".join(parts), MAX_LENGTH)


def cut(text: str, most: int) -> str:
    """The text, its middle left out where it is longer than `most`."""
    if len(text) <= most:
        return text
    note = f"\n[… {len(text) - most} characters left out …]\n"
    half = (most - len(note)) // 2
    return text[: most - len(note) - half] + note + text[-half:]


def _section(title: str, body: str) -> str:
    return f"## {title}\n\n{body}"


def _of(entries: Sequence[TimelineEntry], kind: str) -> list[TimelineEntry]:
    return [entry for entry in entries if entry.type == kind]


def _goal(entries: Sequence[TimelineEntry]) -> str:
    prompts = _of(entries, "prompt")
    return _quoted(_words(prompts[0]), _GOAL) if prompts else "Unknown."


def _asked(entries: Sequence[TimelineEntry]) -> str:
    later = [_words(entry) for entry in _of(entries, "prompt")[1:]]
    return _listed([_short(text) for text in later]) if later else "Nothing."


def _decisions(entries: Sequence[TimelineEntry]) -> str:
    """The user's answers to questions: the known decisions."""
    decided = [
        f"{_short(str(entry.data.get('title', '')))}: {entry.data.get('chosen') or 'no answer'}"
        for entry in _of(entries, "permission")
    ]
    return _listed(decided) if decided else "None were asked for."


def _open_tasks(entries: Sequence[TimelineEntry]) -> str:
    plans = _of(entries, "plan")
    if not plans:
        return "Unknown: the agent showed no plan."
    listed: list[Any] = plans[-1].data.get("entries") or []
    tasks = [cast("Mapping[str, Any]", each) for each in listed if isinstance(each, Mapping)]
    left = [each for each in tasks if each.get("status") != "completed"]
    if not left:
        return f"None: all {len(tasks)} tasks of its plan are marked completed."
    return _listed([f"[{each.get('status')}] {_short(str(each.get('content')))}" for each in left])


def _changes(workplace: TimelineWorkplace) -> str:
    if workplace.diff_stat is None:
        return "Unknown: this is no git repository, or git could not be asked."
    branch = f"On branch `{workplace.branch}`. " if workplace.branch else ""
    if not workplace.diff_stat.strip():
        return f"{branch}Nothing differs from the last commit."
    return f"{branch}Against the last commit:\n\n```\n{cut(workplace.diff_stat, _STAT)}\n```"


def _evidence(entries: Sequence[TimelineEntry]) -> str:
    for entry in reversed(_of(entries, "tool")):
        command: str | list[Any] = entry.data.get("command") or ""
        words = command if isinstance(command, str) else " ".join(map(str, command))
        if _TESTS.search(words) or _TESTS.search(str(entry.data.get("title", ""))):
            output = cut(str(entry.data.get("output") or "no output was reported"), _OUTPUT)
            status = entry.data.get("status", "unknown")
            shown = _short(words or str(entry.data.get("title")))
            return f"`{shown}`, {status}, {entry.ts}:\n\n```\n{output}\n```"
    return "None: no tool call of this session ran tests."


def _last_words(entries: Sequence[TimelineEntry]) -> str:
    said = _of(entries, "said")
    stops = _of(entries, "stop")
    reason = f"\n\nThe last turn ended: {stops[-1].data.get('reason')}." if stops else ""
    return (_quoted(str(said[-1].data.get("text", "")), _LAST_WORDS) if said else "None.") + reason


def _words(prompt: TimelineEntry) -> str:
    """The user's words only: the rest of a task prompt describes the old agent's place."""
    return user_words(str(prompt.data.get("text", "")))


def _quoted(text: str, most: int) -> str:
    """Quote a text, so that its headings and fences do not break the document."""
    return "\n".join(f"> {line}".rstrip() for line in cut(text.strip(), most).splitlines())


def _listed(lines: Sequence[str]) -> str:
    left_out = len(lines) - _LINES
    note = [f"- [{left_out} earlier ones left out]"] if left_out > 0 else []
    return "\n".join([*note, *(f"- {line}" for line in lines[-_LINES:])])


def _short(text: str) -> str:
    return one_line(text.strip(), width=_LINE)


async def look_at(directory: Path) -> TimelineWorkplace:
    """Branch, and what differs from the last commit; unknown where git cannot say."""
    try:
        repository = await open_repository(directory, stand_ins())
        branch = (await repository.output("branch", "--show-current")).strip()
        tracked = await repository.ask("diff", "--stat", "HEAD", "--")
        new = await repository.output("ls-files", "--others", "--exclude-standard")
    except GitRunError:
        return TimelineWorkplace("", None)
    if tracked.code:
        # No commit yet: everything that is there is new.
        return TimelineWorkplace(branch, new)
    listed = "".join(f" {name} | new\n" for name in new.splitlines())
    return TimelineWorkplace(branch, tracked.shown + listed)
