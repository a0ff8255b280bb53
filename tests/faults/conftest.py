"""The table of `make faults`: test -> aimed at -> reached -> at which size.

    @pytest.mark.fault("R3", aim="500 kills of the scheduler under load, nothing lost")
    def test_kills_of_the_scheduler(home, fault):
        kills = fault.size(short=20, full=500, long=5000)
        ...
        fault.reached(f"{kills} kills, 0 lost")

One test may fill several rows' numbers, and several tests one number. Every number of NUMBERS needs a test that ran and told
what it reached, or the whole fails: a fault test that was skipped in silence has shown nothing.
"""
import os
import pathlib
import time

import pytest

# R1-R18: nothing is lost or counted twice. S1-S9: no one gets in. What they do is said by their tests and docs/GUARANTEES.md.
NUMBERS = [f"R{n}" for n in range(1, 19)] + [f"S{n}" for n in range(1, 10)]
# Form -> the longest that one test may take, in seconds, before it counts as hanging; 0: no limit.
SIZES = {"short": 600, "full": 5400, "long": 0}
HERE = pathlib.Path(__file__).parent


def _size():
    size = os.environ.get("FAULTS") or "short"
    if size not in SIZES:
        raise pytest.UsageError(f"FAULTS is '{size}'; it must be one of {', '.join(SIZES)}")
    return size


class Fault:
    """What a test is told about its size, and tells about what it reached."""

    def __init__(self, number, aim, name):
        self.number = number
        self.aim = aim
        self.name = name
        self.told = []
        self.verdict = "not run"
        self.seconds = 0.0

    @property
    def form(self):
        """"short", "full" or "long"."""
        return _size()

    def size(self, *, short, full, long):
        """How many, or how long, in the form that is asked for."""
        return {"short": short, "full": full, "long": long}[_size()]

    def reached(self, text):
        self.told.append(text)


@pytest.fixture
def fault(request):
    marker = request.node.get_closest_marker("fault")
    if marker is None:
        raise pytest.UsageError(f"{request.node.name}: no @pytest.mark.fault(number, aim=...)")
    if marker.args[0] not in NUMBERS:
        raise pytest.UsageError(f"{request.node.name}: no row {marker.args[0]} in the table")
    made = Fault(marker.args[0], marker.kwargs["aim"], request.node.name.removeprefix("test_"))
    request.node.stash[_ROW] = made
    return made


def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker(pytest.mark.timeout(SIZES[_size()]))


_ROWS = pytest.StashKey()
_ROW = pytest.StashKey()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    row = item.stash.get(_ROW, None)
    if row is not None and report.when == "call":
        row.seconds = report.duration
        if report.failed:
            row.verdict = "FAILED"
        elif report.skipped:
            row.verdict = f"skipped: {report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr}"
        elif not row.told:
            row.verdict = "FAILED: told nothing"
        else:
            row.verdict = "passed"
        # A report finds its way from the processes of `pytest -n 2` to the one that prints the table; nothing else does.
        report.user_properties.append(("fault", vars(row)))
    return report


class Table:
    """The rows that have come in."""

    def __init__(self):
        self.rows = []

    def pytest_runtest_logreport(self, report):
        if report.when == "call":
            for name, told in report.user_properties:
                if name == "fault":
                    row = Fault(told["number"], told["aim"], told["name"])
                    vars(row).update(told)
                    self.rows.append(row)


def pytest_configure(config):
    config.stash[_ROWS] = Table()
    config.pluginmanager.register(config.stash[_ROWS])


def _missing(rows):
    return [n for n in NUMBERS if not any(row.number == n and row.verdict == "passed" for row in rows)]


def _whole_folder(config):
    return any(pathlib.Path(str(argument).split("::")[0]).resolve() == HERE for argument in config.args)


def pytest_sessionstart(session):
    session.config.stash[_STARTED] = time.monotonic()


_STARTED = pytest.StashKey()


def pytest_sessionfinish(session, exitstatus):
    """A whole run in which a number has no passed test is a failed run."""
    if hasattr(session.config, "workerinput"):
        return  # One of several processes; the one that collects their reports judges.
    rows = session.config.stash[_ROWS].rows
    if session.exitstatus == 0 and (any(row.verdict.startswith("FAILED") for row in rows)
                                    or (_whole_folder(session.config) and not session.config.option.keyword and _missing(rows))):
        session.exitstatus = 1


def pytest_terminal_summary(terminalreporter, config):
    rows = sorted(config.stash[_ROWS].rows, key=lambda row: (NUMBERS.index(row.number), row.name))
    if not rows:
        return
    write = terminalreporter.write_line
    minutes = (time.monotonic() - config.stash[_STARTED]) / 60
    terminalreporter.section(f"faults: {_size()} form, {minutes:.1f} minutes")
    for row in rows:
        write(f"{row.number:4}{row.name}  [{row.verdict}, {row.seconds:.0f} s]")
        write(f"      aimed at: {row.aim}")
        for text in row.told or ["-"]:
            write(f"      reached:  {text}")
    passed = sum(row.verdict == "passed" for row in rows)
    failed = sum(row.verdict.startswith("FAILED") for row in rows)
    skipped = len(rows) - passed - failed
    if _whole_folder(config) and not config.option.keyword:
        for number in _missing(rows):
            write(f"{number:4}no test of this number passed")
            failed += not any(row.number == number and row.verdict.startswith("FAILED") for row in rows)
    write(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
