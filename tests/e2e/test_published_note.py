"""Published values beside a sweep of other settings are said to be so, and beside a preset as it is they are not."""
import pytest

from harness import run_cli

NOTE = "published values are of other settings"


def notes(home, sweep):
    table = run_cli(home, "results", sweep, "--published", "--store", home.path / "s.db", "-o", "json").json()
    assert any("published" in cell for cell in table["cells"]), table
    return table["notes"]


@pytest.mark.parametrize("preset", ["table-1", "table-2", "table-3", "table-b1", "nope-table-1"])
def test_a_preset_is_itself(home, preset):
    # The store keeps a sweep without what is the default, so it does not come back as it was sent.
    run_cli(home, "submit", preset, "--store", home.path / "s.db")
    assert not any(NOTE in note for note in notes(home, preset))


def test_other_settings_are_named(home):
    run_cli(home, "submit", "table-b1", "--set", "training.steps=3", "--set", "seed=4", "--store", home.path / "s.db")
    found = [note for note in notes(home, "table-b1") if NOTE in note]
    assert len(found) == 1 and found[0].endswith("in seed, training.steps"), found


def test_a_setting_that_is_the_default_of_its_kind_again_is_named(home):
    run_cli(home, "submit", "nope-table-1", "--set", "evaluation.stride=0", "--store", home.path / "s.db")
    found = [note for note in notes(home, "nope-table-1") if NOTE in note]
    assert len(found) == 1 and found[0].endswith("in evaluation.stride"), found


def test_published_rows_that_a_preset_has_not_are_named(home):
    run_cli(home, "submit", "nope-table-1", "--store", home.path / "s.db")
    assert "8 published values stand beside no row: rope-dynamic, rope-yarn" in notes(home, "nope-table-1")
