"""Rows of the benchmark, their order, and their selection."""

import pytest

from bench.measure import orders
from bench.peers.install import Peers
from bench.run import REPETITIONS, is_wanted, options, unmeasured
from bench.variants import Variant, standard

pytestmark = pytest.mark.project

INSTALLED = Peers(python=["python", "proxy.py"], typescript=["node", "proxy.mjs"])


@pytest.mark.requirement("bench.variants")
def test_rows_are_the_pipe_cat_both_sdks_and_symposium() -> None:
    names = [variant.name for variant in standard(INSTALLED).variants]

    assert names == [
        *("direct", "cat", "python sdk", "python sdk x3", "typescript sdk", "typescript sdk x3"),
        *("pass x1", "pass x3", "pass x5", "pass x10"),
        *("tag x1", "tag x3", "tag x5", "tag x10"),
        *("process x1", "process x3", "process x5", "process x10"),
        *("run x3", "eliza", "eliza in run mode", "bare python"),
    ]


@pytest.mark.requirement("bench.chosen-variants")
def test_chain_has_the_number_of_mods_of_its_row() -> None:
    rows = {variant.name: variant for variant in standard(INSTALLED).variants}

    assert rows["pass x10"].command.count("--proxy") == 10
    assert rows["process x3"].command.count("--proxy") == 3
    assert rows["python sdk x3"].command[:6] == ["python", "proxy.py"] * 3
    assert rows["process x3"].share == rows["python sdk x3"].share


@pytest.mark.requirement("bench.variant-missing")
def test_peer_that_cannot_be_installed_is_skipped_with_its_reason() -> None:
    field = standard(Peers(None, ["node", "proxy.mjs"], python_missing="no network"))

    assert [(row.name, row.reason) for row in field.absent] == [
        ("python sdk", "no network"),
        ("python sdk x3", "no network"),
    ]
    assert len(field.variants) == 20


@pytest.mark.requirement("bench.interleaved")
def test_every_second_repetition_runs_in_reverse_order() -> None:
    rows = [Variant(name, []) for name in "abc"]

    found = ["".join(row.name for row in order) for order in orders(rows, 3)]

    assert found == ["abc", "cba", "abc"]


@pytest.mark.requirement("bench.interleaved")
def test_default_is_at_least_five_repetitions() -> None:
    assert REPETITIONS >= 5
    assert options([]).reps is None
    assert options(["--reps", "2"]).reps == 2
    assert not options([]).quick


@pytest.mark.requirement("bench.chosen-variants")
def test_bases_of_ratios_are_always_measured() -> None:
    rows = [Variant(name, []) for name in ("direct", "cat", "python sdk", "pass x1", "pass x10")]

    found = [row.name for row in rows if is_wanted(row, "x10$")]

    assert found == ["direct", "cat", "pass x10"]


@pytest.mark.requirement("bench.nothing-lost")
def test_missing_figure_is_a_fault_of_symposium_but_not_of_a_peer() -> None:
    rows = [Variant("ours", []), Variant("theirs", [], is_ours=False)]

    assert unmeasured({"ours": [{}, {}], "theirs": [{}]}, rows) == ["ours: could not be measured"]
    assert not unmeasured({"ours": [{}, {"rate": 1.0}], "theirs": [{}]}, rows)
