"""Classes of the user's own: operators, properties, class methods, calls, indexing, iteration, inheritance."""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import thixo as tx
from tests.capture.corpus.registry import case, t


class Dual:
    """A value and its derivative, carried along together."""

    __slots__ = ("slope", "value")

    def __init__(self, value, slope):
        self.value = value
        self.slope = slope

    @classmethod
    def variable(cls, value):
        return cls(value, tx.ones_like(value))

    def __add__(self, other):
        if not isinstance(other, Dual):
            return Dual(self.value + other, self.slope)
        return Dual(self.value + other.value, self.slope + other.slope)

    __radd__ = __add__

    def __mul__(self, other):
        if not isinstance(other, Dual):
            return Dual(self.value * other, self.slope * other)
        return Dual(self.value * other.value, self.slope * other.value + self.value * other.slope)

    __rmul__ = __mul__

    def __neg__(self):
        return self * -1


@case(
    lambda d: (d.uniform(3, low=0.5), 2),
    lambda d: (-d.uniform(3, low=0.5), 2),
    lambda d: (d.uniform(2, low=0.5), 5),
    grad=(0,),
)
def forward_mode_by_operators(x, n):
    v = Dual.variable(x)
    result = 1.0 + v
    for _ in range(n):
        result = result * v + 0.5
    if x.sum() < 0:
        result = -result
    return result.value, result.slope


class Interval:
    def __init__(self, low, high):
        assert low <= high, "an interval must not be empty"
        self.low, self.high = low, high

    @property
    def width(self):
        return self.high - self.low

    @property
    def middle(self):
        return (self.low + self.high) / 2

    def __contains__(self, value):
        return bool(self.low <= value <= self.high)

    def __sub__(self, other):
        return Interval(self.low - other.high, self.high - other.low)

    def halves(self):
        yield Interval(self.low, self.middle)
        yield Interval(self.middle, self.high)


@case(
    lambda d: (t(0.0), t(4.1), t(2.75)),
    lambda d: (t(0.0), t(7.9), t(0.125)),
    lambda d: (t(0.0), t(65.0), t(33.0)),
    grad=(0, 1),
)
def search_by_halves(low, high, wanted):
    box = Interval(low, high)
    depth = 0
    while box.width > 0.5:
        left, right = box.halves()
        box = left if wanted in left else right
        depth += 1
    return (box - Interval(low, low)).middle, depth


class Polynomial:
    """Coefficients from the lowest power."""

    def __init__(self, *coefficients):
        self.coefficients = list(coefficients)

    def __len__(self):
        return len(self.coefficients)

    def __getitem__(self, power):
        return self.coefficients[power] if power < len(self) else 0.0

    def __iter__(self):
        return iter(self.coefficients)

    def __add__(self, other):
        return Polynomial(*[self[k] + other[k] for k in range(max(len(self), len(other)))])

    def __matmul__(self, other):
        result = Polynomial()
        for shift, c in enumerate(other):
            result = result + Polynomial(*[0.0] * shift, *[c * own for own in self])
        return result

    def __call__(self, x):
        total = 0.0
        for c in reversed(self.coefficients):
            total = total * x + c
        return total


@case(
    lambda d: (d.normal(3), d.normal(2), t(0.5)),
    lambda d: (d.normal(2), d.normal(4), t(-1.5)),
    grad=(0, 1, 2),
    check=lambda r, a, b, x: abs(float(r[0] - r[1])) < 1e-9,
)
def product_of_polynomials(a, b, x):
    p, q = Polynomial(*a), Polynomial(*b)
    return (p @ q)(x), p(x) * q(x)


class Moments(NamedTuple):
    count: int
    mean: tx.Tensor
    spread: tx.Tensor

    def merged(self, other):
        n = self.count + other.count
        gap = other.mean - self.mean
        mean = self.mean + gap * other.count / n
        spread = self.spread + other.spread + gap**2 * self.count * other.count / n
        return Moments(n, mean, spread)


@case(
    lambda d: ([d.normal(4), d.normal(2)],),
    lambda d: ([d.normal(3)],),
    lambda d: ([d.normal(1), d.normal(5), d.normal(2)],),
    grad=(0,),
)
def merged_moments(parts):
    total = None
    for part in parts:
        mean = part.mean()
        new = Moments(len(part), mean, ((part - mean) ** 2).sum())
        total = new if total is None else total.merged(new)
    count, mean, spread = total
    return total._replace(spread=spread / count)


@dataclass
class Body:
    position: tx.Tensor
    velocity: tx.Tensor
    mass: float = 1.0
    trail: list = field(default_factory=list)

    def pull(self, other):
        gap = other.position - self.position
        return gap * other.mass / (gap.square().sum() + 0.1) ** 1.5

    def move(self, dt):
        self.position = self.position + self.velocity * dt
        self.trail.append(self.position)


@case(
    lambda d: (d.normal(2, 2), 2),
    lambda d: (d.normal(3, 2), 1),
    lambda d: (d.normal(3, 2), 4),
    grad=(0,),
)
def bodies_that_attract(start, steps):
    bodies = [Body(p, tx.zeros_like(p), mass=1.0 + i) for i, p in enumerate(start)]
    for _ in range(steps):
        for body in bodies:
            force = sum(body.pull(other) for other in bodies if other is not body)
            body.velocity = body.velocity + 0.1 * force
        for body in bodies:
            body.move(0.1)
    return [tx.stack(body.trail) for body in bodies]


@dataclass(frozen=True)
class Point:
    x: tx.Tensor
    y: tx.Tensor

    @staticmethod
    def cross(o, a, b):
        return (a.x - o.x) * (b.y - o.y) - (a.y - o.y) * (b.x - o.x)

    def __lt__(self, other):
        return bool(self.x < other.x) if self.x != other.x else bool(self.y < other.y)


@case(
    lambda d: (t([[0.0, 0.0], [2.0, 0.1], [1.0, 0.9], [2.1, 2.0], [0.1, 2.2]]),),
    lambda d: (t([[0.0, 0.0], [1.0, 0.0], [0.5, 1.0]]),),
    lambda d: (d.normal(9, 2),),
    grad=(0,),
)
def convex_hull(points):
    def half(ordered):
        chain = []
        for p in ordered:
            while len(chain) >= 2 and Point.cross(chain[-2], chain[-1], p) <= 0:
                chain.pop()
            chain.append(p)
        return chain[:-1]

    ordered = sorted(Point(x, y) for x, y in points)
    hull = half(ordered) + half(ordered[::-1])
    area = 0.0
    for a, b in zip(hull, hull[1:] + hull[:1]):
        area = area + a.x * b.y - b.x * a.y
    return area / 2, len(hull)


class Shape:
    sides = 0

    def area(self):
        raise NotImplementedError

    def describe(self):
        return f"{type(self).__name__.lower()} with {self.sides} sides"


class Rectangle(Shape):
    sides = 4

    def __init__(self, a, b):
        self.a, self.b = a, b

    def area(self):
        return self.a * self.b


class Square(Rectangle):
    def __init__(self, a):
        super().__init__(a, a)

    def describe(self):
        return "regular " + super().describe()


class Disc(Shape):
    def __init__(self, radius):
        self.radius = radius

    def area(self):
        return tx.pi * self.radius**2


@case(
    lambda d: (t([1.0, 2.0]),),
    lambda d: (t([2.0, 2.0]),),
    lambda d: (t([-2.0, 1.0]),),
    answers=[
        (2, "rectangle with 4 sides"),
        (4, "regular square with 4 sides"),
        (3.14159265, "disc with 0 sides"),
    ],
)
def area_by_inheritance(sizes):
    a, b = sizes
    if (sizes < 0).any():
        shape = Disc(b)
    elif a == b:
        shape = Square(a)
    else:
        shape = Rectangle(a, b)
    return shape.area(), shape.describe()


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
    lambda d: (d.normal(3), Schedule(0.5, 2, 6), 4),
    lambda d: (d.normal(3), Schedule(0.5, 2, 6), 8),
    lambda d: (d.normal(3), Schedule(0.1, 5, 6), 3),
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
