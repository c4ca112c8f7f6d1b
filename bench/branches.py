"""Do operators run side by side? python -m bench branches [--threads 2] [--branches 1000] [--keep NAME]

Two things are measured on two threads. A graph of many small branches that do not wait for each other must keep both cores busy:
processor time over time of the clock, and steps that overlap in a trace. And relu(x1 @ w1 + x2 @ w2) must be faster than the same
native program with its products one after the other on one thread. Eager code, and that program with all threads for each product,
are shown too and must not be faster: at 96x96 nothing can be 1.3 times as fast as those, since both products take 15.8 us at the peak
of two cores of 112 GFLOP/s where they take 20.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import thixo as tx
from bench import report
from bench.measure import WARM_SECONDS, Others, Ratio, compare, ratio_of, warm_up
from thixo.graph.ir import Graph
from thixo.passes import optimize
from thixo.runtime.executor import executor

BUSY = 1.6  # processor time over time of the clock
FASTER = 1.3  # than one after the other
AS_FAST = 1.0  # as what has all threads for each product
EXECUTORS = ("sunk", "ready")


def branches(count: int, steps: int, size: int) -> Graph:
    """Branches of a product and pointwise operators, each with a result of its own; no two of them alike."""
    graph = Graph("branches")
    x = graph.input("x", f"f32[{size}, {size}]")
    w = graph.input("w", f"f32[{size}, {size}]")
    ends = []
    for i in range(count):
        branch = graph.call("matmul", graph.call("mul", x, 1.0 + i / count), w)
        for _ in range(steps):
            branch = graph.call("sin", graph.call("matmul", branch, w))
        ends.append(graph.call("sum", branch))
    graph.outputs = ends
    return graph


def products(size: int) -> Graph:
    """relu(x1 @ w1 + x2 @ w2)."""
    graph = Graph("products")
    x1, w1, x2, w2 = (graph.input(n, f"f32[{size}, {size}]") for n in ("x1", "w1", "x2", "w2"))
    total = graph.call("add", graph.call("matmul", x1, w1), graph.call("matmul", x2, w2))
    graph.outputs = [graph.call("relu", total)]
    return graph


def bound(graph: Graph, name: str, given: Sequence[Any], **options: Any) -> Callable[[], Any]:
    """A call of the graph with these inputs, and nothing else; checked against operator by operator."""
    run = executor(graph, name, **options).bind(given)  # type: ignore[attr-defined]
    wanted = executor(graph, "serial")(given)
    for a, b in zip(run(*given), wanted, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-4)
    return lambda: run(*given)


def busy(case: str, call: Callable[[], Any], rounds: int) -> dict[str, Any]:
    """Processor time over time of the clock, round by round."""
    found = []
    warm_up(call, WARM_SECONDS)
    for _ in range(rounds):
        clock, processor = time.perf_counter(), time.process_time()
        for _ in range(3):
            call()
        found.append((time.process_time() - processor) / (time.perf_counter() - clock))
    low, mid, high = statistics.quantiles(found, n=4)
    met = mid >= BUSY
    print(
        f"   {mid:4.2f} ({low:5.2f} - {high:5.2f})  {case}: processors in use{'' if met else '  <--'}"
    )
    return {"case": case, "median": mid, "lower": low, "upper": high, "target": BUSY, "met": met}


def overlap(call: Callable[[], Any]) -> float:
    """The part of the time in which steps of the graph run on more than one thread at once, from a trace."""
    with tx.profiler.profile() as seen:
        call()
    ends = []
    for event in seen.events():
        ends += [(event.time_range.start, 1), (event.time_range.end, -1)]
    running, since, both, some = 0, 0.0, 0.0, 0.0
    for at, change in sorted(ends):
        some += (at - since) * (running > 0)
        both += (at - since) * (running > 1)
        running, since = running + change, at
    return both / max(some, 1e-9)


def one_thread(case: str, ours: Callable[[], Any], peer: Callable[[], Any], threads: int) -> Ratio:
    """Ours on all threads against the other on one: a turn of each, a few milliseconds long."""
    a: list[float] = []
    b: list[float] = []
    for turn in range(60):
        sides = [(threads, ours, a), (1, peer, b)]
        for count, call, kept in sides[:: 1 if turn % 2 else -1]:
            tx.set_num_threads(count)
            warm_up(call, WARM_SECONDS / 4)
            start = time.perf_counter()
            for _ in range(100):
                call()
            kept.append((time.perf_counter() - start) / 100)
    tx.set_num_threads(threads)
    return ratio_of(case, a, b, FASTER)


def main() -> int:
    """Run it; 1 if a target was missed."""
    parser = argparse.ArgumentParser(prog="python -m bench branches", description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--branches", type=int, default=1000)
    parser.add_argument("--size", type=int, default=96, help="of the operands of the two products")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--executor", choices=EXECUTORS, action="append")
    parser.add_argument("--keep", default="branches")
    options = parser.parse_args()
    tx.set_num_threads(options.threads)
    others = Others()
    names = options.executor or EXECUTORS
    wide = branches(options.branches, 2, 32)
    given = [tx.randn(32, 32) * 0.3 for _ in range(2)]
    used = []
    for name in names:
        call = bound(wide, name, given)
        row = busy(f"{options.branches} branches, {name}", call, options.rounds)
        row["overlap"] = statistics.median(overlap(call) for _ in range(5))
        print(f"        steps of several threads at once in {row['overlap']:.0%} of its trace")
        row["met"] = row["met"] and row["overlap"] > 0.5
        used.append(row)
    two = optimize(products(options.size)).graph
    given = [tx.randn(options.size, options.size) for _ in range(4)]
    rows = []
    after = bound(two, "sunk", given, side_by_side=False)
    x1, w1, x2, w2 = given
    for name in names:
        ours = bound(two, name, given)
        case = f"relu(x1 @ w1 + x2 @ w2) {options.size}x{options.size}, {name}"
        for what, peer, target in (
            ("eager code", lambda: tx.relu(x1 @ w1 + x2 @ w2), AS_FAST),
            (f"one after the other, {options.threads} threads each", after, AS_FAST),
        ):
            found = compare(f"{case}: {what}", ours, peer, target=target, rounds=options.rounds)
            rows.append(found)
        rows.append(
            one_thread(f"{case}: one after the other on one thread", ours, after, options.threads)
        )
    report.show("side by side", rows)
    taken = others.cpus()
    print(f"others kept {taken:.2f} processors busy")
    report.keep(
        options.keep, rows, ["thixo"], busy=used, threads=options.threads, others=round(taken, 2)
    )
    return int(not (all(r.met for r in rows) and all(u["met"] for u in used)))
