"""Classes: descriptors, properties with effects, __getattr__, slots, metaclasses, super, mangled names, records."""

import collections
import dataclasses
import enum
import typing

import thixo as tx
from tests.capture.adversary.registry import COUNTED, hostile, t


class Counted:
    """A descriptor that counts how often it is read."""

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, instance, owner):
        instance.reads = instance.__dict__.get("reads", 0) + 1
        return instance.__dict__["_" + self.name]

    def __set__(self, instance, value):
        instance.__dict__["_" + self.name] = value


class WithDescriptor:
    value = Counted()

    def __init__(self, value):
        self.value = value


@hostile()
def descriptor_with_effects(x):
    o = WithDescriptor(x)
    total = o.value + o.value
    if x > 0:
        o.value = x * 5
        total = total + o.value
    return total, o.reads


class Lazy:
    def __init__(self, x):
        self.x = x
        self.asked = []

    def __getattr__(self, name):
        self.asked.append(name)
        return self.x * len(name)


@hostile()
def getattr_with_effects(x):
    o = Lazy(x)
    y = o.abc + o.de
    return y if x > 0 else y + o.f, o.asked


class Guarded:
    def __init__(self):
        object.__setattr__(self, "log", [])

    def __setattr__(self, name, value):
        self.log.append(name)
        object.__setattr__(self, name, value)


@hostile()
def setattr_with_effects(x):
    o = Guarded()
    o.a = x
    if x > 0:
        o.b = x * 2
    return x, o.log


class Account:
    def __init__(self, x):
        self._x, self.reads = x, 0

    @property
    def x(self):
        self.reads += 1
        return self._x if self.reads % 2 else -self._x

    @x.setter
    def x(self, value):
        self._x = value if value > 0 else value * 0


@hostile()
def property_with_effects(x):
    a = Account(x)
    y = a.x + a.x * 10
    a.x = x - 1
    return y + a.x, a.reads


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a = a


@hostile()
def slots(x):
    o = Slotted(x)
    if x > 0:
        o.b = x * 2
    return o.a + getattr(o, "b", 0.0), hasattr(o, "b")


class Base:
    def go(self, x):
        return x + 1

    @classmethod
    def made(cls):
        return cls()


class Derived(Base):
    def __init__(self):
        self.__secret = 3

    def go(self, x):
        return super().go(x) * self.__secret if x > 0 else super().go(-x)

    @staticmethod
    def helper(x):
        return x * 2


@hostile()
def super_and_mangled_names(x):
    o = Derived.made()
    return o.go(x) + Derived.helper(x), sorted(vars(o))


class Meta(type):
    def __call__(cls, *args):
        made = super().__call__(*args)
        made.extra = 5
        return made

    def __getitem__(cls, key):
        return key * 3


class FromMeta(metaclass=Meta):
    def __init__(self, x):
        self.x = x


@hostile()
def metaclass(x):
    return FromMeta(x).x * FromMeta(x).extra + FromMeta[x]


@dataclasses.dataclass
class Point:
    a: typing.Any
    b: int = 2
    parts: list = dataclasses.field(default_factory=list)

    def __post_init__(self):
        self.parts.append(self.b)


@hostile()
def dataclass_replaced(x):
    p = Point(x)
    if x > 0:
        p = dataclasses.replace(p, a=x * 2, b=7)
    return p.a * p.b, p.parts


@dataclasses.dataclass(frozen=True, order=True)
class Frozen:
    k: int
    x: typing.Any = dataclasses.field(compare=False, default=None)


@hostile()
def frozen_dataclasses_sorted(x):
    a, b = Frozen(3, x), Frozen(1, x * 2)
    try:
        a.k = 5
    except dataclasses.FrozenInstanceError:
        return min(a, b).x
    return x


Pair = collections.namedtuple("Pair", "a b")


class Typed(typing.NamedTuple):
    a: tx.Tensor
    n: int = 1


@hostile()
def named_tuples(x):
    p = Pair(x, x * 2)
    if x > 0:
        p = p._replace(a=x * 7)
    a, b = p
    return p.a + b + a, Typed(x).n, p


@hostile()
def named_tuple_returned(x):
    return Typed(x * 2, 3) if x > 0 else Typed(x, 4)


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


@hostile()
def enums_chosen_by_a_tensor(x):
    c = Colour.RED if x > 0 else Colour.BLUE
    return x * c.value, c.name, c is Colour.RED


class Vector:
    def __init__(self, x):
        self.x = x

    def __add__(self, other):
        return Vector(self.x + other.x)

    def __iadd__(self, other):
        self.x = self.x * 100
        return self

    def __eq__(self, other):
        return bool(self.x == other.x)

    def __hash__(self):
        return 1

    def __bool__(self):
        return bool(self.x > 0)

    def __len__(self):
        return 4

    def __contains__(self, value):
        return bool(self.x > value)

    def __getitem__(self, i):
        if i > 2:
            raise IndexError
        return self.x * i

    def __call__(self, y):
        return self.x * y if self else y

    def __enter__(self):
        self.x = self.x + 1
        return self

    def __exit__(self, *error):
        self.x = self.x - 0.5


@hostile()
def operators_overloaded(x):
    a, b = Vector(x), Vector(x * 2)
    c = a + b
    a += b
    return c.x + a.x, a == b, len(a)


@hostile()
def truth_overloaded(x):
    v = Vector(x)
    return (x * 2 if v else x * 3), (v and 1) is v, not v


@hostile()
def iterated_by_getitem(x):
    return sum(Vector(x)), 1.0 in Vector(x)


@hostile()
def called_object_as_context(x):
    with Vector(x) as v:
        y = v(x)
    return y + v.x


@hostile()
def attribute_changed_in_a_branch(x):
    o = Point(x)
    same = o
    if x > 0:
        same.a = x * 3
        same.b += 1
    return o.a * o.b


@hostile(*COUNTED)
def attribute_changed_in_a_loop(x, n):
    o = Point(x)
    for i in range(n):
        o.a = o.a + i
        if o.a > 3:
            o.b = o.b + 1
            break
    return o.a, o.b


@hostile()
def attribute_added_in_a_branch(x):
    o = Point(x)
    if x > 0:
        o.new = x * 2
    return x * len(vars(o)), hasattr(o, "new")


@hostile()
def attribute_by_name(x):
    o = Point(x)
    for name in ("a", "b"):
        setattr(o, name, getattr(o, name) * 2)
    if x > 0:
        delattr(o, "a")
    return getattr(o, "a", x * 50)


@hostile()
def method_replaced_on_the_object(x):
    o = Base()
    if x > 0:
        o.go = lambda v: v * 9
    return o.go(x)


@hostile()
def bound_method_kept(x):
    o = Point(x)
    grow = o.parts.append
    grow(5)
    if x > 0:
        grow(6)
    return x * sum(o.parts)


class Counter(tx.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = tx.nn.Parameter(tx.tensor(2.0, dtype=tx.float64))
        self.register_buffer("seen", tx.tensor(0.0, dtype=tx.float64))
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        if x > 0:
            self.seen += 1
        return x * self.scale + self.seen * self.calls


@hostile(lambda: (Counter(), t(2.0)), lambda: (Counter(), t(-2.0)))
def module_with_state(module, x):
    return module(x) + module(-x), module.calls, module.seen + 0


@hostile(lambda: (Counter(), t(2.0), 1), lambda: (Counter(), t(2.0), 0))
def hook_on_a_module(module, x, hooked):
    if hooked:
        module.register_forward_hook(lambda m, args, out: out * 10)
    return module(x)


@hostile(lambda: (tx.nn.Dropout(0.5), tx.ones(8)), lambda: (tx.nn.Dropout(0.5).eval(), tx.ones(8)))
def training_mode_decides(layer, w):
    y = layer(w)
    layer.train(not layer.training)
    return y + layer(w)
