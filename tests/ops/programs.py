"""Random programs of operators, views and writes, as data: run on NumPy and on Thixo alike.

A program is drawn while NumPy runs it, so that every statement fits the shapes that are there. Values are
small whole numbers (products are reduced), so results are compared exactly; smooth programs, for
gradients, take any numbers and leave out what has kinks.
"""

from typing import Any, NamedTuple

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

import thixo as tx

MODULUS = 97
LARGEST = 300  # elements of a variable


class Statement(NamedTuple):
    """An operation on variables by number; results become new variables."""

    kind: str
    variables: tuple[int, ...]
    options: tuple[Any, ...]


class Program(NamedTuple):
    """Inputs and what is done with them."""

    dtype: str
    inputs: list[np.ndarray]
    statements: list[Statement]

    def run(self, library: Any, variables: list[Any]) -> list[Any]:
        """All variables after the last statement; the first ones are the inputs."""
        for s in self.statements:
            made = getattr(library, s.kind)(*(variables[i] for i in s.variables), *s.options)
            if made is not None:
                variables.append(made)
        return variables


def _fresh(x: Any) -> np.ndarray:
    """A new array, row after row: NumPy's own results follow the layout of their inputs."""
    return np.array(x, order="C")


class OnNumPy:
    """The statements, on arrays."""

    @staticmethod
    def index(x, key):
        return _fresh(x[_key(key, np.array)]) if _has_lists(key) else x[(*key, ...)]

    @staticmethod
    def transpose(x, a, b):
        return x.swapaxes(a, b)

    @staticmethod
    def unsqueeze(x, axis):
        return np.expand_dims(x, axis)

    @staticmethod
    def reshape(x, shape, strides):
        return x.reshape(shape)

    @staticmethod
    def expand(x, shape):
        return np.broadcast_to(x, shape)

    @staticmethod
    def diagonal(x):
        # NumPy hands out a read-only view of the diagonal, Thixo one that can be written.
        view = np.diagonal(x)
        view.flags.writeable = x.flags.writeable
        return view

    @staticmethod
    def add(x, y):
        return _fresh(x + y)

    @staticmethod
    def subtract(x, y):
        return _fresh(x - y)

    @staticmethod
    def product(x, y):
        return _fresh(x * y % MODULUS)

    @staticmethod
    def scaled_product(x, y):
        return _fresh(x * y * 0.5)

    @staticmethod
    def maximum(x, y):
        return _fresh(np.maximum(x, y))

    @staticmethod
    def tanh(x):
        return _fresh(np.tanh(x))

    @staticmethod
    def absolute(x):
        return _fresh(np.abs(x))

    @staticmethod
    def sum(x, axis):
        return _fresh(x.sum(axis, dtype=x.dtype))

    @staticmethod
    def largest(x, axis):
        return _fresh(x.max(axis))

    @staticmethod
    def cumsum(x, axis):
        return _fresh(x.cumsum(axis, dtype=x.dtype))

    @staticmethod
    def sort(x, axis):
        return _fresh(np.sort(x, axis))

    @staticmethod
    def clone(x):
        return _fresh(x)

    @staticmethod
    def join(x, y, axis):
        return _fresh(np.concatenate([x, y], axis))

    @staticmethod
    def where(x, y):
        return _fresh(np.where(x > y, x, y + 1))

    @staticmethod
    def add_number_to(x, number):
        np.add(x, x.dtype.type(number), out=x)

    @staticmethod
    def add_to(x, y):
        np.add(x, y, out=x)

    @staticmethod
    def multiply_into(x, y):
        x[...] = x * y % MODULUS

    @staticmethod
    def scale_into(x, y):
        x[...] = x * y * 0.5

    @staticmethod
    def copy_into(x, y):
        x[...] = y.copy()

    @staticmethod
    def zero(x):
        x[...] = 0

    @staticmethod
    def set_number(x, key, number):
        x[_key(key, np.array)] = number

    @staticmethod
    def set_part(x, y, key):
        x[_key(key, np.array)] = y.copy()

    @staticmethod
    def set_where(x, limit, number):
        x[x > limit] = number


class OnThixo:
    """The same, on tensors."""

    @staticmethod
    def index(x, key):
        return x[_key(key, tx.tensor)] if _has_lists(key) else x[(*key, ...)]

    @staticmethod
    def transpose(x, a, b):
        return x.transpose(a, b)

    @staticmethod
    def unsqueeze(x, axis):
        return x.unsqueeze(axis)

    @staticmethod
    def reshape(x, shape, strides):
        # Whether it is a view follows from the layout: results lie as their operands do here, row after row on NumPy.
        if not _is_traced(x):  # which has no layout yet
            assume(_strides(x.shape, x.stride()) == strides)
        return x.reshape(shape)

    @staticmethod
    def expand(x, shape):
        return x.expand(shape)

    @staticmethod
    def diagonal(x):
        return x.diagonal()

    @staticmethod
    def add(x, y):
        return x + y

    @staticmethod
    def subtract(x, y):
        return x - y

    @staticmethod
    def product(x, y):
        return x * y % MODULUS

    @staticmethod
    def scaled_product(x, y):
        return x * y * 0.5

    @staticmethod
    def maximum(x, y):
        return tx.maximum(x, y)

    @staticmethod
    def tanh(x):
        return x.tanh()

    @staticmethod
    def absolute(x):
        return x.abs()

    @staticmethod
    def sum(x, axis):
        return x.sum(axis)

    @staticmethod
    def largest(x, axis):
        return x.amax(axis)

    @staticmethod
    def cumsum(x, axis):
        return x.cumsum(axis)

    @staticmethod
    def sort(x, axis):
        return x.sort(axis)[0]

    @staticmethod
    def clone(x):
        return x.clone()

    @staticmethod
    def join(x, y, axis):
        return tx.cat([x, y], axis)

    @staticmethod
    def where(x, y):
        return tx.where(x > y, x, y + 1)

    @staticmethod
    def add_number_to(x, number):
        x += number

    @staticmethod
    def add_to(x, y):
        x += y

    @staticmethod
    def multiply_into(x, y):
        x.copy_(x * y % MODULUS)

    @staticmethod
    def scale_into(x, y):
        x.copy_(x * y * 0.5)

    @staticmethod
    def copy_into(x, y):
        x.copy_(y)

    @staticmethod
    def zero(x):
        x.zero_()

    @staticmethod
    def set_number(x, key, number):
        x[_key(key, tx.tensor)] = number

    @staticmethod
    def set_part(x, y, key):
        x[_key(key, tx.tensor)] = y

    @staticmethod
    def set_where(x, limit, number):
        x[x > limit] = number


def _is_traced(x: Any) -> bool:
    """Whether a tensor stands for a value of a graph."""
    return x._value is not None


def _strides(shape: Any, strides: Any) -> list[int]:
    """Those that matter: of axes with more than one element, of arrays with any."""
    sizes = [int(n) for n in shape]
    return [int(s) for n, s in zip(sizes, strides, strict=True) if n > 1] if all(sizes) else []


def _has_lists(key: tuple[Any, ...]) -> bool:
    return any(isinstance(k, list) for k in key)


def _key(key: tuple[Any, ...], make: Any) -> tuple[Any, ...]:
    return tuple(make(k) if isinstance(k, list) else k for k in key)


# ---- drawing

EXACT = (
    "index transpose unsqueeze reshape expand diagonal add subtract product maximum absolute sum largest "
    "cumsum sort clone join where add_number_to add_to multiply_into copy_into zero set_number set_part "
    "set_where"
).split()
SMOOTH = (
    "index transpose unsqueeze reshape expand diagonal add subtract scaled_product tanh sum cumsum clone "
    "join add_number_to add_to scale_into copy_into zero set_number set_part"
).split()
VIEWS = ("index", "transpose", "unsqueeze", "reshape", "diagonal")
WRITES = (
    "add_number_to add_to multiply_into scale_into copy_into zero set_number set_part set_where"
).split()


@st.composite
def programs(draw: Any, smooth: bool = False, least: int = 10, most: int = 24) -> Program:
    """A program; views and writes are half of its statements."""
    dtype = "float64" if smooth else draw(st.sampled_from(["float64", "int64"]))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    inputs = []
    for _ in range(draw(st.integers(1, 3))):
        shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
        values = rng.uniform(-1, 1, shape) if smooth else rng.integers(-9, 10, shape)
        inputs.append(values.astype(dtype))
    variables = [x.copy() for x in inputs]
    statements: list[Statement] = []
    other = SMOOTH if smooth else EXACT
    writes = [k for k in WRITES if k in other]
    for _ in range(draw(st.integers(least, most))):
        group = draw(st.sampled_from([VIEWS, writes, other, other]))
        statement = None
        while statement is None:
            statement = _draw_statement(draw, draw(st.sampled_from(group)), variables)
        statements.append(statement)
        Program(dtype, [], [statement]).run(OnNumPy, variables)
    return Program(dtype, inputs, statements)


def _draw_statement(draw: Any, kind: str, variables: list[np.ndarray]) -> Statement | None:
    """A statement of that kind for some variable, None if it does not fit the one that was drawn."""
    i = draw(st.integers(0, len(variables) - 1))
    x = variables[i]
    if kind in WRITES and not x.flags.writeable:
        return None
    if kind in ("tanh", "absolute", "clone", "zero"):
        return Statement(kind, (i,), ())
    if kind == "add_number_to":
        return Statement(kind, (i,), (draw(st.integers(-5, 5)),))
    if kind == "set_where":
        return Statement(kind, (i,), (draw(st.integers(-3, 9)), draw(st.integers(-9, 9))))
    if kind in ("sum", "largest", "cumsum", "sort", "transpose", "unsqueeze", "diagonal"):
        return _draw_axes(draw, kind, i, x)
    if kind == "reshape":
        strides = _strides(x.shape, [step // x.itemsize for step in x.strides])
        return Statement(kind, (i,), (_draw_shape(draw, x.size), strides))
    if kind == "expand":
        return _draw_expand(draw, i, x)
    if kind == "index":
        key = _draw_key(draw, x.shape, lists=draw(st.booleans()))
        return Statement(kind, (i,), (key,)) if x[_key(key, np.array)].size <= LARGEST else None
    if kind == "set_number":
        return Statement(kind, (i,), (_draw_key(draw, x.shape, True), draw(st.integers(-9, 9))))
    return _draw_pair(draw, kind, i, variables)


def _draw_axes(draw: Any, kind: str, i: int, x: np.ndarray) -> Statement | None:
    if x.ndim == 0 and kind != "unsqueeze":
        return None
    axis = draw(st.integers(0, x.ndim - 1)) if x.ndim else 0
    if kind == "transpose":
        return Statement(kind, (i,), (axis, draw(st.integers(0, x.ndim - 1))))
    if kind == "unsqueeze":
        return Statement(kind, (i,), (axis,)) if x.ndim < 4 else None
    if kind == "diagonal":
        return Statement(kind, (i,), ()) if x.ndim == 2 else None
    if kind == "largest" and x.shape[axis] == 0:
        return None
    return Statement(kind, (i,), (axis,))


def _draw_shape(draw: Any, count: int) -> tuple[int, ...]:
    if count == 0:
        return (0, draw(st.integers(1, 3)))
    shape = []
    for _ in range(draw(st.integers(0, 2))):
        part = draw(st.sampled_from([d for d in range(1, count + 1) if count % d == 0]))
        shape.append(part)
        count //= part
    return (*shape, count)


def _draw_expand(draw: Any, i: int, x: np.ndarray) -> Statement | None:
    shape = tuple(draw(st.integers(1, 3)) if size == 1 else size for size in x.shape)
    shape = (*draw(st.lists(st.integers(1, 3), max_size=1)), *shape)
    fits = len(shape) <= 4 and np.prod(shape) <= LARGEST
    return Statement("expand", (i,), (shape,)) if fits else None


def _draw_key(draw: Any, shape: tuple[int, ...], lists: bool) -> tuple[Any, ...]:
    """Integers, slices with steps, and at most one list of indices without repetition."""
    key: list[Any] = []
    for size in shape[: draw(st.integers(0, len(shape)))]:
        kind = draw(st.sampled_from(["slice", "slice", "int", "list"]))
        if kind == "int" and size and not any(isinstance(k, list) for k in key):
            key.append(draw(st.integers(-size, size - 1)))
        elif kind == "list" and size and lists and all(isinstance(k, slice) for k in key):
            key.append(
                draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=3, unique=True))
            )
        else:
            start = draw(st.integers(-size, size) | st.none())
            stop = draw(st.integers(-size, size + 1) | st.none())
            key.append(slice(start, stop, draw(st.integers(1, 2))))
    return tuple(key)


def _draw_pair(draw: Any, kind: str, i: int, variables: list[np.ndarray]) -> Statement | None:
    j = draw(st.integers(0, len(variables) - 1))
    x, y = variables[i], variables[j]
    if kind == "join":
        same = [a for a in range(x.ndim) if x.ndim == y.ndim and _equal_but(x.shape, y.shape, a)]
        fits = same and x.size + y.size <= LARGEST
        return Statement(kind, (i, j), (draw(st.sampled_from(same)),)) if fits else None
    key: tuple[Any, ...] = ()
    target = x
    if kind == "set_part":
        key = _draw_key(draw, x.shape, lists=True)
        target = x[_key(key, np.array)]
    try:
        shape = np.broadcast_shapes(target.shape, y.shape)
    except ValueError:
        return None
    if kind in WRITES and shape != target.shape:
        return None
    if len(shape) > 4 or np.prod(shape) > LARGEST:
        return None
    return Statement(kind, (i, j), (key,) if kind == "set_part" else ())


def _equal_but(a: tuple[int, ...], b: tuple[int, ...], axis: int) -> bool:
    return all(m == n for d, (m, n) in enumerate(zip(a, b, strict=True)) if d != axis)
