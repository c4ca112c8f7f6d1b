"""Which constructs of Python a program uses: those that the corpus of functions counts, and a few of its own."""

from __future__ import annotations

import ast
from collections import defaultdict

from tests.capture.corpus.constructs import CONSTRUCTS, Nodes, calls, has
from tests.programs.program import NAME

OWN = {
    "for over a list": has(ast.For, where=lambda n: isinstance(n.iter, ast.List)),
    "for over a tensor": has(ast.For, where=lambda n: getattr(n.iter, "id", "") in "vm"),
    "user's context manager": has(
        ast.With, where=lambda n: any(isinstance(i.context_expr.func, ast.Name) for i in n.items)
    ),
    "set change": calls("add", "discard"),
    "dict change": calls("update", "setdefault"),
    "attribute change": CONSTRUCTS["attribute of another object written"],
    "global change": lambda nodes: any(
        getattr(n.value, "id", "") in ("TABLE", "STATE", "LOG") for n in nodes[ast.Attribute] + nodes[ast.Subscript]
    ),
    "random numbers": calls("rand", "randn", "rand_like"),
    "module": calls("LAYER"),
    "closure": has(ast.FunctionDef, where=lambda n: n.name != NAME),
}  # fmt: skip

# What a run must have among its programs.
WANTED = [
    "if", "elif", "else", "nested if", "early return", "return from a loop", "ternary", "and", "or", "not",
    "chained comparison", "in", "walrus", "while", "while True", "for over range", "for over zip",
    "for over enumerate", "nested loops", "break", "continue", "else of a loop", "augmented assignment",
    "tuple assignment", "chained assignment", "star in an assignment", "write to a place", "write to a slice",
    "write under a mask", "del", "list comprehension", "dict comprehension", "set comprehension",
    "generator expression", "comprehension with a condition", "inner function", "lambda", "recursion",
    "default argument", "nonlocal", "global", "with", "no_grad", "assert", "print", "raise", "try finally",
    "try except", "append", "in-place operator", "view", "conversion", "int or float of a tensor", "detach",
    "isinstance", "f-string", *OWN,
]  # fmt: skip
RULES = {name: OWN.get(name) or CONSTRUCTS[name] for name in WANTED}
RULES["view"] = has(
    ast.Assign,
    where=lambda n: (
        isinstance(n.value, ast.Subscript) and isinstance(n.value.slice, ast.Slice)
    ),
)  # fmt: skip


def function(text: str) -> ast.FunctionDef:
    """The program itself, without what stands before it."""
    tree = ast.parse(text)
    (found,) = (n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == NAME)
    return found


def seen_in(text: str) -> tuple[set[str], int]:
    """The names of the constructs in a program, and how many statements it has."""
    nodes: Nodes = defaultdict(list)
    count = -1  # the program itself
    for node in ast.walk(function(text)):
        nodes[type(node)].append(node)
        count += isinstance(node, ast.stmt)
    return {name for name, rule in RULES.items() if rule(nodes)}, count


def constructs(text: str) -> set[str]:
    """The names of the constructs in a program."""
    return seen_in(text)[0]


def statements(text: str) -> int:
    """How many statements a program has."""
    return seen_in(text)[1]
