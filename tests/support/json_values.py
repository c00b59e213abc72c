"""JSON values, and texts for them with comments wherever comments are allowed."""

from typing import Any, cast

from hypothesis import strategies as st

from localio.jsonc import json_text

NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | NUMBERS | st.text()
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
WORDS = st.text('abc "{}[],:/', max_size=6).filter(lambda text: "*/" not in text)
COMMENTS = st.one_of(
    st.text(" \t\n", max_size=3),
    WORDS.map("//{}\n".format),
    WORDS.map("//{}\r\n".format),
    WORDS.map("/*{} */".format),
    WORDS.map("/*\n{} */\n".format),
)


@st.composite
def decorated(draw: st.DrawFn) -> tuple[Any, str]:
    """Draw a value, and a text for it with comments wherever they are allowed."""

    def trivia() -> str:
        return "".join(draw(st.lists(COMMENTS, max_size=2)))

    def comma() -> str:
        return draw(st.sampled_from(["", ","]))

    def write(value: Any) -> str:
        if isinstance(value, dict):
            pairs = cast("dict[str, Any]", value).items()
            parts = [f"{json_text(key)}{trivia()}:{write(item)}" for key, item in pairs]
            opening, closing = "{}"
        elif isinstance(value, list):
            parts = [write(item) for item in cast("list[Any]", value)]
            opening, closing = "[]"
        else:
            return trivia() + json_text(value) + trivia()
        body = ",".join(trivia() + part for part in parts) + (comma() if parts else "")
        return trivia() + opening + body + trivia() + closing + trivia()

    value = draw(VALUES)
    return value, write(value)
