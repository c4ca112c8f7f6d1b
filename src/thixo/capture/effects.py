"""Nodes for what a program does besides computing: raising and printing."""

import builtins
from collections.abc import Sequence
from typing import Any

from thixo import _core
from thixo.capture.frames import current
from thixo.capture.paths import look
from thixo.capture.refusal import Refused
from thixo.capture.stand_ins import formatted as formatted_object
from thixo.capture.stand_ins import is_told, show
from thixo.capture.values import Choice, Mixed, Number, Symbolic, Text
from thixo.errors import user_line
from thixo.graph.effects import CHECK, SAY
from thixo.graph.trace import current_trace
from thixo.ops import public as tx
from thixo.symbolic import Dim


def node(op: Any, *args: Any, **named: Any) -> None:
    """Append a node that has no results."""
    trace = current_trace()
    assert trace is not None
    trace.graph.call(op, *args, source=user_line(), **named)


def check(pred: Any, error: str, text: str = "", values: Sequence[Any] = ()) -> None:
    """Raise a built-in exception when the program runs, where `pred` does not hold."""
    trace = current_trace()
    assert trace is not None
    given = [trace.value_of(v) for v in values]
    node(CHECK, trace.value_of(pred), given, error=error, text=text)


class Listed(Symbolic):
    """What `tolist` gives of a tensor; only good for showing."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor

    def __repr__(self) -> str:
        return "a list of the elements of a tensor"


def shown(value: Any, conversion: int, spec: Any) -> Any:
    """One part of an f-string."""
    letter = chr(conversion) if conversion > 0 else ""
    look(current(), value)
    if isinstance(value, Choice):
        from thixo.capture.operators import spread

        return spread(value, lambda one: shown(one, conversion, spec))
    if isinstance(value, Mixed):
        raise Refused("text", f"{value!r} has no one form", "show it after the program ran")
    if not is_open(value):
        if is_told(value):
            return _told(value, letter, spec)
        forms: dict[str, Any] = {"r": repr, "s": str, "a": ascii}
        return format(forms[letter](value) if letter else value, spec)
    if letter == "a" or not isinstance(spec, str):
        raise Refused("text", "its form depends on values", "show the value as it is")
    if isinstance(value, Text) and not spec and letter != "r":
        return value
    return Text([(value, letter, spec)])


def _told(value: Any, letter: str, spec: Any) -> Any:
    """The same of an object whose class has code for that."""
    if not letter:
        return formatted_object(value, spec)
    made = show(value, letter)
    return made if isinstance(made, Text) and not spec else format(made, spec)


def is_open(x: Any) -> bool:
    """Whether something can be shown only when the graph runs."""
    if isinstance(x, _core.Tensor | Symbolic | Dim):
        return True
    if isinstance(x, list | tuple | set | frozenset):
        return any(map(is_open, x))
    return isinstance(x, dict) and any(map(is_open, (*x, *x.values())))


def text(*parts: Any) -> Any:
    """An f-string."""
    chosen = next((i for i, p in enumerate(parts) if isinstance(p, Choice)), None)
    if chosen is not None:
        from thixo.capture.operators import spread

        before, after = parts[:chosen], parts[chosen + 1 :]
        return spread(parts[chosen], lambda one: text(*before, one, *after))
    if not any(isinstance(p, Text) for p in parts):
        return "".join(parts)
    return Text([q for p in parts for q in (p.parts if isinstance(p, Text) else [p])])


def template(parts: Sequence[Any]) -> tuple[str, list[Any]]:
    """Parts as the text of a node, and its values."""
    trace = current_trace()
    assert trace is not None
    made = ""
    values: list[Any] = []
    for part in parts:
        if isinstance(part, str):
            made += part.replace("{", "{{").replace("}", "}}")
            continue
        value, conversion, spec = part
        kind, tensor = kind_of_shown(value)
        if "|" in spec or "}" in spec:
            raise Refused("text", f"the format {spec!r}", "use a simpler one")
        made += "{" + f"{len(values)}|{kind}|{conversion}|{spec}" + "}"
        values.append(trace.value_of(tensor))
    return made, values


def kind_of_shown(value: Any) -> tuple[str, Any]:
    if isinstance(value, Number):
        return value.kind, value.tensor
    if isinstance(value, Listed):
        return "list", value.tensor
    if isinstance(value, Dim):
        from thixo.capture.numbers import as_tensor

        return "int", as_tensor(value)
    if isinstance(value, _core.Tensor):
        if value.requires_grad:
            raise Refused("text", "how a tensor prints depends on its gradient", "show x.detach()")
        return "tensor", value
    raise Refused(
        "text", f"{type(value).__name__} with values that the data decide", "show its parts"
    )


def say(args: Sequence[Any], sep: str = " ", end: str = "\n") -> None:
    """print, as a node: all of it, so that the order is kept."""
    parts: list[Any] = []
    for i, a in enumerate(args):
        look(current(), a)
        if i:
            parts.append(sep)
        if isinstance(a, Text):
            parts += a.parts
        elif is_open(a):
            parts += pieces(a, "s")
        else:
            made = show(a, "s")
            parts += made.parts if isinstance(made, Text) else [made]
    made, values = template(parts)
    node(SAY, values, text=made, end=end)


def pieces(x: Any, conversion: str) -> list[Any]:
    """An object as parts of text; containers with values in them are taken apart."""
    if not is_open(x):
        made = show(x, conversion)
        return made.parts if isinstance(made, Text) else [made]
    if type(x) in (list, tuple):
        parts: list[Any] = ["[" if type(x) is list else "("]
        for i, e in enumerate(x):
            parts += [", "] * bool(i) + pieces(e, "r")
        last = ",)" if type(x) is tuple and len(x) == 1 else ")"
        return [*parts, "]" if type(x) is list else last]
    if isinstance(x, Text):
        raise Refused("text", "the repr of text with values", "show the values themselves")
    return [(x, conversion, "")]


def fail(error: BaseException) -> None:
    """An exception that a branch always raises: raised when the program runs that branch."""
    kind = type(error).__name__
    if getattr(builtins, kind, None) is not type(error):
        raise Refused(
            f"raise {kind}", "a graph can raise built-in exceptions only", "raise one of those"
        )
    if len(error.args) > 1 or (error.args and not isinstance(error.args[0], str | Text)):
        raise Refused(f"raise {kind}", "its arguments are not one text", "give it one message")
    parts = (
        []
        if not error.args
        else error.args[0].parts
        if isinstance(error.args[0], Text)
        else [error.args[0]]
    )
    made, values = template(parts)
    trace = current_trace()
    assert trace is not None
    never = trace.value_of(tx.full((), False))
    node(CHECK, never, values, error=kind, text=made)


def formatted(pattern: str, args: Sequence[Any], kwargs: Any) -> Any:
    """`pattern.format(...)` with values that the data decide."""
    import string

    parts: list[Any] = []
    count = 0
    for literal, field, spec, conversion in string.Formatter().parse(pattern):
        if literal:
            parts.append(literal)
        if field is None:
            continue
        if field == "":
            field, count = str(count), count + 1
        if (not field.isidentifier() and not field.isdigit()) or (spec and "{" in spec):
            raise Refused("str.format", f"the field {field!r}", "use an f-string")
        value = args[int(field)] if field.isdigit() else kwargs[field]
        parts.append(shown(value, ord(conversion) if conversion else -1, spec or ""))
    return text(*parts)
