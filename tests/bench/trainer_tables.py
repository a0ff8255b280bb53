"""The tables of the trainer's benchmark, from the figures of trainer.py."""
import math
import statistics

BEGIN = "<!-- Tables of tests/bench/trainer.py, which writes them anew: -->"
END = "<!-- End of these tables. -->"
SEQUENCES = 500
# What is aimed for: over the reference the geometric means and the least, and shares of the GEMM peak.
AIMS = {"mean": 8, "least": 5, "peak": 0.7, "peak_single": 0.85, "tests": 15, "avx2": 2, "rounded": 10, "run": 3}


def geometric_mean(values):
    return math.prod(values) ** (1 / len(values))


def figure(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def seconds(sequences_per_second):
    took = SEQUENCES / sequences_per_second
    return f"{figure(took)} s" if took >= 1 else f"{1e3 * took:.0f} ms"


def of_part(everything, part):
    """{(task, encoding): figures}."""
    return {tuple(name.split("/")[1:]): figures for name, figures in everything["cells"].items() if name.startswith(part + "/")}


def in_full(cells):
    """Those of the full form: the others say nothing about speed."""
    return {name: figures for name, figures in cells.items() if figures["form"] == "full"}


def loads_of(cells):
    loads = [load for figures in cells.values() for load in figures["loads"]]
    return f"load average {min(loads):.1f} to {max(loads):.1f}" if loads else ""


def column(values):
    return list(dict.fromkeys(values))


def grid(lines, head, rows):
    lines += ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(row) + " |" for row in rows] + [""]


def table(title, head, rows):
    lines = [title, ""]
    grid(lines, head, rows)
    return lines


def mean_and_least(ratios):
    least = min(ratios, key=ratios.get)
    return f"Geometric mean over {len(ratios)} cells: {geometric_mean(list(ratios.values())):.2f}. Least: {ratios[least]:.2f} ({least[0]}, {least[1]})."


def train_tables(cells):
    tasks, encodings = column(task for task, _ in cells), column(encoding for _, encoding in cells)

    def cell(task, encoding):
        one = cells.get((task, encoding))
        if one is None:
            return ""
        ours = figure(one["longreach_per_second"]) + ("" if one["engine"].startswith("lanes") else f" ({one['engine']})")
        if "reference_per_second" not in one:
            return ours
        return f"{ours} : {figure(one['reference_per_second'])} = **{one['over_reference']:.1f}**"

    def cpu_cell(task, encoding):
        one = cells.get((task, encoding))
        if one is None or "cpu_over_reference" not in one:
            return ""
        return f"{figure(one['longreach_cpu_ms'])} : {figure(one['reference_cpu_ms'])} = **{one['cpu_over_reference']:.1f}**"

    ratios = {name: one["over_reference"] for name, one in cells.items() if "over_reference" in one}
    lengths = "; lengths ".join(column(one["measured_lengths"] for one in cells.values()))
    lines = table(f"**Updates a second of one job{', Longreach : reference = ratio' if ratios else ''}** ({loads_of(cells)}). Lengths {lengths} in turn stand for 1..40.",
                  ["encoding", *tasks], [[encoding, *(cell(task, encoding) for task in tasks)] for encoding in encodings])
    if ratios:
        lines += [mean_and_least(ratios) + " "
                  f"The reference compiled {statistics.median(one['reference_compile_seconds'] for one in cells.values() if 'over_reference' in one):.0f} s "
                  "(median) for each cell, at the lengths measured; this is not counted.", ""]
        lines += table("**Processor time of an update in ms, Longreach : reference = ratio**: all threads together, which other work on the machine disturbs less.",
                       ["encoding", *tasks], [[encoding, *(cpu_cell(task, encoding) for task in tasks)] for encoding in encodings])
        lines += [mean_and_least({name: one["cpu_over_reference"] for name, one in cells.items() if "over_reference" in one}), ""]
    return lines


def peak_tables(cells):
    return table(f"**Of the GEMM peak, at one length** ({loads_of(cells)}). Nominal FLOP of the matrix products against the best float32 product of LibTorch "
                 "in the same process.",
                 ["task", "encoding", "GFLOP/s", "GEMM peak", "share"],
                 [[task, encoding, figure(one["gflops"]), figure(one["gemm_peak_gflops"]), f"{100 * one['share']:.0f} %"] for (task, encoding), one in cells.items()])


def test_tables(cells):
    rows, ratios = [], []
    for (task, encoding), one in cells.items():
        for length, at in one["lengths"].items():
            row = [task, encoding, length, seconds(at["longreach_per_second"]), "", "", ""]
            if "over_reference" in at:
                row[-3:] = [seconds(at["reference_per_second"]), f"{at['over_reference']:.1f}", f"{at['cpu_over_reference']:.1f}"]
                ratios.append(at["over_reference"])
            rows.append(row)
    lines = table(f"**Tests of {SEQUENCES} sequences** ({loads_of(cells)}), in batches of 64 on both sides, sampling and compilation not counted.",
                  ["task", "encoding", "length", "Longreach", "reference", "ratio", "by processor time"], rows)
    if ratios:
        lines += [f"Geometric mean of the ratios: {geometric_mean(ratios):.1f}.", ""]
    return lines


def pack_tables(cells):
    return table(f"**Packs: job-steps a second** ({loads_of(cells)}).",
                 ["task", "encoding", "jobs", "job-steps/s", "over one job"],
                 [[task, encoding, jobs, figure(at["per_second"]), f"{at['over_alone']:.2f}"] for (task, encoding), one in cells.items() for jobs, at in one["jobs"].items()])


def engine_tables(cells):
    return table(f"**Engines, forced by `--engine`: updates a second of one job** ({loads_of(cells)}).",
                 ["task", "encoding", "engine", "updates/s", "over the reference", "over libtorch", "ms of processor time", "over libtorch"],
                 [[task, encoding, name, figure(at["per_second"]), f"{at['over_reference']:.1f}" if "over_reference" in at else "", f"{at['over_libtorch']:.2f}",
                   figure(at["cpu_ms"]), f"{at['cpu_over_libtorch']:.2f}"]
                  for (task, encoding), one in cells.items() for name, at in one["engines"].items()])


def threads_tables(cells):
    rows = []
    for (task, encoding), one in cells.items():
        for count, at in one["simulated"].items():
            real = one["measured"] if str(one["measured"]["threads"]) == count else None
            rows.append([task, encoding, count, figure(at["per_second"]), f"{at['over_one']:.2f}", figure(real["per_second"]) if real else "",
                         f"{real['over_one']:.2f}" if real else ""])
    serial = [one["serial_ms"] for one in cells.values()]
    return table(f"**More threads, by simulation: updates a second of one job** ({loads_of(cells)}). One thread computes, the processor time of each item of its work is "
                 "taken, and the items are dealt in order to so many threads, as the pool deals them. Memory bandwidth, shared caches, the frequency of a busy "
                 f"processor and the waking of threads are left out. {figure(min(serial))} to {figure(max(serial))} ms of an update are one thread's alone.",
                 ["task", "encoding", "threads", "updates/s, simulated", "over one", "updates/s, measured", "over one"], rows)


def product_tables(cells):
    return table(f"**The whole product beside the bench** ({loads_of(cells)}): the updates of a job over the time from its lease to its result, with "
                 "start, checkpoints, progress and a small test.",
                 ["task", "encoding", "product", "bench", "ratio"],
                 [[task, encoding, figure(one["product_per_second"]), figure(one["bench_per_second"]), f"{one['over_bench']:.2f}"] for (task, encoding), one in cells.items()])


def run_tables(cells):
    return table(f"**Whole sweeps: seconds of `longreach run`** ({loads_of(cells)}), from the command to its end, as it is, and as it was before: with the "
                 "engine beside it, one pack at a time. One round.",
                 ["preset", "jobs", "settings", "s", "engine beside it", "s", "times as fast"],
                 [[preset, f"{one['jobs']}", " ".join(one["settings"]) or "its own", figure(one["s"]), against, figure(one["against_s"]), f"{one['times']:.1f}"]
                  for (preset, against), one in cells.items()])


def over_reference(everything, engine):
    cells = in_full(of_part(everything, "engine")).values()
    return [one["engines"][engine]["over_reference"] for one in cells if "over_reference" in one["engines"].get(engine, {})]


def aims(everything):
    """Aim, what was reached, and whether that is enough; of what was measured."""
    rows = []

    def row(what, value, least, shown):
        rows.append([what, shown(least), shown(value), "yes" if value >= least else "no"])

    def times(value):
        return f"{value:.1f} x"

    def percent(value):
        return f"{100 * value:.0f} %"

    train = [one["over_reference"] for one in in_full(of_part(everything, "train")).values() if "over_reference" in one]
    if train:
        row(f"updates/s over the reference, geometric mean of {len(train)} cells", geometric_mean(train), AIMS["mean"], times)
        row("the least cell", min(train), AIMS["least"], times)
    peaks = in_full(of_part(everything, "peak"))
    for single, least in ((False, AIMS["peak"]), (True, AIMS["peak_single"])):
        shares = [one["share"] for (task, _), one in peaks.items() if (task == "even_pairs") == single]
        if shares:
            row(f"of the GEMM peak, {'one output' if single else 'an output for each input'}, the least", min(shares), least, percent)
    tests = [at["over_reference"] for one in in_full(of_part(everything, "test")).values() for at in one["lengths"].values() if "over_reference" in at]
    if tests:
        row("tests over the reference, geometric mean", geometric_mean(tests), AIMS["tests"], times)
    avx2, rounded = over_reference(everything, "lanes-avx2"), over_reference(everything, "lanes-bf16")
    if avx2:
        row(f"updates/s of the AVX2 engine over the reference, the least of {len(avx2)} cells", min(avx2), AIMS["avx2"], times)
    if rounded:
        row(f"updates/s with bfloat16 operands (lanes-bf16) over the reference, geometric mean of {len(rounded)} cells", geometric_mean(rounded), AIMS["rounded"], times)
    for (preset, against), one in in_full(of_part(everything, "run")).items():
        row(f"`longreach run {preset}` over the same with {against}", one["times"], AIMS["run"], times)
    return rows


# Of plots.
ALT = {"train": "Updates a second over the reference, by cell, and the aims", "peak": "Share of the GEMM peak, and the aims",
       "test": "Tests over the reference, by length, and the aim", "threads": "Updates a second over one thread, on simulated threads"}
TABLES = {"train": train_tables, "peak": peak_tables, "test": test_tables, "pack": pack_tables, "engine": engine_tables, "threads": threads_tables,
          "product": product_tables, "run": run_tables}


def tables(everything, plots=None):
    """All tables. `plots`: {part: name of the file with its plot}."""
    dates = column(figures["date"] for figures in everything["cells"].values())
    rounds = column(f"{figures['rounds']} rounds of {figures['seconds']:g} s" for figures in everything["cells"].values())
    lines = [f"{everything['machine']}. {', '.join(dates)}; {', '.join(rounds)}." + (f" Reference: {everything['reference']}." if "reference" in everything else ""), ""]
    rows = aims(everything)
    if rows:
        grid(lines, ["what", "aim", "measured", "reached"], rows)
    read_back = [name for name, figures in everything["cells"].items() if "read_from_page" in figures]
    if read_back:
        lines += [f"The figures of {len(read_back)} cells were read back from this page, rounded as it showed them; they are measured anew with the rest.", ""]
    for part, make in TABLES.items():
        cells = of_part(everything, part)
        if cells:
            lines += make(cells)
            if plots and part in plots:
                lines += [f"![{ALT[part]}]({plots[part]})", ""]
    return "\n".join(lines)


def page_text(page, text, begin=BEGIN, end=END):
    """The page with these tables in place of those that it has."""
    before, found, rest = page.partition(begin)
    _, ended, after = rest.partition(end)
    if not found or not ended:
        raise SystemExit(f"--page: the page has no lines '{begin}' and '{end}'; put them where the tables belong")
    return f"{before}{begin}\n\n{text}\n{end}{after}"
