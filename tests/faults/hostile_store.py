"""A store of hostile texts: workers that are played here bring them as names, devices, builds, data sets, reasons of failures and logs."""
import hashlib

from harness import PATIENCE_S, messages, query

# Bytes that are no text at all; as arguments and in logs.
BROKEN = [b"\xff\xfe", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"a\x80b", b"\xe2\x82"]


class Cast:
    """Workers with hostile names, each of which fails jobs with hostile reasons and leaves hostile logs."""

    def __init__(self, scheduler, texts, prefix="worker"):
        self.prefix = prefix
        self.scheduler = scheduler
        self.texts = texts
        self.stub = scheduler.workers()
        self.artifacts = messages("worker_grpc").ArtifactsStub(scheduler.channel)
        self.sequences = [0] * len(texts)
        self.worker = messages("worker")

    def call(self, number, **more):
        text = self.texts[number]
        self.sequences[number] += 1
        worker = self.worker
        return self.stub.Synchronize(worker.SynchronizeRequest(
            protocol=1, worker=f"{self.prefix}-{number}", incarnation=1, sequence=self.sequences[number],
            abilities=worker.Abilities(
                name=text, build=text, device=text, threads=1, pack_limit=1, experiments=["algorithmic"], model_revision=1,
                tasks=[worker.Ability(name="even_pairs", revision=1)], encodings=[worker.Ability(name="none", revision=1)],
                data_sets=[worker.DataSet(name=text, sha256=hashlib.sha256(text.encode()).hexdigest(), bytes=1)]),
            **more), timeout=PATIENCE_S)

    def lease(self, number):
        leases = self.call(number, free_slots=1).leases
        return leases[0] if leases else None

    def fail(self, number, lease):
        text = self.texts[number]
        log = text.encode() + b"\n\x00" + b"".join(BROKEN) + b"\n"
        header = self.worker.UploadHeader(attempt=lease.attempt, worker=f"{self.prefix}-{number}", kind="log", step=0, bytes=len(log),
                                          sha256=hashlib.sha256(log).hexdigest(), jobs=[job.id for job in lease.jobs])
        self.artifacts.Upload(iter([self.worker.UploadRequest(header=header), self.worker.UploadRequest(chunk=log)]), timeout=PATIENCE_S)
        report = self.worker.AttemptReport(attempt=lease.attempt, outcome=self.worker.AttemptReport.OUTCOME_FAILED, detail=text, engine=text)
        self.call(number, finished=[report])


def fill(scheduler, texts):
    """Every text as a worker's name, and as the reason of a job's failure; and jobs that are still held by some."""
    spec = messages("spec")
    scheduler.api().SubmitSweep(messages("api").SubmitSweepRequest(spec=spec.SweepSpec(
        name="hostile", experiment="algorithmic",
        axes=spec.Axes(task=["even_pairs"], encoding=["none"], learning_rate=[1e-4], seed=range(len(texts))))))
    cast = Cast(scheduler, texts)
    # Three failures end a job, and put a worker aside; a worker fails three jobs and is done.
    for _ in range(3):
        for number in range(len(texts)):
            lease = cast.lease(number)
            if lease is not None:
                cast.fail(number, lease)
    failed = query(scheduler.store, "SELECT id, failure FROM jobs WHERE state = 'failed' ORDER BY num")
    assert len(failed) == len(texts), f"{len(failed)} of {len(texts)} jobs have failed"
    aside = query(scheduler.store, "SELECT count(*) FROM workers WHERE state <> 'active'")
    assert aside == [(len(texts),)], f"{aside} of {len(texts)} workers are put aside"
    return [job for job, _ in failed]


def hold(scheduler, texts):
    """Attempts that run, under hostile workers' names."""
    spec = messages("spec")
    scheduler.api().SubmitSweep(messages("api").SubmitSweepRequest(spec=spec.SweepSpec(
        name="running", experiment="algorithmic",
        axes=spec.Axes(task=["even_pairs"], encoding=["none"], learning_rate=[1e-3], seed=range(len(texts))))))
    cast = Cast(scheduler, texts, "holder")
    assert all(cast.lease(number) for number in range(len(texts)))
