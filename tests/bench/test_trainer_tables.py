"""What the trainer's benchmark makes of its figures."""
import pytest

from trainer_tables import BEGIN, END, aims, page_text, tables


def train_cell(ratio, form="full"):
    return {"engine": "lanes-avx512", "longreach_per_second": 10 * ratio, "reference_per_second": 10.0, "over_reference": ratio, "loads": [0.5],
            "longreach_cpu_ms": 30.0, "reference_cpu_ms": 30.0 * ratio, "cpu_over_reference": ratio,
            "reference_compile_seconds": 30.0, "date": "2026-11-21", "rounds": 3, "seconds": 6.0, "form": form, "measured_lengths": "3,8"}


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
