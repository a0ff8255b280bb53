"""Clocks of real programs that a test moves while they run (tests/faults/clock).

    clock = Clock(home, "scheduler")
    with clock.here():
        scheduler = Scheduler(home)
    clock.set(wall_s=-86400)              # the wall clock is a day back
    clock.set(steady_s=600)               # ten minutes have gone by, and nobody has waited for them
    with hurried(home, "worker"):         # what it does every few seconds comes five times as often
        worker = Worker(home, scheduler)
"""
import contextlib

import pytest

import harness

_LIBRARY = harness.BIN / "shifted_clock.so"
needs_shifted_clock = pytest.mark.skipif(not _LIBRARY.exists(), reason="a sanitizer's runtime tolerates nothing preloaded before it")


class Clock:
    """The clocks of the processes that are started within `with clock.here():`."""

    def __init__(self, home, name, *, rate=1.0):
        self._file = home.path / f"{name}.clock"
        self._rate = rate
        self.set()

    def set(self, *, wall_s=0, steady_s=0):
        """So far ahead of this machine's clocks; what was said before counts no more."""
        # At once, not in two steps: every call reads this.
        new = self._file.with_suffix(".new")
        new.write_text(f"{wall_s} {self._rate} {steady_s}\n")
        new.rename(self._file)

    def here(self):
        return harness.variables(LD_PRELOAD=_LIBRARY, SHIFTED_CLOCK=self._file)


def hurried(home, name):
    """For programs that look at something every few seconds: the steady clocks of those that are started within run five times as fast. Where no clock can
    be moved, what waits for them takes longer, and that is all. Patience ends sooner too: a worker's scheduler has FREQUENT_CALLS, whose leases are long."""
    return Clock(home, name, rate=5.0).here() if _LIBRARY.exists() else contextlib.nullcontext()
