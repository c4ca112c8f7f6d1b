"""Random graphs: made from a seed, run in every way there is, and compared with the reference.

    python -m tests.fuzz --count 20000 --seed 0            # every executor with all passes, some with each pass alone
    python -m tests.fuzz.gradients --count 1000 --seed 0   # gradients against finite differences

See tests/README.md.
"""
