"""What the GPU's benchmark makes of its figures."""
import pytest

from gpu_tables import (ENCODING, ENCODINGS, LENGTHS, TASKS, UPDATES, aims, at_least, configurations, hours, hours_by_encoding, makespan,
                        mean_of_tasks, mean_tape, own_mix, seconds_in_mix, tables, tape, tasks_of_table_b1)

THREE = ["even_pairs", "reverse_string", "duplicate_string"]


def curve(t, t2):
    return 1e-4 + 2e-5 * t + 3e-7 * t2


IN_MIX = curve(32.7, 1589.2667)


def train(pack, seconds=curve):
    """Cells of an engine whose updates take what the curve says."""
    return {task: {"engine": "resident-bf16", "lengths": list(LENGTHS), "job_steps_per_second": pack / seconds(*mean_tape(task, LENGTHS)),
                   "gflops": 1.0, "gemm_peak_gflops": 2.0, "ratio": 0.5, "sm_mhz": 1755.0, "watts": 650.0} for task in THREE}


def reference(members, factor):
    return {task: {"lengths": {str(n): {"job_steps_per_second": members / (factor * curve(tape(task, n), tape(task, n) ** 2)), "compile_seconds": 8.0}
                               for n in (10, 20, 40)}} for task in THREE}


def mix(pack=9, spread_s=0.0, seconds=curve, but=("parity_check",)):
    return {"pack": pack, "seconds": 10.0, "spread_s": spread_s, "engine": "resident-bf16",
            "tasks": {task: pack / seconds(*mean_tape(task, LENGTHS)) for task in TASKS if task not in but}}


def named(part, by_task):
    return {part.replace("*", task): figures for task, figures in by_task.items()}


def everything(cells, **more):
    cells = {name: {**figures, "date": "2026-11-22", "commit": "abc"} for name, figures in cells.items()}
    return {"stand_in": False, "device": {"name": "A GPU", "multiprocessors": 132}, "cells": cells, "left_out": {}, **more}


def test_tapes_are_those_of_the_fifteen_tasks():
    assert len(TASKS) == 15
    assert [tape(task, 7) for task in ("even_pairs", "reverse_string", "binary_addition", "compute_sqrt", "duplicate_string")] == [8, 14, 15, 11, 21]
    assert [tape("modular_arithmetic", n) for n in (7, 8)] == [8, 8]
    assert mean_of_tasks() == pytest.approx((32.7, 1589.27), abs=0.01)


def test_the_curve_through_three_tasks_gives_the_mean_of_all():
    points = [(*mean_tape(task, LENGTHS), curve(*mean_tape(task, LENGTHS))) for task in THREE]
    mean = sum(curve(*mean_tape(task, LENGTHS)) for task in TASKS) / len(TASKS)

    assert seconds_in_mix(points) == pytest.approx(mean)
    assert seconds_in_mix([(t, t * t, curve(t, t * t)) for t in (11, 20, 21, 40, 41, 80, 120)]) == pytest.approx(mean)


def test_two_tapes_make_no_curve():
    assert seconds_in_mix([(11, 121, 1e-3), (21, 441, 1e-3), (21, 441, 2e-3)]) is None


def test_noise_that_makes_a_curve_of_negative_times_makes_no_projection():
    assert seconds_in_mix([(2, 4, 1.0), (3, 9, 0.1), (4, 16, 1.0)]) is not None
    assert seconds_in_mix([(100, 1e4, 1.0), (110, 1.21e4, 5.0), (120, 1.44e4, 9.0)]) is None


def test_hours_of_all_jobs():
    assert hours(21_875) == pytest.approx(24)


def test_packs_begin_in_their_order():
    seconds = {"a": 1.0, "b": 2.0, "c": 3.0, "d": 5.0}
    assert makespan(["c", "c", "c", "b", "a"], {2: seconds}) == pytest.approx(6 * UPDATES)
    assert makespan(["a", "b", "c", "c", "c"], {2: seconds}) == pytest.approx(7 * UPDATES)
    assert makespan(["d", "a"], {4: seconds}) == pytest.approx(5 * UPDATES)


def test_the_preset_begins_with_the_longest_tapes():
    tapes = [mean_tape(task, LENGTHS)[0] for task in tasks_of_table_b1()]
    assert sorted(tasks_of_table_b1()) == sorted(TASKS)
    assert tapes == sorted(tapes, reverse=True)


def test_packs_that_are_left_go_at_the_rates_of_as_few():
    seconds_at = {1: {"a": 1.0}, 2: {"a": 1.8}}
    assert makespan(["a"] * 3, seconds_at) == pytest.approx(2.8 * UPDATES)
    assert makespan(["a"] * 3, {2: seconds_at[2]}) == pytest.approx(3.6 * UPDATES)  # What was not measured is no faster.
    # b's second half, alone, takes half of its time alone.
    assert makespan(["a", "b"], {1: {"a": 1.0, "b": 2.0}, 2: {"a": 2.0, "b": 4.0}}) == pytest.approx(3 * UPDATES)


def test_all_packs_wait_equally_long():
    # An update of either took 0.2808 s longer where both were trained.
    seconds_at = {1: {"a": 1.0, "b": 2.0}, 2: {"a": 1.2808, "b": 2.2808}}
    both_compute = 1 / 1.2808 + 2 / 2.2808
    assert makespan(["a", "a"], seconds_at) == pytest.approx(2 / both_compute * UPDATES)
    assert makespan(["b", "b"], seconds_at) == pytest.approx(4 / both_compute * UPDATES)
    # Together each waits as long as where it was measured, and then b goes on alone.
    assert makespan(["b", "a"], seconds_at) == pytest.approx((1.2808 + 2 * (1 - 1.2808 / 2.2808)) * UPDATES)


def test_packs_with_long_tapes_have_more_places_than_updates():
    waits = {"mix/process/15": mix(but=()), "mix/process/30": mix(seconds=lambda *t: curve(*t) + IN_MIX, but=())}

    rate = {row[0].split(" packs")[0]: row[2] for row in configurations(waits)}["resident, 30"]

    alike = 30 * 9 / (2 * IN_MIX)  # Were each task trained in as many places as another.
    assert 0.8 * alike < rate < 0.99 * alike


def test_processes_that_were_not_quite_at_once_count_for_less():
    assert at_least({"seconds": 10.0, "spread_s": 0.0}, 100.0) == 100
    assert at_least({"seconds": 10.0, "spread_s": 10.0}, 100.0) == 50
    assert configurations({"mix/mps/14": mix(spread_s=10.0)})[0][2] == pytest.approx(configurations({"mix/mps/14": mix()})[0][2] / 2)


def test_a_task_that_was_left_out_takes_the_time_of_one_with_its_tapes():
    (_, role, rate, took), = configurations({"mix/mps/14": mix()})

    assert role == "ours"
    assert rate == pytest.approx(14 * 9 / IN_MIX)
    assert hours(rate) < took < 1.2 * hours(rate)  # 105 packs in 14 places: seven rounds and a half.
    assert configurations({"mix/mps/14": mix(but=("duplicate_string",))}) == []


def test_without_packs_at_once_the_aim_says_so():
    what = lambda cells: aims(configurations(cells))[0][0]
    assert "most of the GPU was idle" in what(named("train/resident/*/9", train(9)))
    assert "idle" not in what({"mix/process/14": mix()}) and "idle" not in what({"mix/mps/14": mix()})


def test_packs_of_other_tasks_are_scheduled_whole():
    alike = mix(seconds=lambda t, t2: 1.0)

    (_, _, _, took), = configurations({"mix/process/14": alike})

    assert took == pytest.approx(8 * UPDATES / 3600)
    assert configurations({"mix/process/14": {**alike, "spread_s": 10.0}})[0][3] == pytest.approx(2 * took)  # As much less as they were apart.


def test_more_packs_than_are_left_end_at_the_rates_of_fewer():
    alike = lambda seconds: mix(seconds=lambda t, t2: seconds)

    took = {row[0].split(" packs")[0]: row[3] for row in configurations({"mix/process/15": alike(1.0), "mix/process/30": alike(1.9)})}

    assert took["resident, 15"] == pytest.approx(7 * UPDATES / 3600)
    assert took["resident, 30"] == pytest.approx((3 * 1.9 + 1) * UPDATES / 3600)


def by_encoding(factors):
    """Cells of 30 packs with each of these encodings, whose updates take so many times what the curve says; and of 15 with the one that has both."""
    cells = {"mix/process/30" if encoding == ENCODING else f"encoding/{encoding}/30": mix(seconds=lambda *t: 1.9 * factor * curve(*t), but=())
             for encoding, factor in factors.items()}
    return {**cells, "mix/process/15": mix(seconds=curve, but=())}


FACTORS = dict(zip(ENCODINGS, (1.2, 1.0, 0.8, 0.7, 1.3, 1.1, 0.9)))


def test_encodings_are_those_of_table_b1():
    assert sorted(ENCODINGS) == ["log_kerple", "log_kerple:randomized", "power_kerple", "power_kerple:randomized", "sandwich", "sandwich:randomized", "shape"]
    assert FACTORS[ENCODING] == 1.0


def test_the_hours_of_table_b1_are_the_sum_over_its_encodings():
    cells = by_encoding(FACTORS)
    alone = 30 * 9 / (1.9 * IN_MIX)
    (all_alike,) = [took for label, _, _, took in configurations(cells) if "30 packs" in label]

    rate, took = own_mix(cells)

    found = hours_by_encoding(cells)
    assert {encoding: rate for encoding, (rate, _) in found.items()} == pytest.approx({encoding: alone / factor for encoding, factor in FACTORS.items()})
    assert took == pytest.approx(sum(of_one for _, of_one in found.values()))
    assert took == pytest.approx(all_alike * sum(FACTORS.values()) / 7)
    assert rate == pytest.approx(alone * 7 / sum(FACTORS.values()))  # The harmonic mean.
    assert hours(rate) < took < 1.1 * hours(rate)  # The schedule's end is in it.
    assert own_mix(by_encoding(dict.fromkeys(ENCODINGS, 1.0))) == pytest.approx((alone, all_alike))


def test_the_page_and_the_aim_take_the_mix_and_say_so():
    cells = by_encoding(FACTORS)
    rate, took = own_mix(cells)

    text = tables(everything(cells))

    assert f"| hours for 945 jobs of 2,000,000 updates, Table B.1's own mix of encodings | 24 | {took:.3g} | yes |" in text
    assert f"| **Table B.1's own mix** | {rate:,.0f} | {took:.3g} |" in text
    assert "| encoding | job-steps/s | hours of its 135 jobs |" in text and "| Sandwich, randomized | " in text and "not measured" not in text
    assert "| task | 30 packs, Power KERPLE | 30 packs, Sandwich | 30 packs, SHAPE | 30 packs, Power KERPLE, randomized |" in text


@pytest.mark.parametrize("missing", ENCODINGS)
def test_with_one_encoding_missing_there_is_no_sum(missing):
    cells = by_encoding({encoding: factor for encoding, factor in FACTORS.items() if encoding != missing})

    assert own_mix(cells) is None
    text = tables(everything(cells))
    assert "own mix" not in text
    assert "| hours for 945 jobs of 2,000,000 updates, all with Log KERPLE | 24 |" in text
    # All hours are made of that one's.
    assert text.count("| not measured |  |") == (missing != ENCODING)
    assert ("by encoding" in text) == (missing != ENCODING)


def test_an_encoding_that_left_tasks_out_is_not_known():
    shape = "encoding/shape/30"
    cells = {**by_encoding(FACTORS), shape: mix(but=("duplicate_string",))}

    assert own_mix(cells) is None and "shape" not in hours_by_encoding(cells)


def test_aims_compare_the_best_of_ours_with_the_best_of_each_kind():
    cells = {"mix/mps/14": mix(), **named("train/resident/*/9", train(9)), **named("train/libtorch/*/1", train(1, lambda *t: 20 * curve(*t))),
             **named("reference/*/1", reference(1, 10)), **named("reference/*/9", reference(9, 2)), **named("reference/*/36", reference(36, 9))}

    rows = aims(configurations(cells))

    (took,) = [row[3] for row in configurations({"mix/mps/14": mix()})]
    assert [row[1] for row in rows] == ["24", "72", "15 x", "3 x"]
    assert rows[0][2] == rows[1][2] == f"{took:.3g}"
    assert [row[3] for row in rows] == ["yes", "yes", "yes", "yes"]
    assert rows[2][2] == "1260.0 x"  # Over the reference, the better of the two: 126 members against one in ten times their time.
    assert rows[3][2] == "28.0 x"  # Over 9 models in twice their time, not 36 in nine times.


def test_a_pack_larger_than_any_of_table_b1_reaches_no_aim():
    cells = named("train/resident/*/126", train(126))

    assert [(row[1], row[0].endswith("Table B.1 has none so large")) for row in configurations(cells)] == [("large", True)]
    assert aims(configurations(cells)) == []


def test_an_aim_that_is_missed_is_not_reached():
    cells = {**named("train/resident/*/9", train(9)), **named("reference/*/1", reference(1, 1)), **named("reference/*/9", reference(9, 1))}

    assert [row[2:] for row in aims(configurations(cells))][2:] == [["9.0 x", "no"], ["1.0 x", "no"]]


def test_a_pack_of_one_of_libtorch_is_no_success_of_ours():
    for engine in ("libtorch", "libtorch-tf32"):
        assert aims(configurations(named(f"train/{engine}/*/1", train(1)))) == []
    assert [row[1] for row in configurations(named("train/libtorch/*/9", train(9)))] == ["ours"]


def test_the_page_shows_what_there_is_and_what_is_missing():
    cells = {"tests": {"passed": 6, "failed": [], "skipped": []}, **named("train/resident/*/9", train(9)), "mix/mps/14": mix(spread_s=1.0),
             "packs/process/2": {**mix(), "task": "reverse_string", "rates": [100.0, 300.0]}, **named("reference/*/9", reference(9, 2))}

    text = tables(everything(cells, left_out={"mix/process/14": "no time was left", "packs/mps/2": "no time was left"}))

    assert "A GPU, 132 multiprocessors. Measured on 2026-11-22, build abc." in text and "Tests on the GPU: 6 passed." in text
    assert "| resident-bf16 | even_pairs | 9 |" in text and "| 50 % | 1755, 650 W |" in text
    assert "| 2 | 9 | reverse_string | in one process | 400 | 400 | 200 |" in text
    assert "| task | 14 packs, each in a process of its own, with MPS |" in text
    assert "| duplicate_string | 9 | 40 |" in text
    assert "- `mix/process/14`, `packs/mps/2`: no time was left" in text


def test_the_phases_of_an_update_are_shown_where_the_engine_tells_them():
    told = {"phases": [{"phase": "layers forward", "share": 0.25}, {"phase": "attention backward", "share": 0.75}],
            "gigabytes_per_second": 1500.0, "copy_peak_gigabytes_per_second": 4000.0}
    cells = {task: {**figures, **told} for task, figures in train(9).items()}

    text = tables(everything({**named("train/resident/*/9", cells), **named("train/libtorch/*/9", train(9))}))

    assert "| phase | resident-bf16, even_pairs, 9 jobs | resident-bf16, reverse_string, 9 jobs | resident-bf16, duplicate_string, 9 jobs |" in text
    assert "| attention backward | 75.0 % | 75.0 % | 75.0 % |" in text
    assert "| GB/s | 1,500 | 1,500 | 1,500 |" in text
    assert "Where an update's time goes" not in tables(everything(named("train/libtorch/*/9", train(9))))


def test_tests_that_fail_are_named():
    text = tables(everything({"tests": {"passed": 1, "failed": ["ResidentGpuTest.Computes"], "skipped": ["A"]}}))

    assert "1 passed; 1 failed: ResidentGpuTest.Computes; 1 skipped: A. Nothing of resident was measured." in text


def test_a_cpu_in_its_place_reaches_no_aim():
    text = tables(everything(named("train/resident/*/9", train(9)), stand_in=True))

    assert "the figures mean nothing" in text and "| aim |" not in text
