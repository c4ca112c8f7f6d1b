"""Switches of the current thread: whether operations are recorded, and how carefully."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from thixo import _core

F = TypeVar("F", bound=Callable[..., Any])


class _Mode:
    """A context manager that is a decorator too; it may be entered again inside itself."""

    def __init__(self) -> None:
        self._before: list[Any] = []

    def __enter__(self) -> None:
        self._before.append(self._switch())

    def __exit__(self, *_: object) -> None:
        self._restore(self._before.pop())

    def __call__(self, function: F) -> F:
        if inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def generator(*args: Any, **kwargs: Any) -> Any:
                # The mode holds while the generator runs, not while its consumer does.
                with self._clone():
                    steps = function(*args, **kwargs)
                resume = functools.partial(next, steps)
                while True:
                    with self._clone():
                        try:
                            value = resume()
                        except StopIteration as stop:
                            return stop.value
                    try:
                        resume = functools.partial(steps.send, (yield value))
                    except GeneratorExit:
                        with self._clone():
                            steps.close()
                        raise
                    except BaseException as error:
                        resume = functools.partial(steps.throw, error)

            return generator  # type: ignore[return-value]

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self._clone():
                return function(*args, **kwargs)

        return wrapped  # type: ignore[return-value]

    def _clone(self) -> "_Mode":
        return type(self)()

    def _switch(self) -> Any:
        raise TypeError("a mode says how it is switched")

    def _restore(self, before: Any) -> None:
        _core.set_grad_enabled(before)


class _Bare(type):
    """Lets `@no_grad` be written without parentheses."""

    def __call__(cls, function: Any = None) -> Any:
        made = super().__call__()
        return made if function is None else made(function)


class no_grad(_Mode, metaclass=_Bare):  # noqa: N801
    """Nothing is recorded inside.

    >>> import thixo as tx
    >>> x = tx.ones(2, requires_grad=True)
    >>> with tx.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    def _switch(self) -> bool:
        return _core.set_grad_enabled(False)


class enable_grad(_Mode, metaclass=_Bare):  # noqa: N801
    """Operations are recorded inside, also within `no_grad`.

    >>> import thixo as tx
    >>> x = tx.ones(2, requires_grad=True)
    >>> with tx.no_grad(), tx.enable_grad():
    ...     y = x * 2
    >>> y.requires_grad
    True
    """

    def _switch(self) -> bool:
        return _core.set_grad_enabled(True)


class set_grad_enabled(_Mode):  # noqa: N801
    """Record or not, by a value: as a statement, or for a block.

    >>> import thixo as tx
    >>> with tx.set_grad_enabled(False):
    ...     tx.is_grad_enabled()
    False
    """

    def __init__(self, mode: bool) -> None:
        super().__init__()
        self.mode = bool(mode)
        self._outer = _core.set_grad_enabled(self.mode)

    def __enter__(self) -> None:
        _core.set_grad_enabled(self.mode)

    def __exit__(self, *_: object) -> None:
        _core.set_grad_enabled(self._outer)

    def __call__(self, function: F) -> F:
        """As a decorator, it is in force where the function runs, not where it is made."""
        _core.set_grad_enabled(self._outer)
        return super().__call__(function)

    def _clone(self) -> "set_grad_enabled":
        return set_grad_enabled(self.mode)


class inference_mode(_Mode):  # noqa: N801
    """Like no_grad, and tensors made inside can never become part of a tape.

    >>> import thixo as tx
    >>> with tx.inference_mode():
    ...     tx.ones(2).is_inference()
    True
    """

    def __new__(cls, mode: Any = True) -> Any:
        """`@inference_mode` without a call decorates too."""
        if callable(mode):
            return cls()(mode)
        return super().__new__(cls)

    def __init__(self, mode: Any = True) -> None:
        super().__init__()
        self.mode = bool(mode)

    def _switch(self) -> tuple[bool, bool]:
        return _core.set_grad_enabled(not self.mode), _core.set_inference_mode(self.mode)

    def _restore(self, before: tuple[bool, bool]) -> None:
        _core.set_grad_enabled(before[0])
        _core.set_inference_mode(before[1])

    def _clone(self) -> "inference_mode":
        return inference_mode(self.mode)


class detect_anomaly(_Mode):  # noqa: N801
    """Backward stops at the first NaN it makes and names the forward line it comes from.

    >>> import thixo as tx
    >>> x = tx.tensor(0.0, requires_grad=True)
    >>> with tx.autograd.detect_anomaly():
    ...     try:
    ...         (x.sqrt() * 0).backward()
    ...     except tx.errors.AutogradError as error:
    ...         print(str(error)[:33])
    backward of SqrtBackward made a N
    """

    def _switch(self) -> bool:
        return _core.set_anomaly(True)

    def _restore(self, before: bool) -> None:
        _core.set_anomaly(before)


class set_detect_anomaly(_Mode):  # noqa: N801
    """Switch the search for NaN in backward on or off.

    >>> import thixo as tx
    >>> with tx.autograd.set_detect_anomaly(True):
    ...     pass
    """

    def __init__(self, mode: bool) -> None:
        super().__init__()
        self.mode = bool(mode)
        self._outer = _core.set_anomaly(self.mode)

    def _switch(self) -> bool:
        _core.set_anomaly(self.mode)
        return self._outer

    def _restore(self, before: bool) -> None:
        _core.set_anomaly(before)

    def _clone(self) -> "set_detect_anomaly":
        return set_detect_anomaly(self.mode)


def is_grad_enabled() -> bool:
    """Whether operations are recorded now.

    >>> import thixo as tx
    >>> tx.is_grad_enabled()
    True
    """
    return _core.is_grad_enabled()


def is_inference_mode_enabled() -> bool:
    """Whether inference_mode is on.

    >>> import thixo as tx
    >>> tx.is_inference_mode_enabled()
    False
    """
    return _core.is_inference_mode()
