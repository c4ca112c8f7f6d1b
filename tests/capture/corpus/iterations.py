"""Numerical iterations that stop by their own criterion: roots, minima, differential equations, integrals."""

import math

import thixo as tx
from tests.capture.corpus.registry import case, t


@case(
    lambda d: (t(2.0),),
    lambda d: (t(9.0),),
    lambda d: (t(1e-2),),
    grad=(0,),
    answers=[math.sqrt(2), 3, 0.1],
)
def newton_square_root(a):
    x = a
    while (x * x - a).abs() > 1e-12:
        x = (x + a / x) / 2
    return x


def _f(x):
    return x**3 - 2 * x - 5


@case(lambda d: (t(2.0), t(3.0)), lambda d: (t(0.0), t(4.0)), answers=[2.0945514815, 2.0945514815])
def bisection(low, high):
    if _f(low) * _f(high) > 0:
        raise ValueError("no change of sign")
    while high - low > 1e-10:
        middle = (low + high) / 2
        if _f(low) * _f(middle) <= 0:
            high = middle
        else:
            low = middle
    return (low + high) / 2


@case(
    lambda d: (lambda x: x * x - 612, t(10.0), t(30.0)),
    lambda d: (lambda x: x.cos() - x, t(0.0), t(1.0)),
    answers=[(24.738633753705, True), (0.739085133215, True)],
)
def secant(f, x0, x1, tolerance=1e-10, limit=50):
    for _ in range(limit):
        slope = (f(x1) - f(x0)) / (x1 - x0)
        x0, x1 = x1, x1 - f(x1) / slope
        if (x1 - x0).abs() < tolerance:
            return x1, True
    return x1, False


@case(
    lambda d: (t([1.5, -1.0]), 0.2),
    lambda d: (t([0.5, 0.4]), 0.3),
    check=lambda r, x, rate: float(r[0]) < 1e-4,
)
def gradient_descent_by_autograd(x, rate):
    def loss_of(p):
        return (p[0] - 1) ** 2 + 2 * (p[1] - p[0] ** 2 * 0.5) ** 2

    steps = 0
    while True:
        p = x.detach().requires_grad_()
        loss = loss_of(p)
        (g,) = tx.autograd.grad(loss, p)
        if g.norm() < 1e-3 or steps >= 200:
            break
        x = x - rate * 0.5 * g
        steps += 1
    return loss.detach(), x, steps


@case(lambda d: (t([2.0, 1.0]),), lambda d: (t([-1.0, 0.5]),), lambda d: (t([0.0, 0.0]),), grad=())
def backtracking_line_search(x):
    def value(v):
        return (v**4).sum() + (v**2).sum()

    gradient = 4 * x**3 + 2 * x
    if gradient.abs().sum() == 0:
        return x, 0.0
    step = 1.0
    while value(x - step * gradient) > value(x) - 0.5 * step * (gradient * gradient).sum():
        step *= 0.5
    return x - step * gradient, step


@case(
    lambda d: (t(0.5), 1e-6),
    lambda d: (t(3.0), 1e-3),
    check=lambda r, x, tol: abs(float(r[0]) - 0.739085) < 2 * tol,
)
def fixed_point(x, tol):
    count = 0
    previous = x + 1
    while abs(x - previous) > tol and count < 100:
        previous, x = x, tx.cos(x)
        count += 1
    return x, count


@case(
    lambda d: (t([1.0, 0.0]), 1.0, 10),
    lambda d: (t([0.0, 2.0]), 0.5, 4),
    grad=(0,),
    check=lambda y, y0, end, n: (
        abs(float(y[0]) - (float(y0[0]) * math.cos(end) + float(y0[1]) * math.sin(end))) < 1e-5
    ),
)
def runge_kutta(y, end, n):
    """An oscillator: the exact solution is known."""

    def f(v):
        return tx.stack([v[1], -v[0]])

    h = end / n
    for _ in range(n):
        k1 = f(y)
        k2 = f(y + h / 2 * k1)
        k3 = f(y + h / 2 * k2)
        k4 = f(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


@case(
    lambda d: (t(1.0), 2.0, 1e-6),
    lambda d: (t(1.0), 2.0, 1e-3),
    check=lambda r, y, end, tol: abs(float(r[0]) - math.exp(-2)) < 10 * tol,
)
def adaptive_heun(y, end, tol):
    now, h, rejected = 0.0, 0.5, 0
    while now < end:
        h = min(h, end - now)
        k1 = -y
        euler = y + h * k1
        heun = y + h / 2 * (k1 - euler)
        error = float((heun - euler).abs())
        if error <= tol**0.5 * 0.1:
            now += h
            y = heun
            if error < tol**0.5 * 0.02:
                h *= 1.5
        else:
            h /= 2
            rejected += 1
            if rejected > 1000:
                raise RuntimeError("the step became too small")
    return y, rejected


@case(
    lambda d: (tx.sin, t(0.0), t(math.pi)),
    lambda d: (lambda x: x**3, t(0.0), t(2.0)),
    lambda d: (tx.exp, t(-1.0), t(1.0)),
    grad=(2,),
    answers=[2.0, 4.0, math.e - 1 / math.e],
)
def adaptive_simpson(f, a, b, tol=1e-8):
    def simpson(left, right):
        return (right - left) / 6 * (f(left) + 4 * f((left + right) / 2) + f(right))

    def refine(left, right, whole, tol):
        middle = (left + right) / 2
        first, second = simpson(left, middle), simpson(middle, right)
        error = first + second - whole
        if error.abs() <= 15 * tol:
            return first + second + error / 15
        return refine(left, middle, first, tol / 2) + refine(middle, right, second, tol / 2)

    return refine(a, b, simpson(a, b), tol)


@case(
    lambda d: (t([0.3, 3.0]), 1.0),
    lambda d: (t([0.1, 0.2]), 1.0),
    lambda d: (t([-9.0, 0.2]), 2.0),
    grad=(0,),
)
def project_onto_ball(x, radius):
    """Dykstra-like: clip to the positive side, then to the ball, until both hold."""
    for _ in range(20):
        if (x < -1e-9).any():
            x = x.clamp(min=0)
        elif x.norm() > radius + 1e-9:
            x = x * (radius / x.norm())
        else:
            break
    return x


@case(
    lambda d: (t(1.0), t(1.001)),
    lambda d: (t(24.0), t(6.0)),
    grad=(0, 1),
    answers=[None, 13.4581714817],
)
def arithmetic_geometric_mean(a, g):
    while (a - g).abs() > 1e-12:
        a, g = (a + g) / 2, (a * g).sqrt()
    return a


@case(
    lambda d: (t(0.5),),
    lambda d: (t(3.0),),
    lambda d: (t(-1.0),),
    grad=(0,),
    answers=[math.exp(0.5), math.exp(3.0), math.exp(-1.0)],
)
def exponential_series(x):
    term = total = tx.ones_like(x)
    n = 1
    while term.abs() > 1e-16 * total.abs():
        term = term * x / n
        total = total + term
        n += 1
    return total


@case(lambda d: (t(0.0), t(5.0)), lambda d: (t(-2.0), t(2.5)), answers=[2.0, 2.0])
def golden_section(low, high):
    """The minimum of (x - 2)^2 + 1 between two points."""
    ratio = (math.sqrt(5) - 1) / 2

    def f(x):
        return (x - 2) ** 2 + 1

    c, d = high - ratio * (high - low), low + ratio * (high - low)
    fc, fd = f(c), f(d)
    for _ in range(200):
        if abs(high - low) < 1e-7:
            break
        if fc < fd:
            high, d, fd = d, c, fc
            c = high - ratio * (high - low)
            fc = f(c)
        else:
            low, c, fc = c, d, fd
            d = low + ratio * (high - low)
            fd = f(d)
    return ((low + high) / 2 * 1e6).round() / 1e6


@case(
    lambda d: (t([1.0, 1.0]),),
    lambda d: (t([2.0, 0.5]),),
    check=lambda r, x: (
        abs(float(r[0][0] ** 2 + r[0][1] ** 2) - 4) < 1e-9
        and abs(float(r[0][0] * r[0][1]) - 1) < 1e-9
    ),
)
def newton_in_two_dimensions(p):
    """x^2 + y^2 = 4 and xy = 1, from a start where the Jacobian may be singular."""
    count = 0
    while True:
        x, y = p
        residual = tx.stack([x * x + y * y - 4, x * y - 1])
        if residual.norm() < 1e-10:
            return p, count
        jacobian = tx.stack([tx.stack([2 * x, 2 * y]), tx.stack([y, x])])
        if tx.linalg.det(jacobian).abs() < 1e-6:
            p = p + t([0.5, 0.0])
        else:
            p = p - tx.linalg.solve(jacobian, residual)
        count += 1


@case(lambda d: (t(0.1), 5), lambda d: (t(0.9), 12), lambda d: (t(1.5), 5), grad=(0,))
def logistic_map_until_escape(x, n):
    for i in range(n):
        if x < 0 or x > 1:
            x = x.tanh() + i
            break
        x = 3.7 * x * (1 - x)
    return x
