"""What the documents promise about a store, tried on a real one."""
import re

import grpc
import pytest

import harness
from harness import ROOT, Scheduler, Worker, messages
from programs_page import programs_page
from test_other_clients import small_sweep

PAGE = (ROOT / "docs/reference/sqlite-queries.md").read_text()
QUERIES = re.findall(r"^([^\n]+[.:])\n\n```sql\n(.*?)```", PAGE, re.MULTILINE | re.DOTALL)
# Queries about what a small sweep that went well does not have.
EMPTY = ("What runs now", "What failed", "Table 1 as rows", "Table 2 as rows", "The last column of Table B.1", "Table 1 of the NoPE paper", "Table 2 of the NoPE paper",
         "Passkeys by length", "Loss and entropy", "The scale of each head", "These views are of sweeps", "Cells whose jobs", "What the attempts of interrupted jobs", "Files of a job")


@pytest.fixture(scope="module")
def store():
    """The store of a finished sweep."""
    with harness.Home() as home:
        scheduler = Scheduler(home)
        spec = small_sweep()
        spec.name = "table-b1"  # As in the page.
        api = messages("api")
        scheduler.api().SubmitSweep(api.SubmitSweepRequest(spec=spec))
        Worker(home, scheduler)
        last = None
        try:
            for last in scheduler.api().WatchSweep(api.GetSweepRequest(sweep="last"), timeout=harness.PATIENCE_S):
                pass
        except grpc.RpcError as error:
            raise AssertionError(f"the sweep did not end: {error}\n{last}\n{home.logs()}") from error
        assert last.finished and last.sweep.counts.succeeded == 8, f"{last}\n{home.logs()}"
        yield scheduler.store


def test_all_queries_of_the_page_are_here():
    assert len(QUERIES) == PAGE.count("```sql") >= 12


@pytest.mark.parametrize("title, sql", QUERIES, ids=[title for title, _ in QUERIES])
def test_query_of_the_page_answers(store, title, sql):
    rows = harness.query(store, sql)
    if not title.startswith(EMPTY):
        assert rows
        assert any(value is not None for row in rows for value in row)


def test_the_page_of_the_programs_options_is_what_they_print():
    page = ROOT / "docs/reference/programs.md"
    assert page.read_text() == programs_page(), "print it anew: python3 tests/support/programs_page.py > docs/reference/programs.md"
