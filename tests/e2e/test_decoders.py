"""Algorithmic tasks for a decoder (model.causal): from the sweep file to its table, beside the encoder."""
from harness import check_ledger, needs_worker, query, run_cli

SWEEP = """
name: both
experiment: algorithmic
axes: {task: [reverse_string, parity_check], encoding: [none, rope, "rope:randomized"], learning_rate: 1.0e-3, seed: 0..1}
model: {layers: 2, embedding_dim: 32, heads: 4, mlp_dim: 64, causal: [false, true]}
training: {steps: 20, batch_size: 8, lengths: 1..4}
evaluation: {lengths: [4, 6], examples: 32}
"""


@needs_worker
def test_a_decoder_beside_the_encoder(home, tmp_path):
    store = str(tmp_path / "both.db")
    plan = run_cli(home, "plan", "/dev/stdin", "--store", store, "-o", "json", stdin=SWEEP)
    assert plan.code == 0 and plan.json()["jobs"] == 24, plan
    run = run_cli(home, "run", "/dev/stdin", "--store", store, "--engine", "lanes", "--threads", "1", stdin=SWEEP)
    assert run.code == 0, run
    check_ledger(home, store)

    table = run_cli(home, "results", "both", "--store", store, "--metric", "exact_match", "--rows", "task", "--columns", "model.causal",
                    "--aggregate", "mean", "-o", "json").json()
    assert [column["key"] for column in table["columns"]] == ["false", "true"], table
    for cell, column in zip(table["cells"], ["false", "true"] * 2):
        assert ("measured" in cell) == (column == "true"), (cell, column)
        if column == "true":
            assert 0 <= cell["measured"] <= 100, cell
    assert "12 jobs succeeded without a value of exact_match over all lengths: it is measured of decoders alone (model.causal: true)" in table["notes"], table
    values = run_cli(home, "results", "both", "--store", store, "--jobs", "--metric", "exact_match", "-o", "csv").out.splitlines()
    assert len(values) == 1 + 12 * 3, values[:3]  # Twelve decoders, two lengths and over both.

    usual = run_cli(home, "results", "both", "--store", store)
    assert "accuracy of decoders (model.causal: true) is of outputs that are each predicted from the true ones before it" in usual.out, usual
    decoders = run_cli(home, "results", "both", "--store", store, "--only", "model.causal=true")
    assert decoders.code == 0 and "of decoders" not in decoders.out + decoders.err, decoders

    # The same of pairs, but for a task with one output, where a decoder has no true one to go by.
    for task, is_said in (("reverse_string", True), ("parity_check", False)):
        compared = run_cli(home, "compare", "both", "--between", "model.causal", "--only", f"task={task}", "--store", store)
        assert compared.code == 0 and compared.out.startswith("both, model.causal false and true: accuracy (%) over all test lengths, by pairs of jobs\n"), compared
        assert "they differ in model.causal" in compared.out, compared
        assert ("they do not compare" in compared.out + compared.err) == is_said, compared

    # Each panel is of encoders or of decoders alone, but they stand side by side.
    figure = run_cli(home, "plot", "both", "--panels", "model.causal", "--file", "-", "--store", store).json()
    assert [note for note in figure["title"]["subtitle"] if note.startswith("accuracy of decoders (model.causal: true) is")], figure["title"]
    figure = run_cli(home, "plot", "both", "--panels", "model.causal", "--only", "model.causal=true", "--file", "-", "--store", store).json()
    assert not [note for note in figure["title"]["subtitle"] if "decoders" in note], figure["title"]

    engines = query(store, "SELECT DISTINCT engine FROM attempts ORDER BY engine")
    assert engines and all(engine.startswith("lanes") for (engine,) in engines), engines


def test_what_a_decoder_refuses(home, tmp_path):
    for value, words in [("model.break_symmetry=true", "looks back only"), ("model.causal=perhaps", "model.causal")]:
        refused = run_cli(home, "plan", "/dev/stdin", "--set", "model.causal=true", "--set", value, stdin=SWEEP)
        assert refused.code == 2, refused
        assert words in refused.err, refused
    other_kind = run_cli(home, "plan", "quickstart-language", "--set", "model.causal=true")
    assert other_kind.code == 2 and "is a setting of the kinds 'algorithmic' and 'sequences'" in other_kind.err, other_kind
    meant = run_cli(home, "plan", "quickstart", "--set", "model.decoder_only=true")
    assert meant.code == 2 and "did you mean 'model.causal'" in meant.err, meant
