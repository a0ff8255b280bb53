"""Learning rates that rise and fall in algorithmic tasks: as axes of a sweep, from the command line to losses and tables."""
from collections import defaultdict

from harness import check_ledger, needs_worker, query, run_cli

SWEEP = """
name: rates
experiment: algorithmic
axes: {task: bucket_sort, encoding: rope, learning_rate: [1.0e-2, 1.0e-3], seed: 0}
model: {layers: 1, embedding_dim: 32, heads: 4, mlp_dim: 64}
training: {steps: 12, batch_size: 16, lengths: 1..5}
evaluation: {lengths: 6, examples: 16}
"""
GRID = ("--set", "training.schedule=constant,cosine,linear", "--set", "training.warmup_steps=0,4")
SHAPES = ("constant", "cosine", "linear")


@needs_worker
def test_schedules_are_axes_of_a_sweep(home, tmp_path):
    store = str(tmp_path / "rates.db")
    run = run_cli(home, "run", "/dev/stdin", "--store", store, "--threads", "2", *GRID, stdin=SWEEP)
    assert run.code == 0, run
    check_ledger(home, store)

    table = run_cli(home, "results", "rates", "--store", store, "--rows", "training.schedule", "--columns", "training.warmup_steps", "-o", "json").json()
    assert sorted(row["key"] for row in table["rows"]) == list(SHAPES), table
    assert sorted(column["key"] for column in table["columns"]) == ["0", "4"], table
    assert [cell["jobs"] for cell in table["cells"]] == [2] * 6, table

    # Each loss is that before an update: those of two jobs part with the first update that had another rate.
    losses = defaultdict(dict)
    for spec, rate, step, loss in query(store, "SELECT j.spec, j.learning_rate, p.step, p.loss FROM progress p JOIN jobs j ON j.num = p.job"):
        lines = dict(line.split("=", 1) for line in spec.splitlines() if "=" in line)
        key = lines.get("training.schedule", "constant"), int(lines.get("training.warmup_steps", 0)), rate
        losses[key][step] = loss
    assert len(losses) == 12 and all(sorted(one) == list(range(1, 13)) for one in losses.values()), losses
    for rate in (1e-2, 1e-3):
        for warmup in (0, 4):
            constant, cosine, line = (losses[shape, warmup, rate] for shape in SHAPES)
            # The update behind the warm-up has the whole rate whatever follows, and is the last that all three have.
            same = warmup + 2
            assert all(constant[step] == cosine[step] == line[step] for step in range(1, same + 1)), (rate, warmup, constant, cosine, line)
            assert len({constant[same + 1], cosine[same + 1], line[same + 1]}) == 3, (rate, warmup, constant, cosine, line)
        assert losses["constant", 0, rate][1] == losses["constant", 4, rate][1]
        assert losses["constant", 0, rate][2] != losses["constant", 4, rate][2], "the first update of a warm-up has rate 0"
    # What has rate 0 moves nothing, whatever a whole rate would.
    assert losses["linear", 4, 1e-2][2] == losses["linear", 4, 1e-3][2]

    # A pack has one schedule, and learning rates of their own.
    packs = defaultdict(list)
    for attempt, spec in query(store, "SELECT a.attempt, j.spec FROM attempt_jobs a JOIN jobs j ON j.num = a.job"):
        packs[attempt].append([line for line in spec.splitlines() if line.startswith("training.")])
    assert all(settings == pack[0] for pack in packs.values() for settings in pack) and max(map(len, packs.values())) == 2, packs


def test_a_constant_rate_is_the_sweep_that_it_was(home, scheduler):
    first = run_cli(home, "submit", "/dev/stdin", "-q", scheduler=scheduler, stdin=SWEEP)
    assert first.code == 0, first
    said = run_cli(home, "submit", "/dev/stdin", "-q", "--set", "training.schedule=constant", "--set", "training.warmup_steps=0", scheduler=scheduler, stdin=SWEEP)
    assert said.out == first.out, (said, first)
    assert all("schedule" not in spec and "warmup" not in spec for (spec,) in query(scheduler.store, "SELECT spec FROM jobs"))


def test_what_is_refused_of_a_schedule(home):
    for values, words in [(["training.warmup_steps=12"], "training.warmup_steps: 12 do not fit into training.steps, 12"),
                          (["training.final_rate=0.25"], "set training.schedule to cosine or linear"),
                          (["training.schedule=linear", "training.final_rate=2"], "training.final_rate: 2 is not in [0, 1]"),
                          (["training.schedule=step"], "is none of 'constant', 'cosine' and 'linear'"),
                          (["training.lr_scheduler_type=linear"], "did you mean 'training.schedule'")]:
        refused = run_cli(home, "plan", "/dev/stdin", *(part for value in values for part in ("--set", value)), stdin=SWEEP)
        assert refused.code == 2, refused
        assert words in refused.err, refused
    other_kind = run_cli(home, "plan", "quickstart-language", "--set", "training.warmup_steps=10")
    assert other_kind.code == 2 and "is a setting of the kinds 'algorithmic', 'llama' and 'sequences', not of 'language'" in other_kind.err, other_kind
