"""Python's numbers beside tensors: large integers, division, rounding, strings of tensors, sizes."""

import math

import thixo as tx
from tests.capture.adversary.registry import COUNTED, VECTORS, hostile, t


@hostile(lambda: (t(1.0), 70), lambda: (t(2.0), 3), lambda: (t(-1.0), 64))
def integer_beyond_64_bits(x, n):
    k = 1
    for _ in range(n):
        k = k * 2 + 1
    return x, k


@hostile(lambda: (t(1.0), 70), lambda: (t(-2.0), 3))
def integer_beyond_64_bits_by_a_tensor(x, n):
    k = 1
    for _ in range(n):
        k = k * 2 if x > 0 else k * 3
    return k % 1000007


@hostile(lambda: (t(1.0), 25), lambda: (t(2.0), 3))
def factorial_in_a_while(x, n):
    k = 1
    i = 1
    while i <= n and x > 0:
        k *= i
        i += 1
    return k


@hostile(*COUNTED)
def division_of_negative_integers(x, n):
    k = -7 if x > 0 else 7
    return k // 2, k % 3, -k // 3, divmod(k, 4), x * (n - 4) // 2


@hostile()
def integer_divided_by_zero(x):
    k = 0 if x > 0 else 2
    return x * (6 // k)


@hostile()
def integer_power(x):
    k = 2 if x > 0 else -2
    return k**3, 2**k, x * k**2


@hostile()
def rounding(x):
    k = x.item() * 2.5
    return round(k), round(k, 1), int(k), math.floor(k), math.ceil(k), x


@hostile()
def shifts_and_bits(x):
    k = 13 if x > 0 else -13
    return k << 3, k >> 2, k & 6, k | 16, k ^ 5, ~k


@hostile()
def bool_arithmetic(x):
    b = x > 0
    return b + b, b * 3, x * (x > 0), sum([x > 0, x > 1, x > -9])


@hostile()
def truth_of_floats(x):
    k = 0.0 if x > 0 else 0.5
    return x * 2 if k else x * 3


@hostile()
def not_a_number(x):
    y = x / (x - 2)
    z = tx.sqrt(x)
    return (1 if z == z else 2), (1 if y > 5 else 2), x


@hostile()
def negative_zero(x):
    y = x * 0
    return math.copysign(1.0, y.item()), x


@hostile()
def text_of_a_tensor(x):
    text = f"{x.item():.2f} {x.detach()}"
    return x * len(text), text


@hostile()
def text_in_a_branch(x):
    text = "positive" if x > 0 else f"not {x.item()}"
    return x, text.upper()


@hostile(*VECTORS)
def printed_tensor(v):
    print("v is", v.detach())
    if v.sum() > 0:
        print(f"sum {v.sum().item():.1f}", end="!\n")
    return v * 2


@hostile(*VECTORS)
def sizes_decide(v):
    return v.reshape(1, -1) if v.shape[0] > 2 else v.reshape(-1, 1)


@hostile(*VECTORS)
def size_of_a_mask(v):
    picked = v[v > 0]
    return picked.sum() * picked.shape[0], len(picked)


@hostile(*VECTORS)
def number_as_an_index(v):
    at = int(v.argmax())
    return v[at] * at, v[: at + 1].sum()


@hostile(*VECTORS)
def loop_as_long_as_a_value(v):
    total = v * 0
    for i in range(int(v.abs().max())):
        total = total + v * i
    return total


@hostile(*VECTORS)
def list_of_numbers(v):
    return sum(v.tolist()) * v, [round(n, 3) for n in v.tolist()]


@hostile()
def float_made_twice(x):
    k = float(x)
    y = x * k
    return y * float(y), k


@hostile()
def chained_with_effects(x):
    return 1 if -1 < x < 1 < 2 else (2 if not (x == 2 != 3) else 3)


@hostile(lambda: (t(1.0), 0), lambda: (t(1.0), 1), lambda: (t(1.0), True), lambda: (t(1.0), 1.0))
def equal_arguments_of_other_types(x, k):
    return x * 2 if k is True else x * 3, type(k).__name__


@hostile(lambda: (t(1.0), 0.0), lambda: (t(1.0), -0.0), lambda: (t(1.0), math.nan))
def equal_floats_that_differ(x, k):
    return x * math.copysign(1.0, k), math.isnan(k)
