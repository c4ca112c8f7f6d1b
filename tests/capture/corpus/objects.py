"""Objects that behave as containers, iterators, functions and numbers, with state of their own."""

from dataclasses import dataclass, replace

import thixo as tx
from tests.capture.corpus.registry import case, t


class Window:
    """Iterates over neighbours; made anew for every loop."""

    def __init__(self, x, size):
        self.x, self.size = x, size

    def __iter__(self):
        self.at = 0
        return self

    def __next__(self):
        if self.at + self.size > len(self.x):
            raise StopIteration
        self.at += 1
        return self.x[self.at - 1 : self.at - 1 + self.size]


@case(lambda d: (d.normal(6), 2), lambda d: (d.normal(6), 4), lambda d: (d.normal(9), 2), grad=(0,))
def iterator_of_windows(x, size):
    windows = Window(x, size)
    widest = max((w.max() - w.min() for w in windows), default=None)
    smooth = [w.mean() for w in windows]
    return widest, tx.stack(smooth)


@dataclass
class Schedule:
    peak: float
    warm: int
    total: int

    def __call__(self, step):
        if step < self.warm:
            return self.peak * (step + 1) / self.warm
        if step >= self.total:
            return 0.0
        return self.peak * (self.total - step) / (self.total - self.warm)


@case(
    lambda d: (d.normal(3), Schedule(0.5, 1, 2), 2),
    lambda d: (d.normal(3), Schedule(0.5, 1, 2), 5),
    lambda d: (d.normal(3), Schedule(0.1, 3, 4), 2),
    grad=(0,),
)
def descent_with_a_schedule(w, schedule, steps):
    longer = replace(schedule, total=schedule.total + 1)
    for step in range(steps):
        rate = longer(step)
        if not rate:
            break
        w = w - rate * (w - 1) * w.cos()
    return w


class Ledger:
    """Values by name, with a total that is made when it is asked for."""

    def __init__(self):
        self._entries = {}
        self._total = None

    def __setitem__(self, name, value):
        self._entries[name] = value
        self._total = None

    def __getitem__(self, name):
        return self._entries[name]

    def __contains__(self, name):
        return name in self._entries

    @property
    def total(self):
        if self._total is None:
            self._total = sum(self._entries.values())
        return self._total


@case(
    lambda d: (d.normal(3), ["a", "b", "a"]),
    lambda d: (d.normal(3), ["a", "b", "c"]),
    lambda d: (d.normal(4), ["a", "a", "a", "a"]),
    grad=(0,),
)
def totals_made_when_asked_for(values, names):
    ledger = Ledger()
    seen = []
    for name, value in zip(names, values):
        ledger[name] = ledger[name] + value if name in ledger else value
        seen.append(ledger.total * ledger.total)
    return tx.stack(seen)


class Complex:
    """Pairs of reals that behave as complex numbers."""

    def __init__(self, re, im=0.0):
        self.re, self.im = re, im

    def __add__(self, o):
        return Complex(self.re + o.re, self.im + o.im)

    def __mul__(self, o):
        return Complex(self.re * o.re - self.im * o.im, self.re * o.im + self.im * o.re)

    def __abs__(self):
        return (self.re * self.re + self.im * self.im) ** 0.5

    def __eq__(self, o):
        return bool(self.re == o.re and self.im == o.im)


@case(
    lambda d: (t(0.3), t(0.4), 5),
    lambda d: (t(1.3), t(0.4), 5),
    lambda d: (t(0.3), t(0.4), 20),
    grad=(0, 1),
)
def orbit_of_a_complex_number(re, im, limit):
    c = z = Complex(re, im)
    for step in range(limit):
        z = z * z + c
        if abs(z) > 2 or z == c:
            return z.re, z.im, step
    return z.re, z.im, limit


class Sums:
    """Sums of any stretch of a vector in constant time."""

    def __init__(self, x):
        self.before = tx.cat([x.new_zeros(1), x.cumsum(0)])

    def __len__(self):
        return len(self.before) - 1

    def __getitem__(self, key):
        if isinstance(key, slice):
            start, stop, _ = key.indices(len(self))
            return self.before[stop] - self.before[start]
        if key < 0:
            key += len(self)
        return self[key : key + 1]


@case(
    lambda d: (d.normal(5), 2),
    lambda d: (d.normal(5), 4),
    lambda d: (d.normal(9), 2),
    grad=(0,),
)
def best_stretch(x, width):
    sums = Sums(x)
    best = sums[:width]
    for start in range(1, len(sums) - width + 1):
        if (here := sums[start : start + width]) > best:
            best = here
    return best - sums[-1]


class Node:
    """A search tree without balance."""

    def __init__(self, value):
        self.value = value
        self.left = self.right = None

    def add(self, value):
        side = "left" if value < self.value else "right"
        child = getattr(self, side)
        if child is None:
            setattr(self, side, Node(value))
        else:
            child.add(value)

    def __iter__(self):
        if self.left is not None:
            yield from self.left
        yield self.value
        if self.right is not None:
            yield from self.right


@case(
    lambda d: (t([3.0, 1.0, 2.0]),),
    lambda d: (t([1.0, 2.0, 3.0, 4.0]),),
    lambda d: (t([4.0, 2.0, 6.0, 1.0, 3.0, 5.0, 7.0]),),
    grad=(0,),
)
def tree_sort(x):
    first, *rest = x
    root = Node(first)
    for v in rest:
        root.add(v)
    return tx.stack(list(root))


class Pipeline:
    """Steps one after the other; `|` puts one more behind."""

    registered: dict = {}

    def __init__(self, *steps):
        self.steps = steps

    @classmethod
    def named(cls, name):
        return cls(cls.registered[name])

    @classmethod
    def register(cls, function):
        cls.registered[function.__name__] = function
        return function

    def __or__(self, other):
        return Pipeline(*self.steps, *other.steps)

    def __iter__(self):
        yield from self.steps

    def __call__(self, x, /, *, stop=None):
        for step in self:
            if stop is not None and x.abs().max() > stop:
                break
            x = step(x)
        return x


@Pipeline.register
def doubled(x):
    return x * 2


@Pipeline.register
def centred(x):
    return x - x.mean()


@case(
    lambda d: (t([1.0, 2.0]), ["doubled", "centred"], None),
    lambda d: (t([1.0, 2.0]), ["doubled", "doubled", "doubled"], 3.0),
    lambda d: (t([1.0, 2.0]), ["centred"], 9.0),
    grad=(0,),
    answers=[[-1, 1], [2, 4], [-0.5, 0.5]],
)
def steps_joined_by_bars(x, names, stop):
    first, *others = (Pipeline.named(name) for name in names)
    whole = first
    for other in others:
        whole = whole | other
    return whole(x, stop=stop)


class Celsius:
    """A descriptor: stored in one unit, seen in another."""

    def __get__(self, owner, kind=None):
        return owner.kelvin - 273.15

    def __set__(self, owner, value):
        if value < -273.15:
            raise ValueError("colder than possible")
        owner.kelvin = value + 273.15


class Oven:
    celsius = Celsius()

    def __init__(self, kelvin):
        self.kelvin = kelvin


@case(
    lambda d: (t(300.0), t(350.0)),
    lambda d: (t(300.0), t(-500.0)),
    lambda d: (t(350.0), t(340.0)),
    grad=(0,),
)
def heat_by_a_descriptor(kelvin, wanted):
    oven = Oven(kelvin)
    try:
        for _ in range(3):
            oven.celsius = oven.celsius + 0.25 * (wanted - oven.kelvin)
            if oven.celsius > 60:
                break
            oven.celsius = oven.celsius * 2 if wanted < 0 else oven.celsius
    except ValueError:
        return kelvin * 0
    return oven.kelvin


class Defaults:
    """Attributes that were never set are 1."""

    def __init__(self, **given):
        self.__dict__.update(given)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return 1.0


@case(
    lambda d: (d.normal(2), {"scale": 2.0}),
    lambda d: (d.normal(2), {"scale": 2.0, "shift": -5.0}),
    lambda d: (d.normal(2), {}),
    grad=(0,),
)
def attributes_with_a_default(x, given):
    options = Defaults(**given)
    y = x * options.scale + options.shift
    return y if options.shift > 0 else y.abs()


class Scaled:
    def apply(self, x):
        return x * 2


class Shifted:
    def apply(self, x):
        return super().apply(x + 1)


class Bounded:
    limit = 3.0

    def apply(self, x):
        y = super().apply(x)
        return y if y.abs().max() <= self.limit else y * (self.limit / y.abs().max())


class Chain(Bounded, Shifted, Scaled):
    pass


class LooseChain(Chain):
    limit = float("inf")


@case(
    lambda d: (t([0.1, 0.2]), Chain),
    lambda d: (t([5.0, 0.2]), Chain),
    lambda d: (t([0.1, 0.2]), LooseChain),
    grad=(0,),
)
def order_of_base_classes(x, kind):
    chain = kind()
    if isinstance(chain, LooseChain):
        x = x - 1
    return chain.apply(chain.apply(x))
