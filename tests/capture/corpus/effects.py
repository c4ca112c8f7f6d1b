"""Effects in their order: prints, logs, callbacks, and what short-circuits and generators leave undone."""

import thixo as tx
from tests.capture.corpus.registry import case, t
from thixo import nn


@case(lambda d: (t([8.0, 3.0]), 2), lambda d: (t([1.5, 0.5]), 1), prints=True, grad=(0,))
def progress_report(x, every):
    step = 0
    while x.max() > 1:
        x = x * 0.6
        if step % every == 0:
            print(f"step {step}: largest {x.max().item():.4f}")
        step += 1
    print("done after", step, "steps")
    return x


@case(
    lambda d: (t([1.0, 2.0]),),
    lambda d: (t([-1.0, -2.0]),),
    prints=True,
    grad=(0,),
    answers=[[2, 4], [1, 2]],
)
def print_in_both_branches(x):
    if x.sum() > 0:
        print("positive")
        y = x * 2
    else:
        print("negative:", x.tolist())
        y = -x
    print("result of size", len(y))
    return y


def _loud_square(x):
    print("squaring", x.shape)
    return x * x


def _loud_half(x):
    print("halving")
    if x.numel() > 2:
        print("something long")
    return x / 2


@case(lambda d: (d.normal(2),), lambda d: (d.normal(3),), prints=True, grad=(0,))
def order_of_evaluation(x):
    return _loud_half(_loud_square(x)) + _loud_square(_loud_half(x))


@case(
    lambda d: (t(2.0), t(3.0)),
    lambda d: (t(-2.0), t(3.0)),
    lambda d: (t(-2.0), t(-3.0)),
    prints=True,
)
def short_circuits_print(a, b):
    def positive(name, v):
        print("looking at", name)
        return v > 0

    both = bool(positive("a", a) and positive("b", b))
    either = bool(positive("a", a) or positive("b", b))
    return both, either


class Log:
    def __init__(self):
        self.lines = []

    def write(self, text):
        if text.strip():
            self.lines.append(text)


@case(lambda d: (Log(), t([1.0, -1.0, 2.0])), lambda d: (Log(), t([3.0])), mutates=True, grad=(1,))
def print_to_a_log(log, x):
    total = 0
    for i, v in enumerate(x):
        if v < 0:
            print("skipped", i, file=log)
            continue
        total = total + v.sqrt()
        print(f"{i}: {v.item()}", file=log)
    return total


def _stop_below(limit):
    def callback(step, value):
        return value < limit

    return callback


class Recorder:
    def __init__(self):
        self.seen = []

    def __call__(self, step, value):
        self.seen.append((step, float(value)))
        return False


@case(
    lambda d: (t(4.0), [Recorder(), _stop_below(0.9)]),
    lambda d: (t(4.0), [Recorder()]),
    lambda d: (t(4.0), []),
    mutates=True,
    grad=(0,),
)
def callbacks(x, listeners):
    for step in range(5):
        x = x / 2
        if any([listener(step, x) for listener in listeners]):
            break
    return x


def _noisy_pieces(x):
    print("begin")
    for i, v in enumerate(x):
        print("giving", i)
        yield v
    print("end")


@case(lambda d: (t([1.0, 9.0, 2.0]),), lambda d: (t([1.0, 2.0]),), prints=True, answers=[10.0, 3.0])
def generator_stopped_early(x):
    total = tx.zeros((), dtype=x.dtype)
    for piece in _noisy_pieces(x):
        total = total + piece
        print("total is", total.item())
        if total > 5:
            break
    return total


@case(
    lambda d: (d.normal(2, 3), True),
    lambda d: (d.normal(2, 3), False),
    build=lambda c: c(),
    prints=True,
    mutates=True,
    grad=(0,),
)
class VerboseModule(nn.Module):
    """Counts its calls, keeps what it saw last, and talks when asked to."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.calls = 0
        self.last = None

    def forward(self, x, verbose=False):
        self.calls += 1
        h = self.layer(x)
        if verbose:
            print(f"{type(self).__name__}: {tuple(x.shape)} -> {tuple(h.shape)}, call {self.calls}")
        self.last = h.detach().mean()
        return h.relu()


@case(lambda d: (t([1.0, 2.0]), 2), lambda d: (t([1.0, 2.0]), 4), grad=(0,))
def default_that_is_a_list(x, n):
    def remember(v, seen=[]):
        seen.append(v)
        return len(seen)

    for _ in range(n):
        x = x * remember(x.sum())
    return x


@case(lambda d: (t([3.0, 1.0]),), lambda d: (t([-3.0, 1.0]),), prints=True, answers=[2.0, -1.0])
def print_before_an_exception(x):
    try:
        print("trying")
        if x.min() < 0:
            raise ArithmeticError("negative number")
        print("it worked")
        return x.mean()
    except ArithmeticError as error:
        print("failed:", error)
        return x.mean()
    finally:
        print("finally")


@case(lambda d: (t([[1.5, -2.0], [0.0, 4.0]]),), lambda d: (tx.tensor([1, 2, 3]),), prints=True)
def inspect_a_tensor(x):
    print(x)
    print(repr(x.dtype), x.shape, x.ndim)
    if x.is_floating_point():
        print("{:.3f} and {!r}".format(x.mean().item(), x[0]))
    print(*x.flatten().tolist(), sep="|")
    return x.sum()


@case(
    lambda d: ({}, t([1.0, 2.0, 1.0, 3.0])),
    lambda d: ({1.0: 5}, t([2.0])),
    mutates=True,
    answers=[4, 2],
)
def effects_in_a_dict(counts, x):
    for v in x.tolist():
        counts[v] = counts.get(v, 0) + 1
        if counts[v] > 1:
            counts["repeated"] = True
    return len(counts)
