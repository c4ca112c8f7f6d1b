"""What every test can count on."""

import gc
import signal

import pytest
from hypothesis import HealthCheck, settings

import thixo as tx
from thixo.graph.trace import current_trace

# A slow or busy machine, or a sanitizer, is no reason to fail.
settings.register_profile("thixo", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("thixo")


def pytest_configure(config):
    # A shell starts background jobs with Ctrl-C ignored, and Python then leaves it so: tests of
    # interrupts would wait for ever.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish(session):
    # The tests stay until the end, with half a million objects: to look through them for garbage again and again takes long.
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)  # when its fixtures have put back what they changed
def pytest_runtest_teardown(item):
    """What one test leaves behind, another would fail by."""
    left = [
        what
        for what, is_left in (
            (f"set_mode({tx.get_mode()!r})", tx.get_mode() != "graph"),
            ("a trace", current_trace() is not None),
            ("set_grad_enabled(False)", not tx.is_grad_enabled()),
        )
        if is_left
    ]
    assert not left, f"{item.nodeid} leaves {', '.join(left)}"
