"""Calls operators with wrong arguments, and reports every answer that is not a clear refusal.

    python tests/fuzz_operators.py --calls 200 --seed 0 [--part 0/4] [names...]

Each call starts from a sample of the operator's declaration; one or two arguments are replaced by
something else: other types, ranks, dtypes, huge numbers, None, nan, empty things. A result is fine, and so
is any error of Thixo's own classes (but InternalError) whose message begins with the operator's name.
Anything else is printed, a JSON line each. The call that is under way is the last line of stderr, so that
a crash or a hang has a name. `test_fuzz.py` runs a few calls of everything; run more by hand.
"""

import argparse
import faulthandler
import json
import os
import sys
import traceback
import warnings

import numpy as np

try:
    import resource
except ImportError:  # not on Windows
    resource = None

import thixo as tx
from thixo.errors import InternalError, ThixoError
from thixo.ops import public
from thixo.ops.samples import Maker, Sample

DTYPES = [
    tx.float32, tx.float64, tx.int64, tx.bool, tx.complex64, tx.float16, tx.uint8, tx.bfloat16, tx.int8
]  # fmt: skip
SHAPES = [
    (),
    (0,),
    (1,),
    (3,),
    (5,),
    (2, 3),
    (3, 3),
    (0, 3),
    (3, 0),
    (1, 1),
    (2, 3, 4),
    (2, 1, 3, 2),
    (1,) * 7,
]
NAMESPACES = ["", "linalg", "fft", "special", "masked", "nn.functional", "signal.windows"]
PATIENCE = 60  # seconds for one call: only a hang takes that long
MEMORY = 2 << 30  # so that a huge size is an allocation that fails, not a machine that swaps
# The sanitizers' own map of memory cannot live under a limit: there a size that no machine has takes the place of one
# that would really be allocated.
SANITIZED = bool(os.environ.get("ASAN_OPTIONS"))
LARGE = 2**46 if SANITIZED else 2**31


ANGER = ("do not ask", "no words")


class Index:
    """An integer by protocol only."""

    def __index__(self):
        return 1


class Angry:
    """Every question about it fails."""

    def __getattr__(self, name):
        raise RuntimeError(ANGER[0])

    def __repr__(self):
        raise RuntimeError(ANGER[1])


def make_tensor(rng):
    """Some tensor: any dtype, any small shape, plain or not."""
    dtype, shape = DTYPES[rng.integers(len(DTYPES))], SHAPES[rng.integers(len(SHAPES))]
    values = rng.integers(-3, 6, shape) if rng.random() < 0.5 else rng.uniform(-2, 2, shape)
    t = tx.tensor(np.asarray(values).astype(np.float64)).to(dtype)
    kind = rng.integers(8)
    if kind == 0 and (dtype.is_floating_point or dtype.is_complex):
        t.requires_grad_()
    elif kind == 1 and t.ndim > 1:
        t = t.transpose(0, -1)
    elif kind == 2 and t.ndim:
        t = t[:1].expand(t.shape) if t.shape[0] else t
    elif kind == 3 and dtype.is_floating_point and t.numel():
        t.view(-1)[0] = [float("nan"), float("inf"), -float("inf")][rng.integers(3)]
    elif kind == 4 and t.ndim:
        t = t[::2]
    return t


def make_junk(rng):
    """Something that is probably wrong where it goes."""
    if rng.random() < 0.4:
        return make_tensor(rng)
    options = [
        None, True, False, 0, 1, -1, 2, 3, -2, 7, 64, 65, LARGE, -(2**31), 2**63 - 1, 2**63, -(2**63), 2**64 + 5,
        10**30, 0.5, -1.5, 1e300, float("nan"), float("inf"), -float("inf"), 1j, complex("nan"),
        "", "mean", "sum", "none", "abc", "é" * 200, b"x", [], (), [1, 2], (0, 1), (-1,), (0, 0), (5, 7, 9), [None],
        [2**40, 2**40], (-5,), ["a"], [[1], [2, 3]], [1.5], (1,) * 70, {}, {"a": 1}, set(), object(), Index(), Angry(),
        Ellipsis, slice(None), slice(3, 1, -1), slice("a", "b"), tx.float32, tx.int64, tx.bool, float, int, str, np.float32,
        np.float64(3.5), np.int8(2), np.zeros(3), np.zeros((2, 2), dtype=object), np.array(2), np.zeros(0), lambda x: x, len,
        range(3), (i for i in range(3)), tx.Generator(), "cpu", "cuda", "cpu:7", tx.device("cpu"), [make_tensor(rng)],
        [make_tensor(rng), make_tensor(rng)], (make_tensor(rng), 3), [make_tensor(rng), None], memoryview(b"ab"),
    ]  # fmt: skip
    return options[rng.integers(len(options))]


def samples_of(declaration, rng):
    """Some of an operator's own samples, on tensors."""
    dtypes = list(declaration.dtypes)
    dtype = (
        tx.float32
        if tx.float32 in dtypes and rng.random() < 0.6
        else dtypes[rng.integers(len(dtypes))]
    )
    found = list(declaration.samples(Maker(dtype, seed=int(rng.integers(1000)))))
    return [
        s.map(lambda x: tx.from_numpy(np.array(x)) if isinstance(x, np.ndarray) else x)
        for s in found
    ]


def mutate(sample, names, rng):
    """The arguments of a call, one or two of them replaced, dropped or added."""
    args, kwargs = list(sample.args), dict(sample.kwargs)
    for _ in range(1 + (rng.random() < 0.35)):
        how = rng.random()
        if how < 0.72 and (args or kwargs):
            place = rng.integers(len(args) + len(kwargs))
            if place < len(args):
                args[place] = make_junk(rng)
            else:
                kwargs[list(kwargs)[place - len(args)]] = make_junk(rng)
        elif how < 0.78 and args:
            args.pop()
        elif how < 0.84:
            args.append(make_junk(rng))
        elif how < 0.87:
            kwargs["out"] = make_junk(rng)
        elif how < 0.89:
            kwargs["no_such_parameter"] = 1
        else:
            kwargs[names[rng.integers(len(names))]] = make_junk(rng)
    return args, kwargs


def text(args, kwargs):
    """The call, for people."""

    def one(x):
        if isinstance(x, tx.Tensor):
            grad = ", grad" if x.requires_grad else ""
            return f"{x.dtype.short}{list(x.shape)}{x.stride()}{grad}"
        if isinstance(x, list | tuple):
            return f"{type(x).__name__}({', '.join(one(e) for e in x)})"
        return object.__repr__(x) if isinstance(x, Angry) else repr(x)[:80]

    return ", ".join([one(a) for a in args] + [f"{k}={one(v)}" for k, v in kwargs.items()])


def read(result):
    """Uses the results, so that broken ones show."""
    items = result if isinstance(result, list | tuple) else [result]
    for t in items:
        if isinstance(t, tx.Tensor):
            array = t.detach()._ndarray()
            assert array.shape == tuple(t.shape)
            if t.numel() < 1000:
                array.sum() if array.dtype.kind != "V" else None
                repr(t)


def fuzz(name, calls, seed):
    """Reports on one operator."""
    rng = np.random.default_rng([seed, *name.encode()])
    tx.manual_seed(seed)
    operator = public.find(name)
    declaration = operator.declaration
    names = [p.name for p in declaration.sig.params] or ["input"]
    for _ in range(calls):
        samples = samples_of(declaration, rng) or [Sample()]
        args, kwargs = mutate(samples[rng.integers(len(samples))], names, rng)
        call = f"{name}({text(args, kwargs)})"
        sys.stderr.write(call.encode("ascii", "replace").decode() + "\n")
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        try:
            read(operator(*args, **kwargs))
        except BaseException as error:
            if not is_refusal(error, name):
                yield report(call, error)
        faulthandler.cancel_dump_traceback_later()


def is_refusal(error, name):
    """Whether an error is a clear one, or the junk's own."""
    if isinstance(error, RuntimeError) and str(error) in ANGER:
        return True
    if not isinstance(error, ThixoError) or isinstance(error, InternalError):
        return False
    head = str(error).partition(": ")[0]  # slogdet may speak of linalg.slogdet
    return head.rpartition(".")[2] == name.rpartition(".")[2]


def report(call, error):
    """What went wrong, for the JSON line."""
    frame = traceback.extract_tb((error.__cause__ or error).__traceback__)[-1]
    where = f"{os.path.basename(frame.filename)}:{frame.lineno}"
    return {
        "call": call,
        "error": type(error).__name__,
        "message": str(error)[:300],
        "where": where,
    }


def all_names():
    """Every public operator, aliases and in-place forms too."""
    return [f"{space}.{n}" if space else n for space in NAMESPACES for n in public.names(space)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--part", default="0/1", help="which of how many parts of the table")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    if resource and not SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")
    tx.set_num_threads(1)
    part, parts = map(int, options.part.split("/"))
    for name in options.names or all_names()[part::parts]:
        for found in fuzz(name, options.calls, options.seed):
            print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
