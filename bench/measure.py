"""Two sides timed in turn, so that what disturbs the machine disturbs both.

An absolute time means nothing on a shared machine; the ratio of neighbours in time does.
"""

import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

Action = Callable[[], object]
Clock = Callable[[], float]


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
        shown = {k: round(v, 4) if isinstance(v, float) else v for k, v in asdict(self).items()}
        return {**shown, "met": self.met}


class Others:
    """How much of the machine other processes use, from when this is made (Linux; else nothing is known)."""

    def __init__(self) -> None:
        self._start = self._now()

    @staticmethod
    def _now() -> tuple[float, float, float]:
        """Seconds: of the clock, of all processors at work, of this process at work."""
        own = os.times()
        try:
            words = Path("/proc/stat").read_text().split(maxsplit=9)[1:9]
        except OSError:
            words = []
        ticks = [int(w) for w in words]
        busy = (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK") if ticks else 0.0
        spent = own.user + own.system + own.children_user + own.children_system
        return time.perf_counter(), busy, spent

    def cpus(self) -> float:
        """Processors that others kept busy, on average."""
        (t0, busy0, own0), (t1, busy1, own1) = self._start, self._now()
        return max(0.0, (busy1 - busy0) - (own1 - own0)) / max(t1 - t0, 1e-9)


def repeat(action: Action, count: int, clock: Clock = time.perf_counter) -> float:
    """Seconds of one call, from `count` calls in a row."""
    start = clock()
    for _ in range(count):
        action()
    return (clock() - start) / count


def warm_up(action: Action, seconds: float) -> None:
    """Call it once, and on until that time is over."""
    end = time.perf_counter() + seconds
    action()
    while time.perf_counter() < end:
        action()


def calibrate(action: Action, seconds: float) -> int:
    """How many calls take about that long."""
    count = 1
    while True:
        taken = repeat(action, count) * count
        if taken > seconds / 4:
            return max(1, int(count * seconds / taken))
        count *= 4


# After a call PyTorch's threads (libgomp) spin and hold their cores: so long a side waits before its turn. The cores
# and the side's own threads fall asleep meanwhile: so long it computes before its time is taken.
SETTLE_SECONDS = 0.02
WARM_SECONDS = 0.008
PLACES = 6  # so often are inputs made anew for the further turns of a case


def threads_in_use() -> int:
    """How many threads Thixo's kernels have now; 1 where it is not loaded."""
    thixo = sys.modules.get("thixo")
    return thixo.get_num_threads() if thixo else 1


def compare(
    case: str,
    ours: Action,
    peer: Action,
    *,
    target: float | None = None,
    rounds: int = 40,
    seconds: float = 0.01,
    anew: Callable[[], tuple[Action, Action]] | None = None,
) -> Ratio:
    """Time both sides in turn, `rounds` times, about `seconds` each; thrice as often if the target is missed.

    The further turns are of both sides made `anew` a few times, where that is given: which pages memory has decides what
    stays in a shared cache, so that PyTorch differs from itself by a tenth where arrays are half as large as that. All
    turns count, and how many there are is settled after the first ones alone.

    Each turn begins with a call that is not timed, so that caches and threads are this side's own; with more
    than one thread also with a pause, in which the other side's threads go to sleep, and more such calls. Of one
    thread only the time that it runs counts: others may use the machine too.
    """
    empty = lambda: None  # noqa: E731  (the loop and the call cost both sides the same)
    alone = threads_in_use() == 1
    pause, warm, clock = (
        (0.0, 0.0, time.thread_time) if alone else (SETTLE_SECONDS, WARM_SECONDS, time.perf_counter)
    )
    overhead = min(repeat(empty, 10_000, clock) for _ in range(5))
    counts = []
    for action in (ours, peer):
        time.sleep(pause)
        warm_up(action, warm)
        counts.append(calibrate(action, seconds))
    a: list[float] = []
    b: list[float] = []
    sides = ((ours, counts[0], a), (peer, counts[1], b))
    before: list[Action] = []  # kept, or what is made anew would be in the same memory

    def take_turns(count: int) -> Ratio:
        for i in range(count):
            for action, calls, kept in sides[:: 1 if i % 2 else -1]:
                if pause:
                    time.sleep(pause)
                warm_up(action, warm)
                kept.append(max(repeat(action, calls, clock) - overhead, 1e-9))
        return ratio_of(case, a, b, target)

    found = take_turns(rounds)
    if found.met:
        return found
    for _ in range(PLACES if anew else 1):
        if anew:
            before += [action for action, _, _ in sides]
            actions = anew()
            sides = ((actions[0], counts[0], a), (actions[1], counts[1], b))
        found = take_turns(2 * rounds // (PLACES if anew else 1))
    return found


def ratio_of(case: str, ours: list[float], peer: list[float], target: float | None = None) -> Ratio:
    """The ratio from seconds of both sides, neighbours in time at equal places."""
    found = [y / x for x, y in zip(ours, peer, strict=True)]
    low, mid, high = statistics.quantiles(found if len(found) > 1 else 2 * found, n=4)
    medians = statistics.median(ours) * 1e6, statistics.median(peer) * 1e6
    return Ratio(case, mid, low, high, *medians, len(ours), target)
