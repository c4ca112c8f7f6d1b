"""Plans and schedules as tables that people read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from thixo.graph.control import graphs_in
from thixo.graph.ir import Node, Value
from thixo.schedule.flow import ARENA, RESULT, aligned
from thixo.symbolic import Size

if TYPE_CHECKING:
    from thixo.schedule.plan import Plan
    from thixo.schedule.scheduled import Schedule


def plan_text(plan: Plan) -> str:
    """The nodes in order with bytes, offsets and what is alive, then the totals; for known sizes."""
    one = plan.schedule
    living = [0] * (len(plan.order) + 1)
    for owner, (first, last) in plan.lifetimes.items():
        living[first] += aligned(plan.bytes[owner])
        living[last + 1] -= aligned(plan.bytes[owner])
    rows = [("", "node", "group", "bytes", "offset", "living")]
    alive = 0
    for position, node in enumerate(plan.order):
        alive += living[position]
        region = plan.regions.get(node)
        now = alive + (region.bytes if region is not None else 0)
        lead = (str(position), _group(node), f"{now:,}")
        for value in node.outputs:
            size, where = _of_value(plan, value)
            rows.append((lead[0], _name(node, value), lead[1], size, where, lead[2]))
            lead = ("", "", "")
        if region is not None and region.bytes:
            rows.append(("", "  inside", "", f"{region.bytes:,}", f"{region.offset:,}", ""))
    sizes = ", ".join(f"{k} = {v}" for k, v in plan.sizes.items())
    flow = one._flow
    outside = sum(plan.bytes[v] for v, s in zip(flow.root, flow.state, strict=True) if s == RESULT)
    given = sum(plan.bytes[v] for v in (*one.graph.inputs, *one.graph.constants))
    lines = [f"plan of graph {one.graph.name}" + (f" with {sizes}" if sizes else "")]
    lines += _table(rows)
    lines.append(
        f"arena {plan.arena:,} bytes, peak of living values {plan.peak:,}; "
        f"inputs and constants {given:,}, results {outside:,}"
    )
    if plan.needs is not None:
        lines.append(
            "its program needs {arena:,} bytes of arena, {prepared:,} of prepared weights, "
            "{scratch:,} of scratch memory".format(**plan.needs)
        )
    for section in plan.sections:
        lines.append(
            f"{section.begin} to {section.last} run side by side, in {len(section.ends)} lanes"
        )
    lines += _remarks(one)
    return "\n".join(lines)


def schedule_text(one: Schedule) -> str:
    """As `plan_text`, with bytes as expressions of the sizes."""
    rows = [("", "node", "group", "bytes", "lives until")]
    lifetimes = one.lifetimes
    for position, node in enumerate(one.order):
        lead = (str(position), _group(node))
        for value in node.outputs:
            end = str(lifetimes[value][1]) if value in lifetimes else _where(one, value)
            size = "" if value in one.memory_of else f"{_bytes(value)}"
            rows.append((lead[0], _name(node, value), lead[1], size, end))
            lead = ("", "")
    lines = [f"plan of graph {one.graph.name}", *_table(rows)]
    course = one._sharing.living
    if course:
        top = max(range(len(course)), key=course.__getitem__)
        total: Size = 0
        for value, (first, last) in lifetimes.items():
            if first <= top <= last:
                total = total + _bytes(value)
        inside = one._flow.work[one._numbers[top]]
        more = f" + {inside} inside of the node" if inside else ""
        lines.append(f"peak about {total}{more} bytes, at {top}")
    lines += _remarks(one)
    return "\n".join(lines)


def _bytes(value: Value) -> Size:
    total: Size = value.type.dtype.itemsize
    for size in value.type.shape:
        total = total * size
    return total


def _name(node: Node, value: Value) -> str:
    return f"{value.name} = {node.op.full_name}"


def _group(node: Node) -> str:
    if node.op.full_name == "fused":
        return "+".join(n.op.full_name for n in node.args[0].nodes)
    return " ".join(dict.fromkeys(g.name for g in graphs_in(node)))


def _of_value(plan: Plan, value: Value) -> tuple[str, str]:
    one = plan.schedule
    if value in one.view_of:
        return "", _where(one, value)
    if value in plan.memory_of:
        return "", f"over {plan.memory_of[value].name}"
    if value in plan.offset:
        return f"{plan.bytes[value]:,}", f"{plan.offset[value]:,}"
    return f"{plan.bytes[value]:,}" if value in plan.bytes else "", _where(one, value)


def _where(one: Schedule, value: Value) -> str:
    if value in one.view_of:
        return f"view of {one.view_of[value].name}"
    if value in one.memory_of:
        return f"over {one.memory_of[value].name}"
    if value in one.dynamic:
        return "made at run time"
    flow = one._flow
    family = flow.family[value]
    if family in flow.donations:
        return f"into {flow.root[flow.donations[family]].name}"
    return "arena" if flow.state[family] == ARENA else "result"


def _remarks(one: Schedule) -> list[str]:
    if not one.dynamic:
        return []
    names = sorted(v.name for v in one.dynamic)
    shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    return [f"not counted, since the data decide their size: {shown}"]


def _table(rows: Iterable[tuple[str, ...]]) -> list[str]:
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    left = {1, 2}  # names stand to the left, numbers to the right
    return [
        "  ".join(
            cell.ljust(w) if i in left else cell.rjust(w)
            for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
