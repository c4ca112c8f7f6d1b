"""Sample arguments: what the tests, the benchmarks and the reference pages call operators with.

An operator's `samples(s)` draws from a `Maker`. Its sizes `s.n, s.m, s.k, s.b` are ints in eager tests
and symbols in traced ones, where arrays come at the size of the hint and know their symbolic shape.

>>> s = Maker(float32, seed=0)
>>> x = s.real(s.n, 2)
>>> x.shape, x.dtype
((3, 2), dtype('float32'))
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from thixo.dtype import DType, float32, int64
from thixo.dtype import bool as bool_
from thixo.shape import Dim, Size, hint_of, is_symbolic

SIZES: dict[str, int] = {"n": 3, "m": 4, "k": 2, "b": 5}
OTHER_SIZES: tuple[dict[str, int], ...] = (
    {"n": 5, "m": 2, "k": 3, "b": 4},
    {"n": 2, "m": 7, "k": 4, "b": 3},
)


def symbolic_sizes(sizes: Mapping[str, int] = SIZES) -> dict[str, Dim]:
    """The same sizes as symbols with hints."""
    return {name: Dim(name, hint=size, low=2) for name, size in sizes.items()}


class Sample:
    """Arguments of one call.

    `grad=False` keeps it out of gradient tests (a kink is there). `before(x)` makes the first argument
    from the array that is drawn, where not every array will do (a symmetric matrix): gradients are
    taken through it. `after(*results)` makes what is compared and differentiated of results that are
    not unique (the signs of eigenvectors). Both use what NumPy arrays and tensors have in common.

    >>> Sample(1, dim=0)
    Sample(1, dim=0)
    """

    __slots__ = ("after", "args", "before", "grad", "kwargs")

    def __init__(
        self,
        *args: Any,
        grad: bool = True,
        before: Callable[[Any], Any] | None = None,
        after: Callable[..., Any] | None = None,
        **kwargs: Any,
    ) -> None:
        self.args = args
        self.kwargs = kwargs
        self.grad = grad
        self.before = before
        self.after = after

    def map(self, change: Callable[[Any], Any]) -> "Sample":
        """The same call with `change` applied to each array and size, inside lists too."""
        args = tuple(_map(a, change) for a in self.args)
        kwargs = {k: _map(v, change) for k, v in self.kwargs.items()}
        return Sample(*args, grad=self.grad, before=self.before, after=self.after, **kwargs)

    @property
    def arrays(self) -> list[np.ndarray]:
        """The arrays among the arguments, in order."""
        found: list[np.ndarray] = []

        def collect(x: Any) -> Any:
            if isinstance(x, np.ndarray):
                found.append(x)
            return x

        self.map(collect)
        return found

    def __repr__(self) -> str:
        parts = [_text(a) for a in self.args]
        parts += [f"{k}={_text(v)}" for k, v in self.kwargs.items()]
        return f"Sample({', '.join(parts)})"


class Bad:
    """A call that must be refused: the sample, the class of the error, words of its message."""

    __slots__ = ("error", "sample", "words")

    def __init__(self, sample: Sample, error: type[Exception], words: str) -> None:
        self.sample = sample
        self.error = error
        self.words = words

    def __repr__(self) -> str:
        return f"Bad({self.sample!r}, {self.error.__name__}, {self.words!r})"


def _map(x: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(x, list | tuple):
        return type(x)(_map(e, change) for e in x)
    if isinstance(x, slice):
        return slice(*(_map(e, change) for e in (x.start, x.stop, x.step)))
    return change(x) if isinstance(x, np.ndarray | Dim) else x


def _text(x: Any) -> str:
    if isinstance(x, np.ndarray):
        shape = x.dims if isinstance(x, Symbolic) else x.shape
        return f"{x.dtype}{list(shape)}"
    if isinstance(x, list | tuple) and any(isinstance(e, np.ndarray) for e in x):
        return f"[{', '.join(map(_text, x))}]"
    return repr(x)


class Symbolic(np.ndarray):
    """An array at the sizes of the hints; `dims` is its shape in symbols."""

    dims: tuple[Size, ...]

    def __array_finalize__(self, source: Any) -> None:
        # Arithmetic that keeps the shape keeps the symbols; any other result is plain in its sizes.
        same = getattr(source, "shape", None) == self.shape
        self.dims = getattr(source, "dims", self.shape) if same else self.shape


class Maker:
    """Draws sample arrays of one dtype; the same seed draws the same arrays."""

    def __init__(
        self, dtype: DType = float32, sizes: Mapping[str, Size] = SIZES, seed: int = 0
    ) -> None:
        self.dtype = dtype
        self.sizes = dict(sizes)
        self.rng = np.random.default_rng(seed)
        self.n: Any = sizes["n"]
        self.m: Any = sizes["m"]
        self.k: Any = sizes["k"]
        self.b: Any = sizes["b"]

    def real(
        self, *shape: Size, low: float = -2, high: float = 2, dtype: DType | None = None
    ) -> np.ndarray:
        """Values in [low, high]; whole numbers for an integer dtype, any imaginary part in [-1, 1]."""
        dtype = dtype or self.dtype
        sizes = _hints(shape)
        if dtype is bool_:
            return self._wrap(self.rng.integers(0, 2, sizes), shape, dtype)
        if dtype.is_integer:
            first, last = _whole_range(low, high, dtype)
            return self._wrap(self.rng.integers(first, last, sizes, endpoint=True), shape, dtype)
        values: Any = self.rng.uniform(low, high, sizes)
        if dtype.is_complex:
            values = values + 1j * self.rng.uniform(-1, 1, sizes)
        return self._wrap(values, shape, dtype)

    def positive(
        self, *shape: Size, low: float = 0.1, high: float = 2, dtype: DType | None = None
    ) -> np.ndarray:
        """Values above zero (whose real part is, for complex ones)."""
        dtype = dtype or self.dtype
        if dtype.is_integer:
            low, high = max(1, low), max(2, high)
        return self.real(*shape, low=low, high=high, dtype=dtype)

    def distinct(
        self, *shape: Size, low: float = -2, high: float = 2, dtype: DType | None = None
    ) -> np.ndarray:
        """Values in a random order, no two alike and far enough apart for finite differences."""
        dtype = dtype or self.dtype
        sizes = _hints(shape)
        count = int(np.prod(sizes))
        if dtype is bool_:
            return self.real(*shape, dtype=dtype)
        if dtype.is_integer:
            values: Any = np.arange(count) - (count // 2 if dtype.is_signed else 0)
        else:
            values = np.linspace(low, high, count)
        values = self.rng.permutation(values)
        if dtype.is_complex:
            values = values + 1j * self.rng.permutation(np.linspace(-1, 1, count))
        return self._wrap(values.reshape(sizes), shape, dtype)

    def ints(self, *shape: Size, low: int = 0, high: int = 5, dtype: DType = int64) -> np.ndarray:
        """Whole numbers from low to high - 1, for indices: `s.ints(s.m, high=s.n)`."""
        return self._wrap(
            self.rng.integers(hint_of(low), hint_of(high), _hints(shape)), shape, dtype
        )

    def bools(self, *shape: Size) -> np.ndarray:
        """True and False."""
        return self._wrap(self.rng.integers(0, 2, _hints(shape)), shape, bool_)

    def number(self, low: float = -2, high: float = 2) -> Any:
        """A Python number of the dtype's category."""
        if self.dtype is bool_:
            return bool(self.rng.integers(0, 2))
        if self.dtype.is_integer:
            return int(self.rng.integers(*_whole_range(low, high, self.dtype), endpoint=True))
        value = round(float(self.rng.uniform(low, high)), 3)
        return complex(value, 0.5) if self.dtype.is_complex else value

    def array(self, values: Any, dtype: DType | None = None) -> np.ndarray:
        """Given values, in the dtype under test."""
        array = np.asarray(values)
        return self._wrap(array, array.shape, dtype or self.dtype)

    def _wrap(self, values: np.ndarray, shape: Sequence[Size], dtype: DType) -> np.ndarray:
        array = np.asarray(values).astype(dtype.numpy)
        if not is_symbolic(shape):
            return array
        symbolic = array.view(Symbolic)
        symbolic.dims = tuple(shape)
        return symbolic


def _hints(shape: Sequence[Size]) -> tuple[int, ...]:
    return tuple(map(hint_of, shape))


def _whole_range(low: float, high: float, dtype: DType) -> tuple[int, int]:
    first, last = int(np.ceil(low)), int(np.floor(high))
    if not dtype.is_signed:
        first = max(first, 0)
    return first, max(first, last)


# ---- samples that many operators share

Samples = Callable[[Maker], Iterator[Sample]]


def _keep_away(x: np.ndarray, avoid: Iterable[float], distance: float = 0.1) -> np.ndarray:
    """Values near a kink moved off it, so that a finite difference does not step over it."""
    for point in avoid:
        near = np.abs(x.real.astype(np.float64) - point) < distance
        x[near] = (x[near].astype(x.dtype) + np.asarray(2 * distance)).astype(x.dtype)
    return x


def _away(s: Maker, x: np.ndarray, avoid: Sequence[float]) -> np.ndarray:
    inexact = s.dtype.is_floating_point or s.dtype.is_complex
    return _keep_away(x, avoid) if avoid and inexact else x


def unary_samples(
    low: float = -2,
    high: float = 2,
    *,
    avoid: Sequence[float] = (),
    options: Sequence[Mapping[str, Any]] = ({},),
) -> Samples:
    """One array of every sort: 0 to 3 axes, empty, values near both ends of [low, high].

    `avoid` names points without a gradient, such as 0 for abs; `options` further keyword arguments, one
    mapping for each way to call the operator.
    """

    def samples(s: Maker) -> Iterator[Sample]:
        shapes = [(), (s.n,), (s.n, s.m), (s.n, s.m, s.k), (0,), (s.n, 0, s.m)]
        for given in options:
            for shape in shapes:
                yield Sample(_away(s, s.real(*shape, low=low, high=high), avoid), **given)
        step = (high - low) / 100
        if s.dtype.is_integer or s.dtype is bool_:
            ends = np.array(_whole_range(low, high, s.dtype))
        else:
            ends = np.array([low + step / 10, low + step, high - step, high - step / 10])
        yield Sample(s.array(ends), grad=False, **options[0])

    return samples


def binary_samples(
    low: float = -2,
    high: float = 2,
    *,
    other_low: float | None = None,
    other_high: float | None = None,
    avoid: Sequence[float] = (),
    other_avoid: Sequence[float] = (),
    other_nonzero: bool = False,
    numbers: str = "other",
    options: Sequence[Mapping[str, Any]] = ({},),
) -> Samples:
    """Two arrays in every way they broadcast, and a number in place of one.

    `numbers` says where a plain number may stand: "other" (the second place), "both" (either), "none".
    `other_low` and `other_high` bound the second where its domain is another; `avoid` and `other_avoid`
    name points without a gradient; `other_nonzero` is for divisors, integers included.
    """
    if numbers not in ("none", "other", "both"):
        raise ValueError(f"numbers must be 'none', 'other' or 'both', not {numbers!r}")
    low2 = low if other_low is None else other_low
    high2 = high if other_high is None else other_high

    def samples(s: Maker) -> Iterator[Sample]:
        pairs: list[tuple[tuple[Any, ...], tuple[Any, ...]]] = [
            ((), ()),
            ((s.n,), (s.n,)),
            ((s.n, s.m), (s.n, s.m)),
            ((s.n, 1), (s.m,)),
            ((s.m,), (s.n, s.m)),
            ((s.k, s.n, s.m), (s.n, 1)),
            ((), (s.n, s.m)),
            ((s.n, s.m), ()),
            ((0,), (1,)),
            ((s.n, 0), (s.n, 1)),
        ]

        def first(shape: tuple[Any, ...]) -> np.ndarray:
            return _away(s, s.real(*shape, low=low, high=high), avoid)

        def second(shape: tuple[Any, ...]) -> np.ndarray:
            x = _away(s, s.real(*shape, low=low2, high=high2), other_avoid)
            if other_nonzero:
                x[np.abs(x.astype(np.complex128)) < 0.1] = 1
            return x

        def second_number() -> Any:
            return _number(s, low2, high2, (*other_avoid, 0) if other_nonzero else other_avoid)

        for given in options:
            for a, b in pairs:
                yield Sample(first(a), second(b), **given)
            if numbers != "none":
                yield Sample(first((s.n, s.m)), second_number(), **given)
                yield Sample(first(()), second_number(), **given)
            if numbers == "both":
                yield Sample(_number(s, low, high, avoid), second((s.n, s.m)), **given)

    return samples


def _number(s: Maker, low: float, high: float, avoid: Sequence[float]) -> Any:
    number = s.number(low, high)
    for _ in range(20):
        if all(abs(number - p) >= 0.1 for p in avoid):
            return number
        number = s.number(low, high)
    return number + type(number)(1)  # a range with little in it


def reduction_samples(
    low: float = -2,
    high: float = 2,
    *,
    distinct: bool = False,
    several: bool = True,
    whole: bool = True,
    keepdim: bool = True,
    identity: bool = True,
    options: Sequence[Mapping[str, Any]] = ({},),
) -> Samples:
    """One array reduced over axes in every way: all, one, several, negative, kept, 0-d, empty.

    `distinct` draws no ties (for max and sort); `several=False` where `dim` is one axis; `whole=False`
    where `dim` must be given; `keepdim=False` where there is no such option; `identity=False` where a
    reduction of nothing is an error.
    """

    def samples(s: Maker) -> Iterator[Sample]:
        def array(*shape: Any) -> np.ndarray:
            return (s.distinct if distinct else s.real)(*shape, low=low, high=high)

        for given in options:
            if whole:
                yield Sample(array(s.n, s.m), **given)
                yield Sample(array(s.n, s.m, s.k), **given)
                yield Sample(array(), **given)
            yield Sample(array(s.n), dim=0, **given)
            yield Sample(array(s.n, s.m), dim=1, **given)
            yield Sample(array(s.n, s.m, s.k), dim=-2, **given)
            yield Sample(array(), dim=-1, **given)
            yield Sample(array(1, s.m), dim=0, **given)
            yield Sample(array(s.n, 0), dim=0, **given)
            if keepdim:
                yield Sample(array(s.n, s.m), dim=0, keepdim=True, **given)
                yield Sample(array(), dim=0, keepdim=True, **given)
            if several:
                yield Sample(array(s.n, s.m, s.k), dim=(0, 2), **given)
                yield Sample(array(s.n, s.m, s.k), dim=(-1, 0, 1), **given)
                if keepdim:
                    yield Sample(array(s.n, s.m, s.k), dim=(-1, 1), keepdim=True, **given)
            if identity:
                yield Sample(array(0, s.m), dim=0, **given)
                if whole:
                    yield Sample(array(0), **given)

    return samples
