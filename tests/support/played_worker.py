"""A worker that a test plays itself, call by call, through the protocol that real ones speak."""
import uuid

import grpc

from harness import PATIENCE_S, messages, query

PROTOCOL = 1


class PlayedWorker:
    def __init__(self, scheduler, *, pack_limit=1, incarnation=1):
        self.id = str(uuid.uuid4())
        self.pack_limit = pack_limit
        self.incarnation = incarnation
        self.sequence = 0
        self.store = scheduler.store
        self.stub = scheduler.workers()
        self.artifacts = messages("worker_grpc").ArtifactsStub(scheduler.channel)

    def abilities(self):
        """All that the jobs in the store ask for."""
        worker = messages("worker")
        asked = query(self.store, "SELECT task, task_revision, encoding, encoding_revision, model_revision FROM requirements")
        return worker.Abilities(
            name=f"played-{self.id[:8]}", build="played", device="cpu", threads=1, pack_limit=self.pack_limit, experiments=["algorithmic"],
            tasks=[worker.Ability(name=name, revision=revision) for name, revision in {row[:2] for row in asked}],
            encodings=[worker.Ability(name=name, revision=revision) for name, revision in {row[2:4] for row in asked}],
            model_revision=asked[0][4] if asked else 1)

    def synchronize(self, *, held=(), finished=(), free_slots=0, leaving=False):
        """One call that is answered at once."""
        worker = messages("worker")
        self.sequence += 1
        return self.stub.Synchronize(worker.SynchronizeRequest(
            protocol=PROTOCOL, worker=self.id, incarnation=self.incarnation, sequence=self.sequence, abilities=self.abilities(),
            held=[worker.HeldAttempt(attempt=attempt, phase="training") for attempt in held], finished=finished,
            free_slots=free_slots, leaving=leaving), timeout=PATIENCE_S)

    def take(self):
        """A lease, or none when there is no work."""
        leases = self.synchronize(free_slots=1).leases
        return leases[0] if leases else None

    def success(self, lease, value):
        worker = messages("worker")
        measured = [worker.Measurement(metric="accuracy", length=length, value=value) for length in (0, 7, 8)]
        return worker.AttemptReport(attempt=lease.attempt, outcome=worker.AttemptReport.OUTCOME_SUCCEEDED, engine="played",
                                    results=[worker.MemberResult(job=job.id, measurements=measured) for job in lease.jobs],
                                    points=[worker.ProgressPoint(job=job.id, step=1, loss=value) for job in lease.jobs])

    def upload(self, lease, kind, step, content, sha256):
        """The error's code, or None when the file was taken."""
        worker = messages("worker")
        header = worker.UploadHeader(attempt=lease.attempt, worker=self.id, kind=kind, step=step, sha256=sha256, bytes=len(content),
                                     jobs=[job.id for job in lease.jobs])
        try:
            self.artifacts.Upload(iter([worker.UploadRequest(header=header), worker.UploadRequest(chunk=content)]), timeout=PATIENCE_S)
        except grpc.RpcError as error:
            return error.code()
        return None
