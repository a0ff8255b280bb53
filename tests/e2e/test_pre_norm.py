"""Pre-norm blocks (model.norm): from the sweep file to the weights and the table, beside the paper's post-norm ones."""
import json
import struct

from harness import check_ledger, needs_worker, query, run_cli

SWEEP = """
name: norms
experiment: algorithmic
axes: {task: reverse_string, encoding: [none, "rope:randomized"], learning_rate: 1.0e-3, seed: 0..1}
model: {layers: 2, embedding_dim: 32, heads: 4, mlp_dim: 64, causal: [false, true], norm: [post, pre]}
training: {steps: 10, batch_size: 8, lengths: 1..4}
evaluation: {lengths: [4, 6], examples: 16}
"""


def parameters(store, sha256):
    """Names in a file of weights."""
    with (store.parent / f"{store.name}.artifacts" / sha256[:2] / sha256).open("rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        return {name.removeprefix("param/") for name in json.loads(file.read(size)) if name.startswith("param/")}


@needs_worker
def test_pre_norm_beside_post_norm_by_the_fast_engine(home):
    store = home.path / "norms.db"
    ran = run_cli(home, "run", "/dev/stdin", "--store", store, "--engine", "lanes", "--threads", "1", stdin=SWEEP)
    assert ran.code == 0, ran
    check_ledger(home, str(store))
    assert query(store, "SELECT count(*) FROM jobs WHERE state = 'succeeded'") == [(16,)]
    assert all(engine.startswith("lanes") for (engine,) in query(store, "SELECT engine FROM attempts"))

    for is_pre in (False, True):
        files = query(store, "SELECT DISTINCT a.sha256 FROM artifacts AS a JOIN jobs AS j ON j.num = a.job WHERE a.kind = 'weights' AND "
                             "(j.spec LIKE '%model.norm=pre%') = ?", is_pre)
        assert files
        for (sha256,) in files:
            names = parameters(store, sha256)
            assert "layer0.ln1.scale" in names
            assert ("final_ln.scale" in names, "final_ln.offset" in names) == (is_pre, is_pre), names

    table = run_cli(home, "results", "norms", "--store", store, "--rows", "encoding", "--columns", "model.norm", "--aggregate", "mean", "-o", "json").json()
    assert [column["key"] for column in table["columns"]] == ["post", "pre"], table
    assert all("measured" in cell for cell in table["cells"]), table
    compared = run_cli(home, "compare", "norms", "--between", "model.norm", "--store", store)
    assert compared.code == 0 and "they differ in model.norm" in compared.out, compared


def test_what_is_refused(home):
    word = run_cli(home, "plan", "quickstart", "--set", "model.norm=rms")
    assert word.code == 2 and "model.norm: 'rms' is neither 'post' nor 'pre'" in word.err, word
    other_kind = run_cli(home, "plan", "quickstart-language", "--set", "model.norm=pre")
    assert other_kind.code == 2 and "is a setting of the kinds 'algorithmic' and 'sequences'" in other_kind.err, other_kind
    meant = run_cli(home, "plan", "quickstart", "--set", "model.norm_first=true")
    assert meant.code == 2 and "did you mean 'model.norm'" in meant.err, meant
