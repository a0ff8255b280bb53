"""Work for tests that disturb: small sweeps, submitted by a client that insists, and what they come to undisturbed.

Sweep number i of a Load has SEEDS seeds of its own, so all that was submitted is one large sweep, whatever the order; as a job's
bits depend on nothing else, that one says what the results must be.
"""
import pathlib
import queue
import threading

import grpc

import harness
from harness import Scheduler, Worker, check_ledger, curves, messages, query, results, run_cli, until

SEEDS = 4  # Of a sweep, for each task and encoding.


SHORT = 2500   # Steps of a job that takes some tenths of a second, and
LONG = 12_000  # of one that leaves time for a good look at it.

# How files get to a scheduler, by where it listens: None is a Unix socket.
FILES_GO = {"linked": None, "sent": "127.0.0.1:0"}

# Ten losses are a job's end. Tests that hit workers at random spare jobs that were so unlucky.
MOST_LOSSES = 6


class Load:
    # What was found out already: jobs with the same settings are the same in all tests.
    _undisturbed = {}

    def __init__(self, *, steps, batch=8):
        self._steps = steps
        self._batch = batch

    def spec(self, name, seeds):
        spec = messages("spec")
        return spec.SweepSpec(
            name=name, experiment="algorithmic",
            axes=spec.Axes(task=["even_pairs"], encoding=["rope"], learning_rate=[1e-3], seed=seeds),
            model=spec.Model(layers=1, embedding_dim=16, heads=2, mlp_dim=32),
            training=spec.Training(steps=self._steps, batch_size=self._batch, lengths=range(1, 7)),
            evaluation=spec.Evaluation(lengths=[7, 8], examples=8))

    def part(self, number):
        return self.spec(f"part-{number}", range(SEEDS * number, SEEDS * (number + 1)))

    def undisturbed(self, parts):
        """Results and loss curves of that many parts when nothing goes wrong."""
        by_seed = self._undisturbed.setdefault((self._steps, self._batch), {})
        if missing := [seed for seed in range(SEEDS * parts) if seed not in by_seed]:
            by_seed.update(self._run(missing))
        found = [by_seed[seed] for seed in range(SEEDS * parts)]
        return tuple(sorted(row for one in found for row in one[rows]) for rows in range(3))

    def _run(self, seeds):
        with harness.Home() as home:
            scheduler = Scheduler(home)
            workers = [Worker(home, scheduler) for _ in range(2)]
            request = messages("api").SubmitSweepRequest(spec=self.spec("undisturbed", seeds))
            scheduler.api().SubmitSweep(request, timeout=harness.PATIENCE_S)
            finish(home, scheduler)
            for process in [*workers, scheduler]:
                process.stop()
            seed_of = dict(query(scheduler.store, "SELECT id, seed FROM jobs"))
            found = {seed: ([], [], []) for seed in seeds}
            for table, rows in enumerate(outcome(scheduler.store)):
                for row in rows:
                    found[seed_of[row[0]]][table].append(row)
            return found


def outcome(store):
    """All that must not depend on what happened on the way."""
    return tuple(sorted(rows) for rows in (*results(store), curves(store)))


class Client:
    """Submits the parts of a load, each again and again until it is acknowledged, from a thread of its own."""

    def __init__(self, load, address):
        self.acknowledged = {}  # By part: the id that the scheduler gave its sweep.
        self.submitted = 0
        self.refused = 0        # Calls that failed and were made again.
        self._load = load
        self._parts = queue.Queue()
        self._channel = grpc.insecure_channel(address, options=[
            ("grpc.initial_reconnect_backoff_ms", 50), ("grpc.min_reconnect_backoff_ms", 50), ("grpc.max_reconnect_backoff_ms", 200)])
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def submit(self, part):
        self.submitted += 1
        self._parts.put(part)

    def top_up(self, is_short):
        """Submits the next part when what was submitted before is acknowledged and `is_short()` says that it is too little."""
        if len(self.acknowledged) == self.submitted and is_short():
            self.submit(self.submitted)

    def finish(self):
        """Waits until everything is acknowledged."""
        self._parts.put(None)
        self._thread.join(harness.PATIENCE_S)
        assert not self._thread.is_alive(), "a submit was never acknowledged"
        self._channel.close()

    def _run(self):
        stub = messages("api_grpc").LongreachStub(self._channel)
        while (part := self._parts.get()) is not None:
            request = messages("api").SubmitSweepRequest(spec=self._load.part(part))
            while part not in self.acknowledged:
                try:
                    self.acknowledged[part] = stub.SubmitSweep(request, timeout=30, wait_for_ready=True).sweep.id
                except grpc.RpcError as error:
                    # UNAVAILABLE before it arrived or while it ran; UNKNOWN or CANCELLED from a server that ends.
                    assert error.code() != grpc.StatusCode.INVALID_ARGUMENT, error
                    self.refused += 1


def open_jobs(store):
    """How many jobs have not ended."""
    return query(store, "SELECT count(*) FROM jobs WHERE state IN ('waiting', 'queued', 'leased')")[0][0]


def finish(home, scheduler):
    """Waits until no job of the store is open any more."""
    waited = [run_cli(home, "wait", sweep, scheduler=scheduler) for (sweep,) in query(scheduler.store, "SELECT id FROM sweeps")[-1:]]
    assert all(one.code == 0 for one in waited), waited
    until(lambda: open_jobs(scheduler.store) == 0, "every job has ended")


def assert_nothing_lost(store, load, client):
    """Every submit that was acknowledged is there with its jobs, and each job has the result of an undisturbed run."""
    kept = dict(query(store, "SELECT name, id FROM sweeps"))
    assert kept == {f"part-{part}": sweep for part, sweep in client.acknowledged.items()}
    parts = len(client.acknowledged)
    jobs, measurements, points = outcome(store)
    assert query(store, "SELECT id, state, losses, failures FROM jobs WHERE state <> 'succeeded'") == []
    undisturbed = load.undisturbed(parts)
    assert (jobs, measurements) == undisturbed[:2]
    assert points == undisturbed[2]
    return len(jobs)


def end_as_undisturbed(home, scheduler, workers, load, client):
    """Waits until all work is done, stops everybody, and holds what is in the store against an undisturbed run; how many jobs there are."""
    client.finish()
    finish(home, scheduler)
    for process in [*workers, scheduler]:
        process.stop()
    check_ledger(home, scheduler.store)
    return assert_nothing_lost(scheduler.store, load, client)


def trainer_of(worker):
    """The process id of a worker's trainer; none while there is none."""
    children = pathlib.Path(f"/proc/{worker.pid}/task/{worker.pid}/children")
    try:
        pids = children.read_text().split()
    except FileNotFoundError:
        return None
    return int(pids[0]) if pids else None


def cpu_ticks(pid):
    """What a process has computed so far."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def bury(home, process):
    """kill -9, and nothing is kept of it: a test that kills hundreds shall not show the logs of all."""
    process.kill()
    home.processes.remove(process)


def spread(seconds):
    """"median 0.031 s, worst 0.055 s"."""
    ordered = sorted(seconds)
    return f"median {ordered[len(ordered) // 2]:.3f} s, worst {ordered[-1]:.3f} s" if ordered else "none"
