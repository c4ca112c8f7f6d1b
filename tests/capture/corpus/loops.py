"""Loops: while on tensors, for over everything, break, continue, else, variables that loops define."""

import thixo as tx
from tests.capture.corpus.registry import case, t


@case(
    lambda d: (t([3.0, 4.4]),), lambda d: (t([0.1, 0.2]),), lambda d: (t([30.0, 4.0]),), grad=(0,)
)
def halve_until_small(x):
    while x.abs().max() > 1:
        x = x / 2
    return x


@case(
    lambda d: (tx.tensor(48), tx.tensor(36)),
    lambda d: (tx.tensor(17), tx.tensor(5)),
    lambda d: (tx.tensor(7), tx.tensor(0)),
    answers=[12, 1, 7],
)
def gcd(a, b):
    while b != 0:
        a, b = b, a % b
    return a


@case(
    lambda d: (tx.tensor(6),),
    lambda d: (tx.tensor(27),),
    lambda d: (tx.tensor(1),),
    answers=[8, 111, 0],
)
def collatz_length(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


@case(
    lambda d: (d.normal(3), tx.tensor(4)),
    lambda d: (d.normal(3), tx.tensor(1)),
    lambda d: (d.normal(3), tx.tensor(0)),
    grad=(0,),
)
def range_of_a_tensor(x, n):
    for i in range(n):
        x = tx.sin(x) + i * 0.1
    return x


@case(lambda d: (d.normal(4, 3),), lambda d: (d.normal(2, 3),), grad=(0,))
def decayed_rows(rows):
    total = tx.zeros(rows.shape[1], dtype=rows.dtype)
    for row in rows:
        total = 0.5 * total + row.tanh()
    return total


@case(
    lambda d: (t([1.0, -2.0, 3.0, 100.0, 5.0]),),
    lambda d: (t([1.0, 2.0, 3.0]),),
    lambda d: (t([-1.0, -2.0, 200.0]),),
    grad=(0,),
    answers=[4.0, 6.0, 0.0],
)
def sum_with_break_and_continue(values):
    s = (values * 0).sum()
    for v in values:
        if v < 0:
            continue
        if v > 50:
            break
        s = s + v
    return s


@case(
    lambda d: (t([[1.0, 2.0], [9.0, 1.0], [1.0, 1.0]]), 5.0),
    lambda d: (t([[1.0, 2.0], [-9.0, 8.0], [1.0, 1.0]]), 50.0),
    grad=(0,),
    answers=[3.0, 13.0],
)
def nested_break(m, limit):
    acc = tx.zeros((), dtype=m.dtype)
    for row in m:
        stop = False
        for v in row:
            if v < 0:
                continue
            if v > limit:
                stop = True
                break
            acc = acc + v
        if stop:
            break
    return acc


@case(
    lambda d: (tx.tensor([4, 8, 15, 16, 23, 42]), 15),
    lambda d: (tx.tensor([4, 8, 15, 16, 23, 42]), 99),
    lambda d: (tx.tensor([15, 8]), 15),
    answers=[2, -1, 0],
)
def index_of(values, wanted):
    for i, v in enumerate(values):
        if v == wanted:
            found = i
            break
    else:
        found = -1
    return found


@case(
    lambda d: (tx.tensor(97),),
    lambda d: (tx.tensor(91),),
    lambda d: (tx.tensor(2),),
    answers=[True, False, True],
)
def is_prime(n):
    k = 2
    while k * k <= n:
        if n % k == 0:
            return False
        k += 1
    else:
        prime = True
    return prime


@case(lambda d: (d.normal(3), d.normal(3)), lambda d: (d.normal(5), d.normal(4)), grad=(0, 1))
def zipped(a, b):
    out = []
    for x, y in zip(a, b):
        out.append(x * y if x > y else x + y)
    return tx.stack(out)


@case(
    lambda d: ([d.normal(2), d.normal(2)],),
    lambda d: ([d.normal(2)] * 3 + [d.normal(2)],),
    grad=(0,),
)
def weighted_list(tensors):
    total = 0
    for i, x in enumerate(tensors, start=1):
        total = total + x / i
    return total


@case(
    lambda d: (t([2.0, -1.0, 3.0]), t(0.5)),
    lambda d: (t([1.0, 2.0, 3.0, 4.0, 5.0]), t(2.0)),
    grad=(0, 1),
    answers=[2.25, 129.0],
)
def horner(coefficients, x):
    """Of the lowest power first, evaluated from the highest."""
    value = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        value = value * x + c
    return value


@case(
    lambda d: (t([0.5, 2.0, 0.1]),),
    lambda d: (t([0.5, 0.2, 0.1]),),
    grad=(0,),
)
def defined_in_the_loop(x):
    scale = 1.0
    for i in range(3):
        if x[i] > 1:
            peak = x[i] * 10
            scale = 2.0
    if scale == 2.0:
        return peak + x.sum()
    return x.sum()


@case(lambda d: (d.normal(3), 3), lambda d: (d.normal(3), 1), grad=(0,))
def last_value_of_loop_variable(x, n):
    for k in range(1, n + 1):
        y = x**k
    return y * k


@case(
    lambda d: (t([4.0, 1.0, 3.0, 2.0]),),
    lambda d: (t([1.0, 2.0, 3.0]),),
    lambda d: (t([3.0, 2.0, 1.0, 0.0]),),
    grad=(0,),
    answers=[[1, 2, 3, 4], [1, 2, 3], [0, 1, 2, 3]],
)
def bubble_sort(x):
    items = [v for v in x]
    n = len(items)
    while True:
        swapped = False
        for i in range(n - 1):
            if items[i] > items[i + 1]:
                items[i], items[i + 1] = items[i + 1], items[i]
                swapped = True
        n -= 1
        if not swapped:
            break
    return tx.stack(items)


@case(lambda d: (tx.tensor(10),), lambda d: (tx.tensor(30),), answers=[17, 129])
def sum_of_primes_below(limit):
    total = 0
    for candidate in range(2, int(limit)):
        for divisor in range(2, candidate):
            if divisor * divisor > candidate:
                total += candidate
                break
            if candidate % divisor == 0:
                break
        else:
            total += candidate
    return total


@case(lambda d: (d.uniform(4), 10.0), lambda d: (d.uniform(4), 0.5), grad=(0,))
def fill_a_budget(costs, budget):
    spent = costs.new_zeros(())
    i = 0
    while i < len(costs) and spent + costs[i] <= budget:
        spent = spent + costs[i]
        i += 1
    return spent, i


@case(
    lambda d: (t([1.0, 2.0, 3.0, 4.0, 5.0]), 2),
    lambda d: (t([1.0, 2.0, 3.0, 4.0, 5.0]), 3),
    grad=(0,),
    answers=[9.0, 3.0],
)
def strided_range(x, step):
    total = 0.0
    for i in range(0, len(x), step):
        total += x[i]
    for i in range(len(x) - 1, 0, -step):
        total -= x[i] * (i == 1)
    return total


@case(
    lambda d: (t([[0.0, 1.0, 5.0], [2.0, 0.0, 1.0]]),),
    lambda d: (t([[1.0, 1.0, 5.0], [2.0, 1.0, 1.0]]),),
    lambda d: (t([[1.0, 1.0, 1.0], [0.0, 1.0, 1.0]]),),
)
def return_from_nested_loops(grid):
    rows, columns = grid.shape
    for i in range(rows):
        for j in range(columns):
            if grid[i, j] == 0:
                return grid[i].sum() + j
    return grid.sum()


@case(
    lambda d: (t(100.0), t(0.05), t(200.0)),
    lambda d: (t(100.0), t(0.5), t(1000.0)),
    answers=[(15, 207.892817941), (6, 1139.0625)],
    grad=(0, 1),
)
def years_to_reach(balance, rate, goal):
    years = 0
    while balance < goal:
        balance = balance * (1 + rate)
        years += 1
    return years, balance


@case(lambda d: (d.normal(6), 3), lambda d: (d.normal(7), 2), lambda d: (d.normal(2), 3), grad=(0,))
def chunk_maxima(x, size):
    maxima = []
    start = 0
    while start < x.shape[0]:
        piece = x[start : start + size]
        start += size
        if piece.shape[0] < size:
            continue
        maxima.append(piece.max())
    if not maxima:
        return x.sum()
    return tx.stack(maxima)


@case(
    lambda d: (tx.tensor(4096), 10),
    lambda d: (tx.tensor(11), 3),
    lambda d: (tx.tensor(0), 7),
    answers=[[4, 0, 9, 6], [1, 0, 2], [0]],
)
def digits_of(n, base):
    digits = []
    while n > 0:
        n, digit = divmod(n, base)
        digits.append(digit)
    return digits[::-1] if digits else [n]
