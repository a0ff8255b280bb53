"""R13: the same request twice, at the same time or later, has one effect and one answer."""
import concurrent.futures
import hashlib
import random

import grpc
import pytest

from harness import LONG_LEASES, PATIENCE_S, Scheduler, check_ledger, messages, query, results


@pytest.mark.fault("R13", aim="10,000 duplicate submits: one sweep, one answer")
def test_duplicate_submits_make_one_sweep(home, fault):
    scheduler = Scheduler(home)
    api, spec = messages("api"), messages("spec")
    request = api.SubmitSweepRequest(spec=spec.SweepSpec(
        name="twice", experiment="algorithmic",
        axes=spec.Axes(task=["even_pairs"], encoding=["none", "rope"], learning_rate=[1e-4], seed=range(3))))
    stub = scheduler.api()
    count = fault.size(short=500, full=10_000, long=100_000)

    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: stub.SubmitSweep(request, timeout=PATIENCE_S), range(count)))

    assert len({answer.sweep.id for answer in answers}) == 1
    assert query(scheduler.store, "SELECT (SELECT count(*) FROM sweeps), (SELECT count(*) FROM jobs)") == [(1, 6)]
    scheduler.stop()
    check_ledger(home, scheduler.store)
    fault.reached(f"{count:,} submits from 8 threads: 1 sweep, 6 jobs")


SPEC = dict(name="replayed", experiment="algorithmic",
            axes=dict(task=["even_pairs"], encoding=["none", "rope"], learning_rate=[1e-4], seed=range(3)))


class Player:
    """A worker that the test plays by hand: every call is kept, so that it can be sent once more."""

    def __init__(self, scheduler, name):
        self.stub = scheduler.workers()
        self.artifacts = messages("worker_grpc").ArtifactsStub(scheduler.channel)
        self.w = messages("worker")
        self.name = name
        self.sequence = 0
        self.sent = []

    def call(self, **said):
        self.sequence += 1
        request = self.w.SynchronizeRequest(
            protocol=1, worker=self.name, incarnation=1, sequence=self.sequence,
            abilities=self.w.Abilities(name=self.name, pack_limit=1, experiments=["algorithmic"], model_revision=1,
                                       tasks=[self.w.Ability(name="even_pairs", revision=1)],
                                       encodings=[self.w.Ability(name=name, revision=1) for name in ("none", "rope")]), **said)
        self.sent.append(request)
        return self.send(request)

    def send(self, request):
        return self.stub.Synchronize(request, timeout=PATIENCE_S)

    def refused(self, request):
        """The code with which a call is refused."""
        with pytest.raises(grpc.RpcError) as error:
            self.send(request)
        return error.value.code()

    def report(self, lease, value):
        result = self.w.MemberResult(job=lease.jobs[0].id, measurements=[self.w.Measurement(metric="accuracy", value=value)])
        return self.w.AttemptReport(attempt=lease.attempt, outcome=self.w.AttemptReport.OUTCOME_SUCCEEDED, results=[result])

    def upload(self, lease, content):
        header = self.w.UploadHeader(attempt=lease.attempt, worker=self.name, kind="weights", jobs=[job.id for job in lease.jobs],
                                     sha256=hashlib.sha256(content).hexdigest(), bytes=len(content))
        parts = [self.w.UploadRequest(header=header), self.w.UploadRequest(chunk=content)]
        return self.artifacts.Upload(iter(parts), timeout=PATIENCE_S)


def facts(store):
    """All that calls of workers can change for good."""
    return (results(store), query(store, "SELECT id, outcome, detail FROM attempts ORDER BY id"),
            query(store, "SELECT job, kind, step, attempt, sha256 FROM artifacts ORDER BY job, kind, step, attempt"),
            query(store, "SELECT job, step, loss FROM progress ORDER BY job, step"))


def submit(scheduler):
    api, spec = messages("api"), messages("spec")
    sweep = spec.SweepSpec(name=SPEC["name"], experiment=SPEC["experiment"], axes=spec.Axes(**SPEC["axes"]))
    return scheduler.api().SubmitSweep(api.SubmitSweepRequest(spec=sweep), timeout=PATIENCE_S)


@pytest.mark.fault("R13", aim="replayed and reordered calls of a worker: the same answer or a refusal, and one effect")
def test_replayed_calls_of_a_worker_have_one_effect(home, fault):
    rounds = fault.size(short=20, full=300, long=5000)
    scheduler = Scheduler(home, *LONG_LEASES)
    submit(scheduler)
    player = Player(scheduler, "replayer")
    first = player.call(free_slots=6)
    assert len(first.leases) == 6
    # The answer is lost, and the worker asks again: the same leases, none more.
    again = player.call(free_slots=6)
    assert [lease.attempt for lease in again.leases] == [lease.attempt for lease in first.leases]
    half, rest = list(first.leases)[:3], list(first.leases)[3:]
    for lease in half:
        for _ in range(2):  # An upload that is repeated is OK, and the file has one row.
            player.upload(lease, b"weights %d" % lease.attempt)
    held = [player.w.HeldAttempt(attempt=lease.attempt, step=1, phase="training") for lease in rest]
    reports = [player.report(lease, 0.25) for lease in half]
    done = player.call(held=held, finished=reports)
    assert sorted(done.acknowledged) == sorted(lease.attempt for lease in half)
    settled = facts(scheduler.store)
    assert len(settled[2]) == 3

    chance = random.Random(13)
    refused = repeated = 0
    for _ in range(rounds):
        kind = chance.choice(["same sequence", "older sequence", "report again", "another value", "upload again"])
        if kind in ("same sequence", "older sequence"):
            # Byte for byte what was sent before: too late, whatever it says.
            old = player.sent[-1] if kind == "same sequence" else chance.choice(player.sent)
            assert player.refused(old) == grpc.StatusCode.ABORTED
            refused += 1
        elif kind in ("report again", "another value"):
            # A worker that did not see the acknowledgement; one that changed its mind is acknowledged too, and not believed.
            lease = chance.choice(half)
            answer = player.call(held=held, finished=[player.report(lease, 0.25 if kind == "report again" else 0.75)])
            assert list(answer.acknowledged) == [lease.attempt]
            repeated += 1
        else:
            # The attempt has ended: its files are what they are.
            with pytest.raises(grpc.RpcError) as error:
                player.upload(chance.choice(half), b"other weights")
            assert error.value.code() == grpc.StatusCode.ABORTED
            refused += 1
        assert facts(scheduler.store) == settled
    scheduler.stop()
    check_ledger(home, scheduler.store)
    fault.reached(f"{rounds:,} replayed calls: {refused:,} refused, {repeated:,} acknowledged again, 0 effects")


@pytest.mark.fault("R13", aim="calls in flight at the same time and in any order: the newest counts")
def test_calls_that_overtake_each_other(home, fault):
    rounds = fault.size(short=10, full=200, long=2000)
    scheduler = Scheduler(home, *LONG_LEASES)
    submit(scheduler)
    player = Player(scheduler, "overtaken")
    leases = list(player.call(free_slots=6).leases)
    held = [player.w.HeldAttempt(attempt=lease.attempt, step=1, phase="training") for lease in leases]
    player.call(held=held)
    for _ in range(rounds):
        # Five calls at once, the newest neither first nor last; all but it are overtaken or were answered before.
        calls = []
        for _ in range(5):
            player.sequence += 1
            request = player.w.SynchronizeRequest()
            request.CopyFrom(player.sent[-1])
            request.sequence = player.sequence
            calls.append(player.stub.Synchronize.future(request, timeout=PATIENCE_S))
        outcomes = [call.code() for call in calls]
        assert outcomes[-1] == grpc.StatusCode.OK, outcomes
        assert set(outcomes) <= {grpc.StatusCode.OK, grpc.StatusCode.ABORTED}, outcomes
        directives = calls[-1].result().directives
        assert [d.action for d in directives] == [player.w.Directive.ACTION_CONTINUE] * 6, directives
    reports = [player.report(lease, 0.5) for lease in leases]
    assert len(player.call(finished=reports).acknowledged) == 6
    scheduler.stop()
    check_ledger(home, scheduler.store)
    assert query(scheduler.store, "SELECT outcome, count(*) FROM attempts GROUP BY outcome") == [("succeeded", 6)]
    fault.reached(f"{rounds:,} times five calls at once: the newest was answered each time, no attempt lost")
