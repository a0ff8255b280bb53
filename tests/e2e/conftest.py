"""End-to-end tests kill programs, and never the machine: what they write may lie in memory."""
import pytest

import harness


# For these tests alone: those of faults may follow in the same process, and are of disks.
@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup():
    harness.Home.base = harness.memory()


def pytest_runtest_teardown():
    harness.Home.base = None
