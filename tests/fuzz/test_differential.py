"""A short run of the fuzzer, and that it would find what is wrong."""

import warnings

import numpy as np
import pytest

from tests.fuzz.differential import (
    LANES,
    Tally,
    Way,
    all_ways,
    check,
    fails,
    few_are_many,
    well_formed,
)
from tests.fuzz.generate import Generator
from tests.fuzz.plants import DECISIONS, decided, planted, plants_of
from tests.fuzz.shrink import Shrinker, as_test
from thixo.graph import parse
from thixo.graph.control import subgraphs
from thixo.passes import PASSES

COUNT = 24  # graphs; the command runs as many as one likes

pytestmark = pytest.mark.filterwarnings("ignore")


def found(generator, ways, limit, start=0, quick=False):
    """The first failure among some graphs."""
    tally = Tally()
    for made in generator.graphs(limit, start):
        failure = check(made, ways, tally, quick)
        if failure is not None:
            return failure
    return None


@pytest.mark.parametrize("part", range(3))
def test_every_way_to_run_a_graph_agrees(part):
    failure = found(Generator(1), all_ways(), COUNT // 3, part * COUNT // 3)
    assert failure is None, f"{failure.number}, {failure.way}: {failure.reason}\n{failure.graph}"


def test_graphs_are_what_was_asked_for():
    made = list(Generator(2).graphs(20))
    sizes = [len(m.graph.nodes) + sum(len(g.nodes) for g in subgraphs(m.graph)) for m in made]
    assert np.median(sizes) >= 20
    assert sum(m.has_control for m in made) >= 0.3 * len(made)
    every = [v for m in made for v in m.graph.values()]
    assert any(0 in v.type.shape for v in every)
    assert any(m.graph.mutations for m in made)
    assert any(m.graph.constants for m in made)
    assert len({v.type.dtype.name for v in every}) >= 8
    assert all(well_formed(m.graph) is None for m in made)


def test_a_number_is_a_graph():
    first, second = Generator(3).make(5), Generator(3).make(5)
    assert str(first.graph) == str(second.graph)


@pytest.mark.parametrize("name", list(PASSES))
def test_a_bug_planted_in_a_pass_is_found(name):
    for what, function in plants_of(name):
        with planted(name, function):
            failure = found(Generator(4), [Way("serial", (name,))], 200, quick=True)
        assert failure is not None, f"{name}: {what}"


@pytest.mark.parametrize("what", DECISIONS)
def test_a_bug_planted_in_what_a_program_decides_is_found(what):
    with decided(what), few_are_many(LANES):
        failure = found(Generator(4), [Way("sunk", None)], 200, quick=True)
    assert failure is not None


def test_what_fails_becomes_small():
    function = dict(plants_of("simplify"))["x - y is y - x"]
    with planted("simplify", function), warnings.catch_warnings():
        failure = found(Generator(5), [Way("serial", ("simplify",))], 200, quick=True)
        graph, inputs = Shrinker(
            failure.graph, failure.inputs, lambda g, i: fails(g, i, failure.way, failure.number)
        ).run()
        assert fails(graph, inputs, failure.way, failure.number)
    assert len(graph.nodes) + sum(len(g.nodes) for g in subgraphs(graph)) <= 12
    text = as_test(graph, inputs, "here")
    assert parse(text.split('"""')[1]).verify()
