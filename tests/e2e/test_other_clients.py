"""Programs that are not ours: grpcurl, which knows only what reflection tells it, and Python's gRPC."""
import json
import signal
import time

import grpc
import pytest

import harness
from harness import BIN, Process, grpcurl, messages, run_cli
from played_worker import PlayedWorker


def small_sweep(**training):
    """2 x 2 x 1 x 2 jobs that take a moment."""
    spec = messages("spec")
    return spec.SweepSpec(
        name="small", experiment="algorithmic",
        axes=spec.Axes(task=["even_pairs", "parity_check"], encoding=["rope", "rope:randomized"], learning_rate=[0.001], seed=[0, 1]),
        training=spec.Training(steps=2, batch_size=4, lengths=[1, 2, 3], **training),
        evaluation=spec.Evaluation(lengths=[4, 5], examples=4))


def test_reflection_names_every_service(home, scheduler):
    services = grpcurl(home, scheduler, "list")
    assert services.code == 0, services
    assert set(services.out.split()) >= {"longreach.v1.Longreach", "longreach.v1.Worker", "longreach.v1.Artifacts",
                                         "grpc.health.v1.Health"}


def test_reflection_describes_a_call_with_its_role_and_fields(home, scheduler):
    call = grpcurl(home, scheduler, "describe", "longreach.v1.Longreach.SubmitSweep")
    assert call.code == 0, call
    assert "rpc SubmitSweep ( .longreach.v1.SubmitSweepRequest ) returns ( .longreach.v1.SubmitSweepResponse )" in call.out
    assert "(.longreach.v1.role) = ROLE_CLIENT" in call.out
    message = grpcurl(home, scheduler, "describe", "longreach.v1.Training")
    assert "batch_size = 2" in message.out, message


def test_health_is_serving(home, scheduler):
    health = grpcurl(home, scheduler, "grpc.health.v1.Health/Check")
    assert health.code == 0, health
    assert health.json() == {"status": "SERVING"}


def test_grpcurl_calls_what_it_found(home, scheduler):
    info = grpcurl(home, scheduler, "longreach.v1.Longreach/GetInfo")
    assert info.code == 0, info
    assert info.json()["protocol"] == 1
    assert info.json()["store_path"].endswith("store.db")


def test_grpcurl_submits_a_sweep(home, scheduler):
    spec = {"name": "by-hand", "experiment": "algorithmic",
            "axes": {"task": ["even_pairs"], "encoding": ["rope"], "learning_rate": [0.001], "seed": [0, 1, 2]}}
    planned = grpcurl(home, scheduler, "longreach.v1.Longreach/SubmitSweep", data=json.dumps({"spec": spec, "dry_run": True}))
    assert planned.code == 0, planned
    assert planned.json()["plan"]["jobs"] == 3


def test_over_tcp_too(home):
    scheduler = harness.Scheduler(home, listen="localhost:0")
    assert not scheduler.address.endswith(":0")
    assert grpcurl(home, scheduler, "grpc.health.v1.Health/Check").json() == {"status": "SERVING"}
    before = int(time.time())
    info = scheduler.api().GetInfo(messages("api").GetInfoRequest())
    assert info.protocol == 1
    assert before <= info.now.seconds <= time.time(), "its clock is this machine's"


def test_python_plans_without_changing_anything(scheduler):
    api = messages("api")
    answer = scheduler.api().SubmitSweep(api.SubmitSweepRequest(spec=small_sweep(), dry_run=True))
    assert answer.plan.jobs == 8
    assert answer.plan.done == 0
    assert answer.plan.packs == 4, "one for each task and encoding: seeds share a pack"
    assert not answer.HasField("sweep")
    assert list(scheduler.api().ListSweeps(api.ListSweepsRequest()).sweeps) == []


def test_python_submits_once_however_often_it_asks(scheduler):
    api = messages("api")
    first = scheduler.api().SubmitSweep(api.SubmitSweepRequest(spec=small_sweep()))
    again = scheduler.api().SubmitSweep(api.SubmitSweepRequest(spec=small_sweep()))
    assert (first.created, again.created) == (True, False)
    assert len(first.sweep.id) == 64 and again.sweep.id == first.sweep.id
    sweeps = scheduler.api().ListSweeps(api.ListSweepsRequest()).sweeps
    assert [(sweep.name, sweep.jobs, sweep.counts.queued) for sweep in sweeps] == [("small", 8, 8)]
    jobs = scheduler.api().ListJobs(api.ListJobsRequest(sweep="small")).jobs
    assert len({job.id for job in jobs}) == 8
    assert {(job.task, job.encoding) for job in jobs} == {
        (task, encoding) for task in ("even_pairs", "parity_check") for encoding in ("rope", "rope:randomized")}


@pytest.mark.parametrize("change, words", [
    (lambda spec: spec.axes.task.append("even_pears"), ["even_pears", "even_pairs"]),
    (lambda spec: spec.axes.encoding.append("shape:randomized"), ["shape"]),
    (lambda spec: setattr(spec.training, "batch_size", 0), ["batch_size", "0"]),
    (lambda spec: spec.axes.learning_rate.append(-1), ["learning_rate", "-1"]),
])
def test_a_refusal_names_the_value_and_writes_nothing(scheduler, change, words):
    api = messages("api")
    spec = small_sweep()
    change(spec)
    with pytest.raises(grpc.RpcError) as refusal:
        scheduler.api().SubmitSweep(api.SubmitSweepRequest(spec=spec))
    assert refusal.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    for word in words:
        assert word in refusal.value.details()
    assert list(scheduler.api().ListSweeps(api.ListSweepsRequest()).sweeps) == []


def test_a_sweep_that_is_not_there_is_not_found(scheduler):
    api = messages("api")
    with pytest.raises(grpc.RpcError) as refusal:
        scheduler.api().GetSweep(api.GetSweepRequest(sweep="nowhere"))
    assert refusal.value.code() == grpc.StatusCode.NOT_FOUND
    assert "nowhere" in refusal.value.details()


def test_a_worker_of_another_protocol_is_told_which_one_is_spoken(scheduler):
    worker = messages("worker")
    with pytest.raises(grpc.RpcError) as refusal:
        scheduler.workers().Synchronize(worker.SynchronizeRequest(
            protocol=2, worker="11111111-2222-4333-8444-555555555555", incarnation=1, sequence=1))
    assert refusal.value.code() == grpc.StatusCode.FAILED_PRECONDITION
    assert "1" in refusal.value.details() and "2" in refusal.value.details()


def test_what_a_worker_of_another_build_lacks_is_said_to_who_waits(home, scheduler):
    submitted = run_cli(home, "submit", "table-3", "--set", "encoding=none", "--set", "seed=0", scheduler=scheduler)
    assert submitted.code == 0, submitted
    worker = PlayedWorker(scheduler)  # It knows no experiment kind but 'algorithmic'.
    assert worker.take() is None

    job = run_cli(home, "jobs", "table-3", "-q", scheduler=scheduler).out.split()[0]
    explained = run_cli(home, "explain", job, "-o", "json", scheduler=scheduler).json()
    assert explained["stuck"] is True
    assert any("has no experiment kind 'images'; its build is played" in reason for reason in explained["reasons"]), explained
    watching = Process(home, "watch", [BIN / "longreach", "watch", "table-3", "--scheduler", scheduler.address])
    while "its build is played" not in (line := watching.next_line()):
        assert line is not None
    watching.signal(signal.SIGINT)
    assert watching.wait() == 130


def test_every_call_has_a_role():
    role = messages("options").role
    files = [messages("api").DESCRIPTOR, messages("worker").DESCRIPTOR]
    calls = [method for file in files for service in file.services_by_name.values() for method in service.methods]
    assert len(calls) >= 20
    assert [call.full_name for call in calls if call.GetOptions().Extensions[role] == 0] == []
