"""A run of the peers' suite that stays alive, and is timed whenever it is its turn.

One process for each side keeps what it compiled, however long that took; between its turns it is stopped, so that no
thread of it spins while another side is measured. `hold` is for the side's own process, `Side` for the one that measures.
"""

import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

UNTIMED = 3  # calls with which the suite compiles, and compares results
CASES = ("infer", "train", "decode", "lstm", "newton", "branch", "op", "run_file")
WARM_SECONDS = 0.05


def hold(peer: Any) -> Any:
    """Make a peer of the suite answer turns from its standard input, after it has compiled."""
    for name in CASES:
        if hasattr(peer, name):
            setattr(peer, name, _held(getattr(peer, name)))
    return peer


def _held(make: Callable[..., Any]) -> Callable[..., Any]:
    """A method of the suite that makes a run: the run waits for turns before the suite begins to time it."""

    def made(*arguments: Any) -> Any:
        found = make(*arguments)
        run, *more = found if isinstance(found, tuple) else (found,)
        calls = 0

        def waits(*given: int) -> Any:
            nonlocal calls
            calls += 1
            if calls <= UNTIMED:
                return run(*given)
            if calls == UNTIMED + 1:
                _answer(run, given)
            return None  # the suite's own timing is not needed

        return (waits, *more) if isinstance(found, tuple) else waits

    return made


def _answer(run: Callable[..., Any], given: tuple[int, ...]) -> None:
    """Time a block of calls for each line of standard input that holds its seconds; end where it ends."""
    print("turn ready", flush=True)
    count = 1
    for line in iter(sys.stdin.readline, "\n"):
        if not line:
            os._exit(1)  # the one that measures is gone
        warm = time.perf_counter() + WARM_SECONDS
        run(*given)
        while time.perf_counter() < warm:
            run(*given)
        times, end = [], time.perf_counter() + float(line)
        while not times or time.perf_counter() < end:
            start = time.perf_counter()
            for _ in range(count):
                run(*given)
            times.append((time.perf_counter() - start) / count)
            if times[-1] * count < 1e-4:  # so short that the clock would count
                count *= 2
        print(f"turn {statistics.median(times)!r}", flush=True)


class Gone(SystemExit):
    """A side that takes no turns, and why: it skips the case, or failed."""

    def __init__(self, words: Sequence[str], why: str) -> None:
        super().__init__(f"{' '.join(words)}: {why}")
        self.why = why


class Side:
    """The process of one peer; if it needs more than `limit` seconds for what it is asked, it is killed."""

    def __init__(self, words: Sequence[str], limit: float | None = None) -> None:
        self.words, self.limit = words, limit
        pipe = subprocess.PIPE
        try:
            self._process = subprocess.Popen(
                words, stdin=pipe, stdout=pipe, text=True, start_new_session=True
            )
        except OSError as error:
            raise Gone(words, str(error)) from error
        self._lines: list[str] = []

    def ready(self) -> "Side":
        """Wait until it has compiled, and stop it."""
        self._turn()
        self._signal(signal.SIGSTOP)
        return self

    def seconds(self, length: float) -> float:
        """The median time of a call, from a block of that many seconds."""
        self._signal(signal.SIGCONT)
        self._say(f"{length}\n")
        found = float(self._turn())
        self._signal(signal.SIGSTOP)
        return found

    def end(self) -> dict[str, Any]:
        """The suite's own result: what `check` says, how long the first call took."""
        self._signal(signal.SIGCONT)
        self._say("\n")
        with self._limited() as lines:
            self._lines += lines
        return self._result()

    def stop(self) -> None:
        """Kill it, with everything that it started."""
        with contextlib.suppress(ProcessLookupError):
            self._signal(signal.SIGKILL)
        self._process.wait()

    def _say(self, line: str) -> None:
        if self._process.stdin:
            with contextlib.suppress(BrokenPipeError):  # it is gone: what reads says so
                self._process.stdin.write(line)
                self._process.stdin.flush()

    def _signal(self, number: int) -> None:
        os.killpg(self._process.pid, number)

    def _turn(self) -> str:
        """What follows the next "turn"."""
        with self._limited() as lines:
            for line in lines:
                if line.startswith("turn "):
                    return line.removeprefix("turn ").strip()
                self._lines.append(line)
        self._result()
        raise Gone(self.words, "ended before its turn")

    @contextlib.contextmanager
    def _limited(self) -> Iterator[Iterator[str]]:
        """The lines that it prints, until it ends or is killed because its time is over."""
        start = time.perf_counter()
        late = threading.Timer(self.limit, self._signal, [signal.SIGKILL])  # type: ignore[arg-type]
        late.start()
        try:
            yield iter(self._process.stdout.readline, "")  # type: ignore[union-attr]
        finally:
            late.cancel()
        if self.limit and time.perf_counter() - start > self.limit:
            raise Gone(self.words, f"not done in {self.limit:g} s")

    def _result(self) -> dict[str, Any]:
        found = [line for line in self._lines if line.startswith("{")]
        if not found:
            raise Gone(self.words, f"printed no result, exit status {self._process.wait()}")
        result: dict[str, Any] = json.loads(found[-1])
        if "skip" in result:
            raise Gone(self.words, f"skips: {result['skip']}")
        if "error" in result:
            raise Gone(self.words, result["error"])
        return result


@contextlib.contextmanager
def sides(commands: dict[str, list[str]], limit: float | None = None) -> Iterator[dict[str, Side]]:
    """A process for each command, one after the other until each has compiled; all are gone afterwards."""
    made: dict[str, Side] = {}
    try:
        for name, words in commands.items():
            made[name] = Side(words, limit)
            made[name].ready()
        yield made
    finally:
        for side in made.values():
            side.stop()
