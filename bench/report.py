"""Results as a table on the terminal and a file in bench/results/."""

import json
import platform
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.measure import Ratio

RESULTS = Path(__file__).with_name("results")


def show(title: str, rows: Sequence[Ratio]) -> None:
    """Print the ratios."""
    table = Table(title=title)
    for name in ("case", "ours us", "peer us", "ratio", "quartiles", "target", ""):
        table.add_column(name, justify="left" if name == "case" else "right")
    for r in rows:
        table.add_row(
            r.case,
            f"{r.ours_us:.3g}",
            f"{r.peer_us:.3g}",
            f"{r.median:.2f}",
            f"{r.lower:.2f} - {r.upper:.2f}",
            "" if r.target is None else f"{r.target:g}",
            "" if r.target is None else ("met" if r.met else "[red]missed"),
        )
    Console(width=110).print(table)


def keep(name: str, rows: Sequence[Ratio], packages: Sequence[str]) -> Path:
    """Write the ratios with what they were measured on."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    facts = {
        "command": "python -m bench " + " ".join(sys.argv[1:]),
        "cpu": _cpu(),
        "python": platform.python_version(),
        "versions": {p: import_module(p).__version__ for p in packages},
        "rows": [r.as_dict() for r in rows],
    }
    path.write_text(json.dumps(facts, indent=1) + "\n")
    return path


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0]} x{len(names)}" if names else platform.processor()
