"""The programs are a package of its own: tests import it as the command does."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
