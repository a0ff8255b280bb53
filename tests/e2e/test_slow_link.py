"""A link on which every answer takes its time is a slow one, not a broken one."""
from harness import run_cli
from proxy import Proxy


def test_a_slow_link_is_not_taken_for_no_scheduler(home, scheduler):
    with Proxy(scheduler.address, delay_s=0.4) as proxy:
        listed = run_cli(home, "sweeps", scheduler=proxy)
        assert listed.code == 0, listed
