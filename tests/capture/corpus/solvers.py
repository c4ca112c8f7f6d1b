"""Numerical methods: roots, linear systems, eigenvalues, quadrature, differential equations, minima."""

import math

import thixo as tx
from tests.capture.corpus.registry import case, t


def _dominant(d, n):
    """A matrix whose diagonal dominates."""
    a = d.normal(n, n)
    return a + tx.eye(n, dtype=a.dtype) * 3 * n


@case(
    lambda d: (_dominant(d, 3), d.normal(3), 1e-8),
    lambda d: (_dominant(d, 3), d.normal(3), 1e-1),
    lambda d: (_dominant(d, 5), d.normal(5), 1e-8),
    grad=(0, 1),
)
def gauss_seidel(a, b, tolerance):
    n = len(b)
    x = [tx.zeros((), dtype=b.dtype)] * n
    for sweep in range(50):
        largest = 0.0
        for i in range(n):
            rest = sum(a[i, j] * x[j] for j in range(n) if j != i)
            new = (b[i] - rest) / a[i, i]
            change = abs(new.item() - x[i].item())
            largest = max(largest, change)
            x[i] = new
        if largest < tolerance:
            break
    else:
        raise RuntimeError("no convergence")
    return tx.stack(x), sweep


@case(
    lambda d: (_dominant(d, 4), d.normal(4), 1.1),
    lambda d: (_dominant(d, 4), d.normal(4), 0.4),
    check=lambda r, a, b, w: float((a @ r[0] - b).abs().max()) < 1e-5,
)
def successive_over_relaxation(a, b, w):
    x = tx.zeros_like(b)
    count = 0
    while (a @ x - b).norm() > 1e-6:
        for i in range(len(b)):
            x[i] = (1 - w) * x[i] + w * (b[i] - a[i] @ x + a[i, i] * x[i]) / a[i, i]
        count += 1
    return x, count


@case(
    lambda d: (d.uniform(3), d.uniform(4) + 4, d.uniform(3), d.normal(4)),
    lambda d: (d.uniform(1), d.uniform(2) + 4, d.uniform(1), d.normal(2)),
    lambda d: (d.uniform(6), d.uniform(7) + 4, d.uniform(6), d.normal(7)),
    grad=(0, 1, 2, 3),
)
def thomas(low, diagonal, up, right):
    """Three diagonals: down once, and up again."""
    c, r = [up[0] / diagonal[0]], [right[0] / diagonal[0]]
    for i in range(1, len(diagonal)):
        pivot = diagonal[i] - low[i - 1] * c[-1]
        if i < len(up):
            c.append(up[i] / pivot)
        r.append((right[i] - low[i - 1] * r[-1]) / pivot)
    x = [r.pop()]
    while r:
        x.insert(0, r.pop() - c[len(r)] * x[0])
    return tx.stack(x)


@case(
    lambda d: (t(0.0), t(2.0), 2.0),
    lambda d: (t(1.0), t(19.0), 20.0),
    lambda d: (t(2.0), t(0.0), 2.0),
    check=lambda r, a, b, c: abs(float(r[0]) ** 2 - c) < 1e-6,
)
def false_position(a, b, c):
    """The root of x^2 - c by the Illinois rule."""
    if a > b:
        a, b = b, a
    fa, fb = a * a - c, b * b - c
    side = 0
    for step in range(100):
        x = (a * fb - b * fa) / (fb - fa)
        fx = x * x - c
        if fx.abs() < 1e-9:
            break
        if fx * fb > 0:
            b, fb = x, fx
            if side == -1:
                fa = fa / 2
            side = -1
        elif fa * fx > 0:
            a, fa = x, fx
            if side == +1:
                fb = fb / 2
            side = +1
    return x, step


@case(
    lambda d: (t(1.0), 1.0, 1e-3),
    lambda d: (t(1.0), 1.0, 1e-7),
    lambda d: (t(1.0), -1.0, 1e-3),
    grad=(0,),
    detaches=True,
)
def embedded_runge_kutta(y, slope, tolerance):
    """y' = slope y cos(t) up to 1; the step follows the error of a pair of orders 2 and 3."""
    now, h = 0.0, 0.4
    accepted = rejected = 0
    while now < 1.0:
        h = min(h, 1.0 - now)
        k1 = slope * y * math.cos(now)
        k2 = slope * (y + h * k1 / 2) * math.cos(now + h / 2)
        k3 = slope * (y + 0.75 * h * k2) * math.cos(now + 0.75 * h)
        third = y + h * (2 * k1 + 3 * k2 + 4 * k3) / 9
        k4 = slope * third * math.cos(now + h)
        second = y + h * (7 * k1 / 24 + k2 / 4 + k3 / 3 + k4 / 8)
        error = (third - second).abs().item() + 1e-16
        if error <= tolerance:
            now += h
            y = third
            accepted += 1
        else:
            rejected += 1
        h *= min(2.0, max(0.2, 0.9 * (tolerance / error) ** (1 / 3)))
    return y, accepted, rejected


@case(
    lambda d: (t([1.0, 0.5]), 3, 0.1),
    lambda d: (t([1.0, 0.5]), 2, 1.5),
    grad=(0,),
)
def implicit_euler(y, steps, h):
    """y' = -y^3, each step solved by Newton's method."""
    for _ in range(steps):
        z = y
        for _ in range(30):
            residual = z - y + h * z**3
            if residual.abs().max() < 1e-12:
                break
            z = z - residual / (1 + 3 * h * z * z)
        y = z
    return y


@case(
    lambda d: (t([0.0, 2.0]), 1e-6),
    lambda d: (t([0.0, 2.0]), 1e-2),
    lambda d: (t([0.5, 0.9]), 1e-2),
    grad=(0,),
)
def romberg(bounds, tolerance):
    a, b = bounds
    rows = [[(b - a) / 2 * (tx.sin(a) + tx.sin(b))]]
    n = 1
    for level in range(1, 10):
        h = (b - a) / (2 * n)
        middle = sum(tx.sin(a + (2 * k + 1) * h) for k in range(n))
        row = [rows[-1][0] / 2 + h * middle]
        for j, old in enumerate(rows[-1]):
            row.append(row[j] + (row[j] - old) / (4 ** (j + 1) - 1))
        rows.append(row)
        n *= 2
        if (rows[-1][-1] - rows[-2][-1]).abs() < tolerance:
            return rows[-1][-1], level
    return rows[-1][-1], None


@case(
    lambda d: (t([[2.0, 1.0], [1.0, 3.0]]), 1.0),
    lambda d: (t([[5.0, 1.0, 0.0], [1.0, 1.0, 0.5], [0.0, 0.5, 3.0]]), 2.8),
    grad=(0,),
)
def inverse_iteration(a, shift):
    """The eigenvalue nearest to the shift."""
    n = a.size(0)
    m = tx.linalg.inv(a - shift * tx.eye(n, dtype=a.dtype))
    v = tx.ones(n, dtype=a.dtype) / math.sqrt(n)
    value = v @ a @ v
    while True:
        v = m @ v
        v = v / v.norm()
        old, value = value, v @ a @ v
        if abs(value - old) < 1e-12:
            return value


@case(
    lambda d: (t([[2.0, 1.0], [1.0, 3.0]]),),
    lambda d: (t([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 1.0]]),),
    lambda d: (t([[2.0, 0.0], [0.0, 1.0]]),),
)
def jacobi_rotations(a):
    """Eigenvalues of a symmetric matrix; rotates until nothing is left beside the diagonal."""
    a = a.clone()
    n = len(a)
    rotations = 0
    while (off := a - tx.diag(a.diagonal())).abs().max() > 1e-10:
        p, q = divmod(int(off.abs().argmax()), n)
        angle = 0.5 * tx.atan2(2 * a[p, q], a[q, q] - a[p, p])
        r = tx.eye(n, dtype=a.dtype)
        r[p, p] = r[q, q] = angle.cos()
        r[p, q], r[q, p] = angle.sin(), -angle.sin()
        a = r.T @ a @ r
        rotations += 1
    return a.diagonal().sort().values, rotations


@case(
    lambda d: (t([1.2, 1.0]), 1.0),
    lambda d: (t([-1.2, 2.0]), 1e-3),
    lambda d: (t([1.0, 1.0]), 1.0),
)
def levenberg_marquardt(x, damping):
    """The minimum of Rosenbrock's valley as a least-squares problem."""

    def residuals(p):
        return tx.stack([10 * (p[1] - p[0] ** 2), 1 - p[0]])

    r = residuals(x)
    accepted = 0
    for _ in range(200):
        if r @ r < 1e-16:
            break
        jacobian = tx.stack([tx.stack([-20 * x[0], t(10.0)]), t([-1.0, 0.0])])
        normal = jacobian.T @ jacobian + damping * tx.eye(2, dtype=x.dtype)
        step = tx.linalg.solve(normal, -(jacobian.T @ r))
        new = residuals(x + step)
        if new @ new < r @ r:
            x, r = x + step, new
            damping = damping / 3
            accepted += 1
            continue
        damping = damping * 2
    return x, accepted


@case(
    lambda d: (t([0.0, 0.0]), d.normal(12, 2), d.uniform(12), 1.0),
    lambda d: (t([0.0, 0.0]), d.normal(12, 2), d.uniform(12), 1e-3),
    lambda d: (t([3.0, 1.0]), d.normal(20, 2), d.uniform(20), 1.0),
)
def simulated_annealing(x, moves, chances, heat):
    """All random numbers are given."""

    def energy(p):
        return (p**2).sum() - 2 * tx.cos(4 * p).sum()

    best, lowest = x, energy(x)
    now = lowest
    for move, chance in zip(moves, chances):
        candidate = x + 0.5 * move
        e = energy(candidate)
        if e < now or chance < ((now - e) / heat).exp():
            x, now = candidate, e
            if now < lowest:
                best, lowest = x, now
        heat *= 0.9
    return best, lowest


@case(
    lambda d: (t([[0.0, 0.0], [1.2, 0.0], [0.0, 0.8]]), 10),
    lambda d: (t([[5.0, 5.0], [6.0, 5.0], [5.0, 7.0]]), 25),
    lambda d: (t([[0.5, 0.3], [0.6, 0.3], [0.5, 0.4]]), 5),
)
def nelder_mead(simplex, limit):
    def f(p):
        return (p[0] - 1) ** 2 + 3 * (p[1] - 0.5) ** 2

    points = [(f(p), p) for p in simplex]
    for _ in range(limit):
        points.sort(key=lambda pair: pair[0].item())
        (low, _), *_, (second, _), (high, worst) = points
        centre = (points[0][1] + points[1][1]) / 2
        mirrored = 2 * centre - worst
        value = f(mirrored)
        if low <= value < second:
            points[-1] = value, mirrored
        elif value < low:
            far = 3 * centre - 2 * worst
            points[-1] = (f(far), far) if f(far) < value else (value, mirrored)
        else:
            near = (centre + worst) / 2
            if f(near) < high:
                points[-1] = f(near), near
            else:
                best = points[0][1]
                points = [(f((p + best) / 2), (p + best) / 2) for _, p in points]
    return min(v for v, _ in points)


@case(
    lambda d: (t([1.0, 0.5, 0.7, 0.6, 0.64]),),
    lambda d: (t([1.0, 1.0, 1.0]),),
    lambda d: (t([2.0, 1.0, 1.5, 1.2, 1.4, 1.3]),),
    grad=(0,),
)
def aitken(x):
    better = []
    for a, b, c in zip(x, x[1:], x[2:]):
        bend = c - 2 * b + a
        if bend.abs() < 1e-4:
            better.append(c)
            continue
        better.append(a - (b - a) ** 2 / bend)
    return tx.stack(better)
