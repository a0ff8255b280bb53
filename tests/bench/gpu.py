#!/usr/bin/env python3
"""How fast a GPU trains the algorithmic encoder, beside the reference code in JAX on the same GPU, in one run of less than 25 minutes.

    docs/benchmarks/gpu.sh [--minutes N] [--reference DIR --jax DIR] [--only 'train/*'] [--resume]
    docs/benchmarks/gpu.sh --device cpu --minutes 1                  # to see that it runs: without a GPU, without meaning

What is measured, and why, is in docs/benchmarks/gpu.md, whose tables this writes. Cells are measured by their value for each minute; after
each the figures go to the JSON file and into the page. What has no tool here, or no time left, is left out and says so.
"""
import argparse
import concurrent.futures
import datetime
import fnmatch
import functools
import importlib.metadata
import itertools
import json
import os
import pathlib
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time

import gpu_device
import gpu_tables
from gpu_device import Missing
from gpu_programs import CutOff, NotBegun, ended, finished, last_words
from gpu_tables import ENCODING, PACK
from trainer_tables import END, page_text

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGE = ROOT / "docs/benchmarks/gpu.md"
TASKS = ["even_pairs", "reverse_string", "duplicate_string"]  # Short, middle and long tapes: a curve through them gives all 15 tasks.
TESTS = ["cuda_plugin_test", "gpu_test"]  # They compare what the GPU computes with what the CPU does.
WORDS_KEPT = 2000  # Of what a test that fails says, for each: to see why needs no second run.
SEVERAL = ("mix", "encoding", "packs", "spread")  # Cells of several packs at once, by our own kernels.
UPDATES_AT_A_TIME = 32  # That the host hands to the GPU before it waits for one: of ours and of the reference.

FORMS = {
    "cuda": dict(engines={name: name for name in ("spread", "spread-fp16", "resident", "resident-fp16", "libtorch", "libtorch-tf32")},
                 packs=[1, 9, 36, 126], counts={"process": [28, 14, 8, 4, 1], "mps": [14, 8, 4, 1]}, spread_counts=[2, 4],
                 batch=128, lengths=[*range(1, 41)], seconds=5.0, seconds_together=10.0,
                 reference_lengths=[10, 20, 40], reference_seconds=2.0, members=[1, 9, 36],
                 # 14 packs of 9 fill 126 of an H200's 132 multiprocessors: of all tasks but one whose tapes are another's. More of them take turns.
                 mix=[*(task for task in gpu_tables.TASKS if task != "parity_check"), "parity_check"], mix_counts={"process": [30, 15], "mps": [14]}),
    "cpu": dict(engines={"spread": "lanes", "spread-fp16": "lanes", "resident": "lanes", "resident-fp16": "lanes", "libtorch": "libtorch",
                         "libtorch-tf32": "libtorch"}, packs=[2], counts={"process": [2], "mps": [2]}, spread_counts=[2],
                batch=2, lengths=[1, 2], seconds=0.1, seconds_together=0.1,
                reference_lengths=[1, 2], reference_seconds=0.1, members=[1, 2], mix=TASKS[:2],
                mix_counts={"process": [2], "mps": [2]}),
}


# Where a GPU is there for minutes: each cell takes less of them.
SHORT = dict(seconds=3.0, seconds_together=6.0, reference_lengths=[10, 40], reference_seconds=1.5)


def stages(form):
    """[what, seconds that it may take, cells]: by value for each minute, since what comes last is cut off first."""
    many = max(form["packs"])
    small = min(form["packs"])
    usual = PACK if PACK in form["packs"] else small
    first = [f"train/{engine}/{task}/{pack}" for engine, pack in
             dict.fromkeys([("spread", usual), ("spread-fp16", usual), ("resident", many), ("resident", usual)]) for task in TASKS]
    single = [f"train/{engine}/{task}/{small}" for engine in ("libtorch", "libtorch-tf32") for task in TASKS]
    train = [f"train/{engine}/{task}/{pack}" for engine in form["engines"] for pack in form["packs"] for task in TASKS]
    references = {members: [f"reference/{task}/{members}" for task in TASKS] for members in form["members"]}
    counts = lambda part, of_hows: [f"{part}/{how}/{count}" for how in gpu_tables.SHARED for count in of_hows[how]]
    spread = [f"spread/process/{count}" for count in form["spread_counts"]]
    mix, most = counts("mix", form["mix_counts"]), form["mix_counts"]["process"][0]
    encodings = [f"encoding/{encoding}/{most}" for encoding in gpu_tables.ENCODINGS if encoding != ENCODING]  # Of ENCODING the cells of mix are.
    alone, *mapped = references.values()
    return [
        ("tests", 300, ["tests"]),
        ("one pack, by our own kernels", 240, first),
        ("resident, packs of different tasks", 240, [mix[0], *encodings, *mix[1:]]),
        ("spread, packs of one task", 60, spread),
        ("one model at a time", 240, single + alone),
        ("the reference under vmap", 240, mapped[0]),
        ("resident, packs of one task", 180, counts("packs", form["counts"])),
        ("other packs", 240, [name for name in train if name not in first + single]),
        ("the reference under a larger vmap", 300, [name for names in mapped[1:] for name in names]),
    ]


def git(folder, *arguments):
    """What it says, with its exit code; None where there is no git, or none of this folder itself."""
    command = ["git", "-C", folder]
    try:
        top = subprocess.run([*command, "rev-parse", "--show-toplevel"], capture_output=True, text=True).stdout.strip()
    except FileNotFoundError:
        return None
    if not top or pathlib.Path(top).resolve() != pathlib.Path(folder).resolve():
        return None
    return subprocess.run([*command, *arguments], capture_output=True, text=True)


def commit_of(folder):
    described = git(folder, "describe", "--always", "--abbrev=12", "--exclude=*")
    if described is None or not described.stdout.strip():
        return "of an unknown commit"
    # Pages that benchmarks write are no change of what is measured.
    changed = git(folder, "diff", "--quiet", "HEAD", "--", ".", ":(exclude)docs/benchmarks").returncode != 0
    return described.stdout.strip() + ("-dirty" if changed else "")


def commit_of_build(build):
    """A bundle names the commit that it was made of; another build is of the sources around it."""
    named = build / "commit" if build is not None else None
    return named.read_text().strip() if named is not None and named.exists() else commit_of(ROOT)


def device(options):
    """What computes, and by which versions of what."""
    facts = {"name": f"{os.cpu_count()} cores"} if options.device == "cpu" else gpu_device.facts()
    try:
        facts["torch"] = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        pass  # LibTorch comes from elsewhere.
    if options.jax is not None:
        asked = subprocess.run([options.jax / "bin/python", "-c", "import importlib.metadata as m; print(m.version('jax'), m.version('dm-haiku'))"],
                               capture_output=True, text=True)
        if asked.returncode != 0:
            sys.exit(f"--jax: {options.jax} has no JAX and Haiku\n{asked.stderr[-500:]}  docs/benchmarks/gpu.md says what to install")
        jax, haiku = asked.stdout.split()
        facts["reference"] = f"reference {commit_of(options.reference)} with JAX {jax}, Haiku {haiku}"
    return facts


class Run:
    """One run: its options, its figures so far, and what it may still take of the time."""

    def __init__(self, options):
        self.options = options
        self.form = {**FORMS[options.device], **(SHORT if options.short else {})}
        self.deadline = time.monotonic() + 60 * options.minutes
        self.source = {"date": f"{datetime.date.today()}", "commit": commit_of_build(options.build)}
        self.everything = {"stand_in": options.device == "cpu", "device": device(options), "cells": {}, "left_out": {}}
        if (options.resume or options.only) and options.json.exists():
            self.take_over(json.loads(options.json.read_text()))

    def take_over(self, before):
        """What an earlier run on this device has measured."""
        there, here = (everything["device"]["name"] for everything in (before, self.everything))
        if there != here:
            sys.exit(f"error: {self.options.json} has figures of {there}, and this is {here}\n  name another file with --json")
        self.everything.update({name: before[name] for name in ("cells", "left_out")})
        # They are to be run again: by now they may be those of another build.
        if self.everything["cells"].get("tests", {}).get("failed"):
            del self.everything["cells"]["tests"]
        if "reference" in before["device"]:
            self.everything["device"].setdefault("reference", before["device"]["reference"])

    def plan(self):
        """[what, seconds that it may take, cells] of what is to be measured now; none of it is, until it is."""
        wanted = lambda name: any(fnmatch.fnmatchcase(name, pattern) for pattern in self.options.patterns)
        done = self.everything["cells"] if self.options.resume else {}
        planned = [(what, budget_s, [name for name in names if wanted(name) and name not in done]) for what, budget_s, names in stages(self.form)]
        for name in (name for _, _, names in planned for name in names if name not in self.everything["cells"]):
            self.everything["left_out"][name] = "the run ended before"
        return [stage for stage in planned if stage[2]]

    def limit(self):
        return self.deadline - time.monotonic()

    def write(self):
        put(self.options.json, json.dumps(self.everything, indent=1) + "\n")
        write_page(self.everything, self.options.page)


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".new").write_text(text)
    path.with_suffix(".new").replace(path)  # All of it or nothing, whenever the run is cut off.


def write_page(everything, page):
    put(page, page_text((page if page.exists() else PAGE).read_text(), gpu_tables.tables(everything), gpu_tables.BEGIN, END))


def worker(run):
    path = run.options.bin / "longreach-worker"
    if not path.exists():
        raise Missing(f"there is no {path}; 'make build' builds it")
    return path


def bench(run, engine, task, pack, seconds, threads, environment, others=None, encoding=ENCODING):
    """The figures of `longreach-worker bench`, and when it ended. With `others`, of updates alone, begun with theirs."""
    command = [worker(run), "bench", "--device", run.options.device, "--engine", run.form["engines"][engine], "--task", task,
               "--encoding", encoding, "--pack", pack, "--batch", run.form["batch"], "--lengths", ",".join(map(str, run.form["lengths"])),
               "--seconds", seconds, "--threads", threads, "--output", "json", *(["--wait"] if others is not None else [])]
    code, out, error, at = finished(command, environment, run.limit(), others)
    if code != 0:
        raise Missing(last_words(error) or f"longreach-worker ended with {code}")
    figures = json.loads(out)
    asked = run.form["engines"][engine]
    if not figures["engine"].startswith(asked):
        raise Missing(f"{figures['engine']} computed in the place of {asked}: {last_words(error)}")
    return figures, at


def outcomes(run, program):
    """{test: ("passed", "failed" or "skipped", what it says)} of one program; what ends before its report, or does not end, has failed as a whole."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "tests.json"
        try:
            code, out, error, _ = finished([program, f"--gtest_output=json:{report}"], gpu_device.environment(), run.limit())
        except CutOff as why:
            return {f"{program.name} ({why})": ("failed", "")}  # What hangs once would hang in each cell.
        if not report.exists():
            if code >= 0:
                raise Missing(f"{program.name} did not run: {last_words(error)}")
            return {f"{program.name} (ended by signal {-code})": ("failed", (out + error)[-WORDS_KEPT:])}
        suites = json.loads(report.read_text())["testsuites"]
    found = {}
    for suite in suites:
        for test in suite["testsuite"]:
            said = "\n".join(failure["failure"] for failure in test.get("failures", []))
            outcome = "failed" if said else "skipped" if test["result"] == "SKIPPED" else "passed"
            found[f"{suite['name']}.{test['name']}"] = outcome, said[:WORDS_KEPT]
    return found


def measure_tests(run):
    """Wrong figures need no measuring."""
    programs = [run.options.build / "tests" / name for name in TESTS] if run.options.build is not None else []
    absent = [program for program in programs if not program.exists()]
    if absent or not programs:
        raise Missing(f"there is no {absent[0]}" if absent else "there is no build folder with tests")
    found = {test: outcome for program in programs for test, outcome in outcomes(run, program).items()}
    named = lambda what: [test for test, (outcome, _) in found.items() if outcome == what]
    # Other tests of the plugin need no GPU.
    if run.options.device == "cuda" and not named("failed") and not any("GpuTest." in test for test in named("passed")):
        raise Missing(f"no test found a GPU; skipped: {', '.join(named('skipped'))}")
    return {"passed": len(named("passed")), "failed": named("failed"), "skipped": named("skipped"),
            "said": {test: found[test][1] for test in named("failed")}}


def refuse_doubtful(run, part, rest):
    """Figures of an engine whose tests fail would be of wrong results."""
    engine = rest[0] if part == "train" else "resident" if part in SEVERAL else None
    doubtful = gpu_tables.engines_in_doubt(run.everything["cells"].get("tests", {}).get("failed", []))
    family = engine and gpu_tables.FAMILY_OF.get(engine.split("-")[0], engine.split("-")[0])
    if family in doubtful:
        raise Missing(f"tests of the engine {family} failed")


def measure_train(run, engine, task, pack):
    figures, _ = bench(run, engine, task, pack, run.form["seconds"], 0, gpu_device.environment())
    return {**figures, "lengths": run.form["lengths"]}


def together(run, how, tasks, engine, encoding=ENCODING):
    """A pack of each of these tasks, all at once: their rates, and how far apart they ended."""
    pack = PACK if PACK in run.form["packs"] else max(run.form["packs"])
    of_all = {"pack": pack, "seconds": run.form["seconds_together"], "lengths": run.form["lengths"]}
    return {**of_all, **(in_processes if how == "mps" else in_one_process)(run, tasks, engine, encoding, pack, of_all["seconds"])}


def in_one_process(run, tasks, engine, encoding, pack, seconds):
    """As a worker trains them. The program measures each while all are trained."""
    figures, _ = bench(run, engine, ",".join(tasks), pack, seconds, 0, gpu_device.environment(), encoding=encoding)
    others = {each["engine"] for each in figures["packs"]} - {figures["engine"]}
    if others:
        raise Missing(f"{', '.join(sorted(others))} computed in the place of {figures['engine']} for some tasks")
    return {"spread_s": 0.0, "engine": figures["engine"], "rates": [pack * each["updates_per_second"] for each in figures["packs"]]}


def in_processes(run, tasks, engine, encoding, pack, seconds):
    """Each in a process of its own, with MPS."""
    if run.options.device == "cpu":
        raise Missing("MPS is for GPUs")
    with gpu_device.Mps() as shared:
        with concurrent.futures.ThreadPoolExecutor(len(tasks)) as pool:
            threads = max(1, os.cpu_count() // len(tasks))
            others = threading.Barrier(len(tasks))
            begun = [pool.submit(bench, run, engine, task, pack, seconds, threads, shared.environment, others, encoding) for task in tasks]
        failures = [future.exception() for future in begun if future.exception() is not None]
        if failures:
            raise next((failure for failure in failures if not isinstance(failure, NotBegun)), failures[0])
        results = [future.result() for future in begun]
        if not shared.served():
            raise Missing("the programs did not find MPS, and computed one at a time")
    ends = [at for _, at in results]
    return {"spread_s": max(ends) - min(ends), "engine": results[0][0]["engine"], "rates": [figures["job_steps_per_second"] for figures, _ in results]}


def measure_mix(run, how, count, encoding=ENCODING):
    tasks = list(itertools.islice(itertools.cycle(run.form["mix"]), int(count)))
    figures = together(run, how, tasks, "resident", encoding)
    rates = {task: [rate for other, rate in zip(tasks, figures["rates"]) if other == task] for task in tasks}
    return {**figures, "tasks": {task: sum(each) / len(each) for task, each in rates.items()}}


def measure_encoding(run, encoding, count):
    return measure_mix(run, "process", count, encoding)


def measure_packs(run, how, count, engine="resident"):
    return {**together(run, how, [TASKS[1]] * int(count), engine), "task": TASKS[1]}


class Reference:
    """reference_steps.py in a process of its own, for as long as the block."""

    def __init__(self, run, task, members):
        if run.options.jax is None:
            raise Missing("neither --reference nor --jax were given")
        self.run = run
        lengths = ",".join(map(str, run.form["reference_lengths"]))
        command = [run.options.jax / "bin/python", "-W", "ignore", "-B", HERE / "reference_steps.py", "--checkout", run.options.reference,
                   "--device", run.options.device, "--task", task, "--encoding", ENCODING, "--lengths", lengths, "--batch", run.form["batch"],
                   "--members", members, "--updates-at-a-time", UPDATES_AT_A_TIME if run.options.device == "cuda" else 1]
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True,
                                        env={**gpu_device.environment(), "XLA_PYTHON_CLIENT_MEM_FRACTION": "0.92"}, start_new_session=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        ended(self.process)
        self.errors.close()

    def ask(self, command):
        limit_s = max(self.run.limit(), 0)
        try:
            self.process.stdin.write(command + "\n")
            self.process.stdin.flush()
            if not select.select([self.process.stdout], [], [], limit_s)[0]:
                raise Missing(f"cut off: no answer to '{command}' in {limit_s:.0f} s")
            return json.loads(self.process.stdout.readline())
        except (BrokenPipeError, json.JSONDecodeError):
            self.process.wait()
            self.errors.seek(0)
            raise Missing(f"the reference ended with {self.process.returncode}: {last_words(self.errors.read())}") from None


def measure_reference(run, task, members):
    figures, longer = {"lengths": {}}, f"reference/{task}/{members}, longer tapes"
    run.everything["left_out"].pop(longer, None)
    with Reference(run, task, members) as there:
        for length in run.form["reference_lengths"]:
            try:
                answer = there.ask(f"train {run.form['reference_seconds']} {length}")
            except Missing as why:
                if not figures["lengths"]:
                    raise
                run.everything["left_out"][longer] = str(why)
                break  # What is known of the shorter ones is of use.
            figures["device"] = answer["device"]
            figures["lengths"][str(length)] = {"job_steps_per_second": answer["job_steps"] / answer["seconds"],
                                               "cpu_ms_per_update": 1e3 * answer["cpu_seconds"] / answer["updates"],
                                               "compile_seconds": answer["compile_seconds"]}
    return figures


CELLS = {"tests": measure_tests, "train": measure_train, "mix": measure_mix, "encoding": measure_encoding, "packs": measure_packs,
         "spread": functools.partial(measure_packs, engine="spread"), "reference": measure_reference}


def say(text):
    print(f"{datetime.datetime.now():%H:%M:%S} {text}", file=sys.stderr, flush=True)


def measure(run, name, monitor):
    part, *rest = name.split("/")
    began = time.monotonic()
    try:
        # What would be cut off in the middle is not begun.
        if run.limit() < run.form["seconds_together" if part in SEVERAL else "seconds"]:
            raise Missing("no time was left")
        refuse_doubtful(run, part, rest)
        figures = CELLS[part](run, *rest)
    except Missing as why:
        say(f"{name} is left out: {why}")
        run.everything["left_out"][name] = str(why)
    else:
        run.everything["left_out"].pop(name, None)
        run.everything["cells"][name] = {**figures, **monitor.since(began), **run.source}
    run.write()


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", choices=FORMS, default="cuda", help="cpu: in a GPU's place, to see that everything runs")
    parser.add_argument("--minutes", type=float, default=24, help="what the whole run may take (default: 24)")
    parser.add_argument("--reference", type=pathlib.Path, help="a checkout of google-deepmind/randomized_positional_encodings")
    parser.add_argument("--jax", type=pathlib.Path, help="a virtual environment with JAX for this GPU, and Haiku")
    parser.add_argument("--build", type=pathlib.Path, help="the build folder, or a bundle (default: build/cuda or build/release, where there is one)")
    parser.add_argument("--json", type=pathlib.Path, help="where the figures go (default: build/bench/gpu.json; on a CPU a temporary folder)")
    parser.add_argument("--page", type=pathlib.Path, help="the page whose tables are written anew (default: docs/benchmarks/gpu.md; on a CPU a copy)")
    parser.add_argument("--short", action="store_true", help="less of each cell: shorter, and the reference at the lengths 10 and 40 alone")
    parser.add_argument("--only", help="patterns of cells, by commas: 'train/*,mix/mps/*'; other cells of the JSON file are kept")
    parser.add_argument("--resume", action="store_true", help="keep what the JSON file holds, measure what it lacks")
    parser.add_argument("--tables", action="store_true", help="write the page from the JSON file and end: needs no GPU")
    parser.add_argument("--list", action="store_true", help="name all cells and end")
    options = parser.parse_args()
    if options.list:
        print("\n".join(f"{name}  ({what})" for what, _, names in stages(FORMS[options.device]) for name in names))
        sys.exit(0)
    options.patterns = options.only.split(",") if options.only else ["*"]
    names = [name for _, _, names in stages(FORMS[options.device]) for name in names]
    if not any(fnmatch.filter(names, pattern) for pattern in options.patterns):
        parser.error(f"--only: no cell is like '{options.only}'; --list names them")
    if (options.reference is None) != (options.jax is None):
        parser.error("--reference and --jax go together")
    if options.reference is not None and not (options.reference / "experiments/training.py").exists():
        parser.error(f"--reference: there is no {options.reference / 'experiments/training.py'}")
    if options.jax is not None and not (options.jax / "bin/python").exists():
        parser.error(f"--jax: there is no {options.jax / 'bin/python'}; make it with 'python3 -m venv {options.jax}'")
    if options.build is None:
        options.build = next((ROOT / "build" / name for name in ("cuda", "release") if (ROOT / "build" / name).exists()), None)
    options.bin = pathlib.Path(os.environ.get("LONGREACH_BIN", (options.build or ROOT / "build/release") / "bin"))
    options.json, options.page = places(options)
    return options


def places(options):
    """Where figures and page go: those of a CPU never among the repository's."""
    if options.device == "cuda":
        return options.json or ROOT / "build/bench/gpu.json", options.page or PAGE
    folder = pathlib.Path(tempfile.mkdtemp(prefix="longreach-gpu-")) if options.json is None or options.page is None else None
    return options.json or folder / "gpu.json", options.page or folder / PAGE.name


def main():
    options = parse()
    if options.tables:
        if not options.json.exists():
            sys.exit(f"error: there is no {options.json}; --json names the file of an earlier run")
        return write_page(json.loads(options.json.read_text()), options.page)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM; what was measured until then is written"))  # So that blocks end.
    try:
        run = Run(options)
    except Missing as why:
        sys.exit(f"error: no GPU answers: {why}\n  'docs/benchmarks/gpu.sh --device cpu' shows without one what would be done")
    whole, cells = run.deadline, run.everything["cells"]
    with gpu_device.Monitor(watching=options.device == "cuda") as monitor:
        plan = run.plan()
        run.write()
        for what, budget_s, names in plan:
            run.deadline = min(whole, time.monotonic() + budget_s)
            say(f"{what}: {len(names)} cells, {max(run.limit(), 0):.0f} s at most")
            for name in names:
                measure(run, name, monitor)
            if "tests" in names and (failed := cells.get("tests", {}).get("failed")):
                for test in failed:
                    say(f"{test} failed: {cells['tests']['said'][test]}")
                if len(gpu_tables.engines_in_doubt(failed)) == len(gpu_tables.OWN_ENGINES):
                    sys.exit(f"error: tests on the GPU failed: {', '.join(failed)}\n  what it computes is wrong, so nothing was measured")
    print(gpu_tables.tables(run.everything))
    say(f"figures: {options.json}, page: {options.page}")
    if failed := cells.get("tests", {}).get("failed"):
        sys.exit(f"error: tests on the GPU failed: {', '.join(failed)}\n  nothing was measured of {' and '.join(gpu_tables.engines_in_doubt(failed))}")


if __name__ == "__main__":
    main()
