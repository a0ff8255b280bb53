"""Fixtures of all tests with real processes. A failed test shows what its processes logged."""
import pytest

import harness


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    if report.failed:
        # A fixture is a Home, or a process of one.
        homes = [getattr(fixture, "home", fixture) for fixture in getattr(item, "funcargs", {}).values()]
        for home in {id(home): home for home in homes if isinstance(home, harness.Home)}.values():
            report.sections.append(("logs", home.logs()))
    return report


@pytest.fixture
def home():
    with harness.Home() as made:
        yield made


@pytest.fixture
def scheduler(home):
    return harness.Scheduler(home)
