"""Stored references (the reference's tests F1 to F6, and limits)."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposium.documents import references as module
from symposium.documents.references import LIFETIME, ReferenceStore, ReferenceStoreError

SELECTION = {
    "relativePath": "src/app.py",
    "selectionRange": {"start": {"line": 3, "column": 1}, "end": {"line": 4, "column": 9}},
    "selectedText": "def é(): ...",
}


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


def value(store: ReferenceStore, key: str) -> Any:
    found = store.get(key)
    return None if found is None else found.value


@pytest.mark.requirement("mcp-server.references")
def test_stored_value_is_unchanged_after_a_restart(tmp_path: Path) -> None:
    ReferenceStore(tmp_path).put("a", SELECTION, taskspace="t")
    ReferenceStore(tmp_path).put("my key", [None, 1.5, "x"])
    later = ReferenceStore(tmp_path)

    assert value(later, "a") == SELECTION
    assert value(later, "my key") == [None, 1.5, "x"]
    assert value(later, "b") is None
    assert later.count() == 2
    assert (tmp_path / "references.sqlite").stat().st_mode & 0o077 == 0


@pytest.mark.requirement("mcp-server.references")
def test_reading_creates_no_file(tmp_path: Path) -> None:
    store = ReferenceStore(tmp_path / "new")

    assert (store.get("a"), store.count()) == (None, 0)
    assert not (tmp_path / "new").exists()

    ReferenceStore(tmp_path / "new" / "deep").put("a", 1)
    assert (tmp_path / "new" / "deep").stat().st_mode & 0o077 == 0


@pytest.mark.requirement("mcp-server.references")
def test_value_of_the_same_key_is_replaced(tmp_path: Path) -> None:
    store = ReferenceStore(tmp_path)
    store.put("a", 1)
    store.put("a", 2)

    assert (value(store, "a"), store.count()) == (2, 1)


@pytest.mark.requirement("mcp-server.references")
def test_expired_value_is_deleted(tmp_path: Path) -> None:
    clock = Clock()
    store = ReferenceStore(tmp_path, clock)
    store.put("old", 1)
    clock.now += LIFETIME
    assert value(store, "old") is None
    assert store.newest() == []
    store.put("new", 1)

    with sqlite3.connect(tmp_path / "references.sqlite") as database:
        assert database.execute("select key from reference").fetchall() == [("new",)]


@pytest.mark.requirement("mcp-server.references")
def test_oldest_values_are_deleted_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_TOTAL", 300)
    store = ReferenceStore(tmp_path, Clock())
    for number in range(5):
        store.put(str(number), "x" * 98)

    assert store.newest() == ["4", "3", "2"]


@pytest.mark.requirement("mcp-server.references")
@pytest.mark.parametrize(
    ("key", "stored", "reason"),
    [
        ("", 1, "^a key has 1 to 200 characters; use a UUID$"),
        ("k" * 201, 1, "^a key has 1 to 200 characters; use a UUID$"),
        (
            "k",
            "x" * module.MAX_BYTES,
            "^the value has 1048578 bytes; at most 1048576 are allowed; store the path and",
        ),
        ("k", object(), "^the value is not JSON: .*object"),
        ("k", "\ud800", "^the value is not JSON: .*surrogate"),
    ],
)
def test_invalid_value_is_rejected(key: str, stored: Any, reason: str, tmp_path: Path) -> None:
    with pytest.raises(ReferenceStoreError, match=reason):
        ReferenceStore(tmp_path).put(key, stored)


@pytest.mark.requirement("mcp-server.references")
def test_damaged_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "references.sqlite").write_bytes(b"no database at all, and long enough" * 50)

    with pytest.raises(ReferenceStoreError) as caught:
        ReferenceStore(tmp_path).get("a")
    file = tmp_path / "references.sqlite"
    assert caught.value.message == f"{file} cannot be used: file is not a database"
    assert caught.value.hint == "you can move it away; only attached references are lost"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)


@pytest.mark.requirement("mcp-server.references")
@given(json_values)
def test_any_json_comes_back(tmp_path_factory: pytest.TempPathFactory, stored: Any) -> None:
    store = ReferenceStore(tmp_path_factory.mktemp("home"))
    store.put("k", stored)

    assert value(store, "k") == stored


@pytest.mark.requirement("mcp-server.references")
def test_a_value_lasts_until_its_lifetime_is_over(tmp_path: Path) -> None:
    now = [1000.0]
    store = ReferenceStore(tmp_path, lambda: now[0])
    store.put("a", 1)
    now[0] += LIFETIME - 1
    before = value(store, "a"), store.newest()
    now[0] += 1

    assert before == (1, ["a"])
    assert (value(store, "a"), store.newest()) == (None, [])


@pytest.mark.requirement("mcp-server.references")
def test_key_and_value_of_exactly_the_limit_are_stored(tmp_path: Path) -> None:
    store = ReferenceStore(tmp_path)
    largest = "x" * (module.MAX_BYTES - len('""'))
    store.put("k" * 200, largest)

    assert value(store, "k" * 200) == largest
    with pytest.raises(ReferenceStoreError, match="bytes"):
        store.put("k", largest + "x")
