"""The models of the peers' suite as plain Python with one decorator: what `thixo-compiled` runs there.

The suite's class for PyTorch is plain code that asks `compile` for each function it wants compiled. Thixo's eager peer is that
class with another module in it; here `compile` is a decorator of Thixo. Three kinds of cases decorate more than the suite does for
PyTorch, which cannot: a training step with its gradients and its optimizer, a loop over time, and a chain with its gradients.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from static_side import BUDGET


def decorators() -> dict[str, Callable[[Any], Any]]:
    """What may stand before a function, by name."""
    import thixo as tx

    def lazily(f: Any) -> Any:
        def recorded(*args: Any) -> Any:
            with tx.lazy():
                return f(*args)

        return recorded

    found: dict[str, Callable[[Any], Any]] = {"script": tx.jit.script, "lazy": lazily}
    if hasattr(tx, "compile"):
        found["compile"] = tx.compile
    return found


def compiled_peer(suite: Any, eager: type) -> type:
    """The class of the peer, made from that of eager code."""

    class Compiled(eager):  # type: ignore[misc]
        """thixo-compiled[-script|-lazy]"""

        def __init__(self, peer: str, threads: int) -> None:
            super().__init__(peer, threads)
            self.compiled = True  # the suite's caches then keep their sizes
            name = peer.removeprefix("thixo-compiled").strip("-") or "compile"
            known = decorators()
            if name not in known:
                raise suite.Skip(f"there is no decorator {name}")
            self.decorator = known[name]

        def compile(self, f: Any) -> Any:
            return self.decorator(f)

        def infer(self, fn: Any, params: dict[str, Any], inputs: Sequence[Any]) -> Any:
            """As the suite does, with weights that are constants, as in declared graphs and with frozen peers."""
            tx, given = self.t, [self.tensor(a) for a in inputs]
            module = self.module(fn, params, False)
            freezes = self.decorator is tx.compile and bool(params)
            model = tx.compile(module, freeze=True) if freezes else self.compile(module)

            def run() -> Any:
                with tx.no_grad():
                    return model(*given)

            return run, lambda o: float(o.double().sum())

        def train(self, kind: str, fn: Any, params: dict[str, Any], inputs: Sequence[Any]) -> Any:
            model, given = self.module(fn, params, True), [self.tensor(a) for a in inputs]
            kept, rate, o = list(model.parameters()), suite.LR.get(kind), self.t.optim
            if kind == "grad":

                def gradients(*inputs: Any) -> Any:
                    loss = model(*inputs)
                    loss.backward()
                    return loss.detach()

                budgeted = self.decorator is self.t.compile  # it is asked to take less memory
                compile = (
                    functools.partial(self.t.compile, budget=BUDGET) if budgeted else self.compile
                )
                quick = compile(gradients)

                def run() -> Any:
                    for p in kept:
                        p.grad = None
                    return quick(*given)

                return run, float
            if kind == "adam":
                optimizer = o.Adam(kept, rate)
            elif kind == "sgd":
                optimizer = o.SGD(kept, rate, momentum=0.9)
            else:
                optimizer = o.AdamW(kept, rate, weight_decay=suite.WD)

            @self.compile
            def step(*inputs: Any) -> Any:
                loss = model(*inputs)
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                optimizer.step()
                return loss.detach()

            return lambda: step(*given), float

        def lstm(self, params: dict[str, Any], xs: Any, unrolled: bool) -> Any:
            tx = self.t
            p = {n: self.tensor(a).requires_grad_() for n, a in params.items()}
            x = self.tensor(xs)

            @self.compile
            def step(x: Any) -> Any:
                for q in p.values():
                    q.grad = None
                h = c = tx.zeros(x.shape[1:])
                for row in x.unbind(0) if unrolled else x:
                    h, c = suite.lstm_cell(self, p, row, h, c)
                loss = self.mean_sq(h)
                loss.backward()
                return loss.detach(), p["wh"].grad

            return lambda: step(x), lambda o: float(o[0]) + float(o[1].norm())

        def op(self, case: str) -> Any:
            if case != "op_chain_backward":
                return super().op(case)
            tx = self.t
            arrays = [suite.normal(suite.rng(i), (16,)) for i in range(3)]
            x, w, b = (self.tensor(a).requires_grad_(i > 0) for i, a in enumerate(arrays))

            @self.compile
            def step(x: Any, w: Any, b: Any) -> Any:
                w.grad = b.grad = None
                tx.tanh(x * w + b).sum().backward()
                return w.grad

            def go(n: int) -> Any:
                for _ in range(n):
                    made = step(x, w, b)
                return made

            return go, lambda o: float(o.sum())

    return Compiled
