"""Numbers of Python beside tensors: integers, text, dtypes, sizes, shapes that follow from arguments."""

import thixo as tx
from tests.capture.corpus.registry import case, t


@case(
    lambda d: (tx.tensor(10), 2),
    lambda d: (tx.tensor(255), 16),
    lambda d: (tx.tensor(0), 2),
    answers=["1010", "ff", "0"],
)
def to_base(number, base):
    text = ""
    digits = "0123456789abcdef"
    while number > 0:
        text = digits[number % base] + text
        number = number // base
    return text or "0"


@case(
    lambda d: (tx.tensor([3, 1, 4]),),
    lambda d: (tx.tensor([9, 9]),),
    lambda d: (tx.tensor([0, 9]),),
    answers=[[3, 1, 5], [1, 0, 0], [1, 0]],
)
def add_one_with_carry(digits):
    out = digits.tolist()
    for i in reversed(range(len(out))):
        if out[i] < 9:
            out[i] += 1
            return tx.tensor(out)
        out[i] = 0
    return tx.tensor([1, *out])


@case(
    lambda d: (tx.tensor(3), tx.tensor(13), tx.tensor(7)),
    lambda d: (tx.tensor(2), tx.tensor(64), tx.tensor(1000)),
    lambda d: (tx.tensor(5), tx.tensor(0), tx.tensor(3)),
    answers=[3, 616, 1],
    mutates=True,  # `>>=` writes into the argument
)
def modular_power(base, exponent, modulus):
    result = tx.ones_like(base)
    base = base % modulus
    while exponent:
        if exponent & 1:
            result = result * base % modulus
        base = base * base % modulus
        exponent >>= 1
    return result


@case(
    lambda d: (tx.tensor([1, 2, 3], dtype=tx.int32),),
    lambda d: (tx.tensor([1.5, 2.5], dtype=tx.float16),),
    lambda d: (tx.tensor([True, False]),),
    lambda d: (tx.tensor([200, 100], dtype=tx.uint8),),
)
def widened(x):
    if x.dtype in (tx.float16, tx.bfloat16):
        y = x.float() * 2
    elif x.dtype == tx.bool:
        y = x.long() + 1
    elif not x.dtype.is_signed:
        y = x.to(tx.int32) - 150
    else:
        y = x.double() / 2
    return y, str(y.dtype).split(".")[-1]


@case(
    lambda d: (d.normal(6), 4),
    lambda d: (d.normal(6), 9),
    lambda d: (d.normal(6), 6),
    grad=(0,),
)
def fit_to_length(x, length):
    missing = length - len(x)
    if missing < 0:
        return x[:missing]
    if missing > 0:
        left = missing // 2
        return tx.cat([x.new_zeros(left), x, x[-1].expand(missing - left)])
    return x * 1


@case(
    lambda d: (d.normal(2, 6), 2),
    lambda d: (d.normal(1, 6), 3),
    lambda d: (d.normal(3, 4), 1),
    grad=(0,),
)
def heads_apart_and_together(x, heads):
    batch, width = x.shape
    if width % heads:
        raise ValueError(f"{width} is no multiple of {heads}")
    size = width // heads
    parts = x.reshape(batch, heads, size).transpose(0, 1)  # (heads, batch, size)
    mixed = [p.softmax(-1) * (h + 1) for h, p in enumerate(parts)]
    return tx.cat(mixed, dim=-1).view(batch, -1)


@case(
    lambda d: (d.normal(3), d.normal(3)),
    lambda d: (d.normal(2, 3), d.normal(3)),
    lambda d: (d.normal(2, 3), d.normal(3, 4)),
    lambda d: (d.normal(3), d.normal(3, 4)),
    grad=(0, 1),
)
def product_of_any_rank(a, b):
    squeeze_left = squeeze_right = False
    if a.ndim == 1:
        a, squeeze_left = a[None], True
    if b.ndim == 1:
        b, squeeze_right = b[:, None], True
    (n, k), (_, m) = a.shape, b.shape
    rows = []
    for i in range(n):
        rows.append([sum(a[i, p] * b[p, j] for p in range(k)) for j in range(m)])
    out = tx.stack([tx.stack(row) for row in rows])
    if squeeze_left:
        out = out.squeeze(0)
    return out.squeeze(-1) if squeeze_right else out


@case(
    lambda d: (d.normal(2, 3), (1, 3)),
    lambda d: (d.normal(2, 3), ()),
    lambda d: (d.normal(4, 2, 3), (2, 3)),
    grad=(0,),
)
def sum_to_a_shape(x, shape):
    while x.dim() > len(shape):
        x = x.sum(0)
    for axis, size in enumerate(shape):
        if size == 1 and x.shape[axis] != 1:
            x = x.sum(axis, keepdim=True)
    assert tuple(x.shape) == tuple(shape)
    return x


@case(
    lambda d: (d.normal(5), -1),
    lambda d: (d.normal(5), 7),
    lambda d: (d.normal(5), 2),
    grad=(0,),
)
def index_within_bounds(x, i):
    n = x.shape[0]
    if i < 0:
        i += n
    elif i >= n:
        i = n - 1
    before, after = x[:i], x[i + 1 :]
    return x[i] * 10 + before.sum() - after.sum()


@case(
    lambda d: (t(3725.0),),
    lambda d: (t(59.0),),
    lambda d: (t(0.25),),
    answers=["1:02:05", "0:59", "250 ms"],
)
def duration(seconds):
    if seconds < 1:
        return f"{round(seconds.item() * 1000)} ms"
    whole = int(seconds)
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


@case(
    lambda d: ("2 3 +", t(2.0)),
    lambda d: ("x x * 1 -", t(3.0)),
    lambda d: ("x 2 / x x * *", t(3.0)),
    answers=[5.0, 8.0, 13.5],
)
def evaluate_text(source, x):
    stack: list = []
    for word in source.split():
        match word:
            case "+" | "-" | "*" | "/":
                right = stack.pop()
                left = stack.pop()
                if word == "+":
                    result = left + right
                elif word == "-":
                    result = left - right
                else:
                    result = left * right if word == "*" else left / right
                stack.append(result)
            case "x":
                stack.append(x)
            case _ if word.isdigit():
                stack.append(float(word))
            case _:
                raise SyntaxError(word)
    (answer,) = stack
    return answer


@case(
    lambda d: (d.single(3), d.normal(3)),
    lambda d: (d.normal(3), d.normal(3)),
    lambda d: (d.single(3), d.single(3)),
    check=lambda r, a, b: r.dtype == tx.result_type(a, b),
)
def promoted(a, b):
    if a.dtype != b.dtype:
        wide = tx.promote_types(a.dtype, b.dtype)
        a, b = a.to(wide), b.to(wide)
    elif a.dtype == tx.float32:
        b = b.clone()
    eps = tx.finfo(b.dtype).eps
    return a / (b.abs() + 1 + eps)


@case(
    lambda d: (tx.tensor([5, -3, 2]), 4),
    lambda d: (tx.tensor([5, -3, 2]), -4),
    lambda d: (tx.tensor([7]), 0),
)
def whole_number_division(x, by):
    if by == 0:
        return x, x * 0
    quotient, remainder = x // by, x % by
    if by < 0:
        quotient, remainder = -quotient, -remainder
    assert (quotient * abs(by) + remainder * (1 if by > 0 else -1) == x).all()
    return quotient, remainder


@case(
    lambda d: (tx.tensor([0.5, 0.25]), 8),
    lambda d: (tx.tensor([0.5, -3.0]), 8),
    lambda d: (tx.tensor([0.0, 0.0]), 4),
)
def quantised(x, bits):
    import math

    top = x.abs().max().item()
    levels = 2 ** (bits - 1) - 1
    if math.isclose(top, 0.0):
        return x.to(tx.int8), 1.0
    scale = top / levels
    if (x < 0).any():
        levels = levels + 1
    codes = (x / scale).round().clamp(-levels, levels - 1).to(tx.int8)
    return codes, scale


@case(
    lambda d: (d.normal(4), "mean"),
    lambda d: (d.normal(4), "amax,mean,norm"),
    lambda d: (d.normal(4), "mean,std"),
    grad=(0,),
)
def methods_by_name(x, names):
    from functools import reduce

    results = [getattr(x, name)() for name in names.split(",")]
    if len(results) == 1:
        return results[0]
    return reduce(lambda a, b: a * b, results)
