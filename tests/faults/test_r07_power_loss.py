"""R7: the power goes at every sync and after every answer; what was not synced is dropped, torn or reordered."""
import pytest

from storage_program import storage_faults


@pytest.mark.fault("R7", aim="power loss at all sync points x 10 tear patterns: 0 acknowledged changes lost")
def test_what_was_answered_outlives_the_power(fault):
    every = fault.size(short=11, full=1, long=1)
    seeds = fault.size(short=1, full=3, long=100)

    points = 0
    for seed in range(1, seeds + 1):
        ended = storage_faults("power", "--every", every, "--seed", seed)
        assert ended["lost"] == 0
        assert ended["syncs"] > 50 and ended["answers"] > 50
        points += ended["points"]

    fault.reached(f"{ended['moments']} of {ended['syncs'] + ended['answers']} moments x 10 patterns x {seeds} seed(s): {points:,} losses of power, "
                  "0 answers lost, 0 ledgers unsound")


@pytest.mark.fault("R7", aim="the same with synchronous=OFF shows losses: the tool is not blind")
def test_a_store_that_does_not_sync_is_seen_to_lose(fault):
    ended = storage_faults("power", "--synchronous-off", "--every", fault.size(short=29, full=1, long=1), broken=True)

    assert ended["lost"] > ended["points"] / 4
    fault.reached(f"{ended['lost']:,} of {ended['points']:,} losses of power lost something")
