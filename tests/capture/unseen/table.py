"""The table of unseen functions: cases as the corpus has them, in a table of their own."""

import functools

from tests.capture.corpus.registry import Case, case

UNSEEN: dict[str, Case] = {}
unseen = functools.partial(case, into=UNSEEN)
