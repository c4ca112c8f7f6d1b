"""Signals and pictures: filters, thresholds, windows, resampling, neighbours, with loops over places."""

import math
from dataclasses import dataclass

import thixo as tx
from tests.capture.corpus.registry import call, case, t
from thixo.nn import functional as F


@case(
    lambda d: (d.normal(5), d.normal(3)),
    lambda d: (d.normal(8), d.normal(2)),
    lambda d: (d.normal(2), d.normal(4)),
    grad=(0, 1),
)
def full_convolution(signal, kernel):
    n, m = len(signal), len(kernel)
    out = []
    for i in range(n + m - 1):
        total = 0.0
        for j in range(m):
            if 0 <= i - j < n:
                total = total + signal[i - j] * kernel[j]
        out.append(total)
    return tx.stack(out)


@case(
    lambda d: (d.normal(6), 0.5),
    lambda d: (d.normal(3), 0.5),
    lambda d: (d.normal(6), 0.0),
    grad=(0,),
)
def smoothed_both_ways(x, share):
    if share <= 0:
        return x

    def one_way(values):
        state = values[0]
        for v in values:
            state = share * state + (1 - share) * v
            yield state

    ahead = tx.stack(list(one_way(x)))
    back = tx.stack(list(one_way(ahead.flip(0))))
    return back.flip(0)


@case(
    lambda d: (d.uniform(4, 4), 1),
    lambda d: (d.uniform(3, 5), 1),
    lambda d: (d.uniform(2, 3), 2),
    grad=(0,),
)
def median_filter(image, radius):
    height, width = image.shape
    out = tx.empty_like(image)
    for y in range(height):
        for x in range(width):
            patch = image[max(0, y - radius) : y + radius + 1, max(0, x - radius) : x + radius + 1]
            out[y, x] = patch.median()
    return out


@case(
    lambda d: (t([0.1, 0.15, 0.2, 0.8, 0.9]),),
    lambda d: (t([0.1, 0.1, 0.1]),),
    lambda d: (t([0.05, 0.9, 0.95, 0.97, 0.99, 0.85]),),
    grad=(0,),
)
def best_threshold(x):
    """Splits values in two classes whose means are furthest apart."""
    best, split = x.new_zeros(()), None
    for cut in (0.2, 0.4, 0.6, 0.8):
        low, high = x[x < cut], x[x >= cut]
        if len(low) == 0 or len(high) == 0:
            continue
        between = len(low) * len(high) * (high.mean() - low.mean()) ** 2
        if between > best:
            best, split = between, cut
    return best, split


@case(
    lambda d: (d.uniform(4), 7),
    lambda d: (d.uniform(4), 3),
    lambda d: (d.uniform(1), 3),
    grad=(0,),
)
def resampled(x, size):
    if len(x) == 1:
        return x.expand(size) * 1
    out = []
    for i in range(size):
        place = i * (len(x) - 1) / (size - 1)
        left = min(int(place), len(x) - 2)
        share = place - left
        out.append(x[left] * (1 - share) + x[left + 1] * share if share else x[left])
    return tx.stack(out)


@case(
    lambda d: (t([0.0, 1.0, 0.2, 3.0, 0.1]), 0.5),
    lambda d: (t([0.0, 1.0, 2.0, 3.0]), 0.5),
    lambda d: (t([5.0, 1.0, 4.0, 0.0, 6.0, 0.0]), 0.5),
    grad=(0,),
)
def peaks(x, floor):
    found = [
        (i, b)
        for i, (a, b, c) in enumerate(zip(x, x[1:], x[2:]), start=1)
        if a < b > c and b > floor
    ]
    if not found:
        return x.sum() * 0, []
    places, heights = zip(*found)
    return tx.stack(heights).prod(), list(places)


@dataclass
class Rect:
    left: tx.Tensor
    top: tx.Tensor
    right: tx.Tensor
    bottom: tx.Tensor

    @classmethod
    def of(cls, row):
        return cls(*row)

    @property
    def area(self):
        return (self.right - self.left) * (self.bottom - self.top)

    def __and__(self, other):
        left, top = tx.maximum(self.left, other.left), tx.maximum(self.top, other.top)
        right = tx.minimum(self.right, other.right)
        bottom = tx.minimum(self.bottom, other.bottom)
        if left >= right or top >= bottom:
            return None
        return Rect(left, top, right, bottom)


@case(
    lambda d: (t([[0, 0, 2, 2], [1, 1, 3, 3], [0, 0, 2.1, 2]]), t([0.9, 0.8, 0.7]), 0.5),
    lambda d: (t([[0, 0, 1, 1], [5, 5, 6, 6]]), t([0.2, 0.8]), 0.5),
    lambda d: (t([[0, 0, 2, 2]] * 4), t([0.9, 0.8, 0.7, 0.6]), 0.5),
)
def suppress_overlaps(boxes, scores, limit):
    rects = [Rect.of(row) for row in boxes]
    order = scores.argsort(descending=True).tolist()
    kept = []
    while order:
        best, *order = order
        kept.append(best)
        rest = []
        for i in order:
            common = rects[best] & rects[i]
            if common is not None:
                union = rects[best].area + rects[i].area - common.area
                if common.area / union > limit:
                    continue
            rest.append(i)
        order = rest
    return kept


@case(
    lambda d: call(d.uniform(5, 5)),
    lambda d: call(d.uniform(5, 5), "sobel"),
    lambda d: call(d.uniform(6, 4), "sobel", threshold=0.5),
    grad=(0,),
)
def edges(image, kind="laplace", *, threshold=None):
    x = image[None, None]  # (1, 1, height, width)
    if kind == "laplace":
        kernel = t([[0.0, 1.0, 0.0], [1.0, -4.0, 1.0], [0.0, 1.0, 0.0]])
        return F.conv2d(x, kernel[None, None])[0, 0]
    across = t([[1.0, 0.0, -1.0], [2.0, 0.0, -2.0], [1.0, 0.0, -1.0]])
    gx = F.conv2d(x, across[None, None])
    gy = F.conv2d(x, across.T[None, None])
    size = (gx * gx + gy * gy + 1e-6).sqrt()[0, 0, ...]
    if threshold is not None:
        size = size.clone()
        size[size < threshold] = 0.0
    return size


@case(
    lambda d: (d.normal(8),),
    lambda d: (d.normal(2),),
    lambda d: (d.normal(16),),
    grad=(0,),
)
def haar_wavelets(x):
    details = []
    while len(x) > 1:
        even, odd = x[0::2], x[1::2]
        details.insert(0, (even - odd) / math.sqrt(2))
        x = (even + odd) / math.sqrt(2)
    return tx.cat([x, *details])


@case(
    lambda d: (d.normal(6), 2),
    lambda d: (d.normal(6), 3),
    lambda d: (d.normal(12), 4),
    grad=(0,),
)
def levinson_durbin(x, order):
    """Coefficients that predict each sample from those before it."""
    n = len(x)
    r = [(x[: n - lag] * x[lag:]).sum() for lag in range(order + 1)]
    a, error = [], r[0]
    for i in range(order):
        k = r[i + 1] - sum(c * r[i - j] for j, c in enumerate(a))
        k = k / error
        a = [c - k * b for c, b in zip(a, reversed(a))] + [k]
        error = error * (1 - k * k)
    return tx.stack(a), error


@case(
    lambda d: (d.uniform(4, 6),),
    lambda d: (d.uniform(6, 4),),
    lambda d: (d.uniform(4, 4),),
    grad=(0,),
)
def square_crop(image):
    height, width = image.shape[-2:]
    if height > width:
        start = (height - width) // 2
        image = image[start : start + width]
    elif width > height:
        start = (width - height) // 2
        image = image[..., start : start + height]
    return image - image.T


@case(
    lambda d: (d.normal(4, 3), 2),
    lambda d: (d.normal(6, 3), 1),
    lambda d: (d.normal(3, 3), 3),
    grad=(0,),
)
def nearest_neighbours(points, k):
    total = points.new_zeros(())
    for i, p in enumerate(points):
        gaps = (points - p).square().sum(1)
        gaps = tx.cat([gaps[:i], gaps[i + 1 :]])
        if k >= len(gaps):
            near = gaps
        else:
            near = gaps.topk(k, largest=False).values
        total += near.sqrt().mean()
    return total
