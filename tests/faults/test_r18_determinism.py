"""R18: a job has one result, bit for bit: straight, stopped and resumed, in a pack and alone."""
import pytest

import harness
from harness import Scheduler, Worker, check_ledger, messages, query, until
from load import finish, open_jobs, outcome

pytestmark = harness.needs_worker

TASKS = ["even_pairs", "bucket_sort", "modular_arithmetic_brackets"]
ENCODINGS = ["none", "sin_cos", "rope", "alibi", "relative", "learned",
             "rope:randomized", "alibi:randomized", "relative:randomized"]


def sample(form):
    """Tasks x encodings, plain and randomized, with two seeds: 54 jobs that make packs of two; a third of them in the short form."""
    spec = messages("spec")
    tasks = TASKS[:1] if form == "short" else TASKS
    return spec.SweepSpec(
        name="sample", experiment="algorithmic",
        axes=spec.Axes(task=tasks, encoding=ENCODINGS, learning_rate=[1e-3], seed=[0, 1]),
        model=spec.Model(layers=2, embedding_dim=32, heads=4, mlp_dim=64),
        positions=spec.Positions(max_position=64),
        training=spec.Training(steps=150 if form == "short" else 300, batch_size=16, lengths=range(1, 9)),
        evaluation=spec.Evaluation(lengths=range(9, 12), examples=32))


def run(home, name, spec, *, pack_limit, threads=1):
    scheduler = Scheduler(home, store=f"{name}.db")
    worker = Worker(home, scheduler, "--pack-limit", pack_limit, name=name, threads=threads)
    scheduler.api().SubmitSweep(messages("api").SubmitSweepRequest(spec=spec), timeout=harness.PATIENCE_S)
    finish(home, scheduler)
    worker.stop()
    scheduler.stop()
    check_ledger(home, scheduler.store)
    return scheduler.store


def resumed(home, spec, stops):
    """The same with every pack stopped in its middle, again and again, by pausing the sweep."""
    api = messages("api")
    scheduler = Scheduler(home, "--renew-every-s", "0.2", "--lease-term-s", "5", store="resumed.db")
    worker = Worker(home, scheduler, name="resumed")
    stub = scheduler.api()
    stub.SubmitSweep(api.SubmitSweepRequest(spec=spec), timeout=harness.PATIENCE_S)
    for _ in range(stops):
        until(lambda: query(scheduler.store, "SELECT count(*) FROM attempts WHERE ended_at IS NULL")[0][0] or open_jobs(scheduler.store) == 0,
              "something is being trained")
        stub.SteerSweep(api.SteerSweepRequest(sweep="last", action=api.SteerSweepRequest.ACTION_PAUSE), timeout=harness.PATIENCE_S)
        until(lambda: query(scheduler.store, "SELECT count(*) FROM attempts WHERE ended_at IS NULL")[0][0] == 0, "it has stopped")
        if open_jobs(scheduler.store) == 0:
            break
        stub.SteerSweep(api.SteerSweepRequest(sweep="last", action=api.SteerSweepRequest.ACTION_RESUME), timeout=harness.PATIENCE_S)
    finish(home, scheduler)
    worker.stop()
    scheduler.stop()
    check_ledger(home, scheduler.store)
    return scheduler.store


@pytest.mark.fault("R18", aim="100 % of a sample of 54 jobs have the same bits straight, resumed, packed and alone")
def test_one_result_whatever_the_way(home, fault):
    spec = sample(fault.form)
    straight = run(home, "straight", spec, pack_limit=16)
    ways = {
        "again, on two threads": run(home, "again", spec, pack_limit=16, threads=2),
        "alone": run(home, "alone", spec, pack_limit=1),
        "resumed": resumed(home, spec, fault.size(short=12, full=120, long=1200)),
    }

    expected = outcome(straight)
    jobs = len(expected[0])
    assert jobs == fault.size(short=18, full=54, long=54)
    assert [state for _, state, *_ in expected[0]] == ["succeeded"] * jobs
    for way, store in ways.items():
        assert outcome(store) == expected, way

    packs = query(straight, "SELECT max(members) FROM attempts")[0][0]
    alone = query(home.path / "alone.db", "SELECT max(members) FROM attempts")[0][0]
    assert (packs, alone) == (2, 1)
    parts = query(home.path / "resumed.db", "SELECT count(*), count(DISTINCT job) FROM attempts JOIN attempt_jobs ON attempt = id "
                                            "WHERE start_step > 0")[0]
    assert parts[1] > 0, "nothing was resumed in its middle"
    engines = ", ".join(engine for (engine,) in query(straight, "SELECT DISTINCT engine FROM attempts ORDER BY engine"))
    fault.reached(f"{jobs} of {jobs} jobs ({engines}): straight, again on two threads, alone, and resumed "
                  f"({parts[0]} times, {parts[1]} different jobs) have the same results and loss curves, bit for bit")
