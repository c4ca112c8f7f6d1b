"""Random Python programs: made from a seed, captured by every route there is, and compared with plain Python.

    python -m tests.programs --count 5000 --seed 0 --route trace script compile lazy

See tests/README.md.
"""
