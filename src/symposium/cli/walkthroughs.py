"""Find the walkthrough that a command names: a file, or a stored one."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from symposium.code.lsp.headless import Headless, HeadlessPort
from symposium.code.query.functions import IdePort, NoIde, workspace
from symposium.config.paths import paths
from symposium.documents.walkthroughs.grammar import parse_walkthrough
from symposium.documents.walkthroughs.places import Resolved, resolve
from symposium.documents.walkthroughs.sections import title_of
from symposium.documents.walkthroughs.store import (
    StoredWalkthrough,
    WalkthroughStore,
    project_folder,
)
from symposium.errors import NotFoundError


@dataclass(frozen=True, slots=True)
class ChosenWalkthrough:
    """The named walkthrough.

    Attributes:
        base: the directory that its paths are relative to.
        about: its origin, in a few words.
    """

    title: str
    markdown: str
    base: str
    about: str


@dataclass(frozen=True, slots=True)
class WalkthroughChoice:
    """The command line's choice of a walkthrough.

    Attributes:
        target: a Markdown file, or the id of a stored walkthrough; None for the latest.
        version: the version of a stored one; None for the latest.
        base: the directory that its paths are relative to; None for the stored one.
        has_servers: whether to ask language servers.
    """

    target: str | None
    version: int | None
    base: Path | None
    has_servers: bool


def project_stores(base: Path | None = None) -> list[WalkthroughStore]:
    """Return the stores of the current project: of this worktree, then of the others."""
    home, here = paths().home, project_folder(paths().home, base or Path.cwd())
    others = {project_folder(home, each): None for each in worktrees_of(base or Path.cwd())}
    return [WalkthroughStore(folder) for folder in {here: None, **others}]


def worktrees_of(place: Path) -> list[Path]:
    """List the worktrees of the repository around a directory, from the files of git."""
    place = place.resolve()
    top = next((each for each in (place, *place.parents) if (each / ".git").exists()), None)
    if top is None:
        return []
    try:
        common = _common_directory(top / ".git")
        linked = [_read_path(each, common) for each in common.glob("worktrees/*/gitdir")]
    except OSError:
        return []
    own = [common.parent] if common.name == ".git" else []
    return [*own, *(each.parent for each in linked)]


def _common_directory(git: Path) -> Path:
    """Find the shared git directory (gitrepository-layout(5), `commondir`)."""
    if git.is_dir():
        return git
    own = _read_path(git, git.parent)
    return _read_path(own / "commondir", own) if (own / "commondir").exists() else own


def _read_path(file: Path, base: Path) -> Path:
    text = os.fsdecode(file.read_bytes()).strip().removeprefix("gitdir: ")
    return Path(os.path.normpath(base / text))


def chosen(choice: WalkthroughChoice) -> ChosenWalkthrough:
    """Load the named walkthrough.

    Raises:
        NotFoundError: neither a file nor a stored walkthrough has this name.
    """
    file = Path(choice.target) if choice.target else None
    if file is not None and (file.is_file() or file.suffix == ".md"):
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise NotFoundError(f"cannot read {file}: {error}", "name a Markdown file") from error
        base = str(choice.base or Path.cwd())
        return ChosenWalkthrough(title_of(text), text, base, file.name)
    stored = _stored(choice)
    base = str(choice.base or stored.base_uri)
    return ChosenWalkthrough(stored.title, stored.markdown, base, f"version {stored.version}")


def _stored(choice: WalkthroughChoice) -> StoredWalkthrough:
    stores = project_stores(choice.base)
    if choice.target is None:
        newest = {store: next(store.newest(), None) for store in stores}
        latest = max(stores, key=lambda store: each.created_at if (each := newest[store]) else -1.0)
        return latest.load(None, choice.version)
    holder = next((store for store in stores if store.versions(choice.target)), stores[0])
    return holder.load(choice.target, choice.version)


async def resolved(found: ChosenWalkthrough, choice: WalkthroughChoice) -> Resolved:
    """Resolve the locations of a walkthrough.

    Raises:
        ExplainedError: it is too long, or its directory does not exist.
    """
    place = workspace(found.base)
    document = parse_walkthrough(found.markdown)
    async with _ide(place.root, has_servers=choice.has_servers) as port:
        return await resolve(document, place, port)


@asynccontextmanager
async def _ide(root: Path, *, has_servers: bool) -> AsyncGenerator[IdePort]:
    if not has_servers:
        yield NoIde("language servers are off because of --no-servers")
        return
    headless = Headless()
    async with asyncio.TaskGroup() as tasks:
        serving = tasks.create_task(headless.run())
        yield HeadlessPort(headless, root)
        serving.cancel()
