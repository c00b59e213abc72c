"""Names of sessions on the command line."""

from pathlib import Path

import pytest

from symposium.cli.session_view import find_session, whole_id
from symposium.config.paths import Paths
from symposium.sessions.session import SessionKind, SessionNotFoundError, SessionSpec, SessionStore

ONE = "8c56e6df-5af7-4cfa-a011-fcd5fcbab167"
LIST = "`symposium session list`"
TWO = "8c56e6df-0000-4cfa-a011-fcd5fcbab167"


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    made = SessionStore(Paths(tmp_path, tmp_path, tmp_path))
    for each in (ONE, TWO):
        made.add(SessionSpec(each, SessionKind.TERMINAL, ("sh",), "/"))
    return made


@pytest.mark.requirement("showing.session-ids")
@pytest.mark.parametrize("named", [ONE, ONE.upper(), "8c56e6df-5", "8C56E6DF-5AF7"])
def test_session_is_found_by_a_prefix_of_its_id(store: SessionStore, named: str) -> None:
    assert find_session(store, named) == ONE


@pytest.mark.requirement("showing.session-ids")
@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("8c56e6df", f"several sessions match '8c56e6df': {TWO}, {ONE}; {LIST} lists the ids"),
        ("8c5", f"'8c5' is not a session id; {LIST} shows the ids"),
        ("ffff", f"'ffff' is not a session id; {LIST} shows the ids"),
    ],
)
def test_ambiguous_or_unknown_prefix_is_refused(store: SessionStore, named: str, said: str) -> None:
    with pytest.raises(SessionNotFoundError) as caught:
        find_session(store, named)
    assert str(caught.value) == said


@pytest.mark.requirement("showing.session-ids", "agent-sessions.exact-ids")
def test_ending_a_session_requires_its_full_id(
    store: SessionStore,
) -> None:
    assert whole_id(store, ONE.upper()) == ONE
    for named in ("8c56e6df", "8c56e6df-5"):
        found = ", ".join(each for each in (TWO, ONE) if each.startswith(named))
        with pytest.raises(SessionNotFoundError) as caught:
            whole_id(store, named)
        assert caught.value.message == f"{named!r} is the beginning of {found}"
        assert caught.value.hint == "to stop or remove a session, give its full id"
