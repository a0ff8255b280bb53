#!/usr/bin/env python3
"""What the scheduler is asked to reach, measured on the real programs over real gRPC, beside what SQLite and gRPC can do here.

    make bench-scheduler                  # the full form, with a million jobs; BENCH=short for a look
    .venv/bin/python tests/bench/scheduler.py --form full --json build/bench/scheduler.json [--only throughput,submit]

Every store is the default one (synchronous=FULL) in a temporary folder (TMPDIR says where), and is checked at the end with
`longreach store check`. The figures are medians where they are small; docs/benchmarks/scheduler.md has them for one machine.
"""
import argparse
import contextlib
import datetime
import json
import os
import pathlib
import signal
import statistics
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from fleet import FakeWorkers, ProcessUse, sweep_of
from harness import BIN, HAS_WORKER, Home, Scheduler, Worker, check_ledger, messages, query, run, run_cli, until

# For a million jobs on a busy machine.
PATIENCE_S = 3600

# How much of everything.
FORMS = {
    "short": dict(limit_s=0.2, jobs=2_000, submitted=2_000, stored=4_000, starts=3, fleet=20, fleet_s=3, looks=2, lengths=5, uploads=20,
                  upload_mib=1),
    "full": dict(limit_s=5, jobs=100_000, submitted=100_000, stored=1_000_000, starts=50, fleet=5_000, fleet_s=60, looks=9, lengths=460,
                 uploads=200, upload_mib=30),
}

# Figure, what it is, aim, and whether more is better. The short form has the same names and no aims.
AIMS = [
    ("noop_jobs_per_second_8_workers", "no-op jobs end to end, 8 workers [jobs/s]", 10_000, True),
    ("noop_jobs_per_second_2_workers", "no-op jobs end to end, 2 workers [jobs/s]", 3_000, True),
    ("submit_100k_seconds", "submit 100,000 jobs [s]", 2, False),
    ("submit_100k_again_seconds", "submit them again [s]", 0.5, False),
    ("submit_to_start_p50_ms", "submit to first start, idle worker, p50 [ms]", 5, False),
    ("status_1m_ms", "status with 1,000,000 jobs in the store [ms]", 20, False),
    ("table_b1_ms", "Table B.1, 945 jobs x 460 lengths [ms]", 100, False),
    ("table_1m_seconds", "a table over 1,000,000 results [s]", 0.5, False),
    ("fleet_5000_cores", "5,000 workers, renewal every 5 s [cores]", 1, False),
    ("fleet_5000_report_p99_ms", "a report's answer among them, p99 [ms]", 50, False),
    ("fleet_5000_false_expiries", "false expiries among them", 0, False),
    ("synchronize_p99_while_submitting_ms", "p99 of Synchronize while 1,000,000 are submitted [ms]", 50, False),
    ("synchronize_p99_while_uploading_ms", "p99 of Synchronize while 200 workers upload 30 MB each [ms]", 50, False),
    ("synchronize_p99_while_pausing_ms", "p99 of Synchronize while 1,000,000 jobs are paused and resumed [ms]", 50, False),
    ("memory_mib", "memory with 1,000,000 jobs, 5,000 workers [MiB]", 477, False),
    ("restart_945_seconds", "ready after a restart, 945 jobs [s]", 1, False),
    ("restart_1m_seconds", "ready after a restart, 1,000,000 jobs [s]", 5, False),
    ("store_bytes_per_job", "store without measurements [bytes a job]", 400, False),
    ("client_start_ms", "client start [ms]", 20, False),
]


def timed(action):
    """The result of an action and the seconds that it took."""
    start = time.perf_counter()
    result = action()
    return result, time.perf_counter() - start


def cpu_s(process):
    """Processor time of a process until now."""
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cli(home, scheduler, *arguments):
    done = run_cli(home, *arguments, scheduler=scheduler)
    assert done.code == 0, done
    return done


def median_s(home, scheduler, looks, *arguments):
    """Of a command from its start to its end."""
    return statistics.median(timed(lambda: cli(home, scheduler, *arguments))[1] for _ in range(looks))


def noop_sweep(name, jobs, learning_rate="1e-4"):
    """Arguments of `submit` for so many no-op jobs, a multiple of 4. Another learning rate makes other jobs."""
    assert jobs % 4 == 0, jobs
    return ["submit", "noop", "--set", f"name={name}", "--set", f"learning_rate={learning_rate}", "--set", f"seed=0..{jobs // 4 - 1}"]


@contextlib.contextmanager
def a_scheduler():
    """In a folder of its own, over TCP; what it leaves is checked."""
    with Home() as home:
        scheduler = Scheduler(home, listen="127.0.0.1:0")
        yield home, scheduler
        # The part may have started another one on the same store.
        for process in home.processes:
            if isinstance(process, Scheduler) and process.is_running():
                assert process.stop() == 0
        check_ledger(home, scheduler.store)


def wait_for_workers(scheduler, count):
    request = messages("api").ListWorkersRequest()
    until(lambda: sum(one.state == "active" for one in scheduler.api().ListWorkers(request).workers) >= count, f"{count} workers are there")


def assert_each_has_its_own(store, jobs):
    """A no-op job's result is made of its id."""
    right = query(store, "SELECT id, value FROM jobs JOIN measurements ON job = num WHERE state = 'succeeded' AND metric = 'echo'")
    assert len(right) == jobs and all(value == int(job[:12], 16) / 2**48 for job, value in right), len(right)


def limits(size):
    with Home() as home:
        done = run(home, BIN / "bench-limits", "--seconds", size["limit_s"])
        assert done.code == 0, done
        return {f"limit_{name}": value for name, value in done.json().items()}


def throughput(size, workers):
    """Real workers with their trainers at rest; without a trainer in the build, played ones. From the first lease to the last result,
    as the store has them. The sweep is held until all of it and all workers are there."""
    with a_scheduler() as (home, scheduler):
        cli(home, scheduler, *noop_sweep("throughput", size["jobs"]))
        cli(home, scheduler, "pause", "throughput")
        if HAS_WORKER:
            for _ in range(workers):
                Worker(home, scheduler)
            wait_for_workers(scheduler, workers)
        before = cpu_s(scheduler)  # Jobs are done while others are resumed.
        cli(home, scheduler, "resume", "throughput")
        if not HAS_WORKER:
            FakeWorkers(home, scheduler, "--noop", "--slots", "256", "--workers", workers, "--connections", "own", "--until-idle").figures(PATIENCE_S)
        cli(home, scheduler, "wait", "throughput")
        cpu = cpu_s(scheduler) - before
        first, last, count = query(scheduler.store, "SELECT min(started_at), max(ended_at), count(*) FROM attempts WHERE outcome = 'succeeded'")[0]
        assert count == size["jobs"], count
        assert_each_has_its_own(scheduler.store, count)
        for process in home.processes:
            if isinstance(process, Worker):
                process.signal(signal.SIGTERM)
        return {f"noop_jobs_per_second_{workers}_workers": count / ((last - first) * 1e-6),
                f"noop_scheduler_cpu_us_per_job_{workers}_workers": cpu / count * 1e6}


def submit(size):
    with a_scheduler() as (home, scheduler):
        arguments = noop_sweep("submitted", size["submitted"])
        _, first = timed(lambda: cli(home, scheduler, *arguments))
        again = median_s(home, scheduler, size["looks"], *arguments)
        return {"submit_100k_seconds": first, "submit_100k_again_seconds": again}


def start(size):
    """A worker waits; from before the submit to the lease and to the result, as the store has them."""
    with a_scheduler() as (home, scheduler):
        fleet = FakeWorkers(home, scheduler, "--noop", "--workers", "1")
        wait_for_workers(scheduler, 1)
        spec, api = messages("spec"), messages("api")
        stub = scheduler.api()
        to_start, to_result = [], []
        for number in range(size["starts"]):
            request = api.SubmitSweepRequest(spec=spec.SweepSpec(
                name=f"one-{number}", experiment="noop",
                axes=spec.Axes(task=["even_pairs"], encoding=["none"], learning_rate=[1e-4], seed=[number])))
            began = time.time()
            stub.SubmitSweep(request)
            done = until(lambda: query(scheduler.store, "SELECT started_at, ended_at FROM attempts WHERE id = ? AND ended_at IS NOT NULL", number + 1),
                         "its job is done")
            to_start.append(done[0][0] / 1e3 - began * 1e3)
            to_result.append(done[0][1] / 1e3 - began * 1e3)
        fleet.stop()
        return {"submit_to_start_p50_ms": statistics.median(to_start), "submit_to_result_p50_ms": statistics.median(to_result)}


def table_b1(size):
    """The results are played; the store, the question and the table are real."""
    with a_scheduler() as (home, scheduler):
        cli(home, scheduler, "submit", "table-b1")
        FakeWorkers(home, scheduler, "--workers", 8, "--pack-limit", 16, "--lengths", size["lengths"], "--until-idle").figures(PATIENCE_S)
        took = median_s(home, scheduler, size["looks"], "results", "table-b1")
        scheduler.stop()
        _, restart = timed(scheduler.again)
        return {"table_b1_ms": took * 1e3, "restart_945_seconds": restart}


def a_busy_fleet(home, scheduler, name):
    """50 workers whose jobs take half a second: their calls are what others' work may delay."""
    return FakeWorkers(home, scheduler, "--noop", "--workers", 50, "--connections", "own", "--train-s", "0.5", name=name)


def calls_of(fleet):
    """Ends a fleet; how long its reports waited for their answers."""
    fleet.signal(signal.SIGTERM)
    return fleet.figures(PATIENCE_S)["report_ms"]


def uploads(size):
    """Workers hand in their weights, each a file of its own, while others call."""
    assert size["uploads"] % 20 == 0, size["uploads"]
    with a_scheduler() as (home, scheduler):
        cli(home, scheduler, *noop_sweep("busy", 40 * size["submitted"] // 100))
        quiet = a_busy_fleet(home, scheduler, "quiet")
        wait_for_workers(scheduler, 50)
        time.sleep(size["fleet_s"] / 4)
        figures = {"synchronize_p99_undisturbed_ms": calls_of(quiet)["p99"]}
        (home.path / "uploads.yaml").write_text(sweep_of(size["uploads"], "uploads"))
        cli(home, scheduler, "submit", home.path / "uploads.yaml")
        beside = a_busy_fleet(home, scheduler, "beside")
        wait_for_workers(scheduler, 50)
        uploading = FakeWorkers(home, scheduler, "--workers", size["uploads"], "--connections", "own", "--artifact-bytes",
                                size["upload_mib"] << 20, "--train-s", "1", "--until-idle", name="uploading")
        counted, seconds = timed(lambda: uploading.figures(PATIENCE_S))
        figures["synchronize_p99_while_uploading_ms"] = calls_of(beside)["p99"]
        assert counted["uploads"] == size["uploads"] and counted["false_drops"] == 0, counted
        # A lease that ran out under an upload would have it sent once more.
        assert not query(scheduler.store, "SELECT 1 FROM attempts WHERE outcome = 'lost'")
        figures["uploaded_mib_per_second"] = size["uploads"] * size["upload_mib"] / seconds
        return figures


def watch(use, ended, every_s=0.25):
    looks = 0
    while not ended.wait(every_s):
        looks += 1
        use.look(looks * every_s)


def million(size):
    """One store with a million jobs: submitted while workers work, asked, started anew, with a fleet, and with all results."""
    with a_scheduler() as (home, scheduler):
        figures = {}
        busy = max(400, size["stored"] // 20)
        cli(home, scheduler, *noop_sweep("busy", busy, learning_rate="1e-3"), "--priority", "1")
        fleet = a_busy_fleet(home, scheduler, "busy")
        wait_for_workers(scheduler, 50)
        _, figures["submit_1m_seconds"] = timed(lambda: cli(home, scheduler, *noop_sweep("million", size["stored"])))
        for name, value in calls_of(fleet).items():
            if name in ("p50", "p99", "max"):
                figures[f"synchronize_{name}_while_submitting_ms"] = value
        figures["status_1m_ms"] = 1e3 * median_s(home, scheduler, size["looks"], "status", "million")

        fleet = a_busy_fleet(home, scheduler, "steered")
        wait_for_workers(scheduler, 50)
        _, figures["pause_1m_seconds"] = timed(lambda: cli(home, scheduler, "pause", "million"))
        _, figures["resume_1m_seconds"] = timed(lambda: cli(home, scheduler, "resume", "million"))
        for name, value in calls_of(fleet).items():
            if name in ("p50", "p99", "max"):
                figures[f"synchronize_{name}_while_pausing_ms"] = value
        scheduler.stop()
        figures["store_bytes_per_job"] = os.path.getsize(scheduler.store) / query(scheduler.store, "SELECT count(*) FROM jobs")[0][0]
        scheduler, figures["restart_1m_seconds"] = timed(scheduler.again)

        use, ended = ProcessUse(scheduler), threading.Event()
        watching = threading.Thread(target=watch, args=(use, ended))
        watching.start()
        before, began = cpu_s(scheduler), time.perf_counter()
        fleet = FakeWorkers(home, scheduler, "--noop", "--workers", size["fleet"], "--connections", "own", "--train-s", size["fleet_s"] / 2,
                            "--seconds", size["fleet_s"], name="fleet")
        counted = fleet.figures(PATIENCE_S)
        figures["fleet_5000_cores"] = (cpu_s(scheduler) - before) / (time.perf_counter() - began)
        ended.set()
        watching.join()
        figures["fleet_5000_report_p99_ms"] = counted["report_ms"]["p99"]
        figures["fleet_5000_false_expiries"] = counted["false_drops"] + query(
            scheduler.store, "SELECT count(*) FROM attempts WHERE outcome = 'lost'")[0][0]
        figures["memory_mib"] = use.highest_mib()
        figures["memory_growth_mib_per_minute"] = use.slope(1) / 60

        before = cpu_s(scheduler)
        counted = FakeWorkers(home, scheduler, "--noop", "--slots", "256", "--workers", 8, "--connections", "own", "--until-idle", name="rest").figures(PATIENCE_S)
        figures["noop_jobs_per_second_1m"] = counted["reports_per_s"]
        figures["noop_scheduler_cpu_us_per_job_1m"] = (cpu_s(scheduler) - before) / counted["acknowledged_jobs"] * 1e6
        figures["table_1m_seconds"] = median_s(home, scheduler, size["looks"], "results", "million")
        return figures


def client_start(size):
    with Home() as home:
        return {"client_start_ms": 1e3 * median_s(home, None, 3 * size["looks"], "list", "tasks")}


PARTS = {
    "limits": limits,
    "client": client_start,
    "start": start,
    "submit": submit,
    "throughput": lambda size: {**throughput(size, 2), **throughput(size, 8)},
    "table": table_b1,
    "uploads": uploads,
    "million": million,
}


def ratios(figures):
    """To what the machine can do, as measured in this run."""
    jobs = figures.get("noop_jobs_per_second_8_workers")
    if jobs is None or "limit_grpc_calls_per_second" not in figures:
        return {}
    return {f"noop_jobs_per_{unit}": jobs / figures[f"limit_{limit}"] for unit, limit in [
        ("sqlite_commit", "sqlite_commits_per_second"), ("sqlite_row", "sqlite_rows_per_second_groups_of_256"),
        ("grpc_call", "grpc_calls_per_second")]}


def shown(value):
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def table(figures, with_aims):
    lines = ["| what | aim | measured | reached |", "|---|---|---|---|"]
    for name, what, aim, more in AIMS:
        if name not in figures:
            continue
        value = figures[name]
        reached = "yes" if (value >= aim if more else value <= aim) else "no"
        limit = ("at least " if more else "at most ") + shown(aim)
        lines.append(f"| {what} | {limit if with_aims else ''} | {shown(value)} | {reached if with_aims else ''} |")
    named = {name for name, *_ in AIMS}
    lines += ["", "| beside | measured |", "|---|---|"]
    lines += [f"| {name.replace('_', ' ')} | {shown(value)} |" for name, value in figures.items() if name not in named]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--form", choices=FORMS, default="full")
    parser.add_argument("--json", type=pathlib.Path, required=True, help="where the figures go, as one flat object")
    parser.add_argument("--only", help=f"some of: {', '.join(PARTS)}")
    parser.add_argument("--size", action="append", default=[], metavar="WHAT=N",
                        help=f"more or less of something than the form has: {', '.join(FORMS['full'])}")
    options = parser.parse_args()
    size = dict(FORMS[options.form])
    for word in options.size:
        what, _, number = word.partition("=")
        if what not in size or not number.replace(".", "", 1).isdigit():
            parser.error(f"--size: '{word}' is not WHAT=N with one of {', '.join(size)}")
        size[what] = type(size[what])(float(number))
    parts = options.only.split(",") if options.only else list(PARTS)
    if unknown := [part for part in parts if part not in PARTS]:
        parser.error(f"--only: no part is called '{unknown[0]}'; there are {', '.join(PARTS)}")
    figures = {}
    for part in parts:
        print(f"{datetime.datetime.now():%H:%M:%S} {part}", file=sys.stderr, flush=True)
        figures.update(PARTS[part](size))
    figures.update(ratios(figures))
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(figures, indent=1) + "\n")
    print(table(figures, options.form == "full" and not options.size))


if __name__ == "__main__":
    main()
