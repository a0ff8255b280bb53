"""R9: memory runs out: at any allocation of the store, and in a worker's trainer."""
import pytest

from storage_program import storage_faults


@pytest.mark.fault("R9", aim="every n-th allocation in the store's paths fails: no crash, no false answer, no false value")
def test_each_allocation_of_the_store_fails(fault):
    every = fault.size(short=397, full=31, long=1)

    ended = storage_faults("fail", "--layer", "memory", "--every", every)

    assert ended["failures"] == 0
    assert ended["points"] > 0
    fault.reached(f"{ended['calls']:,} allocations in {ended['scenarios']} scenarios, every {every}th failing once or from then on: "
                  f"{ended['points']:,} points, {ended['refused']:,} requests refused, 0 failures")
