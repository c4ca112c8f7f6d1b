"""What every operator of the table is held to. Each function raises AssertionError with the sample.

The tests beside this file run these over the whole table; `test_checks.py` plants defects and sees that
they are found.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import thixo as tx
from thixo.dtype import DType, from_numpy_dtype
from thixo.graph.interpret import apply_reference, round_to
from thixo.graph.operators import bind
from thixo.graph.typing import infer_types
from thixo.ops.samples import OTHER_SIZES, SIZES, Maker, Sample
from thixo.pytree import tree_leaves

# How far a result may be from the reference, relative to 1 + |reference|. The half types have 11 and 8
# bits; a composition rounds several times.
TOLERANCE = {
    "float64": 1e-9, "complex128": 1e-9, "float32": 2e-5, "complex64": 2e-5, "float16": 1e-2,
    "bfloat16": 8e-2,
}  # fmt: skip


def samples_of(
    op: Any, dtype: DType, sizes: dict[str, Any] = SIZES, seed: int = 0
) -> Iterator[Sample]:
    """An operator's samples in a dtype at some sizes."""
    yield from op.samples(Maker(dtype, sizes, seed))


def on_tensors(sample: Sample, make: Callable[[np.ndarray], Any] | None = None) -> Sample:
    """The sample with tensors in place of arrays."""

    def change(x: Any) -> Any:
        return (make or as_tensor)(x) if isinstance(x, np.ndarray) else x

    return sample.map(change)


def as_tensor(array: np.ndarray) -> Any:
    """A tensor with a copy of the array."""
    return tx.from_numpy(np.array(array, order="C"))


def call(op: Any, sample: Sample, seed: int | None = 0) -> list[Any]:
    """The results of the operator, after the sample's `before` and `after`; the same draws for a seed."""
    if seed is not None:
        tx.manual_seed(seed)
    args = list(sample.args)
    if sample.before is not None:
        args[0] = sample.before(args[0])
    if op.sig.name.endswith("_"):
        args[0] = args[0].clone()  # it writes there: leave the sample as it is
    result = op.operator(*args, **sample.kwargs)
    if sample.after is not None:
        result = sample.after(*result) if isinstance(result, tuple) else sample.after(result)
    return tree_leaves(result)


def expected(op: Any, sample: Sample) -> list[Any]:
    """What the reference says, in float64 or whatever it computes in."""
    args = list(sample.args)
    if sample.before is not None:
        args[0] = sample.before(_Matrix.of(args[0]))
    args = [_plain(a) for a in bind(op, args, sample.kwargs)]
    with np.errstate(all="ignore"):
        results = apply_reference(op, args)
    if sample.after is not None:
        made = sample.after(*(_Matrix.of(r) for r in results))
        results = list(made) if isinstance(made, tuple | list) else [made]
    return [_plain(r) for r in tree_leaves(results)]


class _Matrix(np.ndarray):
    """An array with the few names that tensors have and NumPy of some versions lacks."""

    @staticmethod
    def of(array: Any) -> "_Matrix":
        return np.asarray(array).view(_Matrix)

    @property
    def mT(self) -> "_Matrix":  # noqa: N802
        return self.swapaxes(-1, -2)


def _plain(x: Any) -> Any:
    if isinstance(x, np.ndarray):
        return np.asarray(x).view(np.ndarray)
    if isinstance(x, list | tuple):
        return type(x)(map(_plain, x))
    return x


def to_array(tensor: Any) -> Any:
    """A result as an array; Python numbers and other objects are themselves."""
    return np.asarray(tensor.detach().numpy()) if isinstance(tensor, tx.Tensor) else tensor


# ---- comparing


class Later:
    """Text that is made where it is read: most checks pass, and arrays and graphs are slow to print."""

    def __init__(self, make: Callable[[], str]) -> None:
        self.make = make

    def __str__(self) -> str:
        return self.make()


def compare(got: Any, wanted: Any, what: str | Later, tolerance: float | None = None) -> None:
    """Assert that a result is the wanted one, rounded to the result's dtype."""
    if not isinstance(got, np.ndarray):
        assert isinstance(wanted, np.ndarray | np.generic) or got == wanted, (
            f"{what}: {got} != {wanted}"
        )
        wanted = np.asarray(wanted)
        got = np.asarray(got)
    dtype = from_numpy_dtype(got.dtype)
    wanted = np.asarray(wanted)
    assert got.shape == wanted.shape, f"{what}: shape {got.shape}, reference has {wanted.shape}"
    if dtype.kind in "biu":
        wanted = round_to(wanted, dtype)
        assert np.array_equal(got, wanted), f"{what}: got\n{got}\nreference\n{wanted}"
        return
    allowed = TOLERANCE[dtype.name] if tolerance is None else tolerance
    wide = np.complex128 if dtype.is_complex else np.float64
    a, b = got.astype(wide), round_to(wanted, dtype).astype(wide)
    message = Later(lambda: f"{what}: got\n{got}\nreference\n{wanted}")
    if dtype.is_complex:  # a number with one NaN part is NaN, whatever the other part
        nan = np.isnan(b)
        assert np.array_equal(np.isnan(a), nan), message
        _compare_reals(a.real[~nan], b.real[~nan], allowed, message)
        _compare_reals(a.imag[~nan], b.imag[~nan], allowed, message)
    else:
        _compare_reals(a, b, allowed, message)


def _compare_reals(a: np.ndarray, b: np.ndarray, allowed: float, message: Later) -> None:
    odd = ~np.isfinite(b)
    assert np.array_equal(np.isnan(a), np.isnan(b)), message
    assert np.array_equal(a[odd], b[odd], equal_nan=True), message
    difference = np.abs(a[~odd] - b[~odd])
    assert np.all(difference <= allowed * (1 + np.abs(b[~odd]))), message


def compare_all(
    got: Sequence[Any], wanted: Sequence[Any], what: str | Later, tolerance: float | None = None
) -> None:
    """Assert that lists of results agree."""
    assert len(got) == len(wanted), f"{what}: {len(got)} results, the reference gives {len(wanted)}"
    for i, (a, b) in enumerate(zip(got, wanted, strict=True)):
        place = what if len(got) == 1 else Later(lambda i=i: f"{what}, result {i}")
        compare(to_array(a), b, place, tolerance)


def name_of(op: Any, sample: Sample, dtype: DType) -> str:
    """What failed, for a message."""
    return f"{op.full_name} {dtype.name} {sample}"


# ---- values


def check_values(op: Any, dtype: DType, sizes: dict[str, int] = SIZES) -> int:
    """Each sample gives the reference's values and the type rule's dtypes; the number of samples."""
    count = 0
    for sample in samples_of(op, dtype, sizes):
        what = name_of(op, sample, dtype)
        tensors = on_tensors(sample)
        got = call(op, tensors)
        compare_all(got, expected(op, sample), what, getattr(op, "tolerance", None))
        _check_type(op, tensors, what)
        count += 1
    assert count, f"{op.full_name}: no samples in {dtype.name}"
    return count


def _check_type(op: Any, sample: Sample, what: str) -> None:
    if op.kind == "composite" or sample.before is not None:
        return
    results = tree_leaves(op.operator(*sample.args, **sample.kwargs))
    specs = infer_types(op, bind(op, sample.args, sample.kwargs))
    for result, spec in zip(results, specs, strict=True):
        assert result.dtype is spec.dtype, f"{what}: {result.dtype}, the rule says {spec.dtype}"
        known = all(isinstance(s, int) for s in spec.shape)
        assert not known or tuple(result.shape) == tuple(spec.shape), f"{what}: {spec.shape}"


# ---- layouts: the same elements in other memory


def transposed(array: np.ndarray) -> Any:
    """A tensor with these elements whose axes lie in memory in reverse."""
    order = tuple(reversed(range(array.ndim)))
    return as_tensor(array.transpose(order)).permute(order) if array.ndim > 1 else stepped(array)


def stepped(array: np.ndarray) -> Any:
    """A tensor with these elements that skips others in memory."""
    if array.ndim == 0:
        return as_tensor(np.stack([array, array]))[1]
    larger = np.zeros((*array.shape[:-1], 2 * array.shape[-1] + 1), array.dtype)
    larger[..., 1::2] = array
    return as_tensor(larger)[..., 1::2]


def expanded(array: np.ndarray) -> Any:
    """A tensor whose first axis repeats one row: stride 0."""
    if array.ndim == 0 or array.shape[0] < 2:
        return as_tensor(array)
    return as_tensor(array[:1]).expand(array.shape)


def check_layouts(op: Any, dtype: DType) -> None:
    """Transposed, strided and expanded inputs give what contiguous ones give."""
    for sample in samples_of(op, dtype):
        if not any(a.size > 1 for a in sample.arrays):
            continue
        for make in (transposed, stepped):
            if getattr(
                op, "layout_matters", False
            ):  # view refuses what it cannot see without a copy
                continue
            compare_all(
                call(op, on_tensors(sample, make)),
                [to_array(t) for t in call(op, on_tensors(sample))],
                f"{name_of(op, sample, dtype)} {make.__name__}",
            )
    for sample in samples_of(op, dtype):
        if sample.before is not None or op.kind == "view":
            continue
        if op.kind == "pointwise" and any(a.ndim for a in sample.arrays):
            dense = sample.map(lambda x: to_array(expanded(x)) if isinstance(x, np.ndarray) else x)
            compare_all(
                call(op, on_tensors(sample, expanded)),
                expected(op, dense),
                f"{name_of(op, sample, dtype)} expanded",
            )


# ---- in place


def _inplace_form(op: Any) -> Any:
    from thixo.ops import public

    namespace, _, short = op.full_name.rpartition(".")
    found = public.find(f"{namespace}.{short}_" if namespace else f"{short}_")
    assert found is not None, f"{op.full_name}: has no in-place form"
    return found


def check_inplace(op: Any, dtype: DType) -> int:
    """`name_` writes what the functional form returns, into contiguous and strided memory."""
    inplace = _inplace_form(op)
    count = 0
    for sample in samples_of(op, dtype):
        if not sample.args or not isinstance(sample.args[0], np.ndarray):
            continue
        what = name_of(op, sample, dtype) + " in place"
        (wanted,) = tree_leaves(op.operator(*on_tensors(sample).args, **on_tensors(sample).kwargs))
        first = sample.args[0]
        if tuple(wanted.shape) != first.shape or not tx.can_cast(
            wanted.dtype, tx.dtype(dtype.name)
        ):
            continue
        if wanted.dtype is not from_numpy_dtype(first.dtype):
            continue
        for make in (as_tensor, stepped):
            given = on_tensors(sample)
            target = make(first)
            returned = inplace(target, *given.args[1:], **given.kwargs)
            assert returned is target, f"{what}: returns another tensor"
            compare(to_array(target), to_array(wanted), what)
        count += 1
    return count


def check_overlap(op: Any, dtype: DType) -> None:
    """`name_` where other arguments share memory with the target reads what was there before."""
    inplace = _inplace_form(op)
    sample = next(samples_of(op, dtype))
    operands = [p for p in op.sig.params if p.kind in ("tensor", "operand")]
    rest = sample.args[len(operands) :]
    shared = Maker(dtype, SIZES).positive(7)
    parts = [shared[i : 4 + i] for i in range(len(operands))]
    try:
        wanted = op.operator(*map(as_tensor, parts), *rest, **sample.kwargs)
    except tx.ThixoError:
        return  # not an operator of arrays of one shape and dtype
    if tuple(wanted.shape) != (4,) or wanted.dtype is not dtype:
        return
    buffer = as_tensor(shared)
    target, *others = (buffer[i : 4 + i] for i in range(len(operands)))
    inplace(target, *others, *rest, **sample.kwargs)
    compare(to_array(target), to_array(wanted), f"{op.full_name} {dtype.name} overlapping")
    buffer = as_tensor(shared)
    inplace(buffer, *[buffer] * (len(operands) - 1), *rest, **sample.kwargs)
    wanted = op.operator(*[as_tensor(shared)] * len(operands), *rest, **sample.kwargs)
    compare(to_array(buffer), to_array(wanted), f"{op.full_name} {dtype.name} with itself")


# ---- refusals


def check_bad(op: Any, bad: Any, settle: Callable[[], Any] | None = None) -> None:
    """A wrong call, run by `settle` at the latest, raises its error with its words, and says where."""
    what = f"{op.full_name} {bad.sample}"
    given = on_tensors(bad.sample)
    try:
        kept = op.operator(*given.args, **given.kwargs)
        if settle is not None:
            settle()
        del kept
    except Exception as error:
        raised = error
    else:
        raise AssertionError(f"{what}: was not refused")
    wanted = bad.error.__name__
    assert isinstance(raised, bad.error), f"{what}: raised {raised!r} in place of {wanted}"
    if op.kind != "composite" or settle is None:  # what runs later knows the operators inside alone
        assert bad.words in str(raised), f"{what}: the message is {raised}"
    assert "checks.py:" in str(raised), f"{what}: the message lacks the user's line: {raised}"


def check_dtypes_refused(op: Any) -> None:
    """A dtype that the operator does not claim is a DTypeError of Thixo, or at least no wrong value."""
    if op.kind == "composite" or not op.dtypes:
        return
    refused = [d for d in tx_dtypes() if d not in op.dtypes]
    claimed = op.dtypes[0]
    for dtype in refused[:3]:
        sample = next(samples_of(op, claimed), None)
        if sample is None or not sample.args or not isinstance(sample.args[0], np.ndarray):
            return
        arrays = sample.map(lambda x, d=dtype: round_to(x, d) if isinstance(x, np.ndarray) else x)
        given = on_tensors(arrays)
        try:
            op.operator(*given.args, **given.kwargs)
        except tx.errors.ThixoError:
            continue
        raise AssertionError(f"{op.full_name}: takes {dtype.name}, which it does not claim")


def tx_dtypes() -> tuple[DType, ...]:
    """Every element type."""
    from thixo.dtype import ALL

    return ALL


# ---- which dtypes


def main_dtype(op: Any) -> DType:
    """The dtype for checks that need only one."""
    for dtype in (tx.float64, tx.complex128, tx.int64, tx.bool):
        if dtype in op.dtypes:
            return dtype
    return op.dtypes[0]


def size_sets() -> list[dict[str, int]]:
    """The sizes samples are drawn at."""
    return [SIZES, *OTHER_SIZES]
