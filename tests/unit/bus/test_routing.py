"""Choice of the window for a message: bus §1.9, with every edge case of its table."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposium.bus.peers import plain_parts
from symposium.bus.routing import MessageOrigin, Window, depth, is_same_taskspace, window_for


def place(directory: str, *, taskspace: str | None = None, pid: int | None = None) -> MessageOrigin:
    return MessageOrigin(plain_parts(directory), taskspace, pid)


def window(
    name: str,
    *folders: str,
    pids: tuple[int, ...] = (),
    taskspace: str | None = None,
    focused: float = 0.0,
) -> Window:
    parts = tuple(found for each in folders if (found := plain_parts(each)) is not None)
    return Window(name, parts, frozenset(pids), taskspace, focused)


def chosen(where: MessageOrigin, *windows: Window) -> str | None:
    found = window_for(where, windows)
    return None if found is None else found.connection


@pytest.mark.requirement("bus.route-directory")
@pytest.mark.parametrize(
    ("directory", "folder", "matches"),
    [
        pytest.param("/a/foo", "/a/foo", True, id="the folder itself"),
        pytest.param("/a/foo/deep/er", "/a/foo", True, id="inside"),
        pytest.param("/a/foobar", "/a/foo", False, id="a name that begins alike"),
        pytest.param("/a", "/a/foo", False, id="the parent"),
        pytest.param("/b", "/a", False, id="elsewhere"),
        pytest.param("/a/foo/", "/a/foo", True, id="a slash at the end of one"),
        pytest.param("/a/foo", "/a/foo/", True, id="a slash at the end of the other"),
        pytest.param("/a//foo/./x/..", "/a/foo", True, id="dots and double slashes"),
        pytest.param("/a", "/", True, id="the root holds everything"),
        pytest.param("/A/Foo", "/a/foo", False, id="another case is another name"),
        pytest.param("relative", "/a", False, id="no absolute path"),
    ],
)
def test_folder_contains_directory_by_whole_components(
    directory: str, folder: str, *, matches: bool
) -> None:
    assert (chosen(place(directory), window("w", folder)) == "w") is matches


@pytest.mark.requirement("bus.route-directory")
def test_window_without_a_folder_receives_nothing() -> None:
    assert chosen(place("/a"), window("w")) is None
    assert chosen(place("/a")) is None


@pytest.mark.requirement("bus.route-longest")
def test_of_nested_folders_the_innermost_wins() -> None:
    outer, inner, beside = window("outer", "/a"), window("inner", "/a/b"), window("beside", "/a/c")

    assert chosen(place("/a/b/x"), outer, inner, beside) == "inner"
    assert chosen(place("/a/b/x"), beside, inner, outer) == "inner"
    assert chosen(place("/a/x"), outer, inner, beside) == "outer"


@pytest.mark.requirement("bus.route-longest")
def test_of_several_folders_in_one_window_the_best_counts() -> None:
    assert chosen(place("/a/b"), window("one", "/a"), window("two", "/z", "/a/b")) == "two"


@pytest.mark.requirement("bus.route-longest")
def test_of_two_folders_of_one_window_that_hold_the_directory_the_inner_one_counts() -> None:
    assert chosen(place("/a/b"), window("one", "/a"), window("two", "/", "/a/b")) == "two"


@pytest.mark.requirement("bus.route-pid")
def test_of_two_windows_on_a_folder_the_one_with_the_terminal_wins() -> None:
    first, second = window("first", "/a", focused=9), window("second", "/a", pids=(7, 8))

    assert chosen(place("/a", pid=7), first, second) == "second"


@pytest.mark.requirement("bus.route-pid")
def test_terminal_decides_even_if_the_agent_changed_its_directory() -> None:
    owner, other = window("owner", "/a", pids=(7,)), window("other", "/b")

    assert chosen(place("/b", pid=7), owner, other) == "owner"


@pytest.mark.requirement("bus.route-pid")
def test_directory_decides_when_the_terminal_is_closed() -> None:
    assert chosen(place("/a/x", pid=7), window("w", "/a", pids=(8,))) == "w"


@pytest.mark.requirement("bus.route-pid")
def test_shell_pid_0_counts_as_missing() -> None:
    assert chosen(place("/a", pid=0), window("odd", "/b", pids=(0,)), window("w", "/a")) == "w"


@pytest.mark.requirement("bus.route-single")
def test_of_two_windows_without_a_terminal_exactly_one_is_chosen() -> None:
    """The reference opens the walkthrough twice, and takes whichever reply is first."""
    assert chosen(place("/a"), window("first", "/a"), window("second", "/a")) == "first"
    assert (
        chosen(place("/a"), window("old", "/a", focused=1), window("new", "/a", focused=2)) == "new"
    )


@pytest.mark.requirement("bus.route-taskspace")
def test_a_window_of_the_taskspace_goes_before_every_other() -> None:
    own = window("own", taskspace="AB-1")
    near = window("near", "/a/b", pids=(7,))

    assert chosen(place("/a/b", taskspace="ab-1", pid=7), near, own) == "own"


@pytest.mark.requirement("bus.route-taskspace")
def test_among_windows_of_a_taskspace_terminal_and_directory_decide() -> None:
    one = window("one", "/a", taskspace="t", focused=5)
    two = window("two", "/a/b", taskspace="t", pids=(7,))

    assert chosen(place("/a", taskspace="t", pid=7), one, two) == "two"
    assert chosen(place("/a/b", taskspace="t"), one, two) == "two"
    assert chosen(place("/elsewhere", taskspace="t"), one, two) == "one"


@pytest.mark.requirement("bus.route-taskspace")
def test_window_without_a_taskspace_is_used_if_the_taskspace_has_no_window() -> None:
    other, free = window("other", "/a", taskspace="t2"), window("free", "/a")

    assert chosen(place("/a", taskspace="t1"), other, free) == "free"
    assert chosen(place("/a", taskspace="t1"), other) is None
    assert chosen(place("/a"), other) == "other"


@pytest.mark.requirement("bus.route-taskspace")
def test_taskspace_comparison_ignores_case_and_missing_ones_differ() -> None:
    assert is_same_taskspace("AbC", "aBc")
    assert not is_same_taskspace(None, None)
    assert not is_same_taskspace("", "")


WINDOWS = st.lists(
    st.builds(
        Window,
        st.text("xyz", min_size=1, max_size=3),
        st.lists(st.lists(st.sampled_from("ab"), max_size=3).map(tuple), max_size=2).map(tuple),
        st.frozensets(st.integers(1, 3), max_size=2),
        st.none() | st.sampled_from(["t", "u"]),
        st.floats(0, 5),
    ),
    max_size=4,
)
PLACES = st.builds(
    MessageOrigin,
    st.none() | st.lists(st.sampled_from("ab"), max_size=4).map(tuple),
    st.none() | st.sampled_from(["t", "u"]),
    st.none() | st.integers(0, 3),
)


@pytest.mark.requirement("bus.route-single")
@given(PLACES, WINDOWS)
def test_chosen_window_satisfies_a_rule(where: MessageOrigin, windows: list[Window]) -> None:
    found = window_for(where, windows)

    def reasons(each: Window) -> bool:
        return (
            is_same_taskspace(each.taskspace, where.taskspace)
            or bool(where.shell_pid and where.shell_pid in each.terminals)
            or depth(where.directory, each.folders) >= 0
        )

    if found is not None:
        assert found in windows
        assert reasons(found)
    elif where.taskspace is None:
        assert not any(reasons(each) for each in windows)
