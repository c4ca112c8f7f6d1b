"""What lies outside of the graph: NumPy, time, Python's random numbers, input and output, threads, gradients within."""

import io
import math
import random
import sys
import threading
import time

import numpy as np

import thixo as tx
from tests.capture.adversary.registry import VECTORS, hostile, t


@hostile(*VECTORS)
def numpy_in_between(v):
    a = v.detach().numpy()
    return v * float(np.sqrt(np.abs(a)).sum())


@hostile(*VECTORS)
def numpy_and_back(v):
    a = np.sort(v.detach().numpy())
    return tx.from_numpy(a) + v


@hostile(lambda: (tx.ones(3),), lambda: (tx.zeros(2),))
def numpy_writes_the_memory(w):
    w.numpy()[0] = 7.0
    return w * 2


@hostile()
def numpy_number(x):
    return x * np.float64(2.5) if x > np.float64(0) else x + np.int64(3)


@hostile()
def numpy_condition(x):
    return x * 2 if np.all(np.array([1, 2]) > 0) and x > 0 else x


@hostile(between=lambda call: random.seed(3) if call == 0 else None)
def random_of_python(x):
    return x * random.random() if random.random() > 0.5 else x


@hostile()
def time_of_day(x):
    return x * 2 if time.time() > 1e9 else x * 3


@hostile()
def time_passes(x):
    first = time.perf_counter()
    y = x * 2
    return y if time.perf_counter() >= first else x


@hostile()
def written_to_a_file(x):
    out = io.StringIO()
    print("a", file=out)
    if x > 0:
        out.write("more")
    return x * len(out.getvalue())


@hostile()
def standard_output_replaced(x):
    kept, sys.stdout = sys.stdout, io.StringIO()
    try:
        print("hidden")
        if x > 0:
            print("too")
        n = len(sys.stdout.getvalue())
    finally:
        sys.stdout = kept
    print("shown")
    return x * n


@hostile()
def run_by_a_thread(x):
    found = []
    worker = threading.Thread(target=lambda: found.append(x * 2 if x > 0 else x))
    worker.start()
    worker.join()
    return found[0]


@hostile()
def backward_within(x):
    y = x.detach().requires_grad_()
    (y * y * 3).backward()
    return x * y.grad if x > 0 else y.grad


@hostile()
def gradient_within(x):
    y = x * x if x > 0 else x * 3
    (g,) = tx.autograd.grad(y, x, create_graph=True)
    return g * 2 + y


class Doubled(tx.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 5 if x > 0 else g * 7


@hostile()
def own_gradient(x):
    return Doubled.apply(x) * x


@hostile()
def hook_on_a_tensor(x):
    y = x * 2
    y.register_hook(lambda g: g * 3)
    return y * y if x > 0 else y


@hostile()
def detached_in_a_branch(x):
    y = x * 2
    if x > 0:
        y = y.detach()
    return y * x


@hostile()
def gradient_asked_for_in_a_branch(x):
    y = x.detach() * 2
    if x > 0:
        y.requires_grad_()
    return y * 3, y.requires_grad


@hostile()
def attribute_of_a_tensor(x):
    y = x * 2
    try:
        y.tag = 5
    except AttributeError:
        return y
    return y * y.tag


@hostile(lambda: (tx.arange(6.0),), lambda: (tx.arange(4.0),))
def strides_decide(w):
    m = w.reshape(2, -1).t()
    return m * 2 if m.is_contiguous() else m * 3


@hostile()
def math_of_a_tensor(x):
    return x * math.sin(x) if x > 0 else x * math.exp(x)


@hostile()
def constant_pool(x):
    return x * id(x) * 0 + (1 if id(x) == id(x) else 2)


@hostile(lambda: (t([1.0, 2.0]),), lambda: (t([3.0, -4.0]),))
def data_written_past_gradients(v):
    y = v * 1
    y.data[0] = 100.0
    return y * 2 if y.sum() > 0 else y


@hostile(lambda: (t([1.0, 2.0]),), lambda: (t([3.0, -4.0]),))
def view_written_in_a_branch(v):
    y = v * 1
    part = y[1:]
    if v.sum() > 0:
        part[0] = 50.0
    y[0] = -1.0
    return part * 2, y


@hostile(lambda: (t([[1.0, 2.0], [3.0, 4.0]]),), lambda: (t([[-1.0, 2.0], [3.0, -9.0]]),))
def rows_written_while_walked(m):
    y = m * 1
    for row in y:
        if row.sum() > 0:
            row.mul_(2)
    return y
