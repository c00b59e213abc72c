"""The digest of a session's turns."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposium.run_mode.sessions import MAX_ANSWER, MAX_DIGEST, MAX_PROMPT, Transcript


def chunk(text: str, session: str = "s") -> bytes:
    content = {"type": "text", "text": text}
    update = {"sessionUpdate": "agent_message_chunk", "content": content}
    message = {"method": "session/update", "params": {"sessionId": session, "update": update}}
    return json.dumps(message, separators=(",", ":")).encode()


@pytest.mark.requirement("stories.a-05-digest")
def test_digest_has_the_prompts_and_answers_of_its_session() -> None:
    memory = Transcript()
    recent = [chunk("Hello "), chunk("no", "other"), chunk("there"), b'{"x":1}']
    memory.turn_ended("Hi", recent, "s")
    memory.turn_ended("And?", [], "s")
    assert memory.digest() == "User: Hi\n\nAgent: Hello there\n\nUser: And?\n\nAgent: (no text)\n"


@pytest.mark.requirement("stories.a-05-digest")
def test_a_turn_without_text_on_one_side_is_kept_and_one_without_any_is_not() -> None:
    memory = Transcript()
    memory.turn_ended("", [chunk("a picture of a cat")], "s")
    memory.turn_ended("", [], "s")
    assert memory.digest() == "User: \n\nAgent: a picture of a cat\n"


@pytest.mark.requirement("stories.a-05-digest")
def test_digest_keeps_the_start_of_long_prompts_and_the_end_of_long_answers() -> None:
    memory = Transcript()
    memory.turn_ended("Q" * 9000, [chunk("A" * 9000 + "end")], "s")
    digest = memory.digest()
    assert f"User: {'Q' * MAX_PROMPT}[…]\n" in digest
    assert digest.endswith("AAend\n")
    assert len(digest) < MAX_DIGEST


@pytest.mark.requirement("stories.a-05-digest")
def test_texts_of_exactly_the_limit_are_complete_in_the_digest() -> None:
    memory = Transcript()
    memory.turn_ended("Q" * MAX_PROMPT, [chunk("A" * MAX_ANSWER)], "s")
    memory.turn_ended("Q" * (MAX_PROMPT + 1), [chunk("A" * (MAX_ANSWER + 1))], "s")

    first, second = "Q" * MAX_PROMPT, "A" * MAX_ANSWER
    assert memory.digest() == (
        f"User: {first}\n\nAgent: {second}\n\nUser: {first}[…]\n\nAgent: […]{second}\n"
    )


@pytest.mark.requirement("stories.a-05-digest")
def test_digest_has_as_many_complete_latest_turns_as_fit() -> None:
    memory = Transcript()
    memory.turn_ended("first", [], "s")
    turn = "User: Q\n\nAgent: " + "A" * 1000 + "\n"
    fit = (MAX_DIGEST - len("[…]\n\n")) // (len(turn) + 1)
    for _ in range(fit + 1):
        memory.turn_ended("Q", [chunk("A" * 1000)], "s")
    assert memory.digest() == "[…]\n\n" + "\n".join([turn] * fit)


@pytest.mark.requirement("stories.a-05-digest")
@given(st.lists(st.tuples(st.text(max_size=3000), st.text(max_size=3000)), max_size=60))
def test_digest_is_bounded(turns: list[tuple[str, str]]) -> None:
    memory = Transcript()
    for asked, said in turns:
        memory.turn_ended(asked, [chunk(said)], "s")
    assert len(memory.digest()) <= MAX_DIGEST
