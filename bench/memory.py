"""Is the memory of declared graphs what their plan says? python -m bench memory --peers PATH/suite.py [--case NAME ...]

Every model of the peers' suite runs as a declared graph in a process of its own, with a poisoned arena. The end of the part of
the arena that was written must be that of the plan, and the process may grow from the bound program to its peak by no more than
what the program said before its first run (arena, prepared weights, scratch memory of its threads), the results, and 5%.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

CASES = (
    "elementwise_fused softmax_ln mlp_train conv_infer_b1 conv_infer_b8 conv_train gpt_train gpt_prefill gpt_decode "
    "lstm_loop lstm_unrolled while_data_dep branch parallel_branches memory"
).split()
SLACK = 1.05
ALWAYS = 4 * 2**20  # stacks and lists of threads, code that is loaded at the first run
ALIGNMENT = 64  # an arena ends at a multiple of it


def measure(path: str, case: str) -> dict[str, Any]:
    """What one model needs, in this process."""
    sys.path.insert(0, str(Path(__file__).parent))
    import peers_side

    suite = peers_side.load(path)
    peers_side.add_thixo(suite)
    from thixo.runtime.sunk import Sunk

    peer = suite.PEERS["thixo"]("thixo-static", 2)
    peer.options["poisoned"] = True
    kind, params, inputs, function = "", {}, [], None
    if case not in ("gpt_decode", "while_data_dep"):
        kind, params, inputs, function = suite.case_spec(case)
    if case == "while_data_dep":
        run = peer.newton(*suite.newton_inputs())[0]
    elif case == "gpt_decode":
        run = peer.decode(suite.gpt_params(12, 768, 50257, 1024), *caches(suite))[0]
    elif kind == "lstm":
        run = peer.lstm(params, inputs[0], case == "lstm_unrolled")[0]
    elif kind == "branch":
        run = peer.branch(*inputs)[0]
    elif kind == "infer":
        run = peer.infer(function, params, inputs)[0]
    else:
        run = peer.train(kind, function, params, inputs)[0]
    del params

    bound: list[Any] = []
    make = Sunk._make

    def made(self: Any, given: Any) -> Any:
        program = make(self, given)
        needs = program.memory
        reset_peak()
        bound.append((self, program, needs, resident()[0]))
        return program

    Sunk._make = made  # type: ignore[method-assign]
    run()
    (outer, program, needs, before), *_ = bound
    growth = resident()[1] - before
    graph = outer.graph
    plan = outer._schedule.bind({})
    new = graph.outputs if outer.writes else graph.results()
    donated = set(outer._schedule.donated.values())
    late = {v for v in graph.mutations.values() if outer.writes and v not in donated}
    return {
        "arena": program.arena_bytes,
        # New values that cannot be made where the old ones are wait behind the planned part.
        "planned": plan.arena + sum(-(-size_of(v) // ALIGNMENT) * ALIGNMENT for v in late),
        "high_water": program.high_water,
        "prepared": needs["prepared"],
        "scratch": needs["scratch"],
        "results": sum(size_of(v) for v in new),
        "growth": growth,
    }


def caches(suite: Any) -> list[list[Any]]:
    """Keys and values of all layers, of a prompt and room for what comes."""
    import numpy as np

    size = (1, 12, suite.PROMPT + suite.NEW, 64)
    return [[np.zeros(size, np.float32) for _ in range(12)] for _ in range(2)]


def size_of(value: Any) -> int:
    """The bytes of a value."""
    size = value.type.dtype.itemsize
    for s in value.type.shape:
        size *= int(s)
    return int(size)


def resident() -> tuple[int, int]:
    """The resident set of this process now, and at its peak, in bytes."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    now, most = (int(lines[name].split()[0]) * 1024 for name in ("VmRSS", "VmHWM"))
    return now, most


def reset_peak() -> None:
    """Let the peak begin now."""
    Path("/proc/self/clear_refs").write_text("5")


def main() -> int:
    """Print a line for each model; exit 1 if one needs more than it said."""
    parser = argparse.ArgumentParser(
        prog="python -m bench memory", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--peers", type=Path, required=True, help="the peers' suite.py")
    parser.add_argument("--case", nargs="+", choices=CASES, default=CASES)
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        print(json.dumps(measure(str(options.peers), options.case[0])))
        return 0
    bad = 0
    print("MB:                 arena    used planned results prepared scratch growth allowed")
    for case in options.case:
        command = [sys.executable, "-m", "bench", "memory", "--peers", str(options.peers), "--case"]
        done = subprocess.run([*command, case, "--here"], stdout=subprocess.PIPE, text=True)
        if done.returncode:
            raise SystemExit(f"{case}: it failed")
        found = json.loads(done.stdout.splitlines()[-1])
        said = sum(found[name] for name in ("planned", "results", "prepared", "scratch"))
        allowed = SLACK * said + ALWAYS
        written = found["arena"] - ALIGNMENT < found["high_water"] <= found["arena"]
        exact = (written or not found["arena"]) and found["arena"] <= found["planned"]
        fits = exact and found["growth"] <= allowed
        bad += not fits
        names = (
            "arena", "high_water", "planned", "results", "prepared", "scratch", "growth",
        )  # fmt: skip
        numbers = [found[name] for name in names] + [allowed]
        shown = " ".join(f"{n / 2**20:7.2f}" for n in numbers)
        print(f"{case:18} {shown}  {'ok' if fits else 'MORE THAN PLANNED'}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
