"""Messages become columns, and columns DataFrames. A column is a list that is filled as the messages come: a dict for each row would take minutes
for the values of a large sweep."""
from __future__ import annotations

import datetime
from typing import Iterable

import pandas

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_COUNTS = ("succeeded", "leased", "queued", "waiting", "failed", "cancelled")
SWEEP_COLUMNS = ("id", "name", "state", "priority", "jobs", *_COUNTS, "submitted_at")
# What tells a job apart, as `longreach results --jobs -o csv` has it.
JOB_COLUMNS = ("job", "system", "task", "encoding", "learning_rate", "seed")
VALUE_COLUMNS = (*JOB_COLUMNS, "diverged", "metric", "length", "slice", "value")
_JOB_TYPES = {"learning_rate": "float64", "seed": "int64", "diverged": "bool"}
# As this pandas has texts in columns: those of old ones are objects.
_TEXT = pandas.Series(["text"]).dtype


def time_of(stamp) -> datetime.datetime | None:
    """In UTC, to the microsecond as the store has it. None: there is none."""
    if stamp.seconds == 0 and stamp.nanos == 0:
        return None
    return _EPOCH + datetime.timedelta(seconds=stamp.seconds, microseconds=stamp.nanos // 1000)


def sweep_row(sweep) -> dict:
    """A sweep as SWEEP_COLUMNS name it: ids whole, counts of jobs, the time as a datetime."""
    row = {name: getattr(sweep, name) for name in ("id", "name", "state", "priority", "jobs")}
    row.update({name: getattr(sweep.counts, name) for name in _COUNTS})
    row["submitted_at"] = time_of(sweep.submitted_at)
    return row


def sweeps_frame(sweeps) -> pandas.DataFrame:
    rows = [sweep_row(one) for one in sweeps]
    frame = pandas.DataFrame({name: [row[name] for row in rows] for name in SWEEP_COLUMNS})
    return _typed(frame, {name: "int64" for name in ("priority", "jobs", *_COUNTS)}, times=("submitted_at",))


def jobs_frame(jobs: Iterable) -> pandas.DataFrame:
    jobs = list(jobs)
    columns = {name: [] for name in JOB_COLUMNS}
    for job in jobs:
        for name, value in zip(JOB_COLUMNS, _of_job(job)):
            columns[name].append(value)
    for name in ("state", "diverged", "step", "steps"):
        columns[name] = [getattr(job, name) for job in jobs]
    columns["score"] = [job.score if job.HasField("score") else None for job in jobs]
    columns["failures"] = [job.failures for job in jobs]
    columns["failure"] = [job.failure or None for job in jobs]
    return _typed(pandas.DataFrame(columns), {**_JOB_TYPES, "step": "int64", "steps": "int64", "score": "float64", "failures": "int64"})


def measurements_frame(pages: Iterable, settings) -> pandas.DataFrame:
    """A row for each value, and one without a value for a job that diverged. `settings` adds a column for each setting in which systems differ."""
    columns = {name: [] for name in VALUE_COLUMNS}
    others = {path: [] for path in settings.paths}
    for page in pages:
        for of_job in page.jobs:
            values = of_job.measurements
            rows = max(len(values), 1)
            for name, value in zip(JOB_COLUMNS, _of_job(of_job.job)):
                columns[name] += [value] * rows
            columns["diverged"] += [of_job.job.diverged] * rows
            for path, column in others.items():
                column += [settings.of_job(of_job.job, path)] * rows
            if not values:
                for name in ("metric", "length", "slice", "value"):
                    columns[name].append(None)
                continue
            columns["metric"] += [one.metric for one in values]
            columns["length"] += [one.length for one in values]
            columns["slice"] += [one.slice or None for one in values]
            columns["value"] += [one.value for one in values]
    # A job that diverged has no length, and the others' are whole numbers all the same.
    frame = _typed(pandas.DataFrame(columns), {**_JOB_TYPES, "length": "Int64", "value": "float64"})
    return frame.assign(**others)


def workers_frame(workers) -> pandas.DataFrame:
    columns = {name: [getattr(one, name) for one in workers] for name in ("id", "name", "state", "device", "threads", "pack_limit")}
    columns["seen_at"] = [time_of(one.seen_at) for one in workers]
    columns["running"] = [_running(one) for one in workers]
    columns["reason"] = [one.reason or None for one in workers]
    columns["damaged_data_sets"] = [", ".join(damaged.name for damaged in one.damaged_data_sets) or None for one in workers]
    return _typed(pandas.DataFrame(columns), {"threads": "int64", "pack_limit": "int64"}, times=("seen_at",))


def _of_job(job) -> tuple:
    return job.id, ", ".join(job.systems) or None, job.task, job.encoding, job.learning_rate, job.seed


def _running(worker) -> str | None:
    if not worker.running:
        return None
    first, more = worker.running[0], len(worker.running) - 1
    text = f"{first.task} {first.encoding} x{first.members} {first.step}/{first.steps}"
    return f"{text} and {more} more" if more else text


def _typed(frame: pandas.DataFrame, types: dict, times: tuple = ()) -> pandas.DataFrame:
    """Columns have their types also where there is no row, or nothing in any of them; what is neither named nor a time is text."""
    frame = frame.astype({**{name: _TEXT for name in frame.columns if name not in times}, **types})
    for name in times:
        frame[name] = pandas.to_datetime(frame[name], utc=True)
    return frame
