"""`tx.compile(verify=True)` and `tx.compile(debug=True)`: compiled functions that are looked into."""

from typing import Any

from thixo.capture.compile import CompiledFunction
from thixo.capture.compile_cache import Entry
from thixo.capture.debug import Values, looked_into
from thixo.capture.rerun import Failed, by_python
from thixo.capture.verify import verified
from thixo.errors import ArgumentError


class CheckedFunction(CompiledFunction):
    """A compiled function whose calls are compared with Python, or whose values are kept.

    >>> def f(x):
    ...     h = x * 2
    ...     return h.exp()
    >>> compiled = tx.compile(f, debug=True)
    >>> y = compiled(tx.zeros(2))
    >>> compiled.values["h"], tx.compile(f, verify=True)(tx.zeros(2))
    (tensor([0., 0.]), tensor([1., 1.]))
    """

    _values: Values | None = None

    @property
    def values(self) -> Values:
        """The values of the last call by the names of variables, where `debug=True` was said."""
        if self._values is None:
            raise ArgumentError(
                f"{self.__name__}: it keeps values with debug=True, and after a call that ran as a graph"
            )
        return self._values

    def _served(self, entry: Entry, args: Any, kwargs: Any) -> Any:
        """Run the graph and the function, or the graph operator by operator."""
        entry.calls += 1
        if self._graphs.options.verify:
            return verified(entry.captured, self.stands_for, args, kwargs, self.__name__)
        try:
            result, self._values = looked_into(entry.captured, args, kwargs)
        except Failed as failure:
            failed = failure
        else:
            return result
        return by_python(self.stands_for, args, kwargs, failed)
