"""Gradients as state: `backward()` and `.grad` in captured code.

The tape works on symbolic tensors as on others, so what backward computes is recorded. `.grad` of a tensor from outside is a
cell of the journal: what it was is an input or assumed to be None, what it becomes is a result.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from thixo import _core
from thixo.autograd.backward import backward as run_backward
from thixo.autograd.backward import grad as run_grad
from thixo.capture.counting import counting
from thixo.capture.frames import Capture, Inner, current
from thixo.capture.journal import Gradient, RequiresGrad
from thixo.capture.leaf_hooks import need_no_hooks
from thixo.capture.paths import Path, read
from thixo.capture.refusal import Refused
from thixo.graph.ir import Node, Value, values_in
from thixo.graph.own_gradient import OWN_GRADIENT
from thixo.graph.own_memory import is_view
from thixo.graph.trace import Trace, current_trace, make_symbolic
from thixo.ops import public as tx

_WHOLE = ("reshape", "view", "unsqueeze", "squeeze", "detach")  # views of all elements, in order
_OUTSIDE = "do it outside of what is captured"


def path_of_tensor(capture: Capture, tensor: Any) -> Path | None:
    """The path of a tensor from outside; None for one that captured code made."""
    found = capture.tensors.get(id(tensor)) or capture.given.get(id(tensor))
    return found[1] if found is not None and found[0] is tensor else None


def cell_of(capture: Capture, tensor: Any) -> Gradient:
    """The cell of a tensor's `.grad`."""
    cell = Gradient(tensor, "grad")
    path = path_of_tensor(capture, tensor)
    if path is not None:
        capture.outside[cell.key] = path
    elif tensor._value is not None:
        capture.made(tensor)
    capture.kept.append(tensor)
    return cell


def is_changed(capture: Capture, tensor: Any) -> bool:
    """Whether captured code has set this `.grad`."""
    key = Gradient(tensor, "grad").key
    return any(key in level for level in capture.journal.levels)


def gradient_of(tensor: Any) -> Any:
    """`tensor.grad`, noted where it was there before."""
    capture = current()
    if not is_changed(capture, tensor):
        _assume(capture, tensor, tensor.grad)
    return Gradient(tensor, "grad").read()


def _assume(capture: Capture, tensor: Any, grad: Any) -> None:
    path = path_of_tensor(capture, tensor)
    if path is not None:
        read(capture, path.step("attr", "grad"), grad)
    elif grad is not None and grad._value is None:
        raise Refused(".grad", "it is not known whose it is", _OUTSIDE)


def set_gradient(tensor: Any, new: Any) -> None:
    """`tensor.grad = new`"""
    if new is not None and not isinstance(new, _core.Tensor):
        raise Refused(".grad = ...", f"it is set to {type(new).__name__}", "set a tensor or None")
    capture = current()
    if new is not None:
        if tuple(new.shape) != tuple(tensor.shape) or new.dtype is not tensor.dtype:
            raise Refused(".grad = ...", "it has another shape or dtype than its tensor", "cast it")
    capture.journal.write(cell_of(capture, tensor), new)


def backward(
    tensors: Any,
    gradient: Any = None,
    retain_graph: Any = None,
    create_graph: Any = False,
    inputs: Any = None,
) -> None:
    """`loss.backward()` and `tx.autograd.backward`."""
    capture, trace = current(), current_trace()
    assert trace is not None
    roots = [tensors] if isinstance(tensors, _core.Tensor) else list(tensors)
    for root in roots:
        trace.value_of(root)  # it may be a leaf itself that nothing has used yet
    leaves = _leaves(capture, trace, inputs)
    need_no_hooks(leaves)
    before = [(t, t.grad) for t in leaves]
    need_own_history(trace)
    capture.takes_gradients = True
    with counting(bool(create_graph), [old for _, old in before]) as counts:
        run_backward(tensors, gradient, retain_graph, bool(create_graph), inputs)
        for tensor, old in before:
            if tensor.grad is not old:
                tensor.grad = counts.clean(tensor.grad)
    makers = {v: n for n in trace.graph.nodes for v in n.outputs}
    for tensor, old in before:
        if tensor.grad is not old:
            _accumulated(capture, trace, tensor, old, bool(create_graph), makers)
    if not (create_graph if retain_graph is None else retain_graph):
        freed(capture, trace, roots)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: Any = None,
    create_graph: Any = False,
    allow_unused: Any = None,
    materialize_grads: Any = False,
) -> Any:
    """`tx.autograd.grad`"""
    capture, trace = current(), current_trace()
    assert trace is not None
    need_own_history(trace)
    capture.takes_gradients = True
    wanted = [inputs] if isinstance(inputs, _core.Tensor) else list(inputs)
    need_no_hooks(wanted)
    _need_no_turn_before(trace, outputs, wanted)
    found = run_grad(
        outputs, inputs, grad_outputs, retain_graph, bool(create_graph), allow_unused,
        bool(materialize_grads),
    )  # fmt: skip
    if not (create_graph if retain_graph is None else retain_graph):
        freed(capture, trace, [outputs] if isinstance(outputs, _core.Tensor) else list(outputs))
    return found


def _need_no_turn_before(trace: Trace, outputs: Any, wanted: Sequence[Any]) -> None:
    """Refuse gradients that would flow through what a loop carries from the turn before."""
    if not isinstance(trace, Inner):
        return
    boxes = {t._value for t in trace.inputs if t.requires_grad}
    boxes -= {t._value for t in wanted}
    needed = {o._value for o in ([outputs] if isinstance(outputs, _core.Tensor) else outputs)}
    stop = {t._value for t in wanted}
    for node in reversed(trace.graph.nodes):
        if not needed.isdisjoint(node.outputs) and node.op.full_name != "detach":
            needed.update(v for v in values_in(node.args) if v not in stop)
    if not needed.isdisjoint(boxes):
        raise Refused(
            "gradients", "they flow through what a loop carries from the turn before", "detach() it"
        )


def _accumulated(
    capture: Capture,
    trace: Trace,
    tensor: Any,
    old: Any,
    history: bool,
    makers: Mapping[Value, Node],
) -> None:
    """Backward has added to a leaf's gradient: note it, and let it be the same tensor as in eager mode."""
    new = tensor.grad
    if isinstance(trace, Inner) and any(t is tensor for t in trace.inputs):
        raise Refused(
            "backward()", "it goes through what a loop carries from the turn before", "detach() it"
        )
    if id(tensor) in capture.branched:
        raise Refused("backward()", "it goes on to tensors outside of what is captured", _OUTSIDE)
    tensor.grad = old
    if id(tensor) in Gradient.odd:
        raise Refused("backward()", "a gradient is there on some paths only", "zero_grad() before")
    if not is_changed(capture, tensor):
        _assume(capture, tensor, old)
    cell = cell_of(capture, tensor)
    if history:
        capture.journal.write(cell, tx.clone(new) if old is None else new)
        return
    value = trace.value_of(new)
    own = make_symbolic(value)  # two leaves may have got one tensor
    was = _core.set_grad_enabled(False)
    try:
        if old is not None:
            capture.journal.note(cell)
            trace.aliases.assign(old, own)
        else:
            capture.journal.write(cell, own if _lies_apart(value, makers) else tx.clone(own))
    finally:
        _core.set_grad_enabled(was)


def _lies_apart(value: Value, makers: Mapping[Value, Node]) -> bool:
    """Whether a gradient is all of something computed, row by row: what a leaf gets is no part and no repetition of another."""
    while (node := makers.get(value)) is not None and is_view(node):
        if node.op.full_name not in _WHOLE:
            return False
        value = node.args[0]
    return node is not None


def _leaves(capture: Capture, trace: Trace, inputs: Any) -> list[Any]:
    """Tensors whose `.grad` backward may change."""
    found: dict[int, Any] = {}
    if inputs is not None:
        given = [inputs] if isinstance(inputs, _core.Tensor) else inputs
        found.update((id(t), t) for t in given)
    for one in _stack(trace):
        for tensor, _ in one.constants.values():
            found[id(tensor)] = tensor
        for tensor in one.inputs:
            found[id(tensor)] = tensor
    for tensor in capture.asked_of:
        found[id(tensor)] = tensor
    kept = {id(t) for t in capture.asked_of}
    return [
        t
        for key, t in found.items()
        if t.requires_grad and (t.is_leaf or inputs is not None or key in kept)
    ]


def requires_grad(x: Any, flag: bool = True) -> Any:
    """`x.requires_grad_()`; a result that would be a leaf of the tape is refused when it is made."""
    capture = current()
    path = path_of_tensor(capture, x)
    if path is None:
        if x._value is None:
            raise Refused("requires_grad_()", "it is not known whose it is", _OUTSIDE)
        capture.asked = True
        capture.asked_of.append(x)
        return x.requires_grad_(flag)
    if capture.depth:
        raise Refused("requires_grad_()", "of a tensor from outside, under a condition", _OUTSIDE)
    cell = RequiresGrad(x, "requires_grad")
    capture.outside[cell.key] = path
    capture.kept.append(x)
    capture.journal.write(cell, flag)
    trace = current_trace()
    assert trace is not None
    change = trace._ungraded.discard if flag else trace._ungraded.add
    change(trace.value_of(x))  # the graph's input may need gradients still
    capture.asked |= flag and not capture.journal.levels[0][cell.key][1]
    capture.takes_gradients = True
    return x


def detach_(x: Any) -> Any:
    """`x.detach_()`: the tensor is the value it was, as a node that no gradients flow through."""
    if not x.requires_grad:
        return x
    capture, trace = current(), current_trace()
    assert trace is not None
    if path_of_tensor(capture, x) is not None:
        if not x.is_leaf or id(x) in capture.branched:
            raise Refused("detach_()", "of a tensor from outside that was computed", _OUTSIDE)
        return requires_grad(x, False)
    shares = trace.aliases._root(x) is not x or trace.aliases.views_of(x)
    if shares or x._value is None or capture.depth:
        what = "of a tensor with views" if shares else "under a condition, or of an unknown tensor"
        raise Refused("detach_()", what, "write x = x.detach()")
    _core.become(x, tx.detach(x))
    return x


def register_hook(x: Any, hook: Any) -> Any:
    """`x.register_hook(hook)`: the hook is a part of the gradients that are taken inside."""
    from thixo.capture.builtin import as_callable

    capture = current()
    if x._value is None or path_of_tensor(capture, x) is not None:
        raise Refused("register_hook()", "of a tensor from outside", _OUTSIDE)
    if capture.depth:
        raise Refused("register_hook()", "in a branch or a loop of tensors", _OUTSIDE)
    capture.only_inside = "a tensor has a hook"
    return x.register_hook(as_callable(hook))


def retain_grad(x: Any) -> None:
    """`x.retain_grad()`"""
    if x._value is None:
        raise Refused("retain_grad()", "of a tensor from outside", _OUTSIDE)
    x.retain_grad()
    current().asked_of.append(x)


def _stack(trace: Any) -> list[Trace]:
    """A trace and those around it."""
    found = []
    while trace is not None:
        found.append(trace)
        trace = getattr(trace, "outer", None)
    return found


def need_own_history(trace: Trace) -> None:
    """Refuse to go back through what was computed before the function was called."""
    for one in _stack(trace):
        for tensor, _ in one.constants.values():
            if tensor.requires_grad and tensor._value is None and not tensor.is_leaf:
                raise Refused(
                    "gradients",
                    "a tensor from outside has a history, into which they would go on",
                    "detach it, or pass it as an argument and return the loss",
                )


def history(node: Node) -> Sequence[Value]:
    """The values whose gradients come from those of a node's results."""
    return node.args[2] if node.op is OWN_GRADIENT else node.inputs


def freed(capture: Capture, trace: Trace, roots: Sequence[Any]) -> None:
    """Note what can be differentiated no more: all that the roots were computed from."""
    needed: set[Value] = {r._value for r in roots if r._value is not None}
    gone: set[Value] = set()
    for node in reversed(trace.graph.nodes):
        # What is detached is a leaf: it has nothing that could be freed.
        if node.op.full_name != "detach" and not needed.isdisjoint(node.outputs):
            needed.update(history(node))
            gone.update(v for v in node.outputs if v in needed)
    capture.freed |= gone
    if trace.numbers is not None:  # what is computed once more has a history of its own
        known = trace.numbers.items()
        trace.numbers = {k: n for k, n in known if gone.isdisjoint(n.outputs)}
