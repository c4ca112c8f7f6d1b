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
suite = ""  # the one that runs


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


def keep(name: str, rows: Sequence[Ratio], packages: Sequence[str], **more: object) -> Path:
    """Write the ratios with what they were measured on."""
    return write(name, {**facts(packages), **more, "rows": [r.as_dict() for r in rows]})


def write(name: str, content: dict[str, object]) -> Path:
    """Write a file of results."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(_lines(content) + "\n")
    return path


def _lines(value: object, indent: str = "") -> str:
    """JSON with a line for each row: what holds no other lists or tables stays on one."""
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if not any(isinstance(item, dict | list) for item in items):
        return json.dumps(value)
    inner = indent + " "
    if isinstance(value, dict):
        parts = [f"{json.dumps(k)}: {_lines(v, inner)}" for k, v in value.items()]
        return "{\n" + inner + f",\n{inner}".join(parts) + f"\n{indent}}}"
    return "[\n" + inner + f",\n{inner}".join(_lines(v, inner) for v in items) + f"\n{indent}]"


def facts(packages: Sequence[str]) -> dict[str, object]:
    """What was run, and on what."""
    return {
        "command": " ".join(["python -m bench", suite, *map(_without_folders, sys.argv[1:])]),
        "cpu": _cpu(),
        "python": platform.python_version(),
        "versions": {p: import_module(p).__version__ for p in packages},
    }


def _without_folders(word: str) -> str:
    """A word of the command; where it has an absolute path, only what that is."""
    name, given, path = word.rpartition("=")
    if not Path(path).is_absolute():
        return word
    return f"{name}{given}{'PYTHON' if given else Path(path).name}"


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0]} x{len(names)}" if names else platform.processor()
