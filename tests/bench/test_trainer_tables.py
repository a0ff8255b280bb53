"""What the trainer's benchmark makes of its figures."""
import json
import pathlib
import xml.etree.ElementTree

import pytest

from trainer_plots import draw, plots
from trainer_tables import BEGIN, END, aims, page_text, tables


def train_cell(ratio, form="full"):
    return {"engine": "lanes-avx512", "longreach_per_second": 10 * ratio, "reference_per_second": 10.0, "over_reference": ratio, "loads": [0.5],
            "longreach_cpu_ms": 30.0, "reference_cpu_ms": 30.0 * ratio, "cpu_over_reference": ratio,
            "reference_compile_seconds": 30.0, "date": "2026-11-21", "rounds": 3, "seconds": 6.0, "form": form, "measured_lengths": "3,8"}


def of_full_form(**figures):
    return {"form": "full", "date": "2026-11-21", "rounds": 3, "seconds": 6.0, "loads": [0.5], **figures}


def peak_cell(share):
    return of_full_form(gflops=300 * share, gemm_peak_gflops=300.0, share=share)


def cell_of_tests(**ratios):
    return of_full_form(lengths={length[1:]: {"longreach_per_second": 100 * ratio, "longreach_cpu_ms": 1.0, "reference_per_second": 100.0,
                                              "reference_cpu_ms": ratio, "over_reference": ratio, "cpu_over_reference": ratio}
                                 for length, ratio in ratios.items()})


def threads_cell(*over_one):
    return of_full_form(simulated={str(2**i): {"per_second": 50.0 * over, "over_one": over} for i, over in enumerate(over_one)}, serial_ms=0.13,
                        measured={"threads": 2, "per_second": 95.0, "over_one": 1.9})


def figures(**cells):
    return {"machine": "a machine", "cells": {name.replace("__", "/"): cell for name, cell in cells.items()}}


def test_the_mean_of_ratios_is_geometric_and_the_least_is_named():
    text = tables(figures(train__even_pairs__none=train_cell(4.0), train__bucket_sort__rope=train_cell(16.0)))

    assert "Geometric mean over 2 cells: 8.00. Least: 4.00 (even_pairs, none)" in text
    assert "| updates/s over the reference, geometric mean of 2 cells | 8.0 x | 8.0 x | yes |" in text
    assert "| the least cell | 5.0 x | 4.0 x | no |" in text


def test_the_short_form_reaches_no_aim():
    assert aims(figures(train__even_pairs__none=train_cell(40.0, form="short"))) == []


def test_without_a_reference_there_is_no_ratio():
    cell = {name: value for name, value in train_cell(8.0).items() if "reference" not in name}

    text = tables(figures(train__even_pairs__none=cell))

    assert "| none | 80 |" in text and "Geometric" not in text


def test_a_page_keeps_all_but_its_tables():
    page = f"# Before\n{BEGIN}\nold\n{END}\nafter\n"

    assert page_text(page, "new\n") == f"# Before\n{BEGIN}\n\nnew\n\n{END}\nafter\n"
    assert page_text(page_text(page, "new\n"), "newer\n") == f"# Before\n{BEGIN}\n\nnewer\n\n{END}\nafter\n"
    with pytest.raises(SystemExit, match="--page: the page has no lines"):
        page_text("# Another page\n", "new")


def test_simulated_threads_stand_beside_the_measured_ones():
    text = tables(figures(threads__even_pairs__rope=threads_cell(1.0, 1.98, 3.9)))

    assert "| even_pairs | rope | 1 | 50 | 1.00 |  |  |" in text
    assert "| even_pairs | rope | 2 | 99 | 1.98 | 95 | 1.90 |" in text
    assert "| even_pairs | rope | 4 | 195 | 3.90 |  |  |" in text
    assert "by simulation" in text and "Memory bandwidth" in text


def test_other_engines_have_aims_over_the_reference_of_their_cell():
    def cell(**ratios):
        return of_full_form(engines={name.replace("_", "-"): {"per_second": 18.0, "over_libtorch": 1.5, "cpu_ms": 60.0, "cpu_over_libtorch": 1.5,
                                                              **({} if ratio is None else {"over_reference": ratio})} for name, ratio in ratios.items()})

    everything = figures(engine__even_pairs__relative=cell(lanes_avx2=1.8, lanes_bf16=9.0), engine__even_pairs__rope=cell(lanes_avx2=2.5, lanes_bf16=16.0),
                         engine__even_pairs__none=cell(lanes_avx2=None))

    assert ["updates/s of the AVX2 engine over the reference, the least of 2 cells", "2.0 x", "1.8 x", "no"] in aims(everything)
    assert ["updates/s with bfloat16 operands (lanes-bf16) over the reference, geometric mean of 2 cells", "10.0 x", "12.0 x", "yes"] in aims(everything)
    assert "| even_pairs | relative | lanes-avx2 | 18 | 1.8 | 1.50 | 60 | 1.50 |" in tables(everything)
    assert "| even_pairs | none | lanes-avx2 | 18 |  | 1.50 | 60 | 1.50 |" in tables(everything)


def test_whole_sweeps_stand_with_their_settings():
    run = {"jobs": 945, "s": 20.0, "against_s": 65.0, "times": 3.25}
    everything = figures(**{"run__table-b1__libtorch": of_full_form(settings=["training.steps=2"], **run), "run__quickstart__libtorch": of_full_form(settings=[], **run)})

    assert "| table-b1 | 945 | training.steps=2 | 20 | libtorch | 65 | 3.2 |" in tables(everything)
    assert "| quickstart | 945 | its own | 20 | libtorch | 65 | 3.2 |" in tables(everything)
    assert ["`longreach run table-b1` over the same with libtorch", "3.0 x", "3.2 x", "yes"] in aims(everything)


def test_figures_that_were_read_back_say_so():
    read_back = {**train_cell(8.0), "read_from_page": True}

    text = tables(figures(train__even_pairs__none=read_back, train__even_pairs__rope=train_cell(9.0)))

    assert "The figures of 1 cells were read back from this page" in text
    assert "read back" not in tables(figures(train__even_pairs__rope=train_cell(9.0)))


SMALL = figures(train__even_pairs__none=train_cell(9.0), train__even_pairs__rope=train_cell(7.0), train__bucket_sort__rope=train_cell(6.0),
                peak__even_pairs__none=peak_cell(0.8), peak__reverse_string__none=peak_cell(0.5), peak__bucket_sort__none=peak_cell(0.6),
                test__even_pairs__none=cell_of_tests(_41=8.0, _500=22.0), threads__even_pairs__rope=threads_cell(1.0, 1.98, 3.9))


def test_plots_show_what_the_tables_hold_with_the_aims():
    made = {part: plot for part, (_, plot) in plots(SMALL).items()}

    assert made["train"].series == {"even_pairs": [("none", 9.0), ("rope", 7.0)], "bucket_sort": [("rope", 6.0)]}
    assert made["train"].aims == {"aim for the mean": 8, "aim for the least": 5}
    assert made["peak"].series == {"none": [("even_pairs", 80.0), ("reverse_string", 50.0), ("bucket_sort", 60.0)]}
    assert made["peak"].aims == {"aim, one output": (85, 0, 0), "aim, an output for each input": (70, 1, 2)}
    assert made["test"].series == {"even_pairs, none": [(41, 8.0), (500, 22.0)]}
    assert made["threads"].series == {"even_pairs, rope, simulated": [(1, 1.0), (2, 1.98), (4, 3.9)], "measured": [(2, 1.9)]}


def test_there_are_plots_only_of_what_the_full_form_measured_beside_the_reference():
    alone = {name: value for name, value in train_cell(8.0).items() if "reference" not in name}

    assert plots(figures(train__even_pairs__none=alone, train__even_pairs__rope=train_cell(9.0, form="short"))) == {}
    assert list(plots(figures(threads__even_pairs__rope=threads_cell(1.0, 1.98)))) == ["threads"]


def test_plots_stand_below_their_tables():
    text = tables(SMALL, {"peak": "trainer_peak.svg"})

    before, link, after = text.partition("](trainer_peak.svg)")
    assert link and "Of the GEMM peak" in before and "Tests of 500 sequences" in after
    assert "svg" not in tables(SMALL)


def test_plots_are_the_same_files_of_the_same_figures(tmp_path):
    pytest.importorskip("matplotlib")
    for name, plot in plots(SMALL).values():
        draw(plot, tmp_path / name)
        first = (tmp_path / name).read_bytes()
        draw(plot, tmp_path / name)
        assert (tmp_path / name).read_bytes() == first
        words = " ".join("".join(text.itertext()) for text in xml.etree.ElementTree.fromstring(first).iter("{http://www.w3.org/2000/svg}text"))
        assert plot.y in words and all(label in words for label in [*plot.series, *plot.aims])


def test_the_page_holds_the_tables_and_links_of_the_file_beside_it():
    folder = pathlib.Path(__file__).resolve().parents[2] / "docs/benchmarks"
    everything = json.loads((folder / "trainer.json").read_text())
    page = (folder / "trainer.md").read_text()
    drawn = {part: name for part, (name, _) in plots(everything).items() if f"]({name})" in page}

    assert page_text(page, tables(everything, drawn)) == page
