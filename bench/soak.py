"""Ten million small operations with backward: does resident memory stay where it is?

python -m bench.soak [--operations 10000000]
"""

import argparse
import sys
import time
from pathlib import Path

import thixo as tx

WARM_UP = 100_000


def resident_kib() -> int:
    """Resident memory of this process (Linux)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1])
    raise RuntimeError("this system does not say how much memory a process has")


def run(operations: int) -> None:
    """Multiply, add, tanh, sum and their gradients, until that many operations have run."""
    x = tx.linspace(-1, 1, 16).requires_grad_()
    w, b = tx.ones(16, requires_grad=True), tx.zeros(16, requires_grad=True)
    for _ in range(operations // 4):
        x.grad = w.grad = b.grad = None
        (x * w + b).tanh().sum().backward()


def main() -> int:
    """Exit 1 if memory grew by a megabyte or more."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--operations", type=int, default=10_000_000)
    operations = parser.parse_args().operations
    run(WARM_UP)
    before, start = resident_kib(), time.perf_counter()
    parts = 20
    for part in range(parts):
        run((operations - WARM_UP) // parts)
        grown = resident_kib() - before
        seconds = time.perf_counter() - start
        print(
            f"{(part + 1) * 100 // parts:3d} %  {seconds:6.0f} s  grown by {grown} KiB", flush=True
        )
    return int(resident_kib() - before >= 1024)


if __name__ == "__main__":
    sys.exit(main())
