"""Running a group's kernel on the interpreter of kernels."""

import numpy as np

from thixo.codegen.expand import expand
from thixo.codegen.interpret import interpret
from thixo.graph.constants import as_array
from thixo.graph.sizes import symbol_name
from thixo.symbolic import Dim, evaluate


def sizes_of(body, arrays):
    """The body's sizes, from those of its inputs."""
    sizes = {}
    for value, array in zip(body.inputs, arrays, strict=True):
        for size, actual in zip(value.type.shape, array.shape, strict=True):
            if (name := symbol_name(size)) is not None:
                sizes[name] = actual
    return sizes


def run_group(body, group, inputs):
    """What the kernel makes of a body's inputs."""
    arrays = [as_array(x) for x in inputs]
    sizes = sizes_of(body, arrays)
    shape = tuple(evaluate(s, sizes) for s in group.shape)
    kept = [d for d, r in enumerate(group.reduced) if not r]
    order = [*kept, *(d for d, r in enumerate(group.reduced) if r)]
    rows = int(np.prod([shape[d] for d in kept], dtype=int))
    columns = int(np.prod([shape[d] for d in order[len(kept) :]], dtype=int))
    outputs = [np.empty([evaluate(s, sizes) for s in v.shape], v.dtype.numpy) for v in body.outputs]

    def spread(array, axes):
        """An axis for each of the iteration space, of size 1 where it repeats."""
        taken = [a for a in axes if a >= 0]
        others = [a for a in range(array.ndim) if a not in taken]
        moved = array.transpose([*taken, *others])
        return moved.reshape([shape[d] if a >= 0 else 1 for d, a in enumerate(axes)])

    places, backs = [], []
    for operand, placed in zip(group.kernel.operands, group.operands, strict=True):
        if placed.what == "number":
            number = placed.which
            number = evaluate(number, sizes) if isinstance(number, Dim) else number
            places.append(np.full((1, 1), number, np.float64))
            continue
        array = (arrays if placed.what == "input" else outputs)[placed.which]
        seen = spread(array, placed.axes)
        wanted = {
            "full": shape,
            "row": tuple(1 if r else s for s, r in zip(shape, group.reduced, strict=True)),
            "column": tuple(s if r else 1 for s, r in zip(shape, group.reduced, strict=True)),
            "one": (1,) * len(shape),
        }[operand.view]
        seen = np.broadcast_to(seen, wanted).transpose(order)
        lines = seen.reshape(
            rows if operand.view in ("full", "row") else 1,
            columns if operand.view in ("full", "column") else 1,
        ).copy()
        places.append(lines)
        if operand.written:
            backs.append((placed, lines, [wanted[d] for d in order]))
    status = interpret(expand(group.kernel), places, columns)
    assert status == 0
    for placed, lines, wanted in backs:
        made = lines.reshape(wanted).transpose(np.argsort(order))
        out = outputs[placed.which]
        target = spread(out, placed.axes)
        assert np.shares_memory(target, out) or out.size <= 1
        target[...] = made
        if not np.shares_memory(target, out):
            outputs[placed.which] = target.reshape(out.shape)
    return outputs
