"""Linear algebra by loops."""

import numpy as np

import thixo as tx
from tests.capture.corpus.registry import case, t


def _spd(d, n):
    a = d.normal(n, n)
    return a @ a.T + n * tx.eye(n, dtype=tx.float64)


def _same(a, b):
    return np.allclose(a.detach().numpy(), b.detach().numpy(), atol=1e-7)


@case(
    lambda d: (t([[2.0, 1.0], [1.0, 3.0]]),),
    lambda d: (t([[5.0, 0.1], [0.1, 1.0]]),),
    answers=[3.61803398875, 5.00249843945],
    grad=(0,),
)
def power_iteration(a):
    v = tx.ones(a.shape[0], dtype=a.dtype)
    value = a.new_tensor(0.0)
    for _ in range(200):
        w = a @ v
        v = w / w.norm()
        new = v @ a @ v
        if (new - value).abs() < 1e-13:
            break
        value = new
    return new


@case(
    lambda d: (_spd(d, 4), d.normal(4)),
    lambda d: (_spd(d, 2), d.normal(2)),
    check=lambda x, a, b: _same(a @ x, b),
)
def conjugate_gradient(a, b):
    x = tx.zeros_like(b)
    r = b - a @ x
    p = r
    rs = r @ r
    for _ in range(10 * len(b)):
        ap = a @ p
        alpha = rs / (p @ ap)
        x = x + alpha * p
        r = r - alpha * ap
        rs_new = r @ r
        if rs_new.sqrt() < 1e-10:
            break
        p = r + (rs_new / rs) * p
        rs = rs_new
    return x


@case(
    lambda d: (d.normal(3, 3),),
    lambda d: (t([[1.0, 0.0, 2.0], [2.0, 0.0, 4.0], [0.0, 1.0, 1.0]]),),
    check=lambda q, a: _same(q @ q.T, tx.eye(len(q), dtype=tx.float64)),
)
def gram_schmidt(rows):
    basis = []
    for v in rows:
        for b in basis:
            v = v - (v @ b) * b
        length = v.norm()
        if length < 1e-10:
            continue
        basis.append(v / length)
    return tx.stack(basis)


@case(
    lambda d: (d.normal(4, 3),),
    lambda d: (d.normal(2, 2),),
    check=lambda r, a: (
        _same(r[0] @ r[1], a) and _same(r[0] @ r[0].T, tx.eye(a.shape[0], dtype=tx.float64))
    ),
    grad=(0,),
)
def householder_qr(a):
    m, n = a.shape
    q = tx.eye(m, dtype=a.dtype)
    r = a
    for k in range(min(m - 1, n)):
        x = r[k:, k]
        sign = 1.0 if x[0] >= 0 else -1.0
        v = x.clone()
        v[0] = v[0] + sign * x.norm()
        v = v / v.norm()
        h = tx.eye(m, dtype=a.dtype)
        h[k:, k:] -= 2 * tx.outer(v, v)
        r = h @ r
        q = q @ h
    return q, r


@case(lambda d: (_spd(d, 3),), lambda d: (_spd(d, 4),), check=lambda l, a: _same(l @ l.T, a))
def cholesky_by_loops(a):
    n = a.shape[0]
    L = tx.zeros_like(a)
    for i in range(n):
        for j in range(i + 1):
            s = a[i, j] - (L[i, :j] * L[j, :j]).sum()
            if i == j:
                L[i, j] = s.sqrt()
            else:
                L[i, j] = s / L[j, j]
    return L


@case(
    lambda d: (t([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0], [6.0, 7.0, 9.0]]),),
    lambda d: (t([[4.0, 1.0], [2.0, 3.0]]),),
    check=lambda r, a: _same(r[0] @ r[1], a[r[2]]),
)
def lu_with_pivoting(a):
    n = len(a)
    u = a.clone()
    lower = tx.eye(n, dtype=a.dtype)
    order = list(range(n))
    for k in range(n):
        pivot = k + int(u[k:, k].abs().argmax())
        if pivot != k:
            u[[k, pivot]] = u[[pivot, k]]
            lower[[k, pivot], :k] = lower[[pivot, k], :k]
            order[k], order[pivot] = order[pivot], order[k]
        for i in range(k + 1, n):
            factor = u[i, k] / u[k, k]
            lower[i, k] = factor
            u[i] = u[i] - factor * u[k]
    return lower, u, order


@case(
    lambda d: (t([[2.0, 1.0], [1.0, 3.0]]), t([1.0, 2.0])),
    lambda d: (t([[0.0, 1.0, 0.5], [2.0, 0.0, 1.0], [0.0, 0.3, 1.0]]), t([1.0, 2.0, 3.0])),
    grad=(0, 1),
    check=lambda x, a, b: _same(a @ x, b),
)
def gauss_elimination(a, b):
    rows = [tx.cat([row, v.reshape(1)]) for row, v in zip(a, b)]
    n = len(rows)
    for k in range(n):
        if rows[k][k].abs() < 1e-3:
            for other in range(k + 1, n):
                if rows[other][k].abs() > 1e-3:
                    rows[k], rows[other] = rows[other], rows[k]
                    break
            else:
                raise ZeroDivisionError("singular")
        rows[k] = rows[k] / rows[k][k]
        for i in range(n):
            if i != k:
                rows[i] = rows[i] - rows[i][k] * rows[k]
    return tx.stack([row[-1] for row in rows])


@case(
    lambda d: (t([[4.0, 1.0], [2.0, 5.0]]), t([1.0, 2.0]), 1e-12),
    lambda d: (t([[4.0, 1.0], [2.0, 5.0]]), t([1.0, 2.0]), 0.017),
    grad=(0, 1),
    check=lambda x, a, b, tol: float((a @ x - b).abs().max()) < 10 * tol,
)
def jacobi_iteration(a, b, tol):
    diagonal = a.diagonal()
    rest = a - tx.diag(diagonal)
    x = tx.zeros_like(b)
    converged = False
    while not converged:
        new = (b - rest @ x) / diagonal
        converged = (new - x).abs().max() < tol
        x = new
    return x


@case(
    lambda d: (t([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), 0.85),
    lambda d: (t([[0.0, 1.0], [0.0, 0.0]]), 0.5),
    check=lambda r, links, damping: abs(float(r.sum()) - 1) < 1e-9,
)
def pagerank(links, damping):
    n = links.shape[0]
    out = links.sum(1)
    transition = tx.empty_like(links)
    for i in range(n):
        if out[i] == 0:  # a page without links leads anywhere
            transition[i] = 1.0 / n
        else:
            transition[i] = links[i] / out[i]
    rank = tx.full((n,), 1.0 / n, dtype=links.dtype)
    change = 1.0
    while change > 1e-10:
        new = (1 - damping) / n + damping * (rank @ transition)
        change = float((new - rank).abs().sum())
        rank = new
    return rank


@case(
    lambda d: (d.normal(3, 3), 0.5),
    lambda d: (d.normal(3, 3), 2.0),
    grad=(0,),
    check=lambda p, cost, reg: _same(p.sum(0), tx.full((3,), 1 / 3, dtype=tx.float64)),
)
def sinkhorn(cost, reg):
    n, m = cost.shape
    k = tx.exp(-cost / reg)
    u = tx.full((n,), 1.0 / n, dtype=cost.dtype)
    for i in range(60):
        v = (1.0 / m) / (k.T @ u)
        old, u = u, (1.0 / n) / (k @ v)
        if i > 2 and ((u - old).abs() / u).max() < 1e-12:
            break
    return u[:, None] * k * v


@case(
    lambda d: (t([[0.0, 3.0, 10.0], [3.0, 0.0, 4.0], [10.0, 4.0, 0.0]]),),
    lambda d: (t([[0.0, 1.0], [2.0, 0.0]]),),
    answers=[[[0, 3, 7], [3, 0, 4], [7, 4, 0]], [[0, 1], [2, 0]]],
    grad=(0,),
)
def floyd_warshall(d):
    n = d.size(0)
    for k in range(n):
        through = d[:, k : k + 1] + d[k : k + 1, :]
        d = tx.minimum(d, through)
    return d


@case(
    lambda d: (
        t(
            [
                [0.0, 4.0, 1.0, 99.0],
                [4.0, 0.0, 2.0, 5.0],
                [1.0, 2.0, 0.0, 8.0],
                [99.0, 5.0, 8.0, 0.0],
            ]
        ),
        0,
    ),
    lambda d: (t([[0.0, 1.0], [1.0, 0.0]]), 1),
    answers=[[0, 3, 1, 8], [1, 0]],
    grad=(0,),
)
def dijkstra(weights, start):
    n = weights.shape[0]
    distance = tx.full((n,), float("inf"), dtype=weights.dtype)
    distance[start] = 0.0
    done = tx.zeros(n, dtype=tx.bool)
    for _ in range(n):
        u = int(tx.where(done, float("inf"), distance).argmin())
        done[u] = True
        for v in range(n):
            if not done[v] and distance[u] + weights[u, v] < distance[v]:
                distance[v] = distance[u] + weights[u, v]
    return distance


@case(
    lambda d: (t([[1.0, 2.0], [3.0, 4.0]]),),
    lambda d: (t([[2.0, 0.0, 1.0], [1.0, 3.0, 2.0], [1.0, 1.0, 1.0]]),),
    answers=[-2.0, 0.0],
    grad=(0,),
)
def determinant_by_minors(m):
    n = m.shape[0]
    if n == 1:
        return m[0, 0]
    if n == 2:
        return m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0]
    total = 0
    for j in range(n):
        minor = tx.cat([m[1:, :j], m[1:, j + 1 :]], dim=1)
        total = total + (-1) ** j * m[0, j] * determinant_by_minors(minor)
    return total


@case(
    lambda d: (t([[2.0, 1.0], [1.0, 3.0]]), 5),
    lambda d: (t([[2.0, 1.0], [1.0, 3.0]]), 0),
    lambda d: (t([[1.0, 1.0], [1.0, 0.0]]), 10),
    answers=[None, [[1, 0], [0, 1]], [[89, 55], [55, 34]]],
    grad=(),
)
def matrix_power(a, n):
    result = tx.eye(len(a), dtype=a.dtype)
    while n:
        if n & 1:
            result = result @ a
        a = a @ a
        n >>= 1
    return result
