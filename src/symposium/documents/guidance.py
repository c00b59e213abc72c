"""Guidance files by layer: directories, texts, and the library of a workspace."""

import asyncio
import hashlib
import os
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, TypeAlias

from localio.markdown import part
from symposium.config.paths import paths
from symposium.permissions.trust_store import FILE, TrustStore
from symposium.permissions.trusted_content import (
    MAX_BYTES,
    TrustEffect,
    TrustError,
    TrustItem,
    read_item,
)

IN_PROJECT: Final = ".symposium/guidance"
"""Directory of guidance, relative to the root of a checkout."""

TEAM_VARIABLE: Final = "SYMPOSIUM_TEAM_GUIDANCE"
"""Variable with the team's directory; default: `team/guidance` in the user's directory."""

BUILT_IN: Final = Path(__file__).parent / "guidance_texts"


@dataclass(frozen=True, slots=True)
class GuidancePlaces:
    """Directories with texts; any of them may be missing.

    Attributes:
        project: root of the checkout; its texts require the user's trust.
        team: directory shared by a team, installed by the user.
        user: directory of the user.
        home: directory of the user's trust decisions.
    """

    project: Path
    team: Path
    user: Path
    home: Path


def places_for(directory: Path, environment: Mapping[str, str] | None = None) -> GuidancePlaces:
    """Directories of guidance for a working directory.

    Args:
        directory: working directory of the agent.
        environment: environment variables; default: those of this process.
    """
    env = os.environ if environment is None else environment
    home = paths(env).home
    team = Path(env.get(TEAM_VARIABLE) or home / "team" / "guidance")
    return GuidancePlaces(checkout_of(directory), team, home / "guidance", home)


def checkout_of(directory: Path) -> Path:
    """Root of the checkout of a directory; the directory itself outside a checkout."""
    here = directory.absolute()
    for place in (here, *here.parents):
        if (place / ".git").exists():
            return place
    return here


Layer: TypeAlias = Literal["project", "team", "user", "built-in"]
"""Layers by priority: the first one with a text for an id wins."""

URI: Final = "symposium://guidance/"
"""Prefix of a text's URI as an MCP resource; the id follows."""

ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\.md")
"""Id of a text: a file name without directories."""


CONDITIONS: Final = frozenset({"file", "word"})
"""Kinds of conditions in `applies_to`."""


@dataclass(frozen=True, slots=True)
class GuidanceText:
    """A guidance text.

    Attributes:
        id: file name, such as `main.md`.
        text: complete content, including the front matter.
        layer: origin.
        body: content without the front matter.
        name: title; default: the id.
        description: purpose; may be empty.
        summary: the author's summary; may be empty.
        conditions: pairs of `file` or `word` and a value; empty: always applies.
        unknown_conditions: invalid parts of `applies_to`.
        sha256: hash of the content.
    """

    id: str
    text: str
    layer: Layer
    body: str = field(init=False)
    name: str = field(init=False)
    description: str = field(init=False)
    summary: str = field(init=False)
    conditions: tuple[tuple[str, str], ...] = field(init=False)
    unknown_conditions: tuple[str, ...] = field(init=False)
    sha256: str = field(init=False)

    def __post_init__(self) -> None:
        """Parse the front matter."""
        parted = part(self.text)
        object.__setattr__(self, "body", parted.body)
        object.__setattr__(self, "name", parted.fields.get("name") or self.id)
        object.__setattr__(self, "description", parted.fields.get("description", ""))
        object.__setattr__(self, "summary", parted.fields.get("summary", ""))
        terms = [term.strip() for term in parted.fields.get("applies_to", "").split(",")]
        pairs = [(term, *term.partition(":")[::2]) for term in terms if term]
        known = {term: (kind, value.strip()) for term, kind, value in pairs if kind in CONDITIONS}
        object.__setattr__(self, "conditions", tuple(each for each in known.values() if each[1]))
        unknown = tuple(term for term, _, value in pairs if term not in known or not value.strip())
        object.__setattr__(self, "unknown_conditions", unknown)
        object.__setattr__(self, "sha256", hashlib.sha256(self.text.encode()).hexdigest())

    @property
    def uri(self) -> str:
        """URI as an MCP resource; a file name is not a URI."""
        return URI + self.id

    @property
    def size(self) -> int:
        """Size of the content, in bytes."""
        return len(self.text.encode())


SAME_TEXT: Final[Mapping[str, str]] = {"socrates.md": "main.md"}
"""Aliases of ids, for ids without their own text."""

FIRST: Final = (
    "main.md",
    "walkthrough-format.md",
    "coding-guidelines.md",
    "mcp-tool-usage-suggestions.md",
)
"""Order of reading; other texts follow by name."""


@dataclass(frozen=True, slots=True)
class GuidanceIndex:
    """Current guidance texts.

    Attributes:
        texts: texts by id.
        untrusted: project texts without a trust decision; not used.
        problems: errors of unreadable texts.
    """

    texts: Mapping[str, GuidanceText]
    untrusted: tuple[TrustItem, ...] = ()
    problems: tuple[str, ...] = field(default=(), compare=False)

    def get(self, id_: str) -> GuidanceText | None:
        """The text with this id, or None."""
        return self.texts.get(id_)

    @property
    def listed(self) -> list[GuidanceText]:
        """All texts, in the order of reading."""
        last = len(FIRST)
        order = {id_: number for number, id_ in enumerate(FIRST)}
        return sorted(self.texts.values(), key=lambda each: (order.get(each.id, last), each.id))

    def changed_since(self, before: "GuidanceIndex") -> frozenset[str]:
        """Ids of added, removed, and changed texts."""
        ids = self.texts.keys() | before.texts.keys()
        return frozenset(id_ for id_ in ids if self.texts.get(id_) != before.texts.get(id_))

    def lists_other_than(self, before: "GuidanceIndex") -> bool:
        """Whether the lists differ in ids, names, descriptions, or sizes."""
        return _rows(self) != _rows(before)


def _rows(shelf: GuidanceIndex) -> list[tuple[str, str, str, int]]:
    return [(each.id, each.name, each.description, each.size) for each in shelf.listed]


KIND: Final = "guidance"
"""Kind of these texts in trust decisions."""

MAX_TEXTS: Final = 100
"""Maximum number of texts in one layer."""


def read_shelf(places: GuidancePlaces, trust: TrustStore) -> GuidanceIndex:
    """Read all texts from disk; unreadable ones are reported and skipped."""
    problems: list[str] = []
    items = project_items(places.project, problems)
    trusted = trust.trusted(items)
    untrusted = tuple(each.item for each in trust.questions(items))
    texts: dict[str, GuidanceText] = {}
    layers = (
        _texts_of_directory(BUILT_IN, "built-in", problems),
        _texts_of_directory(places.user, "user", problems),
        _texts_of_directory(places.team, "team", problems),
        _of_items(trusted, problems),
    )
    for layer in layers:
        texts.update((text.id, text) for text in layer)
    for id_, same in SAME_TEXT.items():
        if id_ not in texts and same in texts:
            texts[id_] = GuidanceText(id_, texts[same].text, texts[same].layer)
    return GuidanceIndex(texts, untrusted, tuple(problems))


def project_items(project: Path, problems: list[str] | None = None) -> list[TrustItem]:
    """Texts of a project, before the user's trust decision.

    Args:
        project: root of the checkout.
        problems: receives messages about unreadable texts.
    """
    said = [] if problems is None else problems
    items: list[TrustItem] = []
    for name in _names(project / IN_PROJECT, said):
        try:
            item = read_item(project, KIND, f"{IN_PROJECT}/{name}")
        except TrustError as error:
            said.append(str(error))
            continue
        if item is not None:
            items.append(_with_effect(item))
    return items


def _with_effect(item: TrustItem) -> TrustItem:
    said = item.content.decode(errors="backslashreplace")
    return TrustItem(
        item.workspace, item.kind, item.name, item.content, item.links, (TrustEffect("text", said),)
    )


def _of_items(items: Iterable[TrustItem], problems: list[str]) -> Iterator[GuidanceText]:
    for item in items:
        yield from _text(Path(item.name), item.content, "project", problems)


def _texts_of_directory(
    directory: Path, layer: Layer, problems: list[str]
) -> Iterator[GuidanceText]:
    for name in _names(directory, problems):
        path = directory / name
        try:
            with path.open("rb") as file:
                content = file.read(MAX_BYTES + 1)
        except OSError as error:
            problems.append(f"{path}: {error.strerror}")
            continue
        yield from _text(path, content, layer, problems)


def _text(path: Path, content: bytes, layer: Layer, problems: list[str]) -> Iterator[GuidanceText]:
    if len(content) > MAX_BYTES:
        problems.append(f"{path}: larger than {MAX_BYTES} bytes")
        return
    try:
        text = GuidanceText(path.name, content.decode(), layer)
    except UnicodeDecodeError:
        problems.append(f"{path}: not UTF-8 text")
        return
    for term in text.unknown_conditions:
        form = "write `file:PATTERN` or `word:WORD`"
        problems.append(f"{path}: unknown condition {term!r} in `applies_to`; {form}")
    yield text


def _names(directory: Path, problems: list[str]) -> list[str]:
    try:
        entries = sorted(entry.name for entry in directory.iterdir() if entry.is_file())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        problems.append(f"{directory}: {error.strerror}")
        return []
    names = [name for name in entries if ID.fullmatch(name)]
    if len(names) > MAX_TEXTS:
        problems.append(f"{directory}: {len(names)} texts; the first {MAX_TEXTS} are read")
    return names[:MAX_TEXTS]


LOOK_EVERY: Final = 1.0
"""Seconds between two checks; each needs a dozen calls of `stat`."""

_Print: TypeAlias = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class GuidanceChange:
    """A change of the guidance.

    Attributes:
        ids: ids of added, removed, and changed texts.
        is_list: whether the list of texts changed, too.
    """

    ids: frozenset[str]
    is_list: bool


async def _pause() -> None:
    await asyncio.sleep(LOOK_EVERY)


class GuidanceLibrary:
    """Guidance of four layers: project (trusted texts only), team, user, and built-in."""

    def __init__(self, places: GuidancePlaces, trust: TrustStore | None = None) -> None:
        self._places = places
        self._trust = trust or TrustStore(places.home)
        self._print: _Print | None = None
        self._shelf = GuidanceIndex({})

    @property
    def project(self) -> Path:
        """Root of the checkout."""
        return self._places.project

    def shelf(self) -> GuidanceIndex:
        """Current texts; the same object while no file changes."""
        seen = self._look()
        if seen != self._print:
            self._shelf, self._print = read_shelf(self._places, self._trust), seen
        return self._shelf

    async def changes(
        self, pause: Callable[[], Awaitable[None]] = _pause
    ) -> AsyncGenerator[GuidanceChange]:
        """Yield each change from now on.

        Args:
            pause: waits until the next check.
        """
        before = self.shelf()
        while True:
            await pause()
            now = self.shelf()
            if now is before:
                continue
            ids = now.changed_since(before)
            if ids:
                yield GuidanceChange(ids, now.lists_other_than(before))
            before = now

    def _look(self) -> _Print:
        project = self._places.project / IN_PROJECT
        directories = (BUILT_IN, self._places.user, self._places.team, project)
        files = [_of_file(self._places.home / FILE)]
        return (*files, *(_state_of_directory(directory) for directory in directories))


def library_for(directory: Path, environment: Mapping[str, str] | None = None) -> GuidanceLibrary:
    """Guidance for agents in a directory."""
    return GuidanceLibrary(places_for(directory, environment))


def _state_of_directory(directory: Path) -> tuple[object, ...]:
    try:
        with os.scandir(directory) as entries:
            return tuple(sorted((each.name, *_of_file(Path(each.path))) for each in entries))
    except OSError:
        return ()


def _of_file(path: Path) -> tuple[int, ...]:
    try:
        seen = path.stat()
    except OSError:
        return ()
    return seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_mode
