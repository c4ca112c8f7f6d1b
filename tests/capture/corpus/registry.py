"""What a case of the corpus is: a function, ways to make its arguments, and what to expect of it.

    @case(lambda d: (d.normal(3),), lambda d: call(-d.normal(3), bias=2.0), grad=(0,))
    def scaled(x, bias=0.0): ...

The decorator registers the function and returns it unchanged. Each further argument of `case` makes one set
of arguments from a `Draw`, anew for every run, so that no run sees what another one changed.
"""

import contextlib
import copy
import io
import sys
import types
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import thixo as tx

SEED = 20


class Draw:
    """Random arguments from a seed; floats are float64, since gradients are compared."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)

    def normal(self, *shape: int, scale: float = 1.0) -> tx.Tensor:
        return tx.tensor(self.rng.normal(0.0, scale, shape))

    def uniform(self, *shape: int, low: float = 0.0, high: float = 1.0) -> tx.Tensor:
        return tx.tensor(self.rng.uniform(low, high, shape))

    def ints(self, low: int, high: int, *shape: int) -> tx.Tensor:
        return tx.tensor(self.rng.integers(low, high, shape))

    def single(self, *shape: int) -> tx.Tensor:
        """Normal numbers in float32."""
        return tx.tensor(self.rng.normal(0.0, 1.0, shape).astype(np.float32))


@dataclass
class Call:
    """The arguments of one call."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)


def call(*args: Any, **kwargs: Any) -> Call:
    """Arguments with keywords among them; a plain tuple says the same without."""
    return Call(args, kwargs)


def t(values: Any) -> tx.Tensor:
    """A float64 tensor from numbers."""
    return tx.tensor(values, dtype=tx.float64)


Maker = Callable[[Draw], Any]


@dataclass(frozen=True)
class Case:
    """One function of the corpus."""

    name: str
    theme: str
    function: (
        Any  # what was decorated: a function, or a class that `build` makes something callable of
    )
    sets: tuple[Maker, ...]
    grad: tuple[int | str, ...]  # positions and keywords of the arguments that are differentiated
    build: (
        Callable[[Any], Callable[..., Any]] | None
    )  # fresh state: a module, or an object's method
    parameters: bool  # its module's parameters are differentiated
    detaches: bool  # cuts gradients on purpose, so that finite differences see more than they do
    answers: tuple[Any, ...] | None  # the known result of each set; None where it is not known
    check: Callable[..., bool] | None  # of the result and the arguments before the call
    prints: bool  # writes to stdout in some set
    mutates: bool  # changes its arguments, or the object whose method it is, in some set
    changes: tuple[str, ...]  # globals of its module that it changes
    random: bool  # draws from the default generator

    def callable(self) -> Callable[..., Any]:
        """What to call: the function itself, or one with fresh state."""
        if self.build is None:
            return self.function
        tx.manual_seed(SEED)
        built = self.build(self.function)
        return built.double() if isinstance(built, tx.nn.Module) else built

    def arguments(self, index: int) -> Call:
        """Fresh arguments of one set."""
        tx.manual_seed(SEED + 1)
        made = self.sets[index](Draw(SEED + index))
        return made if isinstance(made, Call) else Call(tuple(made))

    def __repr__(self) -> str:
        return f"{self.theme}.{self.name}"


CASES: dict[str, Case] = {}


def case(
    *sets: Maker,
    grad: tuple[int | str, ...] = (),
    build: Callable[[Any], Callable[..., Any]] | None = None,
    parameters: bool = False,
    detaches: bool = False,
    answers: list[Any] | None = None,
    check: Callable[..., bool] | None = None,
    prints: bool = False,
    mutates: bool = False,
    changes: tuple[str, ...] = (),
    random: bool = False,
    into: dict[str, Case] | None = None,
) -> Callable[[Any], Any]:
    """Register what is decorated, in the corpus or in another table; see `Case` for the meaning of each argument."""
    table = CASES if into is None else into

    def register(function: Any) -> Any:
        name = function.__name__
        if name in table:
            raise ValueError(f"two cases are called {name}")
        theme = function.__module__.rpartition(".")[2]
        known = tuple(answers) if answers is not None else None
        table[name] = Case(
            name,
            theme,
            function,
            sets,
            grad,
            build,
            parameters or bool(grad and isinstance(function, type)),
            detaches,
            known,
            check,
            prints,
            mutates,
            changes,
            random,
        )
        return function

    return register


@dataclass
class Run:
    """What one call did."""

    result: Any
    printed: str
    arguments: Call  # after the call
    target: Callable[..., Any]  # what was called
    before: Any  # snapshots of target, arguments and globals
    after: Any
    globals: dict[str, Any]  # the globals that the case names, as the call left them
    drew: bool  # from the default generator


def perform(
    case: Case,
    index: int,
    through: Callable[[Any], Any] = lambda target: target,
    prepare: Callable[[Any, Call], None] = lambda target, arguments: None,
) -> Run:
    """Call a case on a set of arguments, all state fresh; globals are put back afterwards.

    `through` makes something else of what is called, such as its compiled form; `prepare` may change
    what is called and its arguments before the call.
    """
    target, arguments = case.callable(), case.arguments(index)
    for where in case.grad:
        require_grad(arguments, where)
    prepare(target, arguments)
    scope = vars(sys.modules[case.function.__module__])
    kept = {name: copy.deepcopy(scope[name]) for name in case.changes}
    owner = getattr(target, "__self__", target)
    called = through(target)
    before = snapshot((None if case.build is None else owner, arguments.args, arguments.kwargs))
    printed = io.StringIO()
    tx.manual_seed(SEED + 2)
    numbers = snapshot(tx.get_rng_state())
    try:
        with contextlib.redirect_stdout(printed):
            result = called(*arguments.args, **arguments.kwargs)
        left = {name: copy.deepcopy(scope[name]) for name in case.changes}
    finally:
        scope.update(kept)
    drew = snapshot(tx.get_rng_state()) != numbers
    after = snapshot((None if case.build is None else owner, arguments.args, arguments.kwargs))
    return Run(result, printed.getvalue(), arguments, target, before, after, left, drew)


def require_grad(arguments: Call, where: int | str) -> None:
    for tensor in tensors(
        arguments.args[where] if isinstance(where, int) else arguments.kwargs[where]
    ):
        if tensor.is_floating_point():
            tensor.requires_grad_(True)


def parts(value: Any) -> Iterator[tuple[str, Any]] | None:
    """The named parts of a container or an object; None for a leaf."""
    if isinstance(value, dict):
        return iter([(repr(key), item) for key, item in value.items()])
    if isinstance(value, list | tuple | deque):
        return iter([(str(position), item) for position, item in enumerate(value)])
    if isinstance(value, tx.Tensor | types.FunctionType | types.ModuleType | type | tx.Generator):
        return None
    if isinstance(value, tx.optim.Optimizer):
        return iter([("state", value.state_dict())])
    if hasattr(value, "__dict__"):
        return iter([(key, item) for key, item in vars(value).items()])
    return None


def tensors(value: Any, seen: set[int] | None = None) -> list[tx.Tensor]:
    """Every tensor in nested containers and objects, each once, in order."""
    seen = set() if seen is None else seen
    if id(value) in seen:
        return []
    if isinstance(value, tx.Tensor):
        seen.add(id(value))
        return [value]
    inner = parts(value)
    if inner is None:
        return []
    seen.add(id(value))
    return [tensor for _, item in inner for tensor in tensors(item, seen)]


def snapshot(value: Any, path: tuple[int, ...] = ()) -> Any:
    """A copy of numbers, tensors and structure that a later change cannot reach, and that can be compared."""
    if isinstance(value, tx.Tensor):
        array = value.detach().numpy().copy()
        grad = None if not value.is_leaf or value.grad is None else snapshot(value.grad)
        return (str(value.dtype), array.shape, array.tobytes(), grad)
    if isinstance(value, tx.Generator):
        return snapshot(value.get_state())
    if id(value) in path:
        return "itself"
    inner = parts(value)
    if inner is None:
        simple = isinstance(value, int | float | complex | str | bytes | type(None) | type | range)
        return value if simple else type(value).__name__
    deeper = (*path, id(value))
    return (type(value).__name__, tuple((name, snapshot(item, deeper)) for name, item in inner))
