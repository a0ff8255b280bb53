"""The tables of the GPU's benchmark, from the figures of gpu.py, and what those figures mean for all 945 jobs of Table B.1."""
import csv
import functools
import pathlib
import re

from trainer_tables import column, figure, grid, table

BEGIN = "<!-- Tables of tests/bench/gpu.py, which writes them anew: -->"
JOBS, UPDATES = 945, 2_000_000
PACK = 9  # The most jobs of Table B.1 that are members of one pack: three learning rates, three seeds.
LENGTHS = range(1, 41)
HOURS, HOURS_FIRST = 24, 72
OVER_SINGLE, OVER_MAPPED = 15, 3

OUTPUTS = {"kSingle": lambda n: 1, "kInput": lambda n: n, "kInputPlusOne": lambda n: n + 1, "kTwiceInput": lambda n: 2 * n,
           "kHalfRoundedUp": lambda n: (n + 1) // 2}
CATALOG = pathlib.Path(__file__).resolve().parents[2] / "proto/catalog"
ENCODING = "log_kerple"  # Of all cells whose names tell of none.
LABELS = dict(re.findall(r'^X\((\w+), "([^"]+)"', (CATALOG / "encodings.def").read_text(), re.MULTILINE))
RANDOMIZED = ":randomized"


def encodings_of_table_b1():
    """Its columns as `longreach-worker bench` names them, but for the one that it quotes from elsewhere."""
    with open(CATALOG / "published/table_b1.csv", newline="") as published:
        rows = [row for row in csv.DictReader(published) if row["encoding"] in LABELS]
    return column(row["encoding"] + (RANDOMIZED if row["randomized"] == "true" else "") for row in rows)


ENCODINGS = encodings_of_table_b1()  # Each has as many jobs as another.


def tasks_of_table_b1():
    """In the order in which the preset's jobs begin."""
    axis = re.search(r"^  task:\n((?:    - \w+\n)+)", (CATALOG / "presets/table-b1.yaml").read_text(), re.MULTILINE)
    return re.findall(r"- (\w+)", axis[1])


def outputs_of_table_b1():
    """Task -> how long its output is, in the order of the catalog, which has other tasks, too."""
    outputs = re.findall(r"^X\((\w+), .*?, (k\w+), (?:true|false), \d+\)", (CATALOG / "tasks.def").read_text(), re.MULTILINE)
    return {task: output for task, output in outputs if task in tasks_of_table_b1()}


TASKS = outputs_of_table_b1()


def tape(task, length):
    """Input and output tokens, T."""
    if task == "modular_arithmetic":
        length -= (length + 1) % 2  # Its expressions have odd lengths.
    return length + OUTPUTS[TASKS[task]](length)


def mean_tape(task, lengths):
    """Means of T and of T^2 over the lengths."""
    return _mean_tape(task, tuple(lengths))


# The page is written anew after each cell, and asks for the same means thousands of times.
@functools.cache
def _mean_tape(task, lengths):
    tapes = [tape(task, length) for length in lengths]
    return sum(tapes) / len(tapes), sum(t * t for t in tapes) / len(tapes)


def mean_of_tasks():
    means = [mean_tape(task, LENGTHS) for task in TASKS]
    return tuple(sum(column) / len(means) for column in zip(*means))


def solved(rows, values):
    """x of A x = b, by elimination with the largest pivot; None where there is none or many."""
    rows = [[*row, value] for row, value in zip(rows, values)]
    for i in range(len(rows)):
        pivot = max(range(i, len(rows)), key=lambda r: abs(rows[r][i]))
        if abs(rows[pivot][i]) < 1e-12:
            return None
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(len(rows)):
            if r != i:
                factor = rows[r][i] / rows[i][i]
                rows[r] = [x - factor * y for x, y in zip(rows[r], rows[i])]
    return [row[-1] / row[i] for i, row in enumerate(rows)]


def seconds_in_mix(points):
    """Seconds of an update in the mean over the 15 tasks, from points (mean T, mean T^2, seconds): by a + b T + c T^2 through them, or nearest
    to them in relative squares where they are more than three. None where fewer than three tapes are known, or the curve is none of times.
    """
    if len({point[0] for point in points}) < 3:
        return None
    rows = [(1 / s, t / 32 / s, t2 / 1024 / s) for t, t2, s in points]  # Numbers of one size, which elimination likes.
    curve = solved([[sum(row[i] * row[j] for row in rows) for j in range(3)] for i in range(3)], [sum(row[i] for row in rows) for i in range(3)])
    if curve is None:
        return None
    t, t2 = mean_of_tasks()
    seconds = curve[0] + curve[1] * t / 32 + curve[2] * t2 / 1024
    return seconds if seconds > 0 else None


def hours(rate):
    return JOBS * UPDATES / rate / 3600


def wait(running, own, at_work):
    """Seconds for which an update of each of these packs waits for the others: so long that all of them together compute as if `at_work` packs did and
    none waited. `own`: what their updates take by themselves."""
    if len(running) <= at_work:
        return 0.0
    low, high = 0.0, max(own[task] for task in running) * len(running) / at_work
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        computing = sum(own[task] / (own[task] + middle) for task in running)
        low, high = (middle, high) if computing > at_work else (low, middle)
    return high


# In the next three seconds_at[count] says what an update of each task takes where so many packs are trained at a time, as many of one task as of another.
def own_seconds(seconds_at):
    """Of each task, as of the fewest packs. Those of more packs wait for others besides, and each as long as another, whatever its tapes."""
    return seconds_at[min(seconds_at)]


def packs_at_work(seconds_at):
    """As many packs as compute at a time, in the mean, of the most that were trained at a time."""
    own, most = own_seconds(seconds_at), max(seconds_at)
    return most * sum(own[task] / seconds for task, seconds in seconds_at[most].items()) / len(own)


def makespan(packs, seconds_at):
    """When the last of these packs (their tasks, in the order in which they begin) has had its updates. As many as the largest count are trained at a time."""
    slots, own, at_work = max(seconds_at), own_seconds(seconds_at), packs_at_work(seconds_at)
    waiting, running, now = list(reversed(packs)), [], 0.0  # Of those that run: [task, updates left].
    while waiting or running:
        while waiting and len(running) < slots:
            running.append([waiting.pop(), UPDATES])
        waits = wait([task for task, _ in running], own, at_work)
        passed = min(left * (own[task] + waits) for task, left in running)
        now += passed
        running = [[task, left - passed / (own[task] + waits)] for task, left in running if left * (own[task] + waits) > passed * (1 + 1e-9)]
    return now


def at_least(figures, rate):
    """Of processes that did not end as one: what all of them did, over the time in which any of them trained."""
    return rate * figures["seconds"] / (figures["seconds"] + figures["spread_s"])


def mixed_seconds(figures):
    """Task -> seconds of an update, for each of the 15, from packs of them side by side. A task that was left out takes the time of one whose
    tapes are the same; None where there is no such."""
    seconds = {task: figures["pack"] / at_least(figures, rate) for task, rate in figures["tasks"].items()}
    for task in TASKS:
        if task in seconds:
            continue
        alike = [other for other in figures["tasks"] if mean_tape(other, LENGTHS) == mean_tape(task, LENGTHS)]
        if not alike:
            return None
        seconds[task] = seconds[alike[0]]
    return seconds


def of_part(cells, part):
    """{(rest of the name): figures}."""
    return {tuple(name.split("/")[1:]): figures for name, figures in cells.items() if name.startswith(part + "/")}


SHARED = {"process": "in one process", "mps": "each in a process of its own, with MPS"}


def schedules(cells, how):
    """{count: (jobs in a pack, job-steps/s, hours)} of packs of all tasks, so many at a time."""
    at_once = {int(count): figures for (other, count), figures in of_part(cells, "mix").items() if other == how}
    found, seconds_at = {}, {}
    for count, figures in sorted(at_once.items()):
        seconds = mixed_seconds(figures)
        if seconds is None:
            continue
        seconds_at[count] = seconds
        # Every task has as many jobs as another, so packs with long tapes have more of the places than of the updates. The last ones do not fill the GPU.
        pack, rate = figures["pack"], packs_at_work(seconds_at) * figures["pack"] * len(TASKS) / sum(own_seconds(seconds_at).values())
        took = makespan([task for task in tasks_of_table_b1() for _ in range(JOBS // len(TASKS) // pack)], seconds_at)
        found[count] = pack, rate, max(hours(rate), took / 3600)
    return found


def configurations(cells):
    """[label, role, job-steps/s in the mix, hours]: role is ours, large (of more members than a pack of Table B.1 has), single (one model at a
    time) or mapped (jax.vmap)."""
    found = []

    def add(label, role, members, points):
        seconds = seconds_in_mix(points)
        if seconds is not None:
            found.append([label, role, members / seconds, hours(members / seconds)])

    ours = of_part(cells, "train")
    for engine, pack in dict.fromkeys((engine, pack) for engine, _, pack in ours):
        points = [(*mean_tape(task, figures["lengths"]), int(pack) / figures["job_steps_per_second"])
                  for (other, task, jobs), figures in ours.items() if (other, jobs) == (engine, pack)]
        single, large = engine.startswith("libtorch") and pack == "1", int(pack) > PACK
        note = ": LibTorch one operation at a time, as PyTorch's eager mode" if single else "; Table B.1 has none so large" if large else ""
        add(f"{engine}, one pack of {pack}{note}", "single" if single else "large" if large else "ours", int(pack), points)
    for how in SHARED:
        found += [[f"resident, {count} packs of {pack} at once, {SHARED[how]}", "ours", rate, took]
                  for count, (pack, rate, took) in schedules(cells, how).items()]
    there = of_part(cells, "reference")
    for members in dict.fromkeys(members for _, members in there):
        points = [(t, t * t, int(members) / at["job_steps_per_second"]) for (task, jobs), figures in there.items() if jobs == members
                  for length, at in figures["lengths"].items() for t in [tape(task, int(length))]]
        label, role = ("one model", "single") if members == "1" else (f"under jax.vmap, {members} models", "mapped")
        add(f"JAX reference, {label}", role, int(members), points)
    return found


def encoding_label(encoding):
    return LABELS[encoding.removesuffix(RANDOMIZED)] + (", randomized" if encoding.endswith(RANDOMIZED) else "")


def by_encoding(cells):
    """(count, {encoding: figures}): of the most packs of all tasks that were trained at once in one process, with whichever of ENCODINGS."""
    counts = [int(count) for how, count in of_part(cells, "mix") if how == "process"] + [int(count) for _, count in of_part(cells, "encoding")]
    count = max(counts, default=0)
    names = {encoding: f"mix/process/{count}" if encoding == ENCODING else f"encoding/{encoding}/{count}" for encoding in ENCODINGS}
    return count, {encoding: cells[name] for encoding, name in names.items() if name in cells}


def hours_by_encoding(cells):
    """{encoding: (job-steps/s, hours of its jobs)} of those that are known: they are to ENCODING's as their updates are."""
    count, measured = by_encoding(cells)
    if count not in (found := schedules(cells, "process")):
        return {}
    _, rate, took = found[count]
    usual = sum(mixed_seconds(measured[ENCODING]).values())
    seconds = {encoding: mixed_seconds(figures) for encoding, figures in measured.items()}
    times = {encoding: sum(of_tasks.values()) / usual for encoding, of_tasks in seconds.items() if of_tasks is not None}
    return {encoding: (rate / longer, took * longer / len(ENCODINGS)) for encoding, longer in times.items()}


def own_mix(cells):
    """(job-steps/s, hours) of Table B.1 with its own encodings, each with as many updates as another; None unless all are known."""
    known = hours_by_encoding(cells)
    if set(known) != set(ENCODINGS):
        return None
    return len(known) / sum(1 / rate for rate, _ in known.values()), sum(took for _, took in known.values())


def best(found, role):
    return max((row for row in found if row[1] == role), key=lambda row: row[2], default=None)


def aims(found, mix=None):
    """What, aim, measured, reached; of what was measured. Hours are those of own_mix(), if there are any."""
    rows = []
    ours = best(found, "ours")
    # One pack of the resident engine fills a fraction of a GPU: what that comes to is no answer to the question.
    alone = "" if any(how in row[0] for row in found for how in SHARED.values()) else "; no packs were measured at once, so most of the GPU was idle"
    if ours is not None:
        took, of_what = (ours[3], f"all with {encoding_label(ENCODING)}") if mix is None else (mix[1], "Table B.1's own mix of encodings")
        for aim, what in ((HOURS, ""), (HOURS_FIRST, ", first milestone")):
            rows.append([f"hours for {JOBS} jobs of {UPDATES:,} updates, {of_what}{what}{alone}", f"{aim}", figure(took), "yes" if took <= aim else "no"])
        for role, aim, what in (("single", OVER_SINGLE, "the best with one model at a time"), ("mapped", OVER_MAPPED, "the best under jax.vmap")):
            other = best(found, role)
            if other is not None:
                ratio = ours[2] / other[2]
                rows.append([f"job-steps/s over {what}", f"{aim} x", f"{ratio:.1f} x", "yes" if ratio >= aim else "no"])
    return rows


def projection_tables(cells):
    found = configurations(cells)
    if not found:
        return []
    return table(f"**All {JOBS} jobs of Table B.1**, as if all had {encoding_label(ENCODING)}, projected from the 15 tasks' mean of the figures below.",
                 ["design", "job-steps/s", "hours"],
                 [[label, figure(rate), figure(took)] for label, _, rate, took in sorted(found, key=lambda row: -row[2])])


def own_mix_tables(cells):
    count, known = by_encoding(cells)[0], hours_by_encoding(cells)
    if not known:
        return []
    rows = [[encoding_label(encoding), *(map(figure, known[encoding]) if encoding in known else ["not measured", ""])] for encoding in ENCODINGS]
    mix, (_, rate, took) = own_mix(cells), schedules(cells, "process")[count]
    if mix is not None:
        rows.append(["**Table B.1's own mix**", *map(figure, mix)])
    return table(f"**All {JOBS} jobs, by encoding**: {count} packs at once by the resident engine, in one process. The schedule's end, where fewer are left, is in "
                 f"the hours as {encoding_label(ENCODING)} has it: {100 * (took / hours(rate) - 1):.1f} %.",
                 ["encoding", "job-steps/s", f"hours of its {JOBS // len(ENCODINGS)} jobs"], rows)


def load_of(figures):
    if "sm_mhz" not in figures:
        return ""
    return f"{figures['sm_mhz']:.0f}" + (f", {figures['watts']:.0f} W" if "watts" in figures else "")


def train_tables(cells):
    return table("**One process, one pack**, lengths in turn. GFLOP are nominal, of the matrix products; the GEMM peak is LibTorch's largest "
                 "float32 product in the same process.",
                 ["engine", "task", "jobs", "job-steps/s", "GFLOP/s", "GEMM peak", "of the peak", "SM MHz"],
                 [[figures["engine"], task, pack, figure(figures["job_steps_per_second"]), figure(figures["gflops"]),
                   figure(figures["gemm_peak_gflops"]), f"{100 * figures['ratio']:.0f} %", load_of(figures)]
                  for (_, task, pack), figures in cells.items()]) + phases_tables(cells)


def phases_tables(cells):
    """Of the engines that tell them."""
    cells = [(f"{figures['engine']}, {task}, {pack} jobs", figures) for (_, task, pack), figures in cells.items() if figures.get("phases")]
    if not cells:
        return []
    phases = [one["phase"] for one in cells[0][1]["phases"]]
    return table("**Where an update's time goes** in our own kernels, by the clocks of their blocks, in updates of their own: without the gaps "
                 "between kernels, and without waiting for the slowest slice. And the bytes that updates move, counted from the buffers, beside the "
                 "largest rate of a copy.",
                 ["phase", *(cell for cell, _ in cells)],
                 [*([phase, *(f"{100 * figures['phases'][i]['share']:.1f} %" for _, figures in cells)] for i, phase in enumerate(phases)),
                  ["GB/s", *(figure(figures["gigabytes_per_second"]) for _, figures in cells)],
                  ["GB/s of a copy", *(figure(figures["copy_peak_gigabytes_per_second"]) for _, figures in cells)]])


def packs_tables(cells):
    return table(f"**Several packs at once** by {next(iter(cells.values()))['engine']}, all of one task. At least: what all did over the time in which any trained.",
                 ["engine", "packs", "jobs in each", "task", "", "job-steps/s", "at least", "one pack's mean", "SM MHz"],
                 [[figures["engine"], count, str(figures["pack"]), figures["task"], SHARED[how], figure(rate), figure(at_least(figures, rate)),
                   figure(rate / len(figures["rates"])), load_of(figures)]
                  for (how, count), figures in cells.items() for rate in [sum(figures["rates"])]])


def tasks_table(what, heads, cells):
    tasks = [task for task in TASKS if any(task in figures["tasks"] for figures in cells)]
    return table(f"**Tasks side by side**{what}: packs of {cells[0]['pack']}, of all tasks in turn. Updates a second of each.", ["task", *heads],
                 [[task, *(figure(figures["tasks"][task] / figures["pack"]) if task in figures["tasks"] else "" for figures in cells)] for task in tasks])


def mix_tables(cells):
    return tasks_table(f", {encoding_label(ENCODING)}", [f"{count} packs, {SHARED[how]}" for how, count in cells], [*cells.values()])


def encoding_tables(cells):
    return tasks_table(f", other encodings, {SHARED['process']}", [f"{count} packs, {encoding_label(encoding)}" for encoding, count in cells], [*cells.values()])


def reference_tables(cells):
    return table("**The JAX reference**, its own update and sampler; with more than one model under `jax.vmap`, all on one batch.",
                 ["task", "models", "length", "updates/s", "job-steps/s", "s of compiling"],
                 [[task, members, length, figure(at["job_steps_per_second"] / int(members)), figure(at["job_steps_per_second"]),
                   f"{at['compile_seconds']:.1f}"]
                  for (task, members), figures in cells.items() for length, at in figures["lengths"].items()])


def device_line(facts):
    words = [facts["name"]]
    for name, shown in (("multiprocessors", "{:.0f} multiprocessors"), ("memory_mib", "{} MiB"), ("sm_mhz_limit", "at most {} MHz"),
                        ("watts_limit", "at most {} W"), ("driver", "driver {}"), ("compute_mode", "compute mode {}"), ("mig", "MIG {}"),
                        ("torch", "torch {}"), ("reference", "{}")):
        if facts.get(name) is not None:
            words.append(shown.format(facts[name]))
    return ", ".join(words) + "."


OWN_ENGINES = ["resident", "libtorch"]
FAMILY_OF = {"spread": "resident"}  # Whose kernels another engine has.
# Suites whose tests are of one of them alone.
SUITES_OF = {"resident": {"ResidentGpuTest", "SideBySideGpuTest"},
             "libtorch": {"LibtorchGpuTest", "Tf32GpuTest", "AlgorithmicGpuTest", "DataGpuTest", "LlamaGpuTest", "LongBenchGpuTest"}}


def engines_in_doubt(failed):
    """Those of OWN_ENGINES whose figures would say nothing, as these tests failed."""
    suites = {test.split(".")[0] for test in failed}
    of_others = lambda engine: set().union(*(names for other, names in SUITES_OF.items() if other != engine))
    return [engine for engine in OWN_ENGINES if suites - of_others(engine)]


def tests_line(tests):
    words = [f"{tests['passed']} passed"] + [f"{len(tests[what])} {what}: {', '.join(tests[what])}" for what in ("failed", "skipped") if tests[what]]
    doubtful = engines_in_doubt(tests["failed"])
    of = "" if len(doubtful) == len(OWN_ENGINES) else f" of {' and '.join(doubtful)}"
    return f"Tests on the GPU: {'; '.join(words)}." + (f" Nothing{of} was measured." if doubtful else "")


def left_out_lines(left_out):
    by_reason = {}
    for name, why in left_out.items():
        by_reason.setdefault(why, []).append(f"`{name}`")
    return ["**Not measured**", ""] + [f"- {', '.join(names)}: {why}" for why, names in by_reason.items()] + [""] if left_out else []


TABLES = {"train": train_tables, "spread": packs_tables, "packs": packs_tables, "mix": mix_tables, "encoding": encoding_tables, "reference": reference_tables}


def tables(everything):
    cells = everything["cells"]
    lines = [device_line(everything["device"])]
    if cells:
        dates, commits = (", ".join(column(figures[name] for figures in cells.values())) for name in ("date", "commit"))
        lines[-1] += f" Measured on {dates}, build {commits}."
    if everything["stand_in"]:
        lines = ["**On a CPU in a GPU's place, to see that everything runs: the figures mean nothing.**", "", *lines]
    if "tests" in cells:
        lines[-1] += " " + tests_line(cells["tests"])
    lines.append("")
    rows = [] if everything["stand_in"] else aims(configurations(cells), own_mix(cells))
    if rows:
        grid(lines, ["what", "aim", "measured", "reached"], rows)
    lines += projection_tables(cells) + own_mix_tables(cells)
    for part, make in TABLES.items():
        found = of_part(cells, part)
        if found:
            lines += make(found)
    return "\n".join(lines + left_out_lines(everything["left_out"]))
