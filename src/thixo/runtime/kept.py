"""Optimised programs on disk, beside the kernels: a second process runs no pass.

An entry is found by everything that decides what the passes make of a graph: its text and lines, the passes and their
options, this version of Thixo, and the target. It holds the text of the optimised graph and the data of constants that
passes made; constants that they left as they were are not stored but taken from the graph that was declared.

What large constants hold is no part of the key, since most programs do not depend on it. Where a pass looked at them
(`LOOK`) the entry has a digest of all of them, and is not taken for others.

Entries are files of the cache of kernels (cache.py): whole or not there, with a checksum, private, and the least
recently used go first. What is read is still checked as a graph; anything that is wrong with it means that it is not there.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import struct
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

import thixo
from thixo.dtype import BY_SHORT, from_numpy_dtype
from thixo.errors import GraphError
from thixo.graph.constants import INLINE
from thixo.graph.control import subgraphs
from thixo.graph.ir import Graph
from thixo.graph.own_gradient import forward_only
from thixo.graph.parser import parse
from thixo.graph.text import constant_data, graph_text
from thixo.passes import optimize
from thixo.passes.manager import PASSES
from thixo.passes.repeats import outlined
from thixo.runtime import cache
from thixo.schedule.collecting import without_collecting

FORMAT = "thixo program 1"
MOST = 256 * 2**20  # bytes of constants that are looked at or stored

LOOK = {"fold", "batch_norm", "unroll"}  # passes that may do other things with other constants

_LENGTH = struct.Struct("<Q")


def optimized(graph: Graph, off: Iterable[str] = (), budget: int | float | None = None) -> Graph:
    """What `passes.optimize` makes of a graph, from disk where any process has made it before.

    >>> graph = tx.jit.trace(lambda x: x * 1 + 1, tx.ones(3)).graph
    >>> optimized(graph) == optimized(graph) == tx.passes.optimize(graph).graph
    True
    """
    graph = forward_only(graph)
    with without_collecting():
        return _optimized(graph, sorted(off), budget)


def _optimized(graph: Graph, off: Sequence[str], budget: int | float | None) -> Graph:
    if budget is None and "repeats" not in off:
        graph = outlined(graph)  # now, so that all that follows is of a smaller graph
    key = _key(graph, off, budget)
    if key is None:
        return optimize(graph, off=off, budget=budget).graph
    found = _read(key, graph)
    if found is None:
        made = optimize(graph, off=off, budget=budget)
        found = made.graph
        entry = _packed(graph, found, bool(LOOK & made.counts.keys()))
        if entry is not None:
            cache.put(key, entry)
    return found


# ---- keys


def _key(graph: Graph, off: Sequence[str], budget: int | float | None) -> str | None:
    """None for graphs of which the text does not say enough."""
    graphs = [*subgraphs(graph), graph]
    if any(c in one.mutations for one in graphs for c in one.constants):
        return None
    ours = [n.op.__module__ for one in graphs for n in one.nodes if n.op.kind != "control"]
    ours += [p.function.__module__ for p in PASSES.values()]
    if not all(name.partition(".")[0] == "thixo" for name in set(ours)):
        return None  # what others wrote may change without a sign
    try:
        text = graph_text(graph, sources=False)
    except GraphError:
        return None
    kinds = [[isinstance(d, np.ndarray) for d in one.constants.values()] for one in graphs]
    about = [FORMAT, _version(), list(PASSES), off, repr(budget), _lines(graphs), kinds]
    return hashlib.sha256(f"{json.dumps(about)}\n{text}".encode()).hexdigest()


def _lines(graphs: Sequence[Graph]) -> list[Any]:
    return [[[n.source for n in g.nodes], [one.line for one in g.guards]] for g in graphs]


@functools.cache
def _version() -> str:
    """Of everything that has a say in what passes do: the package's files, and the target."""
    from thixo.codegen.llvm import target

    digest = hashlib.sha256(f"{thixo.__version__} {target.host().name}".encode())
    home = os.path.dirname(thixo.__file__)
    for folder, folders, files in os.walk(home):
        folders.sort()
        for name in sorted(files):
            if name.endswith(".py"):
                about = os.stat(os.path.join(folder, name))
                where = os.path.relpath(os.path.join(folder, name), home)
                digest.update(f"{where} {about.st_size} {about.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def _digest(constants: Iterable[Any]) -> str | None:
    """Of the data of all constants that passes may look at; None if it is too much."""
    arrays = [d for d in constants if isinstance(d, np.ndarray) and d.size > INLINE]
    if sum(a.nbytes for a in arrays) > MOST:
        return None
    digest = hashlib.blake2b(digest_size=32)
    for array in arrays:
        digest.update(np.ascontiguousarray(array).view(np.uint8).data)
    return digest.hexdigest()


# ---- entries


def _packed(declared: Graph, made: Graph, looked: bool) -> bytes | None:
    given = {id(d): name for name, d in constant_data(declared).items()}
    same: dict[str, str] = {}
    arrays: dict[str, list[Any]] = {}
    parts: list[bytes] = []
    size = 0
    for name, data in constant_data(made).items():
        if id(data) in given:
            same[name] = given[id(data)]
            continue
        if not isinstance(data, np.ndarray):
            return None  # a tensor that a pass made; there is none today
        arrays[name] = [from_numpy_dtype(data.dtype).short, list(data.shape), size, data.nbytes]
        parts.append(np.ascontiguousarray(data).tobytes())
        size += data.nbytes
        if size > MOST:
            return None
    digest = _digest(constant_data(declared).values()) if looked or arrays else ""
    if digest is None:
        return None
    try:
        text = graph_text(made, sources=False)
    except GraphError:
        return None
    about = {
        "text": text,
        "lines": _lines([*subgraphs(made), made]),
        "same": same,
        "arrays": arrays,
        "digest": digest,
    }
    head = json.dumps(about).encode()
    return b"".join((_LENGTH.pack(len(head)), head, *parts))


def _read(key: str, declared: Graph) -> Graph | None:
    """The optimised graph of this key, if there is an entry and all is well with it."""
    entry = cache.get(key)
    if entry is None:
        return None
    try:
        return _unpacked(entry, declared)
    except Exception:
        return None  # it will be made anew, and written over this one


def _unpacked(entry: bytes, declared: Graph) -> Graph | None:
    begin = _LENGTH.size + _LENGTH.unpack_from(entry)[0]
    about = json.loads(entry[_LENGTH.size : begin])
    given = constant_data(declared)
    if about["digest"] and about["digest"] != _digest(given.values()):
        return None
    constants = {name: given[source] for name, source in about["same"].items()}
    for name, (short, shape, offset, size) in about["arrays"].items():
        dtype = np.dtype(BY_SHORT[short].numpy)
        data = np.frombuffer(entry, np.uint8, size, begin + offset)
        constants[name] = data.copy().view(dtype).reshape(shape)
    made = parse(about["text"], constants)
    names = {id(v): n for n, v in zip(constant_data(made), _constant_values(made), strict=True)}
    graphs = [*subgraphs(made), made]
    for one, (lines, guards) in zip(graphs, about["lines"], strict=True):
        for value in one.constants:
            # Small ones stand in the text too; the same data is the same object.
            one.constants[value] = constants[names[id(value)]]
        for node, line in zip(one.nodes, lines, strict=True):
            node.source = line
        one.guards = [g._replace(line=at) for g, at in zip(one.guards, guards, strict=True)]
    made.verify()
    if _face(made) != _face(declared):
        return None
    return made


def _constant_values(graph: Graph) -> list[Any]:
    return [value for one in (*subgraphs(graph), graph) for value in one.constants]


def _face(graph: Graph) -> list[Any]:
    """What a caller sees of a graph."""
    changed = [(k.name, v.type) for k, v in graph.mutations.items()]
    return [[(v.name, v.type) for v in graph.inputs], [v.type for v in graph.outputs], changed]
