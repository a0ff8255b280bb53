"""R2: random operations on the real engine and store, each compared with the reference model (tests/simulation/model.h)."""
import pytest

from test_r01_simulation import simulate


@pytest.mark.fault("R2", aim="100,000 operations: every answer and every row as the reference model has them")
def test_operations_against_the_model(fault):
    # Long lives instead of many: 2,000 operations and more on one store before its faults stop.
    seeds = fault.size(short=2, full=50, long=5_000)

    ran, events, seconds, _ = simulate("store", "--seeds", f"500001..{500_000 + seeds}", "--events", 2000)

    assert ran == seeds and events >= 2000 * seeds
    fault.reached(f"{events:,} operations on {ran} stores in {seconds:.0f} s, each answer and each row compared; 0 differences")
