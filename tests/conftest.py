"""What every test can count on."""

import signal


def pytest_configure(config):
    # A shell starts background jobs with Ctrl-C ignored, and Python then leaves it so: tests of
    # interrupts would wait for ever.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
