"""The corpus is a package of its own: tests import it as everything else does."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
