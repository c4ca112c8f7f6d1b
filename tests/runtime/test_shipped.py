"""Which kernels are compiled when the package is built."""

import os
import subprocess
import sys

# A process of its own: the core asks once for what an operator needs.
PROGRAM = """
from thixo.capture import common
from thixo.runtime import rows
common.load_operators()
others = {rows.symbol(*one) for one in common.row_kernels([])}
asked = {rows.symbol(*one) for one in common.row_kernels(["sum", "softmax"])} - others
print(*sorted({name.split("_")[1] for name in asked}))
"""


def test_kernels_that_row_operators_ask_for_are_shipped():
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True
    )
    assert done.stdout.split() == ["across", "along", "joined"], done.stderr
