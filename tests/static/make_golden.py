"""Write the golden file of the current version; only when that version is new.

python tests/static/make_golden.py
"""

import json

from test_files import GOLDEN, train, trained

session = trained()
session.save(GOLDEN)
GOLDEN.with_suffix(".json").write_text(json.dumps(train(session, 3)) + "\n")
