"""What a notebook asks of a scheduler."""
from __future__ import annotations

import time
import warnings
from typing import Any, Callable, Iterable, Iterator, Mapping, Sequence

import pandas

from longreach import frames, protocol
from longreach.asked_tables import asked_table
from longreach.calls import Calls
from longreach.choices import choice_of_lengths, list_of
from longreach.errors import error_of, refused
from longreach.specs import request_of, submission_of
from longreach.system_settings import SystemSettings
from longreach.table_frames import table_frame
from longreach.waiting import watched

_RATES = ("job_steps_per_second", "job_steps_done", "job_steps_total")
# 0 or empty: not known, or nothing is wrong.
_MAYBE = ("seconds_left", "seconds_left_low", "seconds_left_high", "store_trouble", "stalled")


class Client:
    """A scheduler, as connect() and open_store() give it. It is closed by close(), or at the end of a `with`.

    A sweep is named by its id, the beginning of one, its name, or "last". Where a method gives a sweep, it is a dict with the columns of sweeps().

    All methods may raise Unreachable, NotAllowed, TimedOut, Refused and, where they name a sweep or a job, NotFound; and Error, of which all of these are, with what
    else goes wrong. A call is made again while the scheduler is away, for some seconds.
    """

    def __init__(self, calls: Calls, scheduler=None):
        self._calls = calls
        self._scheduler = scheduler  # One of this process, which nothing works for unless somebody starts a worker.
        if scheduler is not None:
            scheduler.join(self)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<longreach.Client of {self.address}>"

    @property
    def address(self) -> str:
        """Where its scheduler listens: HOST:PORT or unix:PATH."""
        return self._calls.address

    def close(self) -> None:
        """Ends the connection, and the scheduler that open_store() has started, unless another client of this process still has it."""
        self._calls.close()
        scheduler, self._scheduler = self._scheduler, None
        if scheduler is not None:
            scheduler.leave(self)

    # Looking.

    def sweeps(self) -> pandas.DataFrame:
        """All sweeps, the one that was submitted last first: id, name, state, priority, jobs, how many of these are in each state, submitted_at (UTC)."""
        return frames.sweeps_frame(self.call("ListSweeps").sweeps)

    def jobs(self, sweep: str, state: str | Sequence[str] | None = None, only: str | Sequence[str] | None = None) -> pandas.DataFrame:
        """The jobs of a sweep in order of expansion: job (its id), system, task, encoding, learning_rate, seed, state, diverged, step, steps, score (the main
        metric over all lengths), failures, failure.

        state: "failed", "queued,leased", ["queued", "leased"], "diverged". only: "AXIS=VALUE[,VALUE...]", or a list of these, as of `longreach jobs --only`.
        """
        sweep = self._sweep(sweep).id
        question = {"sweep": sweep, "state": ",".join(list_of("state", state)), "only": list_of("only", only)}
        return frames.jobs_frame(job for page in self._pages("ListJobs", question) for job in page.jobs)

    def measurements(self, sweep: str, metric: str | None = None, lengths: int | Iterable[int] | None = None, slice: str | None = None,
                     only: str | Sequence[str] | None = None) -> pandas.DataFrame:
        """Every value that the jobs of a sweep have measured, a row each, with the columns of `longreach results --jobs -o csv` (docs/howto/notebook.md). A job that
        diverged has one row without a value. Accuracy goes from 0 to 1; length 0 is over all lengths.

        metric: a name of `longreach list metrics`; None: all but "training_loss", which has losses of training, in nats, in slices "step=1", of jobs that run, too. Of jobs
            with evaluation.curve_every other metrics have such slices as well, beside those of their ends: slice="" leaves them out.
        lengths: of the tests, one or several, as range(41, 61); 0: only what is over all lengths. None: all.
        slice: "depth=3"; "": only what has none. None: all. only: as of jobs(), and "layer=0,1".
        """
        found = self._sweep(sweep)
        length, choice = choice_of_lengths(lengths)
        question = {"sweep": found.id, "metric": metric or "", "only": list_of("only", only) + choice}
        question.update({} if length is None else {"length": length}, **({} if slice is None else {"slice": slice}))
        return frames.measurements_frame(self._pages("ListMeasurements", question), SystemSettings(self._calls, found))

    def table(self, sweep: str, rows: str | Sequence[str] | None = None, columns: str | Sequence[str] | None = None, metric: str | None = None,
              aggregate: str | None = None, best_of: str | Sequence[str] | None = None, length: int | None = None, slice: str | None = None,
              only: str | Sequence[str] | None = None, published: bool | str = False, labels: bool = False) -> pandas.DataFrame:
        """A table of measured values as papers print them; NaN where nothing is measured. `.attrs` has title, metric, unit, notes, and the gain where there is one.

        It is the table that the sweep was submitted with (a warning says where that cannot be used), with what is asked for in the place of what it says, as of `longreach
        results`; what neither says has defaults (docs/reference/sweep-files.md, "table"). rows, columns: an axis, as "task", "encoding", "length" or "model.layers", or several: "task,system", or a
        list. aggregate: "max", "min", "mean", "median" over what is neither. best_of: an axis whose best value counts in each cell.
        published: the columns "measured" and "published" above the others; True: by the published table that the sweep's own table names; or its name ("table_b1").
        labels: rows and columns by the words that papers have for them ("Even Pairs") instead of names and numbers.
        """
        found = self._sweep(sweep)
        asked = {"metric": metric, "aggregate": aggregate, "length": length, "slice": slice}
        asked.update({name: ",".join(list_of(name, value)) or None for name, value in (("rows", rows), ("columns", columns))})
        asked.update({name: list_of(name, value) or None for name, value in (("best_of", best_of), ("only", only))})
        asked = {name: value for name, value in asked.items() if value is not None}
        if found.HasField("table_trouble"):
            warnings.warn(f"the table that sweep '{found.name}' was submitted with cannot be used ({found.table_trouble}): the usual one takes its place; submitting the "
                          "same sweep again mends that", stacklevel=2)
        spec, has_own_values = asked_table(found.table, asked)
        if isinstance(published, str):
            spec.published = published
        elif published and not has_own_values:
            raise refused("published=True is of the sweep's own table, which holds other values than those asked for; name the published table that they are of: published='table_b1'")
        elif published and not spec.published:
            raise refused(f"the table of sweep '{found.name}' names no published one; name it: published='table_b1'")
        request = request_of(protocol.method("GetTable"), {"sweep": found.id})
        request.table.CopyFrom(spec)
        table = self._calls.ask("GetTable", request)
        return table_frame(table, request.table.rows, request.table.columns, labels, bool(published))

    def workers(self) -> pandas.DataFrame:
        """The workers that are there, and those that are gone but called in the last days: id, name, state, device, threads, pack_limit, seen_at (UTC), running (what
        they do), reason (why they get no work), damaged_data_sets."""
        return frames.workers_frame(self.call("ListWorkers").workers)

    # Steering.

    def submit(self, spec: Mapping[str, Any], priority: int | None = None) -> dict:
        """Submits a sweep: a dict in the shape of a sweep file, with `table` if it has one. A sweep that is there already is the same one, and goes on. Gives the
        sweep, with "created": it is new. Refused: what is wrong in it, with its path."""
        answer = self._calls.ask("SubmitSweep", submission_of(spec, **({} if priority is None else {"priority": priority})))
        return {**frames.sweep_row(answer.sweep), "created": answer.created}

    def plan(self, spec: Mapping[str, Any]) -> dict:
        """What a sweep would be, changing nothing: jobs, done, packs, flops, hours (None: nothing was measured yet), and what else the message Plan has. Refused: as
        submit()."""
        plan = self._calls.ask("SubmitSweep", submission_of(spec, dry_run=True)).plan
        known = {field.name: getattr(plan, field.name) for field in plan.DESCRIPTOR.fields}
        nothing_to_run = plan.jobs == plan.done or (plan.jobs == plan.done + plan.failed and plan.packs == 0)
        unknown = () if nothing_to_run or plan.hours > 0 else ("hours", "hours_low", "hours_high")
        return {**known, "data_sets": list(plan.data_sets), **{name: None for name in unknown}}

    def pause(self, sweep: str) -> dict:
        """No new work for a sweep; what runs stops after a checkpoint."""
        return self._steer(sweep, "ACTION_PAUSE")

    def resume(self, sweep: str) -> dict:
        """The opposite. Refused: the sweep is cancelled; submit it again."""
        return self._steer(sweep, "ACTION_RESUME")

    def cancel(self, sweep: str, only: str | Sequence[str] | None = None) -> dict:
        """Cancels a sweep, or those of its jobs that `only` names (as of jobs()). Results stay."""
        return self._steer(sweep, "ACTION_CANCEL") if only is None else self._steer(sweep, "ACTION_CANCEL_JOBS", only)

    def retry(self, sweep: str, only: str | Sequence[str] | None = None) -> dict:
        """Queues again what has failed; with `only` (as of jobs()), of these what has failed or was cancelled alone."""
        return self._steer(sweep, "ACTION_RETRY") if only is None else self._steer(sweep, "ACTION_RETRY_JOBS", only)

    def wait(self, sweep: str = "last", timeout: float | None = None, on_update: Callable[[dict], Any] | None = None) -> dict:
        """Waits until no job of a sweep is open, and gives the sweep: "failed" and "cancelled" count what did not succeed.

        timeout: in seconds; 0 looks once. on_update gets the sweep at each change, with job_steps_done and job_steps_total, job_steps_per_second, seconds_left and the
        range from seconds_left_low to seconds_left_high (None: not known), and sentences why the store takes nothing (store_trouble) or why no more jobs of the
        sweep come (stalled), else None. A paused sweep is waited for, and a scheduler that goes away 10 minutes long. TimedOut: the time was up. Refused: it is a
        store that open_store() has opened, and no worker works on it.
        """
        end = None if timeout is None else time.monotonic() + timeout
        row = frames.sweep_row(self._sweep(sweep))
        told = None
        for update, is_there in watched(self._calls, row["id"], end):  # By its id: what a name or "last" stands for may change.
            if update is not None:
                row = frames.sweep_row(update.sweep)
                if on_update is not None and update != told:
                    on_update({**row, **_how_it_goes_on(update)})
                told = update
                if update.finished:
                    return row
            if end is not None and time.monotonic() >= end:
                break
            if update is None and is_there:
                self._check_that_somebody_works()
        # It may have been over when it was looked up, and the watch have said nothing in so short a time.
        if row["state"] != "cancelled" and not any(row[name] for name in ("queued", "leased", "waiting")):
            return row
        raise error_of("DEADLINE_EXCEEDED", f"the time was up before sweep '{row['name']}' was finished: {row['succeeded']} of {row['jobs']} jobs are done")

    # Everything else.

    def call(self, name: str, /, timeout: float | None = None, **fields: Any) -> Any:
        """Any call of proto/longreach/v1/api.proto, with the fields of its request: call("GetJob", job="1a2b"). Gives its answer as it is, a message of protobuf;
        of a call that streams answers (FollowLog) an iterator over them, which is not begun again where it breaks off. timeout: in
        seconds, of each try."""
        method = protocol.method(name)
        request = request_of(method, fields)
        return self._calls.follow(name, request, timeout) if method.streams else self._calls.ask(name, request, timeout)

    def _sweep(self, sweep: str):
        """With its specification and its table."""
        return self.call("GetSweep", sweep=sweep)

    def _pages(self, name: str, question: dict) -> Iterator:
        request = request_of(protocol.method(name), question)
        while True:
            page = self._calls.ask(name, request)
            yield page
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def _steer(self, sweep: str, action: str, only: str | Sequence[str] | None = None) -> dict:
        answer = self.call("SteerSweep", sweep=sweep, action=action, only=list_of("only", only))
        row = frames.sweep_row(answer)
        row.update({name: getattr(answer, name) for name in ("jobs_steered", "jobs_dropped") if answer.HasField(name)})
        return row

    def _check_that_somebody_works(self) -> None:
        if self._scheduler is None:
            return
        answer = self.call("ListWorkers")
        # While the store takes nothing, workers that have come meanwhile are not known.
        if answer.store_trouble or any(one.state == "active" for one in answer.workers):
            return
        raise error_of("FAILED_PRECONDITION", "nothing works on this store, so waiting for the sweep is in vain; start a worker: longreach-worker run --scheduler "
                                              f"{self.address} --state DIR; or close() this client, and 'longreach run' works on the store")


def _how_it_goes_on(update) -> dict:
    """What a message SweepUpdate has beside its sweep."""
    return {**{name: getattr(update, name) for name in _RATES}, **{name: getattr(update, name) or None for name in _MAYBE}}
