"""R1: scheduler, workers, network and clocks in virtual time; a seed repeats a run exactly (tests/simulation)."""
import contextlib
import re
import subprocess
import time

import pytest

from harness import BIN


class Simulation:
    """A run of the simulator beside this process."""

    def __init__(self, kind, count, *more, first=1):
        self.kind, self.count = kind, count
        self._process = subprocess.Popen([BIN / "simulate", kind, "--seeds", f"{first}..{first + count - 1}", *more], stdout=subprocess.PIPE,
                                         stderr=subprocess.STDOUT, text=True)

    def kill(self):
        self._process.kill()
        self._process.wait()

    def output(self):
        """All that it printed; each seed ran without a violation."""
        output = self._process.communicate()[0]
        assert self._process.returncode == 0, output[-6000:]
        return output


def last_line(output):
    """(seeds, events, seconds) as the run counted them."""
    last = re.fullmatch(r"(\d+) \w+ seeds, (\d+) events, \d+ seeds twice with the same log, 0 failed, ([\d.]+) s", output.splitlines()[-1])
    assert last, output[-2000:]
    return int(last[1]), int(last[2]), float(last[3])


def happened(output, prefix):
    """How many different things of a kind happened, and how often in all."""
    counts = [int(count) for count, name in re.findall(r"^ +(\d+) (.+)$", output, re.M) if name.startswith(prefix)]
    return len(counts), sum(counts)


@pytest.mark.fault("R1", aim="10,000 seeds of the core with its reference model and 1,000 with the real store in under a minute")
def test_seeds(fault):
    begun = time.monotonic()
    runs = [Simulation("core", fault.size(short=1_000, full=10_000, long=1_000_000)),
            Simulation("store", fault.size(short=100, full=1_000, long=100_000))]
    with contextlib.ExitStack() as stack:
        for run in runs:
            stack.callback(run.kill)
        outputs = [run.output() for run in runs]
    took = time.monotonic() - begun

    for run, output in zip(runs, outputs):
        ran, events, seconds = last_line(output)
        assert ran == run.count
        kinds, faults = happened(output, ("fault: ", "hazard: "))
        refusals, refused = happened(output, "refusal: ")
        fault.reached(f"{ran:,} {run.kind} seeds, {events:,} events in {seconds:.0f} s; {kinds} kinds of faults {faults:,} times, "
                      f"{refusals} kinds of refusals {refused:,} times; 0 violations")
    fault.reached(f"both side by side in {took:.0f} s")
