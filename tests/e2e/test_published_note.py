"""Published values beside a sweep of other settings are said to be so, and beside a preset as it is they are not."""
import math

import pytest

from harness import run_cli

NOTE = "published values are of other settings"


def notes(home, sweep):
    table = run_cli(home, "results", sweep, "--published", "--store", home.path / "s.db", "-o", "json").json()
    assert any("published" in cell for cell in table["cells"]), table
    return table["notes"]


@pytest.mark.parametrize("preset", ["table-1", "table-2", "table-3", "table-b1", "nope-table-1", "nope-table-2"])
def test_a_preset_is_itself(home, preset):
    # The store keeps a sweep without what is the default, so it does not come back as it was sent.
    run_cli(home, "submit", preset, "--store", home.path / "s.db")
    assert not any(NOTE in note for note in notes(home, preset))


def test_other_settings_are_named(home):
    run_cli(home, "submit", "table-b1", "--set", "training.steps=3", "--set", "seed=4", "--store", home.path / "s.db")
    found = [note for note in notes(home, "table-b1") if NOTE in note]
    assert len(found) == 1 and found[0].endswith("in seed, training.steps"), found


def test_another_way_of_the_learning_rate_is_named(home):
    run_cli(home, "submit", "table-b1", "--set", "training.warmup_steps=100", "--set", "training.schedule=cosine", "--store", home.path / "s.db")
    found = [note for note in notes(home, "table-b1") if NOTE in note]
    assert len(found) == 1 and found[0].endswith("in training.schedule, training.warmup_steps"), found


def test_a_setting_that_is_the_default_of_its_kind_again_is_named(home):
    run_cli(home, "submit", "nope-table-1", "--set", "evaluation.stride=0", "--store", home.path / "s.db")
    found = [note for note in notes(home, "nope-table-1") if NOTE in note]
    assert len(found) == 1 and found[0].endswith("in evaluation.stride"), found


def test_published_rows_that_a_preset_has_not_are_named(home):
    run_cli(home, "submit", "nope-table-1", "--store", home.path / "s.db")
    assert "8 published values stand beside no row: rope-dynamic, rope-yarn" in notes(home, "nope-table-1")


def test_a_table_of_slices_is_there_before_anything_is_measured(home):
    run_cli(home, "submit", "nope-table-2", "--store", home.path / "s.db")
    table = run_cli(home, "results", "nope-table-2", "--published", "--store", home.path / "s.db", "-o", "json").json()
    assert (len(table["rows"]), len(table["columns"]), table["columns"][0]["key"]) == (11, 17, "all"), table
    assert all("published" in cell and "measured" not in cell for cell in table["cells"]), table


def test_published_values_are_in_bits_where_measured_ones_would_be(home):
    run_cli(home, "submit", "table-1", "--store", home.path / "s.db")

    def published(*options):
        cells = run_cli(home, "results", "table-1", "--published", *options, "--store", home.path / "s.db", "-o", "json").json()["cells"]
        return [cell for cell in cells if "published" in cell]

    in_nats, in_bits = published(), published("--bits")
    assert len(in_nats) == len(in_bits) > 0
    for nats, bits in zip(in_nats, in_bits):
        assert bits["published"] == pytest.approx(nats["published"] / math.log(2)), bits
        assert float(bits["published_text"]) == pytest.approx(bits["published"], abs=0.051), bits
