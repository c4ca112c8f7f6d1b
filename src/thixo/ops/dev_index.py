"""The index of operators in a source checkout: always that of the files as they are.

Loading every declaration takes a second or two, so the result is kept beside the compiled Python files
and made again when a file of the table, or the native core, has changed.
"""

import json
import os
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
CACHE = HERE / "__pycache__" / "index.json"


def _state() -> list[list[Any]]:
    native = HERE.parent.joinpath("_core").glob("_native*")
    paths = sorted([*HERE.glob("**/*.py"), *native])
    return [[path.name, path.stat().st_mtime_ns] for path in paths]


def load() -> tuple[dict[str, str], ...]:
    """Operators, aliases, in-place names and methods, as in `index.py`."""
    state = _state()
    try:
        kept = json.loads(CACHE.read_text())
        if kept["state"] == state:
            return tuple(kept["index"])
    except (OSError, ValueError, KeyError):
        pass
    from thixo.ops.build_index import collect

    found = collect(strict=False)
    try:
        CACHE.parent.mkdir(exist_ok=True)
        fresh = CACHE.with_suffix(f".{os.getpid()}")
        fresh.write_text(json.dumps({"state": state, "index": found}))
        os.replace(fresh, CACHE)
    except OSError:
        pass  # a checkout that cannot be written: it is read again next time
    return tuple(found)
