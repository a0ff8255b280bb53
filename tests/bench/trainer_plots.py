#!/usr/bin/env python3
"""The plots of the trainer's benchmark, from the figures of trainer.py.

    PYTHON tests/bench/trainer_plots.py docs/benchmarks/trainer.json docs/benchmarks   # a Python that has matplotlib

What a plot shows is made without matplotlib, so that it can be tested without it.
"""
import dataclasses
import json
import pathlib
import subprocess
import sys

from trainer_tables import AIMS, column, in_full, of_part

HAS_MATPLOTLIB = "import matplotlib"


@dataclasses.dataclass
class Plot:
    """Bars where x are names, lines where they are numbers. An aim is a line across the plot, or with two numbers from one bar's
    place to another's."""
    x: str
    y: str
    series: dict  # {label: [(x, y)]}
    aims: dict = dataclasses.field(default_factory=dict)  # {label: y or (y, first, last)}
    straight: bool = False  # y = x beside it, and y is no logarithm.


def updates_plot(everything):
    """Updates a second over the reference, by cell, and the aims for their mean and for the least."""
    ratios = {name: one["over_reference"] for name, one in in_full(of_part(everything, "train")).items() if "over_reference" in one}
    series = {task: [(encoding, ratio) for (of, encoding), ratio in ratios.items() if of == task] for task in column(task for task, _ in ratios)}
    return Plot("encoding", "updates/s over the reference", series, {"aim for the mean": AIMS["mean"], "aim for the least": AIMS["least"]})


def peak_plot(everything):
    """Share of the GEMM peak in training at one length, and the aims for many outputs and for one."""
    shares = {name: 100 * one["share"] for name, one in in_full(of_part(everything, "peak")).items()}
    series = {encoding: [(task, share) for (task, of), share in shares.items() if of == encoding] for encoding in column(encoding for _, encoding in shares)}
    aims = {}
    for place, task in enumerate(column(task for task, _ in shares)):
        label, share = ("aim, one output", AIMS["peak_single"]) if task == "even_pairs" else ("aim, an output for each input", AIMS["peak"])
        first = aims[label][1] if label in aims else place
        aims[label] = (100 * share, first, place)
    return Plot("task", "% of the GEMM peak", series, aims)


def tests_plot(everything):
    """Test sequences a second over the reference, by length, and the aim for their mean."""
    series = {}
    for (task, encoding), one in in_full(of_part(everything, "test")).items():
        points = [(int(length), at["over_reference"]) for length, at in one["lengths"].items() if "over_reference" in at]
        if points:
            series[f"{task}, {encoding}"] = points
    return Plot("length", "test sequences/s over the reference", series, {"aim for the mean": AIMS["tests"]})


def threads_plot(everything):
    """Updates a second of one job on simulated threads over one, and on the real ones."""
    series = {}
    cells = in_full(of_part(everything, "threads"))
    for (task, encoding), one in cells.items():
        series[f"{task}, {encoding}, simulated"] = [(int(threads), at["over_one"]) for threads, at in one["simulated"].items()]
    if cells:
        series["measured"] = [(one["measured"]["threads"], one["measured"]["over_one"]) for one in cells.values()]
    return Plot("threads", "updates/s over one thread", series, straight=True)


# By part: what the file is called, and what makes it.
PLOTS = {"train": ("trainer_updates.svg", updates_plot), "peak": ("trainer_peak.svg", peak_plot), "test": ("trainer_tests.svg", tests_plot),
         "threads": ("trainer_threads.svg", threads_plot)}


def plots(everything):
    """{part: (file name, plot)} of those for which there are figures."""
    made = {part: (name, make(everything)) for part, (name, make) in PLOTS.items()}
    return {part: (name, plot) for part, (name, plot) in made.items() if plot.series}


def draw_bars(axis, plot):
    names = column(name for points in plot.series.values() for name, _ in points)
    width = 0.8 / len(plot.series)
    for i, (label, points) in enumerate(plot.series.items()):
        places = [names.index(name) + (i + 0.5) * width - 0.4 for name, _ in points]
        axis.bar(places, [value for _, value in points], 0.9 * width, label=label)
    axis.set_xticks(range(len(names)), [name.replace(":", ":\n") for name in names], fontsize=8)


def draw_lines(axis, plot):
    from matplotlib.ticker import NullLocator

    ends = [x for points in plot.series.values() for x, _ in points]
    for label, points in plot.series.items():
        alone = label == "measured"
        axis.plot(*zip(*points), marker="x" if alone else ".", linestyle="none" if alone else "-", color="black" if alone else None, label=label)
    if plot.straight:
        axis.plot([min(ends), max(ends)], [min(ends), max(ends)], color="grey", linewidth=1, linestyle=":", label="as many times as threads")
    scales = [(axis.set_xscale, axis.xaxis)] + ([(axis.set_yscale, axis.yaxis)] if plot.straight else [])
    for set_scale, of in scales:
        set_scale("log", base=2)
        of.set_major_formatter("{x:g}")
    axis.set_xticks(column(sorted(ends)))
    axis.xaxis.set_minor_locator(NullLocator())


def draw(plot, path):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    matplotlib.rcParams["svg.hashsalt"] = "longreach"  # The same bytes for the same numbers.
    matplotlib.rcParams["svg.fonttype"] = "none"  # Text as text: small files, and changes that can be read.
    figure, axis = plt.subplots(figsize=(8, 3.6))
    bars = isinstance(next(iter(plot.series.values()))[0][0], str)
    (draw_bars if bars else draw_lines)(axis, plot)
    for style, (label, aim) in zip(("--", ":"), plot.aims.items()):
        if isinstance(aim, tuple):
            height, first, last = aim
            axis.hlines(height, first - 0.5, last + 0.5, color="black", linewidth=1, linestyle=style, label=label)
        else:
            axis.axhline(aim, color="black", linewidth=1, linestyle=style, label=label)
    axis.set_xlabel(plot.x)
    axis.set_ylabel(plot.y)
    if not plot.straight:
        axis.set_ylim(bottom=0)
    axis.legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def draw_with(pythons, figures, folder):
    """Draws the plots of a file of figures with the first of some Pythons that has matplotlib. Returns {part: file name} of those drawn; none
    when no Python has it."""
    for python in pythons:
        if subprocess.run([python, "-c", HAS_MATPLOTLIB], capture_output=True).returncode == 0:
            subprocess.run([python, "-B", __file__, figures, folder], check=True)
            return {part: name for part, (name, _) in plots(json.loads(figures.read_text())).items()}
    print(f"plots: none of {', '.join(map(str, pythons))} has matplotlib; 'pip install matplotlib' there, and they are drawn", file=sys.stderr)
    return {}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    for name, plot in plots(json.loads(pathlib.Path(sys.argv[1]).read_text())).values():
        draw(plot, pathlib.Path(sys.argv[2]) / name)


if __name__ == "__main__":
    main()
