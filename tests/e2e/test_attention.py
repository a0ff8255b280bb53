"""Figure B.1: `longreach attention`, from a trained job to a figure. What it draws is held to the plain PyTorch of
tests/golden/language, given the job's weights."""
import json
import struct
import sys
import zlib

import pytest

import harness
from harness import BIN, ROOT, Scheduler, Worker, query, run_cli

pytestmark = harness.needs_worker

MODEL = ["model.layers=2", "model.embedding_dim=16", "model.heads=2", "model.mlp_dim=16"]
SETTINGS = ["task=reverse_string", "encoding=sin_cos,sin_cos:randomized", "learning_rate=1e-2", "seed=0", "training.steps=20",
            "training.batch_size=8", "training.lengths=1..6", "evaluation.lengths=7", "evaluation.examples=4", "positions.max_position=64"]


def settings(*groups):
    return [part for setting in sum(groups, []) for part in ("--set", setting)]


@pytest.fixture(scope="module")
def home():
    with harness.Home() as home:
        ended = run_cli(home, "run", "quickstart", "--store", home.path / "trained.db", "--threads", "1", *settings(MODEL, SETTINGS))
        assert ended.code == 0, ended
        yield home


def jobs(store):
    """The trained jobs, by whether they are randomized."""
    return dict(query(store, "SELECT randomized, id FROM jobs WHERE steps > 0"))


def attention(home, job, length, file, *arguments, store="trained.db"):
    return run_cli(home, "attention", job, "--length", length, "--file", home.path / file, "--threads", "1",
                   *(["--store", home.path / store] if store else []), *arguments)


def tensors(data):
    """The tensors of a safetensors file, as PyTorch has them, and its metadata."""
    import torch
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    kinds = {"F32": torch.float32, "I32": torch.int32}
    return {name: torch.frombuffer(bytearray(data[8 + size:][slice(*one["data_offsets"])]), dtype=kinds[one["dtype"]]).view(one["shape"])
            for name, one in header.items() if name != "__metadata__"}, header["__metadata__"]


def artifact(store, job, kind):
    ((sha256, member),) = query(store, "SELECT sha256, member FROM artifacts JOIN jobs ON jobs.num = artifacts.job "
                                       "WHERE jobs.id = ? AND kind = ?", job, kind)
    return (store.parent / f"{store.name}.artifacts" / sha256[:2] / sha256).read_bytes(), member


def pixels(data):
    """The size of a PNG file with a palette, and its rows."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed = 8, b""
    while at < len(data):
        (size,), kind = struct.unpack(">I", data[at:at + 4]), data[at + 4:at + 8]
        body = data[at + 8:at + 8 + size]
        assert zlib.crc32(kind + body) == struct.unpack(">I", data[at + 8 + size:at + 12 + size])[0]
        if kind == b"IHDR":
            width, height, depth, color = struct.unpack(">IIBB", body[:10])
            assert (depth, color) == (8, 3)
        packed += body if kind == b"IDAT" else b""
        at += 12 + size
    raw = zlib.decompress(packed)
    rows = [raw[y * (width + 1):(y + 1) * (width + 1)] for y in range(height)]
    assert all(row[0] == 0 for row in rows)
    return width, height, [row[1:] for row in rows]


@pytest.mark.parametrize("randomized", [0, 1])
def test_the_numbers_are_those_of_another_implementation(home, randomized):
    import torch
    sys.path.insert(0, str(ROOT / "tests/golden/language"))
    import reference
    store = home.path / "trained.db"
    job = jobs(store)[randomized]
    ended = attention(home, job, 20, f"numbers-{randomized}.safetensors")
    assert ended.code == 0, ended
    ours, metadata = tensors((home.path / f"numbers-{randomized}.safetensors").read_bytes())
    assert metadata["encoding"] == ("sin_cos:randomized" if randomized else "sin_cos")
    tokens, positions = ours["tokens/20"], ours["positions/20"]
    assert tokens.tolist()[20:] == [2] * 20 and set(tokens.tolist()[:20]) == {0, 1}
    assert (positions.tolist() == list(range(40))) != bool(randomized)

    weights, member = artifact(store, job, "weights")
    parameters = {name.removeprefix("param/"): value[member] for name, value in tensors(weights)[0].items()}
    config = reference.Config(encoding="sin_cos", layers=2, dim=16, heads=2, mlp=16, causal=False)
    attended = []
    reference.stack(config, parameters, tokens[None].long(), reference.Positions(positions, [None] * 2, [torch.arange(40)] * 2),
                    attended=attended)
    theirs = torch.stack([shares[0].amax(0) for shares in attended])
    assert ours["attention/20"].shape == (2, 40, 40)
    assert (ours["attention/20"] - theirs).abs().max() < 2e-6


def test_the_same_command_draws_the_same_bytes_and_computes_nothing_again(home):
    job = jobs(home.path / "trained.db")[1]
    first = attention(home, job[:12], 16, "once.png", "-o", "json")
    assert first.code == 0, first
    told = first.json()
    assert (told["job"], told["length"], told["tape"], told["layers"]) == (job, 16, 32, 2)
    attempts = query(home.path / "trained.db", "SELECT count(*) FROM attempts")
    again = attention(home, job, 16, "again.png")
    assert again.code == 0 and again.out.startswith(str(home.path / "again.png")), again
    assert query(home.path / "trained.db", "SELECT count(*) FROM attempts") == attempts
    drawing = (home.path / "once.png").read_bytes()
    assert drawing == (home.path / "again.png").read_bytes()
    assert told["bytes"] == len(drawing) and job.encode() in drawing
    width, height, rows = pixels(drawing)
    # Two panels of 32 x 32 pairs, each pair 16 pixels a side.
    assert 2 * 512 < width < 1400 and 512 < height < 800
    panel = next(row for row in rows if sum(pixel < 250 for pixel in row) == 2 * 512)
    assert max(panel) < 253
    # Another end of the scale is another drawing of the same numbers.
    darker = attention(home, job, 16, "darker.png", "--max", "1")
    assert darker.code == 0 and (home.path / "darker.png").read_bytes() != drawing, darker
    harness.check_ledger(home, home.path / "trained.db")


# What goes by the lengths that a job was trained at, and what is asked of single test lengths.
@pytest.mark.parametrize("extra", [["model.length_scaling=log"], ["model.length_scaling=log_beyond"], ["positions.rope_scaling=dynamic", "positions.rope_factor=3"],
                                   ["positions.rope_scaling=yarn", "positions.rope_factor=3"], ["evaluation.output_lengths=7"],
                                   ["evaluation.curve_every=10", "evaluation.curve_lengths=7"]], ids=lambda extra: extra[0])
def test_jobs_of_all_settings_are_drawn(home, extra):
    store = home.path / f"{extra[0].replace('=', '-')}.db"
    usual = [one for one in SETTINGS if not one.startswith("encoding=")]
    ended = run_cli(home, "run", "quickstart", "--store", store, "--threads", "1", *settings(MODEL, usual, ["encoding=rope", *extra]))
    assert ended.code == 0, ended
    job = jobs(store)[0]
    for length in (7, 12):  # One that is tested, and one that is not.
        drawn = attention(home, job, length, f"{store.stem}-{length}.safetensors", store=store.name)
        assert drawn.code == 0, drawn
        ours, _ = tensors((home.path / f"{store.stem}-{length}.safetensors").read_bytes())
        assert ours[f"attention/{length}"].shape == (2, 2 * length, 2 * length)


def test_a_decoder_of_another_scheduler_looks_back_only(home):
    text = home.path / "text"
    text.write_text("the length of a tape is not its end " * 200)
    ended = harness.run(home, BIN / "longreach-worker", "data", "import", "text", text, "--name", "words")
    assert ended.code == 0, ended
    scheduler = Scheduler(home, store="remote.db")
    Worker(home, scheduler)
    small = settings(MODEL, ["data=words", "encoding=rope", "seed=0..1", "training.steps=2", "training.batch_size=2", "training.lengths=8",
                             "evaluation.lengths=8,30", "evaluation.examples=2", "evaluation.attention_lengths=30"])
    ran = run_cli(home, "run", "table-1", *small, scheduler=scheduler)
    assert ran.code == 0, ran
    trained = [job for (job,) in query(scheduler.store, "SELECT id FROM jobs ORDER BY seed")]
    # Asked for with the training, each member of the pack has left its own.
    for job in trained:
        matrices, metadata = tensors(artifact(scheduler.store, job, "series")[0])
        assert metadata["job"] == job and matrices["attention/30"].triu(1).abs().max() == 0
        assert matrices["attention/30"][:, 0, 0].tolist() == [1, 1]
    drawn = run_cli(home, "attention", trained[0], "--length", "40", "--file", home.path / "decoder.png", scheduler=scheduler)
    assert drawn.code == 0, drawn
    pixels((home.path / "decoder.png").read_bytes())

    # Its own worker has the data; longer than the test split no text is.
    too_long = run_cli(home, "attention", trained[0], "--length", "2000", "--file", home.path / "long.png", scheduler=scheduler)
    assert too_long.code == 1 and "2000 bytes are more than" in too_long.err, too_long
    assert not (home.path / "long.png").exists()


def test_refusals_come_before_anything_is_computed(home):
    store = home.path / "trained.db"
    plain, randomized = jobs(store)[0], jobs(store)[1]
    before = query(store, "SELECT count(*) FROM jobs")
    (home.path / "there.png").write_text("mine")
    for ended, code, text in [
            (attention(home, plain, 8, "there.png"), 1, "there is a file"),
            (attention(home, plain, 8, "figure.gif"), 2, "ends neither in .png"),
            (attention(home, plain, 8, "nowhere/figure.png"), 1, "cannot write"),
            (attention(home, "0123456789", 8, "a.png"), 4, "there is no job '0123456789'"),
            (attention(home, plain, 0, "a.png"), 2, "--length"),
            (attention(home, plain, 8, "a.png", "--max", "0"), 2, "--max"),
            # 33 bits and their reverse, and positions below 64.
            (attention(home, randomized, 33, "a.png"), 2, "--length 33: positions.max_position: reverse_string at length 33 has a tape of 66"),
            (attention(home, plain, 4000, "a.png"), 2, "choose another --length"),
            (attention(home, plain, 8, "a.png", store="none.db"), 4, "there is no store")]:
        assert (ended.code, text in ended.err) == (code, True), ended
    assert query(store, "SELECT count(*) FROM jobs") == before
    assert (home.path / "there.png").read_text() == "mine" and not (home.path / "a.png").exists()


def test_a_job_without_final_weights_has_no_figure(home):
    ended = run_cli(home, "submit", "quickstart", "--store", home.path / "waiting.db", *settings(MODEL, SETTINGS))
    assert ended.code == 0, ended
    job = jobs(home.path / "waiting.db")[0]
    early = attention(home, job, 8, "a.png", store="waiting.db")
    assert early.code == 1 and "is queued at update 0 of 20: it has no final weights" in early.err, early

    ended = run_cli(home, "run", "quickstart", "--store", home.path / "waiting.db", "--threads", "1", *settings(MODEL, SETTINGS))
    assert ended.code == 0, ended
    harness.write(home.path / "waiting.db", "DELETE FROM artifacts WHERE kind = 'weights'")
    late = attention(home, job, 8, "a.png", store="waiting.db")
    assert late.code == 1 and "has no weights any more" in late.err and "longreach job" in late.err, late
    assert not (home.path / "a.png").exists()
