"""Edited JSONC has the new value and keeps comments and layout."""

from collections.abc import Sequence
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.json_values import VALUES, decorated

from localio.jsonc import json_text, parse
from localio.jsonc_edit import pair, rewrite

NAMES = ["ada", "bob", "cyd", "dot", "eve"]


def same(one: Any, other: Any) -> bool:
    return json_text(one, sort_keys=True) == json_text(other, sort_keys=True)


@st.composite
def changed(draw: st.DrawFn, value: Any) -> Any:
    """Draw a variant of a value, with parts removed, added, moved, and replaced."""
    if draw(st.integers(0, 5)) == 0:
        return draw(VALUES)
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value).items()
        kept = {key: draw(changed(item)) for key, item in members if draw(st.booleans())}
        return kept | draw(st.dictionaries(st.text(max_size=3), VALUES, max_size=2))
    if isinstance(value, list):
        elements = cast("list[Any]", value)
        left = [draw(changed(item)) for item in elements if draw(st.booleans())]
        return draw(st.permutations([*left, *draw(st.lists(VALUES, max_size=1))]))
    return value


@pytest.mark.requirement("config.rewrite-says-it")
@given(st.data(), decorated())
def test_edited_text_has_the_new_value(data: st.DataObject, pair: tuple[Any, str]) -> None:
    value, text = pair
    wanted = data.draw(changed(value))

    written = rewrite(text, wanted)

    assert same(parse(written).value, wanted)
    assert rewrite(written, wanted) == written


@pytest.mark.requirement("config.rewrite-says-it")
@given(decorated())
def test_text_with_the_same_value_is_unchanged(pair: tuple[Any, str]) -> None:
    value, text = pair

    assert rewrite(text, parse(text).value) == text
    assert rewrite(text, value) == text


def listing(names: Sequence[str]) -> str:
    lines = ["{ // of all"]
    for name in names:
        lines += [f"  // above {name}", f'  "{name}": 1, // beside {name}']
    lines += ['  "list": [ /* of the list */', "    // loose", ""]
    for name in names:
        lines += [f"    // over {name}"]
        lines += [f'    {{ "name": "{name}", /* in {name} */ "on": true }}, // by {name}']
    return "\n".join([*lines, "    // at the end", "  ]", "}", ""])


@pytest.mark.requirement("config.rewrite-keeps-comments")
@given(
    st.sets(st.sampled_from(NAMES)),
    st.lists(st.sampled_from([*NAMES, "fay"]), unique=True),
    st.sets(st.sampled_from(NAMES)),
)
def test_comment_moves_with_its_value(
    members: set[str], elements: list[str], turned_off: set[str]
) -> None:
    value: dict[str, Any] = {name: 2 for name in NAMES if name in members}
    value["list"] = [{"name": name, "on": name not in turned_off} for name in elements]

    lines = rewrite(listing(NAMES), value).splitlines()

    for name in members:
        at = lines.index(f"  // above {name}")
        assert lines[at + 1] == f'  "{name}": 2, // beside {name}'
    for name in elements:
        if name != "fay":
            on = "false" if name in turned_off else "true"
            at = lines.index(f"    // over {name}")
            assert lines[at + 1].startswith(
                f'    {{ "name": "{name}", /* in {name} */ "on": {on} }}'
            )
            assert lines[at + 1].endswith(f"// by {name}")
    for comment in ("{ // of all", "    // loose", "    // at the end"):
        assert comment in lines
    assert any("/* of the list */" in line for line in lines)


@pytest.mark.requirement("config.rewrite-keeps-comments")
@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("[1, 2, 3]", [3, 1], "[3, 1]"),
        ("[ 1, 2 ]", [1, 2, 4], "[ 1, 2, 4 ]"),
        ("{}", {"a": {"b": 1}}, '{\n  "a": {\n    "b": 1\n  }\n}'),
        ('{"a": 1}', {"a": 1, "b": [2]}, '{"a": 1, "b": [2]}'),
        ('{\r\n\t"a": 1\r\n}', {"a": 1, "b": {"c": 2}}, None),
        ("[1, // one\n 2]", [2], "[\n 2\n]"),
        ("[1 // one\n, 2 // two\n]", [2, 1], "[ 2, // two\n1 // one\n\n]"),
        ('{"a": 1 /* a */ , "b": 2}', {"b": 2}, '{"b": 2}'),
        ("/* top */ 1 // end", 2, "/* top */ 2 // end"),
        ('{"a": 1}', {}, "{}"),
        ("[ // why\n]", [1], "[ // why\n  1\n]"),
        ("[\n  // x\n\n  // y\n  1\n]", [], "[\n  // x\n\n]"),
        ("[/* a\n\n b */ 1]", [], "[]"),
        ('[\n  {"a": 1}\n]', [{"a": 1}, {"b": [2]}], '[\n  {"a": 1},\n  {"b": [2]}\n]'),
        ('["\u00e4"]', ["\u00e4", "\U0001f600"], '["\u00e4", "\U0001f600"]'),
    ],
)
def test_new_value_is_formatted_like_its_neighbors(
    text: str, value: Any, expected: str | None
) -> None:
    written = rewrite(text, value)

    assert same(parse(written).value, value)
    if expected is not None:
        assert written == expected
    else:
        assert written == '{\r\n\t"a": 1,\r\n\t"b": {\r\n\t\t"c": 2\r\n\t}\r\n}'


@pytest.mark.requirement("config.edit-values")
def test_value_outside_json_is_rejected() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        rewrite("1", float("nan"))


@pytest.mark.requirement("config.rewrite-keeps-comments")
def test_element_without_a_name_is_matched_by_similarity() -> None:
    text = """[
  {"source": 1, "on": true}, // one
  {"source": 2, "on": true} // two
]"""

    written = rewrite(text, [{"source": 2, "on": False}, {"source": 1, "on": True}])

    assert (
        written
        == """[
  {"source": 2, "on": false}, // two
  {"source": 1, "on": true} // one
]"""
    )


@pytest.mark.requirement("config.rewrite-keeps-comments")
def test_long_list_is_edited_quickly() -> None:
    value: list[Any] = [{"name": f"mod {number}", "on": number % 2} for number in range(2000)]

    assert parse(rewrite(json_text(value, "  "), value[::-1])).value == value[::-1]


@pytest.mark.requirement("config.rewrite-keeps-comments")
def test_old_element_matches_one_new_element_only() -> None:
    old = [{"a": 1, "b": 1}, {"a": 1, "c": 1}]
    new = [{"a": 1, "b": 2, "c": 1}, {"a": 1, "b": 1, "d": 1}, {"a": 1}]

    assert pair(old, new) == [1, 0, None]
    assert pair(old, [{"z": 1}]) == [None]
    assert pair([{"a": 1, "b": 1, "c": 1}, {"b": 1, "a": 1}], [{"a": 1, "b": 1}]) == [1]


@pytest.mark.requirement("config.rewrite-keeps-comments")
@pytest.mark.parametrize(
    ("text", "value", "written"),
    [
        ('{\n\t"a": 1\n}', {"a": 1, "b": {"c": 1}}, '{\n\t"a": 1,\n\t"b": {\n\t\t"c": 1\n\t}\n}'),
        ('{\n   "a": 1\n}', {"a": 1, "b": [1]}, '{\n   "a": 1,\n   "b": [\n      1\n   ]\n}'),
        ('{\r\n "a": 1\r\n}', {"a": 1, "b": 2}, '{\r\n "a": 1,\r\n "b": 2\r\n}'),
        ("{}", {"a": 1}, '{\n  "a": 1\n}'),
        ('{"a": {}}', {"a": {"b": 1}}, '{"a": {\n  "b": 1\n}}'),
        ('{\n  "a": {}\n}', {"a": {"b": 1}}, '{\n  "a": {\n    "b": 1\n  }\n}'),
        ('{"a": 1, "b": 2}', {"b": 2, "c": 3}, '{"b": 2, "c": 3}'),
    ],
)
def test_new_value_has_the_indentation_of_the_file(text: str, value: Any, written: str) -> None:
    assert rewrite(text, value) == written
