"""Worker threads: errors, early ends, seeds, waiting."""

import gc
import os
import subprocess
import sys
import textwrap
import threading
import time
import traceback

import pytest

import thixo as tx
from thixo.data import DataLoader, Dataset, IterableDataset
from thixo.errors import ThixoError


class Items(Dataset):
    """Gives `function(index)`."""

    def __init__(self, size, function):
        self.size, self.function = size, function

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        return self.function(index)


def workers_running():
    return [t for t in threading.enumerate() if t.name.startswith("loader-")]


def wait_until(condition, seconds=5.0):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.005)
    return condition()


def test_order_is_kept_however_long_items_take():
    def slow(index):
        time.sleep(0.02 if index % 3 == 0 else 0)
        return index

    loader = DataLoader(Items(12, slow), None, num_workers=4)
    assert list(loader) == list(range(12))


def test_workers_fetch_ahead_but_not_further_than_asked():
    asked = []
    loader = DataLoader(
        Items(100, lambda i: asked.append(i) or i), None, num_workers=2, prefetch_factor=3
    )
    walk = iter(loader)
    assert wait_until(lambda: len(asked) == 6)
    next(walk)
    assert wait_until(lambda: len(asked) == 7)
    time.sleep(0.02)
    assert sorted(asked) == list(range(7))


def test_items_are_fetched_at_the_same_time():
    both_here = threading.Barrier(2, timeout=10)
    assert list(DataLoader(Items(2, lambda i: both_here.wait() >= 0), None, num_workers=2)) == [
        True,
        True,
    ]


def fail_at_five(index):
    if index == 5:
        raise KeyError("five")
    return index


def test_an_exception_comes_with_the_workers_traceback():
    seen = []
    loader = DataLoader(Items(8, fail_at_five), 2, num_workers=2)
    with pytest.raises(KeyError, match="five") as caught:
        seen.extend(batch.tolist() for batch in loader)
    assert seen == [[0, 1], [2, 3]]
    text = "".join(traceback.format_exception(caught.value))
    assert "in fail_at_five" in text
    assert "fetching [4, 5]" in text
    assert "raised in worker 0" in text
    assert wait_until(lambda: not workers_running())


def test_after_an_exception_the_walk_is_over_and_another_works():
    loader = DataLoader(Items(8, fail_at_five), 2, num_workers=3)
    for _ in range(2):
        walk = iter(loader)
        assert next(walk).tolist() == [0, 1]
        assert next(walk).tolist() == [2, 3]
        with pytest.raises(KeyError):
            next(walk)
        assert list(walk) == []


@pytest.mark.parametrize("workers", [0, 2])
def test_stop_iteration_in_an_item_does_not_end_the_loop_in_silence(workers):
    def stop(index):
        raise StopIteration

    with pytest.raises(RuntimeError, match="StopIteration"):
        list(DataLoader(Items(4, stop), 2, num_workers=workers))


def test_an_exception_in_a_stream():
    class Broken(IterableDataset):
        def __iter__(self):
            yield 1
            raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        list(DataLoader(Broken(), None, num_workers=2))


def test_thixos_own_errors_point_to_no_line_of_the_threading_module():
    with pytest.raises(ThixoError, match="sizes differ") as caught:
        list(DataLoader(Items(4, tx.ones), 2, num_workers=1))
    assert "threading.py" not in str(caught.value)


def test_an_interrupt_in_a_worker_is_raised():
    def interrupt(index):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(DataLoader(Items(4, interrupt), 2, num_workers=1))


def test_a_loop_left_early_ends_its_workers():
    for _ in DataLoader(Items(1000, int), None, num_workers=3):
        break
    gc.collect()
    assert wait_until(lambda: not workers_running())


def test_workers_end_with_the_walk():
    list(DataLoader(Items(5, int), 2, num_workers=3))
    assert not workers_running()


def test_two_walks_at_once():
    loader = DataLoader(Items(6, int), None, num_workers=2)
    assert list(zip(loader, loader, strict=True)) == [(i, i) for i in range(6)]


def test_random_numbers_of_a_workers_own_generator():
    def draw(index):
        return tx.rand((), generator=tx.data.get_worker_info().generator).item()

    def walk(seed):
        tx.manual_seed(seed)
        loader = DataLoader(Items(9, draw), None, num_workers=3)
        return [list(loader), list(loader)]

    assert walk(1) == walk(1) != walk(2)
    numbers = [x for epoch in walk(1) for x in epoch]
    assert len(set(numbers)) == len(numbers)


def test_worker_info_and_init():
    begun = []
    loader = DataLoader(
        Items(4, lambda i: (tx.data.get_worker_info().id, tx.data.get_worker_info().num_workers)),
        None,
        num_workers=2,
        worker_init_fn=begun.append,
    )
    assert list(loader) == [[0, 2], [1, 2], [0, 2], [1, 2]]
    assert sorted(begun) == [0, 1]
    assert tx.data.get_worker_info() is None


def test_an_exception_in_init():
    def refuse(number):
        raise ValueError(f"not worker {number}")

    with pytest.raises(ValueError, match="not worker 0"):
        list(DataLoader(Items(4, int), None, num_workers=2, worker_init_fn=refuse))


def test_timeout():
    release = threading.Event()
    loader = DataLoader(Items(2, lambda i: release.wait(10)), None, num_workers=1, timeout=0.05)
    with pytest.raises(ThixoError, match=r"worker 0 gave no batch within timeout=0\.05 seconds"):
        list(loader)
    release.set()
    assert wait_until(lambda: not workers_running())


def test_a_walk_from_before_a_fork_says_so_in_the_child():
    walk = iter(DataLoader(Items(50, int), None, num_workers=1))
    next(walk)
    child = os.fork()
    if child == 0:  # no pytest in here: the exit status tells
        try:
            next(walk)
            status = 1
        except ThixoError as error:
            status = 0 if "parent process" in str(error) else 2
        os._exit(status)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert len(list(walk)) == 49


def test_a_program_that_ends_in_the_middle_of_a_walk_ends_quietly():
    program = """
        import thixo as tx
        walk = iter(tx.data.DataLoader(tx.data.TensorDataset(tx.ones(10000, 10)), 10, num_workers=3))
        print(next(walk)[0].shape)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "Size([10, 10])", "")
