"""Two sides timed in turn, so that what disturbs the machine disturbs both.

An absolute time means nothing on a shared machine; the ratio of neighbours in time does.
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

Action = Callable[[], object]


@dataclass
class Ratio:
    """How many times faster ours is: peer's time over ours, from many interleaved rounds."""

    case: str
    median: float
    lower: float  # first quartile
    upper: float  # third quartile
    ours_us: float  # median; for orientation only
    peer_us: float
    rounds: int
    target: float | None = None

    @property
    def met(self) -> bool:
        """The median reaches the target and the lower quartile 0.95 of it."""
        if self.target is None:
            return True
        return self.median >= self.target and self.lower >= 0.95 * self.target

    def as_dict(self) -> dict[str, object]:
        """For the results file."""
        return {**asdict(self), "met": self.met}


def repeat(action: Action, count: int) -> float:
    """Seconds of one call, from `count` calls in a row."""
    clock = time.perf_counter
    start = clock()
    for _ in range(count):
        action()
    return (clock() - start) / count


def calibrate(action: Action, seconds: float) -> int:
    """How many calls take about that long."""
    count = 1
    while True:
        taken = repeat(action, count) * count
        if taken > seconds / 4:
            return max(1, int(count * seconds / taken))
        count *= 4


def compare(
    case: str,
    ours: Action,
    peer: Action,
    *,
    target: float | None = None,
    rounds: int = 40,
    seconds: float = 0.01,
) -> Ratio:
    """Time both sides in turn, `rounds` times, about `seconds` each."""
    empty = lambda: None  # noqa: E731  (the loop and the call cost both sides the same)
    ours(), peer()
    n_ours, n_peer = calibrate(ours, seconds), calibrate(peer, seconds)
    overhead = min(repeat(empty, 10_000) for _ in range(5))
    a, b = [], []
    for i in range(rounds):
        first, second = ((ours, n_ours, a), (peer, n_peer, b))[:: 1 if i % 2 else -1]
        for action, count, kept in (first, second):
            kept.append(max(repeat(action, count) - overhead, 1e-9))
    ratios = sorted(y / x for x, y in zip(a, b, strict=True))
    low, mid, high = statistics.quantiles(ratios, n=4)
    return Ratio(
        case, mid, low, high, statistics.median(a) * 1e6, statistics.median(b) * 1e6, rounds, target
    )
