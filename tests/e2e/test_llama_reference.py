"""What jobs of published LLaMA models measure and learn, beside another program: test_longbench.py has answers so, and golden_check the decoder alone."""
import random

import pytest
import torch

import harness
import llama_reference as reference
from harness import query, run_cli
from published import packed
from test_published_models import imported

pytestmark = harness.needs_worker

VOCABULARY, WINDOW, SHORT, LONG, STRIDE, BINS = 60, 20, 24, 48, 8, 6
SCALES = [0.4, 0.7, 1.0, 1.5, 2.2]
# Sizes that agree in nothing: a head is no share of the width, and constants are not the usual ones.
SIZES = {"layers": 2, "width": 20, "heads": 4, "kv_heads": 2, "head_dim": 6, "mlp": 28, "vocabulary": VOCABULARY, "window": WINDOW, "epsilon": 1e-2}
HEADS = [[1.3, 0.6, 2.0, 1.0], [0.8, 1.7, 1.1, 2.4]]
TRAINED = 32  # Tokens that are predicted of the one text that there is to train on.
STEPS, WARMUP = 12, 3
TUNE = f"steps: {STEPS}, batch_size: 2, lengths: {TRAINED}, warmup_steps: {WARMUP}"
SWEEP = f"""
name: reference
experiment: llama
data: documents
axes: {{task: tokens, encoding: rope, learning_rate: 0.1, seed: 0}}
model: {{folder: rotary}}
training: {{steps: 0}}
evaluation: {{lengths: [{SHORT}, {LONG}], stride: {STRIDE}, position_bins: {BINS}}}
systems:
  - {{name: rope}}
  - {{name: some, with: {{evaluation: {{examples: 5}}}}}}
  - {{name: in-order, with: {{evaluation: {{perplexity_protocol: nope_in_order}}}}}}
  - {{name: theta, with: {{model: {{rope_theta: 3000}}}}}}
  - {{name: scaled, with: {{model: {{attention_scale: 1.4}}}}}}
  - {{name: linear, with: {{positions: {{rope_scaling: linear, rope_factor: 3}}}}}}
  - {{name: ntk, with: {{positions: {{rope_scaling: ntk, rope_factor: 3}}}}}}
  - {{name: dynamic, with: {{positions: {{rope_scaling: dynamic, rope_factor: 3}}}}}}
  - {{name: dynamic-10, with: {{positions: {{rope_scaling: dynamic, rope_factor: 3, original_length: 10}}}}}}
  - {{name: yarn, with: {{positions: {{rope_scaling: yarn, rope_factor: 3}}}}}}
  - {{name: yarn-500, with: {{positions: {{rope_scaling: yarn, rope_factor: 3, original_length: 500}}}}}}
  - {{name: nope, with: {{axes: {{encoding: none}}, model: {{folder: heads}}}}}}
  - name: piecewise
    with: {{axes: {{encoding: none}}, model: {{folder: heads, attention_scale: 1.4, attention_scale_from: 20, attention_scale_growth: 0.6}}}}
  - name: search
    with: {{axes: {{encoding: none}}, model: {{folder: heads}}, evaluation: {{attention_scales: {SCALES}}}}}
  - name: search-12
    with: {{axes: {{encoding: none}}, model: {{folder: heads}}, positions: {{original_length: 12}}, evaluation: {{attention_scales: {SCALES}}}}}
  - name: tune
    with: {{axes: {{encoding: none, learning_rate: 0.3}}, model: {{folder: heads, attention_scale: 1.3}},
           training: {{{TUNE}, trainable: head_scales, weight_decay: 0}}}}
  - name: tune-relu
    with: {{axes: {{encoding: none, learning_rate: 0.3}}, model: {{folder: heads, attention_scale: 0.5}},
           training: {{{TUNE}, trainable: head_scales, weight_decay: 0, scale_bound: relu, clip_norm: 0.01}}}}
  - name: tune-own
    with: {{axes: {{encoding: none, learning_rate: 0.3}}, model: {{folder: heads}},
           training: {{{TUNE}, trainable: head_scales, weight_decay: 0.2, scale_lower_bound: 0.5}}}}
  - name: fine-tune
    with: {{axes: {{learning_rate: 0.01}}, positions: {{rope_scaling: yarn, rope_factor: 3}}, training: {{{TUNE}, weight_decay: 0.3, clip_norm: 0.5}}}}
"""


@pytest.fixture(scope="module")
def models():
    return {"rotary": reference.Llama(**SIZES, theta=500.0, tied=True, dtype="BF16", seed=3),
            "heads": reference.Llama(**SIZES, nope=True, scales=HEADS, seed=4)}


@pytest.fixture(scope="module")
def documents():
    """To be tested on: the second is too short for a long window, the third for any."""
    source = random.Random(7)
    return [[source.randrange(VOCABULARY) for _ in range(size)] for size in (150, 40, 20, 97)]


@pytest.fixture(scope="module")
def text():
    """All blocks to train on are this one."""
    return random.Random(8).choices(range(VOCABULARY), k=TRAINED + 1)


@pytest.fixture(scope="module")
def measured(models, documents, text):
    """By system: measurements by metric, length and slice; and the losses of updates."""
    with harness.Home() as home:
        for name, model in models.items():
            model.save(home.path / name)
            imported(home, "model", home.path / name, "--name", name, *(["--nope"] if model.nope else []))
        for number, ids in enumerate(documents):
            packed(home.path / f"test/{number}.bin", ids)
        packed(home.path / "train/0.bin", text)
        imported(home, "tokens", home.path / "train", "--test", home.path / "test", "--vocabulary", VOCABULARY, "--name", "documents")
        (home.path / "sweep.yaml").write_text(SWEEP)
        ended = run_cli(home, "run", home.path / "sweep.yaml", "--store", home.path / "s.db", "--threads", "1")
        assert ended.code == 0, ended
        listed = run_cli(home, "jobs", "reference", "--store", home.path / "s.db", "--limit", "100", "-o", "json").json()["jobs"]
        names = {job["id"]: job["systems"][0] for job in listed}
        values, curves = {name: {} for name in names.values()}, {name: [] for name in names.values()}
        for job, metric, length, slice, value in query(
                home.path / "s.db", "SELECT j.id, m.metric, m.length, m.slice, m.value FROM measurements AS m JOIN jobs AS j ON j.num = m.job"):
            values[names[job]][metric, length, slice] = value
        for job, loss in query(home.path / "s.db", "SELECT j.id, p.loss FROM progress AS p JOIN jobs AS j ON j.num = p.job ORDER BY j.id, p.step"):
            curves[names[job]].append(loss)
        yield values, curves


def uniform(factor):
    return torch.full((SIZES["layers"], SIZES["heads"]), factor, dtype=torch.float64)


# Of each system: its model, and how that is read. Float32 against float64, of logits that are some ten.
READ = {
    "rope": ("rotary", {}),
    "scaled": ("rotary", {"factors": uniform(1.4)}),
    "linear": ("rotary", {"scaling": ("linear", 3)}),
    "ntk": ("rotary", {"scaling": ("ntk", 3)}),
    "dynamic": ("rotary", {"scaling": ("dynamic", 3)}),
    "dynamic-10": ("rotary", {"scaling": ("dynamic", 3, 10)}),
    "yarn": ("rotary", {"scaling": ("yarn", 3)}),
    "yarn-500": ("rotary", {"scaling": ("yarn", 3, 500)}),
    "nope": ("heads", {}),
    "piecewise": ("heads", {"factors": uniform(1.4), "by_position": (20, 0.6)}),
}
ABOUT = {"abs": 5e-5, "rel": 0}


@pytest.mark.parametrize("system", READ)
def test_windows_and_positions_have_the_losses_and_entropies_of_another_program(models, documents, measured, system):
    name, how = READ[system]
    model, values = models[name], measured[0][system]
    for length in (SHORT, LONG):
        loss = reference.sliding_loss(model, documents, length, STRIDE, longest=LONG, **how)
        assert values["loss", length, ""] == pytest.approx(loss, **ABOUT), length
        assert values["perplexity", length, ""] == pytest.approx(torch.tensor(loss).exp().item(), rel=1e-4)
    losses, entropies = reference.by_position(model, documents, LONG, BINS, **how)
    for bin in range(BINS):
        end = (bin + 1) * LONG // BINS
        assert values["position_loss", end, ""] == pytest.approx(losses[bin].item(), **ABOUT), end
        assert values["attention_entropy", end, ""] == pytest.approx(entropies[:, :, bin].mean().item(), **ABOUT), end
    for layer in range(model.layers):
        for head in range(model.heads):
            one = f"layer={layer},head={head}"
            assert values["attention_entropy", LONG, one] == pytest.approx(entropies[layer, head, -1].item(), **ABOUT), one
            if "factors" in how or model.scales is not None:
                assert values["head_scale", 0, one] == pytest.approx(how.get("factors", model.own_factors())[layer, head].item(), rel=1e-6), one


def test_what_a_setting_replaces_of_a_folder_is_replaced(models, documents, measured):
    theta = reference.Llama(**SIZES, theta=3000.0, tied=True, dtype="BF16", seed=3)
    assert measured[0]["theta"]["loss", LONG, ""] == pytest.approx(reference.sliding_loss(theta, documents, LONG, STRIDE), **ABOUT)
    losses = [measured[0][system]["loss", LONG, ""] for system in (*READ, "theta")]
    assert min(abs(a - b) for i, a in enumerate(losses) for b in losses[:i]) > 20 * ABOUT["abs"], "a system that another could stand for"


def test_which_windows_count_is_what_the_protocol_says(models, documents, measured):
    model, values = models["rotary"], measured[0]
    for length in (SHORT, LONG):
        spread = reference.sliding_loss(model, documents, length, STRIDE, longest=LONG, wanted=5)
        assert values["some"]["loss", length, ""] == pytest.approx(spread, **ABOUT)
        assert values["in-order"]["loss", length, ""] == pytest.approx(reference.sliding_loss(model, documents, length, STRIDE), **ABOUT)
    assert abs(values["in-order"]["loss", SHORT, ""] - values["rope"]["loss", SHORT, ""]) > 20 * ABOUT["abs"]


@pytest.mark.parametrize("system, trained", [("search", WINDOW), ("search-12", 12)])
def test_the_best_scale_and_its_growth_are_those_of_another_program(models, documents, measured, system, trained):
    model, values = models["heads"], measured[0][system]
    losses = {scale: reference.by_position(model, documents, LONG, BINS, uniform(scale))[0] for scale in SCALES}
    width = LONG // BINS
    best = []
    for bin in range(BINS):
        for scale in SCALES:
            assert values["position_loss", (bin + 1) * width, f"attention_scale={scale:g}"] == pytest.approx(losses[scale][bin].item(), **ABOUT)
        best.append(min(SCALES, key=lambda scale: losses[scale][bin]))
        assert values["best_attention_scale", (bin + 1) * width, ""] == best[-1]
    assert len(set(best)) > 1
    # Each length with the bin that it ends in.
    over_lengths = min(SCALES, key=lambda scale: losses[scale][(SHORT - 1) // width] + losses[scale][(LONG - 1) // width])
    assert values["best_attention_scale", 0, ""] == over_lengths
    a, r2 = reference.growth([factor for factor in best for _ in range(width)], trained)
    assert values["scale_growth", 0, ""] == pytest.approx(a, rel=1e-9)
    assert values["scale_growth_r2", 0, ""] == pytest.approx(r2, rel=1e-9)


@pytest.mark.parametrize("system, how", [
    ("tune", {"factors": uniform(1.3), "bound": 1, "clip": 1}),
    ("tune-relu", {"factors": uniform(0.5), "bound": "relu", "clip": 0.01}),
    ("tune-own", {"bound": 0.5, "clip": 1, "decay": 0.2}),
])
def test_head_scales_are_tuned_as_by_another_program(models, documents, text, measured, system, how):
    model, (values, curves) = models["heads"], measured
    expected, factors = reference.train(model, text, peak=0.3, steps=STEPS, warmup=WARMUP, **{"factors": model.own_factors(), **how})
    assert curves[system] == pytest.approx(expected, rel=0, abs=2e-4)
    assert curves[system][0] == curves[system][1] != curves[system][2], "the first update has a rate of 0"
    used = factors.relu() if how["bound"] == "relu" else factors
    for layer in range(model.layers):
        for head in range(model.heads):
            assert values[system]["head_scale", 0, f"layer={layer},head={head}"] == pytest.approx(used[layer, head].item(), abs=5e-4), (layer, head)
    # The bound has been met, or it would be none.
    assert (used == (0 if how["bound"] == "relu" else how["bound"])).any() and used.max() > used.min() + 0.1
    assert values[system]["loss", LONG, ""] == pytest.approx(reference.sliding_loss(model, documents, LONG, STRIDE, factors=used), abs=1e-3)


def test_all_weights_are_tuned_as_by_another_program(models, documents, text, measured):
    model, (values, curves), scaling = models["rotary"], measured, ("yarn", 3)
    expected, weights = reference.train(model, text, peak=0.01, steps=STEPS, warmup=WARMUP, clip=0.5, decay=0.3, scaling=scaling)
    assert curves["fine-tune"] == pytest.approx(expected, rel=0, abs=2e-4)
    assert curves["fine-tune"][0] == curves["fine-tune"][1] and expected[-1] < expected[0] - 1
    loss = reference.sliding_loss(model, documents, LONG, STRIDE, scaling=scaling, weights=weights)
    assert values["fine-tune"]["loss", LONG, ""] == pytest.approx(loss, abs=2e-3)
