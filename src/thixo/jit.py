"""Tracing: run a function once on symbolic tensors and keep what it did as a graph.

>>> import thixo as tx
>>> def f(x, w):
...     return (x * w).tanh()
>>> traced = tx.jit.trace(f, (tx.ones(3, 4), tx.ones(4)))
>>> traced(tx.zeros(7, 2), tx.zeros(2)).shape
Size([7, 2])
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from thixo import _core
from thixo.capture.fallback import PartedFunction
from thixo.capture.function import Output, TracedFunction
from thixo.capture.naming import captured_names, input_names
from thixo.capture.past_tape import WholeTrace
from thixo.capture.script import ScriptedFunction
from thixo.capture.simplify import unify_sizes
from thixo.errors import ArgumentError, ThixoError, TraceError
from thixo.graph.constants import as_array, type_of
from thixo.graph.ir import RESERVED, Type
from thixo.graph.trace import Trace
from thixo.ops import public as tx
from thixo.pytree import Tree, tree_flatten, tree_leaves, tree_unflatten
from thixo.symbolic import Dim

__all__ = ["ScriptedFunction", "TracedFunction", "script", "trace"]

_LETTERS = "nmkhpqrstuvwdijabcefglo"


def trace(
    f: Callable[..., Any],
    example_inputs: Any,
    *,
    dynamic: bool | Mapping[str, Sequence[int]] = True,
    check: bool = True,
) -> TracedFunction:
    """Record what `f` does with `example_inputs` (a tensor, or a tuple of arguments) as a graph.

    Sizes greater than 1 are symbolic, so the graph serves other sizes; `dynamic=False` fixes them all,
    and a mapping from an argument's name to axes leaves only those open. What `f` assumes of sizes is
    kept as guards, checked at each call. A value cannot be looked at while tracing: `if x.sum() > 0`
    is an error with its line. Tensors that `f` captures (a Module's parameters) are constants that
    are shared, not copied. With `check` the trace is compared with `f` on the example and on a second
    input.

    >>> mean = trace(lambda x: x.sum(0) / x.shape[0], tx.ones(2, 3))
    >>> mean(tx.ones(5, 2))
    tensor([1., 1.])
    """
    if not callable(f):
        raise ArgumentError(f"jit.trace: needs a function or a Module, got {f!r}")
    args = example_inputs if isinstance(example_inputs, tuple) else (example_inputs,)
    leaves, tree = tree_flatten(args)
    names = input_names(f, args)
    types = _input_types(leaves, names, dynamic)
    fixed = {i: leaf for i, leaf in enumerate(leaves) if types[i] is None}

    from thixo.random import fork_rng

    tracer = WholeTrace(_function_name(f))
    tracer.names.update(captured_names(f))
    with fork_rng(), tracer:  # a seed that f sets is not part of the graph: the check must see that
        symbolic = list(leaves)
        for i, type in enumerate(types):
            if type is not None:
                symbolic[i] = tracer.input(names[i], type, leaves[i].requires_grad)
                if not leaves[i].is_leaf:
                    tracer.branched.add(id(symbolic[i]))
        given = tree_unflatten(tree, symbolic)
        result = f(*given)
        _need_unchanged(tracer.graph.name, given, tree, symbolic, names)
        returned, output_tree = tree_flatten(result)
        outputs = [_output(tracer, leaf) for leaf in returned]
    graph, replaced = unify_sizes(tracer.finish())
    outputs = [
        o._replace(value=o.value.substitute(replaced)) if isinstance(o.value, Dim) else o
        for o in outputs
    ]
    graph.verify()
    traced = TracedFunction(graph, tree, fixed, output_tree, outputs)
    if check:
        _check(f, traced, args)
    return traced


def script(
    f: Callable[..., Any], *, fallback: bool = False, verify: bool = False, debug: bool = False
) -> ScriptedFunction:
    """Capture `f` from its source, with both sides of its branches and all turns of its loops, as a graph.

    `f` is a function, a method, a Module or anything else that is called; everything it calls is captured too. It is
    captured when it is called for the first time with arguments of a kind: dtypes and ranks of tensors, and the
    values of all else. Sizes are open where the program allows it. What cannot be captured is an error with its line and
    a remedy; with `fallback` that statement runs in Python, and those before and behind it are graphs.

    With `verify` each call runs both ways, and where they differ the error names the first operator that does, and its line.
    With `debug` graphs run operator by operator, and `values` has what each variable held. `THIXO_EAGER=1` in the environment
    runs `f` as it is.

    >>> @tx.jit.script
    ... def steps(x):
    ...     n = 0
    ...     while x.sum() > 1:
    ...         x = x / 2
    ...         n += 1
    ...     return x, n
    >>> steps(tx.ones(4))
    (tensor([0.2500, 0.2500, 0.2500, 0.2500]), 2)
    """
    if isinstance(f, staticmethod | classmethod):
        inner = script(f.__func__, fallback=fallback, verify=verify, debug=debug)
        return type(f)(inner)  # type: ignore[return-value]
    if not callable(f):
        raise ArgumentError(f"jit.script: needs a function or a Module, got {f!r}")
    kind = PartedFunction if fallback else ScriptedFunction
    return kind(f, verify=verify, debug=debug)


def _need_unchanged(
    name: str, args: tuple[Any, ...], tree: Tree, leaves: list[Any], names: list[str]
) -> None:
    """Refuse a function that puts something else into a list or dict that it was given: a trace would not."""
    after, now = tree_flatten(args)
    if now == tree and all(a is b for a, b in zip(after, leaves, strict=True)):
        return
    changed = "its arguments"
    if now == tree:
        at = next(i for i, (a, b) in enumerate(zip(after, leaves, strict=True)) if a is not b)
        changed = f"its argument {names[at]}"
    raise TraceError(
        f"jit.trace: {name} changes {changed}: something else is put into a list, dict or object, which a trace does not "
        "repeat; return the new value instead, or use jit.script or tx.compile"
    )


def _output(tracer: Trace, leaf: Any) -> Output:
    if not isinstance(leaf, _core.Tensor):
        return Output(None, leaf)
    tracer.output(leaf)
    return Output(len(tracer.graph.outputs) - 1, None)


# ---- names and types of inputs


def _function_name(f: Any) -> str:
    name = getattr(f, "__name__", type(f).__name__)
    return name if name.isidentifier() else "traced"


def _input_types(
    leaves: list[Any], names: list[str], dynamic: bool | Mapping[str, Sequence[int]]
) -> list[Type | None]:
    """The graph type of each tensor, with symbols for the sizes that may change; None for the rest."""
    tensors = {n for n, leaf in zip(names, leaves, strict=True) if isinstance(leaf, _core.Tensor)}
    if isinstance(dynamic, Mapping):
        unknown = [n for n in dynamic if n not in tensors]
        if unknown:
            raise ArgumentError(
                f"jit.trace: dynamic names {unknown[0]!r}; the tensors are {', '.join(sorted(tensors))}"
            )
    taken = set(names) | RESERVED
    letters = (f"{c}{i or ''}" for i in range(10**6) for c in _LETTERS)
    types: list[Type | None] = []
    for name, leaf in zip(names, leaves, strict=True):
        if not isinstance(leaf, _core.Tensor):
            types.append(None)
            continue
        shape: list[Any] = []
        for axis, size in enumerate(leaf.shape):
            if _is_open(dynamic, name, axis, leaf.ndim) and size > 1:
                symbol = next(c for c in letters if c not in taken)
                shape.append(Dim(symbol, hint=size, low=2))
            else:
                shape.append(size)
        types.append(Type(leaf.dtype, shape, type_of(leaf).device))
    return types


def _is_open(dynamic: bool | Mapping[str, Sequence[int]], name: str, axis: int, ndim: int) -> bool:
    if isinstance(dynamic, Mapping):
        return axis in [a % ndim for a in dynamic.get(name, ())]
    return bool(dynamic)


# ---- the check: the trace beside the function


def _check(f: Callable[..., Any], traced: TracedFunction, args: tuple[Any, ...]) -> None:
    _compare(f, traced, args, "the example")
    try:
        second = _reordered(args)
        expected_to_run = True
        _run(f, traced, second)
    except ThixoError:
        expected_to_run = False  # f itself refuses such values
    if expected_to_run:
        _compare(f, traced, second, "a second input, the example's elements in reverse")


def _reordered(args: tuple[Any, ...]) -> tuple[Any, ...]:
    from thixo.tensor import from_numpy

    leaves, tree = tree_flatten(args)
    for i, leaf in enumerate(leaves):
        if isinstance(leaf, _core.Tensor):
            array = as_array(leaf)
            flipped = from_numpy(np.ascontiguousarray(array.reshape(-1)[::-1]).reshape(array.shape))
            leaves[i] = (
                flipped.requires_grad_(leaf.requires_grad) if leaf.requires_grad else flipped
            )
    return tree_unflatten(tree, leaves)


def _compare(f: Any, traced: TracedFunction, args: tuple[Any, ...], what: str) -> None:
    expected = _run(f, traced, args)
    got = _run(
        traced.interpreted, traced, args
    )  # it is the trace that is in question, not the compiler
    for i, (a, b) in enumerate(zip(expected, got, strict=True)):
        if not _agree(a, b):
            raise TraceError(
                f"jit.trace: on {what}, result {i} of the trace of {traced.graph.name} is not that of the "
                "function: it depends on something that a trace does not see (a value turned into a "
                "Python number, a global that changes, another library); pass that as an argument, or leave it out"
            )


def _run(f: Any, traced: TracedFunction, args: tuple[Any, ...]) -> list[Any]:
    """The leaves of f's results and of the inputs it changes, with all outer state restored."""
    from thixo.random import get_rng_state, set_rng_state

    leaves, tree = tree_flatten(args)
    own = [_copy(leaf) if isinstance(leaf, _core.Tensor) else leaf for leaf in leaves]
    state = get_rng_state()
    changed = [d for v, d in traced.graph.constants.items() if v in traced.graph.mutations]
    kept = [as_array(t).copy() for t in changed]
    try:
        found = tree_leaves(f(*tree_unflatten(tree, own)))
        written = [as_array(t).copy() for t in (*own, *changed) if isinstance(t, _core.Tensor)]
        return [as_array(x).copy() if isinstance(x, _core.Tensor) else x for x in found] + written
    finally:
        set_rng_state(state)
        for tensor, data in zip(changed, kept, strict=True):
            _restore(tensor, data)


def _copy(tensor: Any) -> Any:
    copy = tensor.detach().clone()
    return copy.requires_grad_(True) if tensor.requires_grad else copy


def _restore(tensor: Any, data: np.ndarray) -> None:
    from thixo.tensor import from_numpy

    enabled = _core.set_grad_enabled(False)
    try:
        tx.copy_(tensor, from_numpy(data))
    finally:
        _core.set_grad_enabled(enabled)


def _agree(a: Any, b: Any) -> bool:
    if not isinstance(a, np.ndarray):
        return type(a) is type(b) and (a == b or a != a)
    if not isinstance(b, np.ndarray) or a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind in "biu":
        return bool(np.array_equal(a, b))
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    tolerance = 1e-6 if a.dtype.itemsize >= 8 else 1e-2 if a.dtype.itemsize == 2 else 1e-4
    return bool(
        np.allclose(a.astype(wide), b.astype(wide), rtol=tolerance, atol=tolerance, equal_nan=True)
    )
