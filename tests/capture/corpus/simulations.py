"""Simulations, fractals, cellular automata, clustering, filters, random walks."""

import math

import numpy as np

import thixo as tx
from tests.capture.corpus.registry import case, t


@case(
    lambda d: (t(-0.5), t(0.5), 30),
    lambda d: (t(1.0), t(1.0), 30),
    lambda d: (t(0.3), t(0.6), 30),
    answers=[30, 2, None],
)
def mandelbrot_point(re, im, limit):
    """After how many steps one point escapes."""
    x = y = tx.zeros((), dtype=re.dtype)
    n = 0
    while n < limit:
        x, y = x * x - y * y + re, 2 * x * y + im
        if x * x + y * y > 4:
            break
        n += 1
    else:
        return limit
    return n + 1


@case(lambda d: (-2.0, 0.5, 6, 20), lambda d: (2.5, 3.0, 4, 20))
def mandelbrot_grid(left, right, size, limit):
    re = tx.linspace(left, right, size).repeat(size, 1)
    im = tx.linspace(-1, 1, size).unsqueeze(1).repeat(1, size)
    zr, zi = tx.zeros_like(re), tx.zeros_like(re)
    counts = tx.zeros(size, size, dtype=tx.int32)
    for _ in range(limit):
        inside = zr * zr + zi * zi <= 4
        if not inside.any():
            break
        counts += inside.int()
        zr, zi = (
            tx.where(inside, zr * zr - zi * zi + re, zr),
            tx.where(inside, 2 * zr * zi + im, zi),
        )
    return counts


@case(
    lambda d: (tx.tensor([0.1 + 0.2j, 1.5 + 0j]), -0.4 + 0.6j),
    lambda d: (tx.tensor([2.5 + 2j, 3.0 + 0j]), 0.3 + 0j),
)
def julia(z, c, limit=12):
    age = tx.zeros(z.shape)
    alive = tx.ones(z.shape, dtype=tx.bool)
    for step in range(limit):
        z = z * z + c
        alive = alive & (z.abs() < 2)
        if not alive.any():
            return age, step
        age[alive] = step + 1.0
        z = tx.where(alive, z, tx.zeros_like(z))
    return age, limit


_GLIDER = [[0, 1, 0, 0, 0], [0, 0, 1, 0, 0], [1, 1, 1, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 0]]
_BLOCK = [[0, 0, 0, 0], [0, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 0]]


@case(
    lambda d: (tx.tensor(_GLIDER), 4),
    lambda d: (tx.tensor(_BLOCK), 9),
    answers=[(np.roll(_GLIDER, (1, 1), (0, 1)), 4), (np.array(_BLOCK), 1)],
)
def game_of_life(cells, generations):
    """Until nothing changes; a glider goes one cell down and right in four generations."""
    for g in range(generations):
        neighbours = tx.zeros_like(cells)
        for dy in (-1, 0, 1):
            for dx in (-1, 0, 1):
                if dx == 0 and dy == 0:
                    continue
                neighbours = neighbours + cells.roll((dy, dx), (0, 1))
        new = ((neighbours == 3) | ((cells == 1) & (neighbours == 2))).to(cells.dtype)
        if (new == cells).all():
            return cells, g + 1
        cells = new
    return cells, generations


@case(
    lambda d: (t([[0.0, 0.0], [0.0, 1.0], [9.0, 9.0], [9.0, 8.0]]), t([[0.0, 0.0], [1.0, 1.0]])),
    lambda d: (t([[0.0, 0.0], [0.0, 1.0], [9.0, 9.0]]), t([[0.0, 0.5], [9.0, 9.0], [50.0, 50.0]])),
    answers=[([[0, 0.5], [9, 8.5]], [0, 0, 1, 1]), ([[0, 0.5], [9, 9], [50, 50]], [0, 0, 1])],
    grad=(0,),
)
def k_means(points, centres):
    labels = None
    while True:
        distances = ((points[:, None] - centres[None]) ** 2).sum(-1)
        new_labels = distances.argmin(1)
        if labels is not None and (new_labels == labels).all():
            return centres, labels
        labels = new_labels
        moved = []
        for k in range(len(centres)):
            mine = points[labels == k]
            moved.append(mine.mean(0) if len(mine) else centres[k])
        centres = tx.stack(moved)


@case(
    lambda d: (tx.cat([d.normal(6) - 3, d.normal(6) + 3]), t([-1.0, 1.0])),
    lambda d: (d.normal(5), t([0.0, 0.1])),
    grad=(0,),
)
def em_for_a_mixture(x, means):
    """Two Gaussians of variance one, unknown means and weights."""
    weights = tx.full((2,), 0.5, dtype=x.dtype)
    last = -math.inf
    for _ in range(8):
        log_joint = weights.log() - 0.5 * (x[:, None] - means) ** 2
        log_total = log_joint.logsumexp(1)
        resp = (log_joint - log_total[:, None]).exp()
        weights = resp.mean(0)
        means = (resp * x[:, None]).sum(0) / resp.sum(0)
        likelihood = log_total.mean()
        if likelihood - last < 1e-3:
            break
        last = likelihood
    return means, weights


@case(
    lambda d: ([t([1.0]), None, t([1.4])], t([0.0]), t([[1.0]])),
    lambda d: ([None, t([2.0])], t([0.5]), t([[2.0]])),
    grad=(1, 2),
)
def kalman_filter(measurements, x, P):
    """A measurement may be missing: then only the prediction is made."""
    F, Q, R = t([[1.0]]), t([[0.1]]), t([[0.5]])
    track = []
    for z in measurements:
        x = F @ x
        P = F @ P @ F.T + Q
        if z is not None:
            S = P + R
            K = P @ tx.linalg.inv(S)
            x = x + K @ (z - x)
            P = (tx.eye(1, dtype=P.dtype) - K) @ P
        track.append(x)
    return tx.stack(track), P


@case(lambda d: (7, 20), lambda d: (8, 40))
def random_walk(seed, limit):
    """From a seed of its own, until five away from the start."""
    g = tx.Generator().manual_seed(seed)
    position = tx.zeros((), dtype=tx.int64)
    path = [position]
    while len(path) < limit and position.abs() < 5:
        if tx.rand((), generator=g) < 0.5:
            position = position - 1
        else:
            position = position + 1
        path.append(position)
    return tx.stack(path)


@case(
    lambda d: (t(0.0), d.normal(8), d.uniform(8)),
    lambda d: (t(3.0), d.normal(12), d.uniform(12)),
)
def metropolis(x, noise, uniforms):
    """Samples of a standard normal; noise and thresholds are given."""
    samples, accepted = [], 0
    for step, u in zip(noise, uniforms):
        proposal = x + 1.5 * step
        log_ratio = (x * x - proposal * proposal) / 2
        if u.log() < log_ratio:
            x = proposal
            accepted += 1
        samples.append(x)
    return tx.stack(samples), accepted / len(samples)


@case(lambda d: (3,), lambda d: (5,), random=True)
def dice_until_six(limit):
    """Draws from the default generator until a six comes, at most `limit` times."""
    rolls = []
    for _ in range(limit):
        roll = tx.randint(1, 7, ())
        rolls.append(roll)
        if roll == 6:
            break
    return tx.stack(rolls)


@case(lambda d: (t(1.0), t(0.0), 30), lambda d: (t(0.3), t(1.0), 20), grad=(0, 1))
def bouncing_ball(height, speed, steps):
    bounces = 0
    for _ in range(steps):
        speed = speed - 9.81 * 0.03
        height = height + speed * 0.03
        if height < 0:
            height = -height
            speed = -0.8 * speed
            bounces += 1
    return height, speed, bounces


@case(
    lambda d: (t([[0.0, 0.0], [3.0, 0.1]]), t([[1.0, 0.0], [-1.0, 0.0]])),
    lambda d: (t([[0.0, 0.0], [3.0, 5.0], [6.0, 0.0]]), t([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]])),
    grad=(0, 1),
)
def colliding_discs(position, velocity, radius=0.5, dt=0.25):
    n = len(position)
    for _ in range(6):
        position = position + dt * velocity
        for i in range(n):
            for j in range(i + 1, n):
                gap = position[j] - position[i]
                distance = gap.norm()
                if distance >= 2 * radius:
                    continue
                normal = gap / distance
                closing = (velocity[i] - velocity[j]) @ normal
                if closing > 0:
                    change = closing * normal
                    velocity = velocity.clone()
                    velocity[i] -= change
                    velocity[j] += change
    return position, velocity


@case(
    lambda d: (t([1.0, 2.0, 4.0]), t([1.0, 0.0, 0.5]), 40),
    lambda d: (t([1.0, 1.0]), t([1.0, 1.0]), 40),
    grad=(1,),
)
def heat_until_even(conductivity, u, limit):
    steps = 0
    while (u.max() - u.min()) > 0.2 and steps < limit:
        flow = conductivity[:-1] * (u[1:] - u[:-1]) * 0.1
        inner = tx.zeros_like(u)
        inner[:-1] += flow
        inner[1:] -= flow
        u = u + inner
        steps += 1
    return u * 1, steps


@case(
    lambda d: (t(40.0), t(9.0), 10),
    lambda d: (t(10.0), t(0.2), 10),
    lambda d: (t(10.0), t(15.0), 4),
    grad=(0, 1),
)
def predator_and_prey(prey, predators, years):
    for year in range(years):
        if predators < 0.5:
            return prey * 2, predators
        born = 0.1 * prey
        eaten = tx.minimum(0.02 * prey * predators, prey)
        prey, predators = prey + born - eaten, predators * 0.7 + 0.3 * eaten
        if prey < 1:
            break
    return prey, predators
