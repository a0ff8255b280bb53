"""Fake workers (tests/support/fake_workers) as a process of a test, and what must be in the store when they have done its jobs."""
import json
import pathlib

from harness import BIN, PATIENCE_S, Process, query


class FakeWorkers(Process):
    """`fake-workers` with these arguments; what it prints at the end is `figures()`."""

    def __init__(self, home, scheduler, *arguments, name="fake"):
        super().__init__(home, name, [BIN / "fake-workers", "--scheduler", scheduler.address, "--name", name, *arguments])

    def figures(self, patience_s=PATIENCE_S):
        """Waits for its end; what it has counted."""
        line = self.next_line(patience_s)
        assert line is not None, f"fake-workers ended with {self.wait()}\n{self.log()}"
        assert self.wait() == 0, self.log()
        return json.loads(line)


def accuracy_of(job):
    """The score of a job as a fake worker reports it: exact."""
    return int(job[:12], 16) / 2**48


def wrong_results(store):
    """Jobs that do not have exactly the one result that is theirs, as (id, state, values)."""
    rows = query(store, "SELECT j.id, j.state, count(m.value), min(m.value) FROM jobs AS j LEFT JOIN measurements AS m "
                        "ON m.job = j.num AND m.metric = 'accuracy' AND m.length = 0 GROUP BY j.num")
    return [row for row in rows if row[1] != "succeeded" or row[2] != 1 or row[3] != accuracy_of(row[0])]


class ProcessUse:
    """What a process takes, seen again and again: memory, open files, and what the caller sees beside."""

    def __init__(self, process):
        self._proc = pathlib.Path(f"/proc/{process.pid}")
        self.seen = []

    def look(self, at_s, beside=0.0):
        """`beside`: whatever else is seen at this moment; slope(3) is its growth."""
        status = dict(line.split(":", 1) for line in (self._proc / "status").read_text().splitlines() if ":" in line)
        resident = int(status["VmRSS"].split()[0]) / 1024
        self.seen.append((at_s, resident, len(list((self._proc / "fd").iterdir())), beside))
        return self.seen[-1]

    def highest_mib(self):
        return max(look[1] for look in self.seen)

    def slope(self, column, share=0.5):
        """Growth per hour over the last `share` of the looks: 1 for MiB of resident memory, 2 for open files, 3 for
        what was seen beside. By least squares, so that one look more or less means little."""
        rows = self.seen[int(len(self.seen) * (1 - share)):]
        if len(rows) < 2:
            return 0.0
        mean_x = sum(row[0] for row in rows) / len(rows)
        mean_y = sum(row[column] for row in rows) / len(rows)
        spread = sum((row[0] - mean_x) ** 2 for row in rows)
        return 3600 * sum((row[0] - mean_x) * (row[column] - mean_y) for row in rows) / spread if spread else 0.0


def sweep_of(jobs, name="many"):
    """The text of a sweep of so many jobs (a multiple of 20)."""
    assert jobs % 20 == 0, jobs
    return f"""
name: {name}
experiment: algorithmic
axes:
  task: [even_pairs, parity_check, cycle_navigation, reverse_string, bucket_sort]
  encoding: [none, rope, "alibi:randomized", "rope:randomized"]
  learning_rate: [1e-4]
  seed: 0..{jobs // 20 - 1}
"""
