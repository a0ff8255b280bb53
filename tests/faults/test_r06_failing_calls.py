"""R6: every call of the store to its files fails once, or from then on: reads, writes, syncs, renames, shared memory, ..."""
import pytest

from storage_program import storage_faults


@pytest.mark.fault("R6", aim="every n-th file call fails (I/O error, full, no memory, kill -9) in 20 scenarios: no crash, no false answer")
def test_each_call_of_the_store_fails(fault):
    every = fault.size(short=53, full=1, long=1)

    ended = storage_faults("fail", "--layer", "calls", "--every", every)

    assert ended["failures"] == 0
    assert ended["scenarios"] >= 20
    # Most calls cannot be done without: if no request had been refused, nothing would have failed.
    assert ended["refused"] > ended["points"] / 4
    fault.reached(f"{ended['scenarios']} scenarios with {ended['calls']} calls, "
                  f"one in {every} of them failing in 7 ways: {ended['points']:,} points, 0 failures")
