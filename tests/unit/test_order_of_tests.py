"""Workers share the long tests and start with them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.worker_order import in_order

pytestmark = pytest.mark.requirement("house.long-tests-first")

MODULES = st.lists(st.tuples(st.integers(0, 2), st.integers(1, 9)), max_size=12)


def items_of(modules: list[tuple[int, int]]) -> list[str]:
    return [
        f"{kind} m{number} t{each}"
        for number, (kind, count) in enumerate(modules)
        for each in range(count)
    ]


def kind_of(item: str) -> int:
    return int(item[0])


def ordered(items: list[str], workers: int) -> list[str]:
    return in_order(items, workers, kind=kind_of, module=lambda item: item.split()[1])


def test_each_worker_starts_with_its_share_of_the_long_tests() -> None:
    short = [f"2 m9 t{number}" for number in range(8)]
    long = ["0 m1 t0", "0 m1 t1", "0 m2 t0", "1 m3 t0"]

    found = ordered([*short, *long], 3)

    assert found[:4] == ["0 m1 t0", "0 m1 t1", *short[:2]]
    assert found[4:8] == ["0 m2 t0", *short[2:5]]
    assert found[8:] == ["1 m3 t0", *short[5:]]


@given(MODULES, st.integers(1, 6))
def test_every_test_runs_exactly_once(modules: list[tuple[int, int]], workers: int) -> None:
    items = items_of(modules)

    assert sorted(ordered(items, workers)) == sorted(items)
