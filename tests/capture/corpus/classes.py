"""Classes of the user's own: operators, properties, class methods, calls, indexing, inheritance."""

from dataclasses import dataclass, field
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


class Quaternion(NamedTuple):
    w: tx.Tensor
    v: tx.Tensor

    @classmethod
    def turn(cls, axis, angle):
        return cls((angle / 2).cos(), axis / axis.norm() * (angle / 2).sin())

    def __mul__(self, other):
        w = self.w * other.w - self.v @ other.v
        v = self.w * other.v + other.w * self.v + tx.linalg.cross(self.v, other.v)
        return Quaternion(w, v)

    def __invert__(self):
        return self._replace(v=-self.v)


@case(
    lambda d: (d.normal(3), t(0.7), 1),
    lambda d: (d.normal(3), t(-0.7), 1),
    lambda d: (d.normal(3), t(0.7), 4),
    grad=(0, 1),
    check=lambda r, p, angle, n: abs(float(r.norm() - p.norm())) < 1e-9,
)
def rotate(point, angle, times):
    axis = t([1.0, 2.0, -1.0])
    q = Quaternion.turn(axis, angle) if angle >= 0 else ~Quaternion.turn(axis, -angle)
    p = Quaternion(point.new_zeros(()), point)
    for _ in range(times):
        p = q * p * ~q
    return p.v


@dataclass
class Budget:
    total: tx.Tensor
    shares: dict
    spent: tx.Tensor = field(init=False)

    def __post_init__(self):
        self.spent = tx.zeros_like(self.total)

    @property
    def left(self):
        return self.total - self.spent

    def spend(self, name):
        amount = self.total * self.shares[name]
        if amount > self.left:
            amount = self.left
        self.spent = self.spent + amount
        return amount


@case(
    lambda d: (t(10.0), {"rent": 0.5, "food": 0.2}),
    lambda d: (t(10.0), {"rent": 0.8, "food": 0.7}),
    lambda d: (t(10.0), {"a": 0.1, "b": 0.1, "c": 0.1}),
    grad=(0,),
)
def spend_in_order(total, shares):
    budget = Budget(total, shares)
    amounts = {}
    for name in shares:
        amounts[name] = budget.spend(name) ** 2
    return amounts, budget.left


class Sparse:
    """A matrix of few entries, by place."""

    def __init__(self, rows, columns):
        self.shape = rows, columns
        self.entries = {}

    def __setitem__(self, place, value):
        if value == 0:
            self.entries.pop(place, None)
        else:
            self.entries[place] = value

    def __getitem__(self, place):
        return self.entries.get(place, 0.0)

    def __matmul__(self, vector):
        out = [vector.new_zeros(()) for _ in range(self.shape[0])]
        for (i, j), value in self.entries.items():
            out[i] = out[i] + value * vector[j]
        return tx.stack(out)

    @staticmethod
    def eye(n):
        made = Sparse(n, n)
        for i in range(n):
            made[i, i] = 1.0
        return made


@case(
    lambda d: (d.normal(3), [(0, 1), (2, 0)], d.normal(2)),
    lambda d: (d.normal(3), [(0, 1), (0, 1)], d.normal(2)),
    lambda d: (d.normal(4), [(1, 1), (3, 2)], t([-1.0, 2.0])),
    grad=(0,),
)
def sparse_product(x, places, values):
    m = Sparse.eye(len(x))
    for (i, j), value in zip(places, values):
        m[i, j] = m[i, j] + value if i != j else value + 1
    return m @ x
