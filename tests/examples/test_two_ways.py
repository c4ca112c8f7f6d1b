"""The same training as a loop and as a graph."""

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).resolve().parents[2] / "examples" / "two_ways.py"


def test_both_ways_have_the_same_losses():
    words = [sys.executable, str(PROGRAM), "--steps", "20", "--width", "16"]
    paths = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, env=paths)
    assert done.returncode == 0, done.stderr
    assert "Losses agree at every step" in done.stdout
    assert "static graph" in done.stdout
