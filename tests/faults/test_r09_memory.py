"""R9: memory runs out: at any allocation of the store, and in a worker's trainer."""
import pathlib
import resource

import pytest

import harness
from harness import Scheduler, Worker, check_ledger, messages, query, until
from load import trainer_of
from storage_program import storage_faults


@pytest.mark.fault("R9", aim="every n-th allocation in the store's paths fails: no crash, no false answer, no false value")
def test_each_allocation_of_the_store_fails(fault):
    every = fault.size(short=1499, full=31, long=1)

    ended = storage_faults("fail", "--layer", "memory", "--every", every)

    assert ended["failures"] == 0
    assert ended["points"] > 0
    fault.reached(f"{ended['calls']:,} allocations in {ended['scenarios']} scenarios, one in {every} failing once or from then on: "
                  f"{ended['points']:,} points, {ended['refused']:,} requests refused, 0 failures")


@pytest.mark.fault("R9", aim="the scheduler ends at the n-th allocation of its own: nothing half-written, nothing lost that was answered")
def test_each_allocation_of_the_scheduler_is_its_last(fault):
    every = fault.size(short=293, full=5, long=1)

    ended = storage_faults("fail", "--layer", "new", "--every", every)

    assert ended["failures"] == 0
    assert ended["points"] > 0
    fault.reached(f"{ended['calls']:,} C++ allocations in {ended['scenarios']} scenarios, ended at one in {every}: {ended['points']:,} points, "
                  "0 failures")


def address_space(pid):
    """Bytes that a process has mapped."""
    line = next(line for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmSize"))
    return int(line.split()[1]) * 1024


@harness.needs_worker
@pytest.mark.fault("R9", aim="a trainer without memory fails its job as 'out of memory'; the worker lives and trains on, 0 deaths of the scheduler")
def test_a_trainer_out_of_memory(home, fault):
    scheduler = Scheduler(home)
    worker = Worker(home, scheduler)
    trainer = until(lambda: trainer_of(worker), "the trainer is there")
    until(lambda: query(scheduler.store, "SELECT count(*) FROM workers") == [(1,)], "the worker has come")
    # For the worker and every trainer that it starts: room for a small model, none for one of 270 million parameters.
    most = max(address_space(worker.pid), address_space(trainer)) + (400 << 20)
    for pid in (worker.pid, trainer):
        resource.prlimit(pid, resource.RLIMIT_AS, (most, most))
    stub, api, spec = scheduler.api(), messages("api"), messages("spec")

    def submit(name, **model):
        stub.SubmitSweep(api.SubmitSweepRequest(spec=spec.SweepSpec(
            name=name, experiment="algorithmic",
            axes=spec.Axes(task=["even_pairs"], encoding=["rope"], learning_rate=[1e-3], seed=[0]),
            model=spec.Model(**model), training=spec.Training(steps=20, batch_size=16, lengths=[10]),
            evaluation=spec.Evaluation(lengths=[11], examples=8))), timeout=harness.PATIENCE_S)

    def ended(name):
        return query(scheduler.store, "SELECT jobs.state, failure FROM jobs JOIN sweep_jobs ON job = jobs.num JOIN sweeps ON sweeps.num = sweep "
                                      "WHERE name = ? AND jobs.state IN ('failed', 'succeeded')", name)

    submit("too-large", layers=8, embedding_dim=1024, mlp_dim=16_384)
    (state, failure), = until(lambda: ended("too-large"), "the large job has ended")
    assert state == "failed" and "out of memory" in failure, (state, failure)
    assert query(scheduler.store, "SELECT count(*) FROM attempts WHERE outcome = 'failed' AND detail LIKE 'out of memory%'") == [(3,)]
    submit("small", layers=1)
    (state, _), = until(lambda: ended("small"), "the small job has ended")
    assert state == "succeeded"
    assert worker.is_running() and scheduler.is_running()
    worker.stop()
    scheduler.stop()
    check_ledger(home, scheduler.store)
    fault.reached("3 attempts failed as 'out of memory', then the next job succeeded on the same worker; memory of a GPU can only run out where "
                  "one is")
