"""Operators that move, sort and scan data, against PyTorch in the same process: python -m bench.moves

Every case is written once, for either module; results are compared before they are timed.
"""

import argparse
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bench.measure import Ratio, compare

Maker = Callable[[Any], Callable[[], Any]]
Case = tuple[str, Maker]


def _floats(*shape: int, seed: int = 0, dtype: str = "float32") -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def _ints(high: int, *shape: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, high, shape)


def _call(build: Callable[..., Callable[[], Any]], *arrays: Any) -> Maker:
    """build(module, tensors...) gives the call that is timed."""

    def make(module: Any) -> Callable[[], Any]:
        def tensor(a: Any) -> Any:
            if isinstance(a, list):
                return [tensor(one) for one in a]
            return module.tensor(a) if isinstance(a, np.ndarray) else a

        return build(module, *(tensor(a) for a in arrays))

    return make


def _with_gradient(forward: Callable[..., Any]) -> Callable[..., Callable[[], Any]]:
    """Forward and backward of forward(module, x, rest...), with a gradient of ones."""

    def build(module: Any, x: Any, *rest: Any) -> Callable[[], Any]:
        x.requires_grad_()
        g = module.ones_like(forward(module, x, *rest).detach())

        def step() -> Any:
            x.grad = None
            forward(module, x, *rest).backward(g)
            return x.grad

        return step

    return build


def _plain(forward: Callable[..., Any]) -> Callable[..., Callable[[], Any]]:
    return lambda module, *given: lambda: forward(module, *given)


def large() -> Iterator[Case]:
    """Arrays of some megabytes."""
    big, tall = _floats(2048, 1024), _floats(50_000, 64, seed=2)
    yield "cat 4x[1024,1024] dim 0", _call(_plain(lambda m, x: m.cat(x)), [_floats(1024, 1024)] * 4)
    yield (
        "cat 4x[1024,512] dim 1",
        _call(_plain(lambda m, x: m.cat(x, 1)), [_floats(1024, 512)] * 4),
    )
    yield (
        "cat 3x[997,331] dim 1, transposed",
        _call(_plain(lambda m, x: m.cat([t.t() for t in x], 1)), [_floats(331, 997)] * 3),
    )
    yield "stack 64x[64,64]", _call(_plain(lambda m, x: m.stack(x)), [_floats(64, 64)] * 64)
    yield (
        "stack 8x[512,128] dim -1",
        _call(_plain(lambda m, x: m.stack(x, -1)), [_floats(512, 128)] * 8),
    )
    rows = _ints(50_000, 4096)
    yield (
        "index_select rows [50000,64], 4096",
        _call(_plain(lambda m, x, i: x.index_select(0, i)), tall, rows),
    )
    yield (
        "index_select rows transposed",
        _call(_plain(lambda m, x, i: x.t().index_select(1, i)), tall, rows),
    )
    yield (
        "index_select columns [2048,1024], 512",
        _call(_plain(lambda m, x, i: x.index_select(1, i)), big, _ints(1024, 512)),
    )
    embed = lambda m, w, i: m.nn.functional.embedding(i, w)  # noqa: E731
    yield (
        "embedding [32000,512], 16x256",
        _call(_plain(embed), _floats(32_000, 512), _ints(32_000, 16, 256)),
    )
    yield (
        "embedding backward [8000,512], 16x256",
        _call(_with_gradient(embed), _floats(8000, 512), _ints(8000, 16, 256)),
    )
    yield "embedding backward [50000,64], 4096", _call(_with_gradient(embed), tall, rows)
    yield (
        "embedding backward [997,31], 50000",
        _call(_with_gradient(embed), _floats(997, 31), _ints(997, 50_000)),
    )
    take = lambda m, x, i: x.gather(1, i)  # noqa: E731
    yield "gather dim 1 [2048,1024]", _call(_plain(take), big, _ints(1024, 2048, 1024))
    yield (
        "gather dim 0 [2048,1024]",
        _call(_plain(lambda m, x, i: x.gather(0, i)), big, _ints(2048, 2048, 1024)),
    )
    yield "gather backward dim 1", _call(_with_gradient(take), big, _ints(1024, 2048, 1024))
    yield (
        "scatter_add dim 0 [2048,1024]",
        _call(_plain(lambda m, x, i, s: x.scatter_add(0, i, s)), big, _ints(2048, 2048, 1024), big),
    )
    yield (
        "scatter_add 1-d, 1M into 1000",
        _call(
            _plain(lambda m, x, i, s: x.scatter_add(0, i, s)),
            _floats(1000),
            _ints(1000, 1_000_000),
            _floats(1_000_000),
        ),
    )
    yield "scatter dim 1 [2048,1024]", _call(
        _plain(lambda m, x, i, s: x.scatter(1, i, s)),
        big, np.argsort(_floats(2048, 1024, seed=5), 1), big,
    )  # fmt: skip
    yield (
        "index_add [50000,64]",
        _call(_plain(lambda m, x, i, s: x.index_add(0, i, s)), tall, rows, tall[:4096]),
    )
    yield (
        "index_copy [50000,64]",
        _call(
            _plain(lambda m, x, i, s: x.index_copy(0, i, s)),
            tall,
            np.random.default_rng(0).permutation(50_000)[:4096],
            tall[:4096],
        ),
    )
    yield (
        "index_fill [50000,64]",
        _call(_plain(lambda m, x, i: x.index_fill(0, i, 1.0)), tall, rows),
    )
    yield "x[idx] rows", _call(_plain(lambda m, x, i: x[i]), tall, rows)
    yield "x[idx] rows, backward", _call(_with_gradient(lambda m, x, i: x[i]), tall, rows)
    yield (
        "x[i, j] 1M",
        _call(
            _plain(lambda m, x, i, j: x[i, j]),
            big,
            _ints(2048, 1_000_000),
            _ints(1024, 1_000_000, seed=3),
        ),
    )
    yield (
        "x[i, j] 100k, backward",
        _call(
            _with_gradient(lambda m, x, i, j: x[i, j]),
            big,
            _ints(2048, 100_000),
            _ints(1024, 100_000, seed=3),
        ),
    )
    yield "x[:, idx]", _call(_plain(lambda m, x, i: x[:, i]), big, _ints(1024, 512))
    mask = _floats(2048, 1024, seed=7) > 0
    yield "x[mask]", _call(_plain(lambda m, x, k: x[k]), big, mask)
    yield "masked_select", _call(_plain(lambda m, x, k: m.masked_select(x, k)), big, mask)
    yield "nonzero", _call(_plain(lambda m, k: k.nonzero()), mask)
    yield "take 1M", _call(_plain(lambda m, x, i: m.take(x, i)), big, _ints(2048 * 1024, 1_000_000))
    yield (
        "take_along_dim",
        _call(_plain(lambda m, x, i: m.take_along_dim(x, i, 1)), big, _ints(1024, 2048, 1024)),
    )
    line = _floats(1_000_003)
    yield "cumsum 1-d 1000003", _call(_plain(lambda m, x: x.cumsum(0)), line)
    yield "cumsum 1-d float64", _call(_plain(lambda m, x: x.cumsum(0)), line.astype("float64"))
    yield "cumsum dim 1 [2048,1024]", _call(_plain(lambda m, x: x.cumsum(1)), big)
    yield "cumsum dim 0 [2048,1024]", _call(_plain(lambda m, x: x.cumsum(0)), big)
    yield "cumsum int64 dim 1", _call(_plain(lambda m, x: x.cumsum(1)), _ints(100, 2048, 1024))
    yield "cumsum dim 1, transposed", _call(_plain(lambda m, x: x.t().cumsum(1)), big)
    yield "cumsum backward dim 1", _call(_with_gradient(lambda m, x: x.cumsum(1)), big)
    yield "cumprod dim 1", _call(_plain(lambda m, x: x.cumprod(1)), big)
    yield "cummax dim 1", _call(_plain(lambda m, x: x.cummax(1)[0]), big)
    yield (
        "logcumsumexp dim 1 [512,512]",
        _call(_plain(lambda m, x: m.logcumsumexp(x, 1)), _floats(512, 512)),
    )
    yield "sort 1-d 1M", _call(_plain(lambda m, x: x.sort()), line)
    yield "sort dim 1 [2048,1024]", _call(_plain(lambda m, x: x.sort(1)), big)
    yield "sort dim 0 [2048,1024]", _call(_plain(lambda m, x: x.sort(0)), big)
    yield "sort dim 1 [20000,50]", _call(_plain(lambda m, x: x.sort(1)), _floats(20_000, 50))
    yield (
        "sort int64 1-d 1M",
        _call(_plain(lambda m, x: x.sort(stable=True)), _ints(1 << 40, 1_000_000)),
    )
    yield (
        "sort float64 1-d 300k",
        _call(_plain(lambda m, x: x.sort()), _floats(300_000, dtype="float64")),
    )
    yield "argsort dim 1", _call(_plain(lambda m, x: x.argsort(1)), big)
    yield "sort backward dim 1", _call(_with_gradient(lambda m, x: x.sort(1)[0]), big)
    yield "topk 10 [2048,1024]", _call(_plain(lambda m, x: x.topk(10)), big)
    yield "topk 50 [64,32000]", _call(_plain(lambda m, x: x.topk(50)), _floats(64, 32_000))
    yield "topk 500 [64,1000]", _call(_plain(lambda m, x: x.topk(500)), _floats(64, 1000))
    yield "kthvalue [2048,1024]", _call(_plain(lambda m, x: x.kthvalue(500)[0]), big)
    yield "median 1M", _call(_plain(lambda m, x: x.median()), line)
    yield "unique 1M of 1000", _call(_plain(lambda m, x: m.unique(x)), _ints(1000, 1_000_000))
    yield (
        "searchsorted 1M in 1000",
        _call(_plain(lambda m, s, x: m.searchsorted(s, x)), np.sort(_floats(1000)), line),
    )
    yield (
        "bucketize 1M in 10",
        _call(_plain(lambda m, s, x: m.bucketize(x, s)), np.sort(_floats(10)), line),
    )
    yield "bincount 1M", _call(_plain(lambda m, x: m.bincount(x)), _ints(1000, 1_000_000))
    yield (
        "one_hot 4096 of 1000",
        _call(_plain(lambda m, x: m.nn.functional.one_hot(x, 1000)), _ints(1000, 4096)),
    )
    yield "flip dim 1", _call(_plain(lambda m, x: x.flip(1)), big)
    yield "flip dim 0", _call(_plain(lambda m, x: x.flip(0)), big)
    yield "roll dim 1", _call(_plain(lambda m, x: x.roll(7, 1)), big)
    yield "repeat 4x2", _call(_plain(lambda m, x: x.repeat(4, 2)), _floats(512, 512))
    yield (
        "repeat_interleave 3",
        _call(_plain(lambda m, x: x.repeat_interleave(3, 0)), _floats(1024, 512)),
    )
    yield "tril", _call(_plain(lambda m, x: x.tril()), big)
    yield "triu", _call(_plain(lambda m, x: x.triu(3)), big)
    yield (
        "pad [64,64,28,28] by 2",
        _call(_plain(lambda m, x: m.nn.functional.pad(x, (2, 2, 2, 2))), _floats(64, 64, 28, 28)),
    )
    yield "transpose copy [2048,1024]", _call(_plain(lambda m, x: x.t().contiguous()), big)
    yield (
        "permute copy [64,64,28,28] nhwc",
        _call(_plain(lambda m, x: x.permute(0, 2, 3, 1).contiguous()), _floats(64, 64, 28, 28)),
    )
    yield (
        "permute copy [16,128,8,64] heads",
        _call(_plain(lambda m, x: x.permute(0, 2, 1, 3).contiguous()), _floats(16, 128, 8, 64)),
    )


def drawn(seed: int) -> Iterator[Case]:
    """Shapes of a seed: primes and ragged tails included."""
    rng = np.random.default_rng(seed)
    for i in range(5):
        n, m, k = (int(rng.choice([61, 127, 251, 509, 1021, 777, 1500])) for _ in range(3))
        x = _floats(n, m, seed=i)
        yield f"drawn: sort [{n},{m}]", _call(_plain(lambda mod, x: x.sort(1)), x)
        yield (
            f"drawn: cumsum transposed [{n},{m}]",
            _call(_plain(lambda mod, x: x.t().cumsum(1)), x),
        )
        yield (
            f"drawn: index_select [{n},{m}] by {k}",
            _call(_plain(lambda mod, x, j: x.index_select(1, j)), x, _ints(m, k, seed=i)),
        )
        yield (
            f"drawn: embedding backward [{n},{m}] by {4 * k}",
            _call(
                _with_gradient(lambda mod, w, j: mod.nn.functional.embedding(j, w)),
                x,
                _ints(n, 4 * k, seed=i),
            ),
        )
        yield (
            f"drawn: cat [{n},{m}] + [{n},{k}]",
            _call(_plain(lambda mod, t: mod.cat(t, 1)), [x, _floats(n, k, seed=i)]),
        )


def small() -> Iterator[Case]:
    """The overhead of a call."""
    x, i = _floats(16, 8), np.array([3, 1, 7, 2])
    yield "small: x[1]", _call(_plain(lambda m, x: x[1]), x)
    yield "small: x[1:3]", _call(_plain(lambda m, x: x[1:3]), x)
    yield "small: x[idx]", _call(_plain(lambda m, x, i: x[i]), x, i)
    yield "small: x[:, idx]", _call(_plain(lambda m, x, i: x[:, i]), x, i)
    yield "small: x[mask]", _call(_plain(lambda m, x, k: x[k]), x, x > 0)
    yield "small: index_select", _call(_plain(lambda m, x, i: m.index_select(x, 0, i)), x, i)
    yield "small: gather", _call(_plain(lambda m, x, i: m.gather(x, 1, i)), x, _ints(8, 16, 4))
    yield "small: embedding", _call(_plain(lambda m, x, i: m.nn.functional.embedding(i, x)), x, i)
    yield "small: cat 2", _call(_plain(lambda m, t: m.cat(t)), [x, x])
    yield "small: cat 64", _call(_plain(lambda m, t: m.cat(t)), [x] * 64)
    yield "small: stack 4", _call(_plain(lambda m, t: m.stack(t)), [x] * 4)
    yield "small: cumsum", _call(_plain(lambda m, x: x.cumsum(0)), x)
    yield "small: sort", _call(_plain(lambda m, x: x.sort()), x)
    yield "small: topk", _call(_plain(lambda m, x: x.topk(2)), x)
    yield "small: flip", _call(_plain(lambda m, x: x.flip(0)), x)
    yield "small: tril", _call(_plain(lambda m, x: x.tril()), x)
    yield "small: pad", _call(_plain(lambda m, x: m.nn.functional.pad(x, (1, 1))), x)
    yield "small: one_hot", _call(_plain(lambda m, i: m.nn.functional.one_hot(i, 9)), i)
    yield "small: x[idx] = v", _call(_plain(lambda m, x, i, v: x.__setitem__(i, v)), x, i, x[:4])
    yield "small: index_add", _call(_plain(lambda m, x, i, v: x.index_add(0, i, v)), x, i, x[:4])
    yield (
        "small: scatter_add",
        _call(_plain(lambda m, x, i, v: x.scatter_add(1, i, v)), x, _ints(8, 16, 4), x),
    )


def _arrays(value: Any) -> list[np.ndarray]:
    if isinstance(value, tuple):
        return [a for v in value for a in _arrays(v)]
    return [] if value is None else [np.asarray(value.detach())]


def check(name: str, ours: Any, peer: Any) -> None:
    """Values must agree; the order of equal elements and of unsorted ones may not."""
    for a, b in zip(_arrays(ours), _arrays(peer), strict=True):
        close = np.allclose(a, b, rtol=1e-3, atol=1e-3, equal_nan=True)
        if not close and not (
            np.issubdtype(a.dtype, np.integer) and ("sort" in name or "topk" in name)
        ):
            raise AssertionError(f"{name}: results differ by {np.max(np.abs(a - b))}")


def run(threads: int, rounds: int, only: str, seed: int) -> list[Ratio]:
    """All cases with so many threads on both sides."""
    import torch

    import thixo as tx

    torch.set_num_threads(threads)
    tx.set_num_threads(threads)
    found = []
    for name, make in [*large(), *drawn(seed), *small()]:
        if only not in name:
            continue
        ours, peer = make(tx), make(torch)
        check(name, ours(), peer())
        found.append(compare(name, ours, peer, target=0.95, rounds=rounds, seconds=0.004))
        r = found[-1]
        mark = "" if r.median >= 0.95 else "  <--"
        print(
            f"{r.median:7.2f} ({r.lower:5.2f}-{r.upper:6.2f})  {r.ours_us:10.1f} us "
            f"{r.peer_us:10.1f} us  {name}{mark}",
            flush=True,
        )
    return found


def main() -> int:
    """Print the ratios; exit 1 where a case is below 0.95 or the geometric mean below 1.5."""
    parser = argparse.ArgumentParser(prog="python -m bench.moves", description=__doc__)
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--only", default="", help="cases with this in their name")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    good = True
    print(f"seed {options.seed}")
    for threads in options.threads:
        print(f"---- {threads} threads: times faster than torch eager (quartiles), ours, torch")
        rows = run(threads, options.rounds, options.only, options.seed)
        mean = math.exp(sum(math.log(r.median) for r in rows) / len(rows))
        worst = min(rows, key=lambda r: r.median)
        print(f"geometric mean {mean:.2f}, worst {worst.median:.2f} ({worst.case})")
        good = good and mean >= 1.5 and worst.median >= 0.95
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
