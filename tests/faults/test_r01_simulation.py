"""R1: scheduler, workers, network and clocks in virtual time; a seed repeats a run exactly (tests/simulation)."""
import re
import subprocess

import pytest

from harness import BIN


def simulate(*arguments):
    """Runs the simulator; (seeds, events, seconds) of its last line, and all that it printed."""
    done = subprocess.run([BIN / "simulate", *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout[-6000:]}{done.stderr}"
    last = re.fullmatch(r"(\d+) \w+ seeds, (\d+) events, \d+ seeds twice with the same log, 0 failed, ([\d.]+) s", done.stdout.splitlines()[-1])
    assert last, done.stdout[-2000:]
    return int(last[1]), int(last[2]), float(last[3]), done.stdout


def happened(output, prefix):
    """How many different things of a kind happened, and how often in all."""
    counts = [int(count) for count, name in re.findall(r"^ +(\d+) (.+)$", output, re.M) if name.startswith(prefix)]
    return len(counts), sum(counts)


@pytest.mark.fault("R1", aim="10,000 seeds of the core with its reference model and 1,000 with the real store in under a minute")
@pytest.mark.parametrize("kind, seeds", [("core", {"short": 300, "full": 10_000, "long": 1_000_000}),
                                         ("store", {"short": 50, "full": 1_000, "long": 100_000})])
def test_seeds(fault, kind, seeds):
    count = fault.size(**seeds)

    ran, events, seconds, output = simulate(kind, "--seeds", f"1..{count}")

    assert ran == count
    kinds, faults = happened(output, ("fault: ", "hazard: "))
    refusals, refused = happened(output, "refusal: ")
    assert kinds and refusals, "nothing went wrong, or what did is told in other words"
    fault.reached(f"{ran:,} {kind} seeds, {events:,} events in {seconds:.0f} s; {kinds} kinds of faults {faults:,} times, "
                  f"{refusals} kinds of refusals {refused:,} times; 0 violations")
