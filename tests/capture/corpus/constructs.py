"""Which constructs of Python a case uses, read from its source so that it cannot be out of date.

A case counts with all that it needs of its own file: helpers, classes and their bases.
"""

import ast
import functools
import inspect
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator

from tests.capture.corpus.registry import Case

Definition = ast.FunctionDef | ast.ClassDef
Nodes = dict[type[ast.AST], list]
Rule = Callable[[Nodes], bool]


@functools.cache
def definitions(module: str) -> dict[str, Definition]:
    """The functions and classes of a file by name."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {node.name: node for node in tree.body if isinstance(node, Definition)}


def program(case: Case) -> Nodes:
    """The nodes of the case and of what it names in its own file; its arguments may be of classes there."""
    known = definitions(case.function.__module__)
    waiting, seen = [case.name], set()
    nodes: Nodes = defaultdict(list)
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        for node in walk(known[name]):
            nodes[type(node)].append(node)
        used = {node.id for node in ast.walk(known[name]) if isinstance(node, ast.Name)}
        waiting += used & known.keys()
    return nodes


def walk(definition: Definition) -> Iterator[ast.AST]:
    """All nodes of a definition, without the decorator that registers it."""
    waiting: list[ast.AST] = [definition]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [
            child
            for child in ast.iter_child_nodes(node)
            if not (isinstance(child, ast.Call) and getattr(child.func, "id", "") == "case")
        ]


def has(*kinds: type[ast.AST], where: Callable[..., bool] = lambda node: True) -> Rule:
    """Some node is of one of these kinds, and as `where` wants it."""
    return lambda nodes: any(where(node) for kind in kinds for node in nodes[kind])


def inside(node: ast.AST, *kinds: type[ast.AST]) -> list:
    """The nodes of these kinds below a node, those of inner functions left out."""
    found, waiting = [], list(ast.iter_child_nodes(node))
    while waiting:
        child = waiting.pop()
        if isinstance(child, kinds):
            found.append(child)
        if not isinstance(child, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            waiting += ast.iter_child_nodes(child)
    return found


def calls(*names: str) -> Rule:
    """A call of a function, or of a method, of one of these names."""
    return has(ast.Call, where=lambda node: called(node) in names)


def called(node: ast.Call) -> str:
    return getattr(node.func, "id", getattr(node.func, "attr", ""))


def loop_over(*names: str) -> Rule:
    return has(
        ast.For, where=lambda node: isinstance(node.iter, ast.Call) and called(node.iter) in names
    )


def decorated(name: str) -> Rule:
    return has(
        ast.FunctionDef,
        ast.ClassDef,
        where=lambda node: any(
            name in (getattr(part, "id", ""), getattr(part, "attr", ""))
            for decorator in node.decorator_list
            for part in ast.walk(decorator)
        ),
    )


def writes_attribute(of_self: bool) -> Rule:
    return has(
        ast.Attribute,
        where=lambda node: (
            isinstance(node.ctx, ast.Store) and (getattr(node.value, "id", "") == "self") == of_self
        ),
    )


def bound(nodes: list[ast.stmt]) -> set[str]:
    """Names that statements bind."""
    outer = ast.Module(nodes, [])
    return {name.id for name in inside(outer, ast.Name) if isinstance(name.ctx, ast.Store)}


def read_after(definition: ast.FunctionDef, statement: ast.stmt) -> set[str]:
    last = statement.end_lineno
    return {
        name.id
        for name in inside(definition, ast.Name)
        if isinstance(name.ctx, ast.Load) and name.lineno > last
    }


def set_before(definition: ast.FunctionDef, statement: ast.stmt) -> set[str]:
    arguments = {argument.arg for argument in ast.walk(definition.args) if hasattr(argument, "arg")}
    names = inside(definition, ast.Name)
    stores = {n.id for n in names if isinstance(n.ctx, ast.Store) and n.lineno < statement.lineno}
    return arguments | stores


def new_names(definition: ast.FunctionDef, statement: ast.stmt, body: list[ast.stmt]) -> set[str]:
    """Names that first exist in `body`, and are read after the statement that it is a part of."""
    return (bound(body) - set_before(definition, statement)) & read_after(definition, statement)


def one_sided(definition: ast.FunctionDef) -> bool:
    """A branch alone defines what is used after it."""
    return any(
        new_names(definition, node, node.body) ^ new_names(definition, node, node.orelse)
        for node in inside(definition, ast.If)
    )


def defined_by_a_loop(definition: ast.FunctionDef) -> bool:
    return any(
        new_names(definition, node, node.body) for node in inside(definition, ast.For, ast.While)
    )


def early_return(definition: ast.FunctionDef) -> bool:
    return len(inside(definition, ast.Return)) > 1


def recursive(definition: ast.FunctionDef) -> bool:
    own = [n.func for n in ast.walk(definition) if isinstance(n, ast.Call)]
    return any(
        getattr(f, "id", "") == definition.name
        or (getattr(f, "attr", "") == definition.name and isinstance(f.value, ast.Name))
        for f in own
    )


def nested(kind: type[ast.AST], *inner: type[ast.AST]) -> Rule:
    return has(kind, where=lambda node: bool(inside(node, *inner)))


FUNCTION = ast.FunctionDef
LOOPS = (ast.For, ast.While)
NUMBER_METHODS = {f"__{n}__" for n in "add radd sub mul rmul truediv matmul neg lt eq".split()}
VIEWS = "view reshape transpose permute unsqueeze squeeze expand diagonal narrow unfold unbind"

CONSTRUCTS: dict[str, Rule] = {
    # branches
    "if": has(ast.If),
    "elif": has(ast.If, where=lambda n: len(n.orelse) == 1 and isinstance(n.orelse[0], ast.If)),
    "else": has(ast.If, where=lambda n: bool(n.orelse) and not isinstance(n.orelse[0], ast.If)),
    "nested if": has(ast.If, where=lambda n: bool(inside(ast.Module(n.body, []), ast.If))),
    "defined on one side": has(FUNCTION, where=one_sided),
    "early return": has(FUNCTION, where=early_return),
    "return from a loop": has(*LOOPS, where=lambda n: bool(inside(n, ast.Return))),
    "ternary": has(ast.IfExp),
    "match": has(ast.Match),
    # conditions
    "and": has(ast.And),
    "or": has(ast.Or),
    "not": has(ast.Not),
    "chained comparison": has(ast.Compare, where=lambda n: len(n.ops) > 1),
    "in": has(ast.In, ast.NotIn),
    "is": has(ast.Is, ast.IsNot),
    "walrus": has(ast.NamedExpr),
    "isinstance": calls("isinstance"),
    "any or all of a generator": has(
        ast.Call,
        where=lambda n: (
            getattr(n.func, "id", "") in ("any", "all") and isinstance(n.args[0], ast.GeneratorExp)
        ),
    ),
    # loops
    "while": has(ast.While),
    "while True": has(ast.While, where=lambda n: isinstance(n.test, ast.Constant)),
    "for over range": loop_over("range"),
    "for over what has no name here": has(ast.For, where=lambda n: isinstance(n.iter, ast.Name)),
    "for over zip": loop_over("zip"),
    "for over enumerate": loop_over("enumerate"),
    "for over reversed": loop_over("reversed"),
    "for over the items of a dict": loop_over("items", "values", "keys"),
    "nested loops": lambda nodes: any(nested(kind, *LOOPS)(nodes) for kind in LOOPS),
    "break": has(ast.Break),
    "continue": has(ast.Continue),
    "else of a loop": has(*LOOPS, where=lambda n: bool(n.orelse)),
    "defined by a loop": has(FUNCTION, where=defined_by_a_loop),
    # assignments
    "augmented assignment": has(ast.AugAssign),
    "tuple assignment": has(ast.Tuple, where=lambda n: isinstance(n.ctx, ast.Store)),
    "chained assignment": has(ast.Assign, where=lambda n: len(n.targets) > 1),
    "star in an assignment": has(ast.Starred, where=lambda n: isinstance(n.ctx, ast.Store)),
    "star in a call or a display": has(ast.Starred, where=lambda n: isinstance(n.ctx, ast.Load)),
    "annotated assignment": has(ast.AnnAssign, where=lambda n: n.value is not None),
    "write to a place": has(
        ast.Subscript,
        where=lambda n: isinstance(n.ctx, ast.Store) and not inside(n, ast.Slice),
    ),
    "write to a slice": has(
        ast.Subscript, where=lambda n: isinstance(n.ctx, ast.Store) and bool(inside(n, ast.Slice))
    ),
    "write under a mask": has(
        ast.Subscript,
        where=lambda n: isinstance(n.ctx, ast.Store) and bool(inside(n, ast.Compare)),
    ),
    "del": has(ast.Delete),
    # expressions
    "slicing": has(ast.Slice),
    "list comprehension": has(ast.ListComp),
    "dict comprehension": has(ast.DictComp),
    "set comprehension": has(ast.SetComp),
    "generator expression": has(ast.GeneratorExp),
    "comprehension with a condition": has(ast.comprehension, where=lambda n: bool(n.ifs)),
    "f-string": has(ast.JoinedStr),
    "matrix product": has(ast.MatMult),
    # functions
    "inner function": has(FUNCTION, where=lambda n: bool(inside(n, FUNCTION))),
    "lambda": has(ast.Lambda),
    "recursion": has(FUNCTION, where=recursive),
    "default argument": has(ast.arguments, where=lambda n: bool(n.defaults)),
    "keyword-only argument": has(ast.arguments, where=lambda n: bool(n.kwonlyargs)),
    "positional-only argument": has(ast.arguments, where=lambda n: bool(n.posonlyargs)),
    "any number of arguments": has(ast.arguments, where=lambda n: n.vararg is not None),
    "any keywords": has(ast.arguments, where=lambda n: n.kwarg is not None),
    "call with keywords": has(ast.Call, where=lambda n: any(k.arg for k in n.keywords)),
    "call with unpacked keywords": has(
        ast.Call, where=lambda n: any(k.arg is None for k in n.keywords)
    ),
    "nonlocal": has(ast.Nonlocal),
    "global": has(ast.Global),
    "yield": has(ast.Yield),
    "yield from": has(ast.YieldFrom),
    "decorator": has(FUNCTION, where=lambda n: any(isinstance(d, ast.Name) for d in n.decorator_list)),
    # classes
    "class": has(ast.ClassDef),
    "dataclass": decorated("dataclass"),
    "named tuple": has(
        ast.ClassDef, where=lambda n: any(getattr(b, "id", "") == "NamedTuple" for b in n.bases)
    ),
    "property": decorated("property"),
    "staticmethod": decorated("staticmethod"),
    "classmethod": decorated("classmethod"),
    "operator overloading": has(FUNCTION, where=lambda n: n.name in NUMBER_METHODS),
    "__call__": has(FUNCTION, where=lambda n: n.name == "__call__"),
    "__getitem__": has(FUNCTION, where=lambda n: n.name == "__getitem__"),
    "__iter__": has(FUNCTION, where=lambda n: n.name == "__iter__"),
    "super": calls("super"),
    "attribute of self written": writes_attribute(of_self=True),
    "attribute of another object written": writes_attribute(of_self=False),
    # statements
    "with": has(ast.With),
    "with several": has(ast.With, where=lambda n: len(n.items) > 1),
    "no_grad": calls("no_grad"),
    "assert": has(ast.Assert),
    "print": calls("print"),
    "raise": has(ast.Raise),
    "try finally": has(ast.Try, where=lambda n: bool(n.finalbody)),
    "try except": has(ast.Try, where=lambda n: bool(n.handlers)),
    "import": has(ast.Import, ast.ImportFrom),
    # containers
    "append": calls("append"),
    "pop": calls("pop", "popleft", "popitem"),
    "set": has(ast.Set, ast.SetComp),
    "dict display": has(ast.Dict),
    "sorted": calls("sorted"),
    "key of a function": has(ast.Call, where=lambda n: any(k.arg == "key" for k in n.keywords)),
    "itertools or functools": has(
        ast.Attribute, where=lambda n: getattr(n.value, "id", "") in ("itertools", "functools")
    ),
    # tensors
    "in-place operator": has(
        ast.Call,
        where=lambda n: (
            isinstance(n.func, ast.Attribute) and n.func.attr.strip("_") + "_" == n.func.attr
        ),
    ),
    "view": calls(*VIEWS.split()),
    "item": calls("item"),
    "tolist": calls("tolist"),
    "int or float of a tensor": has(
        ast.Call,
        where=lambda n: getattr(n.func, "id", "") in ("int", "float", "bool") and bool(n.args),
    ),
    "dtype": has(ast.Attribute, where=lambda n: n.attr == "dtype"),
    "conversion": has(
        ast.Call,
        where=lambda n: getattr(n.func, "attr", "") in "to float double long int bool".split(),
    ),
    "sizes": has(ast.Attribute, where=lambda n: n.attr in ("shape", "size", "ndim")),
    "None in an index": has(
        ast.Subscript,
        where=lambda n: any(
            isinstance(c, ast.Constant) and c.value is None for c in ast.walk(n.slice)
        ),
    ),
    "ellipsis": has(ast.Subscript, where=lambda n: any(
        isinstance(c, ast.Constant) and c.value is Ellipsis for c in ast.walk(n.slice)
    )),
    "detach": calls("detach"),
    "backward or grad": calls("backward", "grad"),
    # networks
    "Module": has(ast.ClassDef, where=lambda n: any(getattr(b, "attr", "") == "Module" for b in n.bases)),
    "train or eval": has(ast.Attribute, where=lambda n: n.attr in ("training", "train", "eval")),
    "buffer": calls("register_buffer"),
    "ModuleList or ModuleDict": calls("ModuleList", "ModuleDict"),
    "Parameter": calls("Parameter"),
    "dropout": calls("dropout", "Dropout"),
    "clipping of gradients": calls("clip_grad_norm_", "clip_grad_value_"),
}  # fmt: skip


def constructs(case: Case) -> set[str]:
    """The names of the constructs that a case uses."""
    nodes = program(case)
    return {name for name, rule in CONSTRUCTS.items() if rule(nodes)}
