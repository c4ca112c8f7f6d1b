"""Every peer of the suite takes turns in one run: who does, who drops out, and who is left out and why.

`envelope.py` says how a run is timed. Peers start one after the other. One that skips the case, fails, or is not ready in time is left
out, and so is one whose result differs; the others run on. One that is hopelessly slower ends after a few turns: its row has those.
"""

import argparse
import contextlib
import re
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.envelope import EAGER, checked, in_turns, same
from bench.turns import Gone, Side, sides

PEERS = (
    *("torch-eager", "torch-compile", "torch-compile-freeze", "jax", "tf", "tf-xla"),
    *("paddle", "paddle-static", "mindspore", "tinygrad", "onnxruntime", "openvino"),
)
ONNX = ("onnxruntime", "openvino")
FREEZES = ("softmax_ln", "conv_infer_b1", "conv_infer_b8", "gpt_prefill", "gpt_decode")
# After so many turns a peer ends whose median is more than so many times the fastest peer's.
HOPELESS = {1: 10.0, 3: 3.0}


def why_not(peer: str, case: str, options: argparse.Namespace) -> str:
    """Why a peer is not even started; empty if it is."""
    if peer in ONNX and not (Path(options.onnx) / f"{case}.onnx").exists():
        return "there is no ONNX model"
    if peer == "torch-compile-freeze" and case not in FREEZES:
        return "there are no constant weights to freeze"
    return ""


def environment(peer: str, options: argparse.Namespace) -> list[str]:
    """What starts a process with the variables that were given for a peer."""
    given = [word.split("=", 1) for word in options.environment]
    found = [setting for name, setting in given if name in (peer, peer.split("-")[0])]
    return ["env", *found] if found else []


def brief(why: str) -> str:
    """The first line of a reason, without the folders of this machine."""
    return re.sub(r"(?<![\w.])/(?:[^\s/]+/)+", "", why.strip().split("\n")[0])[:200]


class Everyone:
    """The sides of a case: those that run, the seconds of their turns, their versions, and who is left out and why."""

    def __init__(self, case: str, own: str, options: argparse.Namespace) -> None:
        self.case, self.needed, self.options = case, (own, EAGER), options
        self.running: dict[str, Side] = {}
        self.seconds: dict[str, list[float]] = {}
        self.versions: dict[str, str] = {}
        self.left_out: dict[str, str] = {}

    def measure(self) -> "Everyone":
        """Let all take their turns; no process of them is left afterwards."""
        order = (*self.needed, *PEERS)
        self.expected = checked(self.case, self.needed[0], self.options)
        with contextlib.ExitStack() as stack:
            for name in order:
                with self.leaves_out(name):
                    self.start(name, stack)
            for turn in range(self.options.rounds):
                for name in list(self.running)[:: 1 if turn % 2 else -1]:
                    with self.leaves_out(name):
                        self.seconds[name].append(self.running[name].seconds(self.options.seconds))
                for name in self.hopeless(turn + 1):
                    self.end(name)
            for name in list(self.running):
                self.end(name)
        if not set(self.seconds) - set(self.needed):
            raise SystemExit(f"{self.case}: no peer runs it")
        self.versions = {name: self.versions[name] for name in order if name in self.versions}
        return self

    def start(self, name: str, stack: contextlib.ExitStack) -> None:
        """Wait until a side has compiled."""
        if why := why_not(name, self.case, self.options):
            raise Gone([name], why)
        print(f"{self.case}: {name} starts", flush=True)
        start = time.perf_counter()
        words = environment(name, self.options) + in_turns(name, self.case, self.options)
        made = stack.enter_context(sides({name: words}, self.options.ready))
        self.running.update(made)
        self.seconds[name] = []
        print(f"{self.case}: {name} is ready after {time.perf_counter() - start:.1f} s", flush=True)

    def hopeless(self, turns: int) -> list[str]:
        """Peers that need no further turns."""
        times = HOPELESS[max(n for n in HOPELESS if n <= turns)]
        medians = {
            name: statistics.median(self.seconds[name])
            for name in self.running
            if name not in self.needed
        }
        return [name for name in medians if medians[name] > times * min(medians.values())]

    def end(self, name: str) -> None:
        """End a side, and compare its result."""
        with self.leaves_out(name):
            result: dict[str, Any] = self.running[name].end()
            self.versions[name] = result["version"]
            if not same(self.expected, result):
                raise Gone([name], f"result is {result['check']}, not {self.expected['check']}")
            print(f"{self.case}: {name} ends after {len(self.seconds[name])} turns", flush=True)
            self.running.pop(name).stop()

    @contextlib.contextmanager
    def leaves_out(self, name: str) -> Iterator[None]:
        """A peer that cannot go on is left out; ours must."""
        try:
            yield
        except Gone as gone:
            if name in self.needed:
                raise
            if name in self.running:
                self.running.pop(name).stop()
            self.seconds.pop(name, None)
            self.left_out[name] = brief(gone.why)
            print(f"{self.case}: {name} is left out: {self.left_out[name]}", flush=True)
