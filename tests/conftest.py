"""Fixtures of all tests with real processes. A failed test shows what its processes logged."""
import pytest

import harness


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    home = item.funcargs.get("home") if hasattr(item, "funcargs") else None
    if report.failed and home is not None:
        report.sections.append(("logs", home.logs()))
    return report


@pytest.fixture
def home():
    with harness.Home() as made:
        yield made


@pytest.fixture
def scheduler(home):
    return harness.Scheduler(home)
