"""The models of the peers' suite as declared graphs: what `thixo-static` runs there.

The suite calls one method for each kind of case. Here each declares a graph, with the suite's own model code on symbolic
tensors, and gives back a bound program. Weights are constants where nothing is trained, variables where something is.
"""

from collections.abc import Sequence
from typing import Any

BUDGET = 0.2  # of the memory that gradients alone would need: the case that measures memory asks for less


def static_peer(suite: Any, eager: type) -> type:
    """The class of the peer, made from that of eager code."""
    import thixo as tx

    static = tx.static

    class Static(eager):  # type: ignore[misc]
        """thixo-static"""

        def __init__(self, peer: str, threads: int) -> None:
            super().__init__(peer, threads)
            self.compiled = True  # the suite's caches then keep their sizes
            name = peer.removeprefix("thixo-static").strip("-")
            self.options = {"executor": name} if name else {}

        def session(self, graph: Any, **more: Any) -> Any:
            return static.Session(graph, **self.options, **more)

        def place(self, array: Any, name: str) -> Any:
            """A placeholder for an array."""
            return static.placeholder(array.shape, getattr(tx, array.dtype.name), name)

        def places(self, arrays: Sequence[Any], names: str = "x") -> list[Any]:
            return [self.place(a, f"{names}{i}") for i, a in enumerate(arrays)]

        def weights(self, params: dict[str, Any], kept: bool) -> dict[str, Any]:
            """Parameters as the model takes them, as variables or as constants."""
            make = static.variable if kept else static.constant
            return {n: make(t, n) for n, t in params.items()}

        def ready(self, params: dict[str, Any]) -> dict[str, Any]:
            """Arrays as tensors, laid out as the model takes them."""
            return {n: self.param(n, a) for n, a in params.items()}

        def infer(self, fn: Any, params: dict[str, Any], inputs: Sequence[Any]) -> Any:
            params = self.ready(params)
            with static.Graph() as g:
                places = self.places(inputs)
                out = fn(self, self.weights(params, False), *places)
            call, given = self.session(g).bind(out, places), [self.tensor(a) for a in inputs]
            return lambda: call(*given), lambda o: float(o.double().sum())

        def train(self, kind: str, fn: Any, params: dict[str, Any], inputs: Sequence[Any]) -> Any:
            params = self.ready(params)
            with static.Graph() as g:
                places = self.places(inputs)
                p = self.weights(params, True)
                loss = fn(self, p, *places)
                kept = list(p.values())
                rate, decay, o = suite.LR.get(kind), suite.WD, tx.optim
                if kind == "grad":
                    more: Any = static.gradients(loss, kept)
                elif kind == "adam":
                    more = o.Adam(kept, rate).minimize(loss)
                elif kind == "sgd":
                    more = o.SGD(kept, rate, momentum=0.9).minimize(loss)
                else:
                    more = o.AdamW(kept, rate, weight_decay=decay).minimize(loss)
            call, given = (
                self.session(g, budget=BUDGET if kind == "grad" else None).bind(
                    [loss, more], places
                ),
                [self.tensor(a) for a in inputs],
            )
            return lambda: call(*given)[0], float

        def cache_put(self, c: Any, k: Any, pos: Any) -> Any:
            return tx.index_copy(c, 2, pos, k)

        def decode(self, params: dict[str, Any], kc: list[Any], vc: list[Any]) -> Any:
            params = self.ready(params)
            with static.Graph() as g:
                p = self.weights(params, False)
                tok = static.placeholder((1, 1), tx.int64, "token")
                pos = static.placeholder((1,), tx.int64, "position")
                keys, values = (
                    [static.variable(a, f"{n}{i}", trainable=False) for i, a in enumerate(part)]
                    for n, part in (("keys", kc), ("values", vc))
                )
                made, new_keys, new_values = suite.gpt_decode_step(
                    self, p, tok, pos, keys, values, **suite.GPT_M
                )
                pairs = zip((*keys, *values), (*new_keys, *new_values), strict=True)
                kept = static.group([static.assign(a, b) for a, b in pairs])
            step = self.session(g).bind([made, kept], [tok, pos])
            first = tx.tensor([[1]])
            places = [tx.tensor([i]) for i in range(suite.PROMPT, suite.PROMPT + suite.NEW)]

            def run() -> list[int]:
                token, out = first, []
                for place in places:
                    token, _ = step(token, place)
                    out.append(int(token))
                return out

            return run, sum

        def lstm(self, params: dict[str, Any], xs: Any, unrolled: bool) -> Any:
            params = self.ready(params)
            with static.Graph() as g:
                p = self.weights(params, True)
                x = self.place(xs, "x")
                start = (tx.zeros(xs.shape[1:]), tx.zeros(xs.shape[1:]))

                def cell(state: Any, row: Any) -> Any:
                    return suite.lstm_cell(self, p, row, *state), None

                if unrolled:
                    h, c = start
                    for row in x.unbind(0):
                        h, c = suite.lstm_cell(self, p, row, h, c)
                else:
                    (h, c), _ = static.scan(cell, start, x)
                loss = self.mean_sq(h)
                slopes = static.gradients(loss, list(p.values()))
            call, given = self.session(g).bind([loss, slopes], [x]), self.tensor(xs)
            at = list(p).index("wh")

            def run() -> Any:
                found, gradients = call(given)
                return found, gradients[at]

            return run, lambda o: float(o[0]) + float(o[1].norm())

        def newton(self, x0: Any, a: Any) -> Any:
            with static.Graph() as g:
                x, b = self.place(x0, "x"), self.place(a, "a")

                def far(x: Any, r: Any, n: Any) -> Any:
                    return tx.sqrt((r * r).sum()) > 1e-6

                def nearer(x: Any, r: Any, n: Any) -> Any:
                    x = x - 0.25 * r / (2.0 * x)
                    return x, x * x - b, n + 1

                root, _, turns = static.while_loop(
                    far, nearer, (x, x * x - b, tx.zeros((), dtype=tx.int64))
                )
            call = self.session(g).bind([root, turns], [x, b])
            given = self.tensor(x0), self.tensor(a)
            return (
                lambda: call(*given),
                lambda o: float(o[0].sum()),
                lambda o: {"iters": int(o[1])},
            )

        def branch(self, w1: Any, w2: Any, x: Any, b: Any) -> Any:
            arrays = (w1, w2, x, b)
            with static.Graph() as g:
                flag = static.placeholder((), tx.float32, "flag")
                a, c, y, d = places = self.places(arrays)
                out = tx.relu(static.cond(flag > 0, lambda: a @ y, lambda: c @ y) + d)
            call = self.session(g).bind(out, [flag, *places])
            given = [self.tensor(z) for z in arrays]
            flags = [tx.tensor(1.0), tx.tensor(-1.0)]
            return (
                lambda: [call(f, *given) for f in flags],
                lambda o: sum(float(z.double().sum()) for z in o),
            )

        def op(self, case: str) -> Any:
            arrays = [suite.normal(suite.rng(i), (16,)) for i in range(3)]
            if case != "op_chain_backward":
                raise suite.Skip("one operator is no graph")
            with static.Graph() as g:
                x, w, b = places = self.places(arrays)
                slopes = static.gradients(tx.tanh(x * w + b).sum(), [w, b])
            call, given = self.session(g).bind(slopes, places), [self.tensor(a) for a in arrays]

            def go(n: int) -> Any:
                for _ in range(n):
                    made = call(*given)
                return made[0]

            return go, lambda o: float(o.sum())

    return Static
