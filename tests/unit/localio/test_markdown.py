"""Front matter of a guidance file."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localio.markdown import FrontMatter, part
from symposium.documents.guidance import GuidanceText


@pytest.mark.requirement("guidance.front-matter")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---\nname: A\n---\nbody", FrontMatter({"name": "A"}, "body")),
        ('---\nname: "A: b"\n\n# no\n---\n\nbody', FrontMatter({"name": "A: b"}, "body")),
        ('---\nname: "A\nnote: A"\n---\nbody', FrontMatter({"name": '"A', "note": 'A"'}, "body")),
        ('---\nname: "\nnote: ""\n---\nbody', FrontMatter({"name": '"', "note": ""}, "body")),
        ("---\r\nname: A\r\n---\r\nbody", FrontMatter({"name": "A"}, "body")),
        ("---\n---\nbody", FrontMatter({}, "body")),
        ("body\n---\nname: A\n---\n", FrontMatter({}, "body\n---\nname: A\n---\n")),
        ("---\nname: A\nno end", FrontMatter({}, "---\nname: A\nno end")),
        ("", FrontMatter({}, "")),
    ],
)
def test_front_matter_is_separated_from_the_body(text: str, expected: FrontMatter) -> None:
    assert part(text) == expected


@pytest.mark.requirement("guidance.front-matter")
def test_text_without_front_matter_is_named_by_its_id() -> None:
    bare = GuidanceText("rules.md", "# Rules\n", "user")
    headed = GuidanceText("rules.md", "---\nname: Our rules\ndescription: for all\n---\nx", "user")

    assert (bare.name, bare.description, bare.size) == ("rules.md", "", 8)
    assert (headed.name, headed.description, headed.body) == ("Our rules", "for all", "x")


@pytest.mark.requirement("guidance.front-matter")
@given(st.text(st.sampled_from('-\n\r: "aé#\ufeff'), max_size=60))
def test_any_text_can_be_split(text: str) -> None:
    parted = part(text)

    assert text.replace("\r\n", "\n").endswith(parted.body)
    assert all(key == key.strip() and key for key in parted.fields)


@pytest.mark.requirement("guidance.front-matter")
def test_spaces_next_to_keys_and_values_are_dropped() -> None:
    assert part("---\n name :  a b \n---\ntext").fields == {"name": "a b"}
