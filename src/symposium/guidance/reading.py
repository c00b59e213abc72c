"""Reads the texts of each layer; those of a project only as far as the user trusts them."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from symposium.guidance.places import BUILT_IN, IN_PROJECT, Places
from symposium.guidance.shelf import SAME_TEXT, Shelf
from symposium.guidance.text import ID, GuidanceText, Layer
from symposium.trust.item import MOST_BYTES, Effect, Item, TrustError
from symposium.trust.reading import read_item
from symposium.trust.store import TrustStore

KIND: Final = "guidance"
"""What a decision on trust calls these texts."""

MOST_TEXTS: Final = 100
"""Of one layer; more is no guidance."""


def read_shelf(places: Places, trust: TrustStore) -> Shelf:
    """Everything as it is on the disk now; what cannot be read is told, and hides nothing else."""
    troubles: list[str] = []
    items = project_items(places.project, troubles)
    trusted = trust.trusted(items)
    untrusted = tuple(each.item for each in trust.questions(items))
    texts: dict[str, GuidanceText] = {}
    layers = (
        _texts_of_directory(BUILT_IN, "built-in", troubles),
        _texts_of_directory(places.user, "user", troubles),
        _texts_of_directory(places.team, "team", troubles),
        _of_items(trusted, troubles),
    )
    for layer in layers:
        texts.update((text.id, text) for text in layer)
    for id_, same in SAME_TEXT.items():
        if id_ not in texts and same in texts:
            texts[id_] = GuidanceText(id_, texts[same].text, texts[same].layer)
    return Shelf(texts, untrusted, tuple(troubles))


def project_items(project: Path, troubles: list[str] | None = None) -> list[Item]:
    """The texts that a project stores, each to be judged by the user before it is used.

    Args:
        project: the root of the checkout.
        troubles: gets what cannot be read, in words.
    """
    said = [] if troubles is None else troubles
    items: list[Item] = []
    for name in _names(project / IN_PROJECT, said):
        try:
            item = read_item(project, KIND, f"{IN_PROJECT}/{name}")
        except TrustError as error:
            said.append(str(error))
            continue
        if item is not None:
            items.append(_with_effect(item))
    return items


def _with_effect(item: Item) -> Item:
    said = item.content.decode(errors="backslashreplace")
    return Item(
        item.workspace, item.kind, item.name, item.content, item.links, (Effect("text", said),)
    )


def _of_items(items: Iterable[Item], troubles: list[str]) -> Iterator[GuidanceText]:
    for item in items:
        yield from _text(Path(item.name), item.content, "project", troubles)


def _texts_of_directory(
    directory: Path, layer: Layer, troubles: list[str]
) -> Iterator[GuidanceText]:
    for name in _names(directory, troubles):
        path = directory / name
        try:
            with path.open("rb") as file:
                content = file.read(MOST_BYTES + 1)
        except OSError as error:
            troubles.append(f"{path}: {error.strerror}")
            continue
        yield from _text(path, content, layer, troubles)


def _text(path: Path, content: bytes, layer: Layer, troubles: list[str]) -> Iterator[GuidanceText]:
    if len(content) > MOST_BYTES:
        troubles.append(f"{path}: larger than {MOST_BYTES} bytes")
        return
    try:
        text = GuidanceText(path.name, content.decode(), layer)
    except UnicodeDecodeError:
        troubles.append(f"{path}: no UTF-8 text")
        return
    for term in text.unknown_conditions:
        form = "write `file:PATTERN` or `word:WORD`"
        troubles.append(f"{path}: unknown condition {term!r} in `applies_to`; {form}")
    yield text


def _names(directory: Path, troubles: list[str]) -> list[str]:
    try:
        entries = sorted(entry.name for entry in directory.iterdir() if entry.is_file())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        troubles.append(f"{directory}: {error.strerror}")
        return []
    names = [name for name in entries if ID.fullmatch(name)]
    if len(names) > MOST_TEXTS:
        troubles.append(f"{directory}: {len(names)} texts; the first {MOST_TEXTS} are read")
    return names[:MOST_TEXTS]
