"""Write docs/missing.md: the names of docs/expected_names.txt that Thixo lacks, and what comes in their place.

python docs/missing.py            write it
python docs/missing.py --check    only say whether it is up to date
"""

import importlib
import sys
from pathlib import Path
from typing import Any

import thixo as tx

HERE = Path(__file__).parent
PAGE = HERE / "missing.md"

# Why a name is not there, by how it begins; the first that fits counts.
REASONS = (
    (("sparse", "spmm", "Tensor.to_sparse"), "Sparse tensors come later."),
    (("nested", "jagged"), "Ragged tensors come later: `nn.utils.rnn.pad_sequence` until then."),
    (("amp",), "Mixed precision comes later: convert with `.to(tx.bfloat16)` until then."),
    (("jit.load",), "Graphs are kept in files by `static.save`; captured functions will be later."),
    (("distributions",), "Distributions come later: the draws themselves (`multinomial`, ...) are there."),
    (("autograd.profiler",), "Profiles come later."),
    (("Tensor.chalf",), "There is no complex type of two half numbers."),
    (("Tensor.resize",), "An old name: use `reshape`, or `resize_` in place."),
    (("serialization",), "Files of Thixo never hold pickled code, so nothing needs allowing."),
)  # fmt: skip
OTHER = "Not there yet."


def expected() -> list[str]:
    """The names of the list, in its order."""
    lines = (HERE / "expected_names.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def exists(name: str) -> bool:
    """Whether `tx.<name>` leads to something; packages on the way are imported."""
    found: Any = tx
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            try:
                found = importlib.import_module(f"{getattr(found, '__name__', '')}.{part}")
            except (ImportError, ValueError):
                return False
    return True


def page() -> str:
    """The text of docs/missing.md."""
    names = expected()
    groups: dict[str, list[str]] = {}
    for name in names:
        if not exists(name):
            fits = (reason for starts, reason in REASONS if name.startswith(starts))
            groups.setdefault(next(fits, OTHER), []).append(name)
    missing = sum(map(len, groups.values()))
    lines = [
        "# What is missing",
        "",
        f"Of {len(names)} names that programs written for PyTorch use (docs/expected_names.txt), "
        f"{missing} are not in",
        "Thixo. This page is written by `python docs/missing.py`; a test keeps it current. CUDA, distributed",
        "training, ONNX and graph rewriting are not counted.",
        "",
        "| names | |",
        "|---|---|",
    ]
    for reason, found in sorted(groups.items()):
        lines.append(f"| {', '.join(f'`{name}`' for name in found)} | {reason} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Write the page, or with --check compare it."""
    new = page()
    old = PAGE.read_text() if PAGE.exists() else ""
    if "--check" in sys.argv[1:]:
        if new != old:
            print("docs/missing.md is out of date: run python docs/missing.py")
        return int(new != old)
    PAGE.write_text(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
