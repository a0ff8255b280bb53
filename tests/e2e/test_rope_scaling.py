"""Extensions of rotary positions (positions.rope_scaling), as docs/howto/extend-rope.md has them: its sweep and commands as they stand, at a token budget."""
import re
import shlex

from harness import BIN, ROOT, check_ledger, needs_worker, query, run, run_cli

PAGE = (ROOT / "docs/howto/extend-rope.md").read_text()
SWEEP = re.search(r"^```yaml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)[1]
ALONE = SWEEP[:SWEEP.index("systems:")]
COMMANDS = re.search(r"^```sh\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)[1].splitlines()
SMALL = ["--set", "training.steps=10", "--set", "training.batch_size=8", "--set", "evaluation.examples=16", "--set", "seed=0..1", "--threads", "1"]


def losses(store, setting):
    """Of jobs whose specification has this line, by seed and length."""
    return query(store, "SELECT j.seed, m.length, m.value FROM jobs AS j JOIN measurements AS m ON m.job = j.num WHERE m.metric = 'loss' AND "
                        "j.spec LIKE '%' || ? || char(10) || '%' ORDER BY 1, 2", setting)


@needs_worker
def test_one_training_is_tested_with_each_of_them(home):
    (home.path / "extended.yaml").write_text(SWEEP)
    store = home.path / "extended.db"
    said = []
    for line in COMMANDS:
        words = shlex.split(line)
        done = run(home, BIN / words[0], *words[1:], *(SMALL if words[1] == "run" else []))
        assert done.code == 0, done
        said.append(done.out)
    check_ledger(home, str(store))
    assert "dynamic" in said[0] and "length 60" in said[0], said
    assert "they differ in system" in said[1] and "positions.rope_scaling" in said[1], said
    # The plain system's jobs are those behind the inputs of the others.
    assert query(store, "SELECT count(*) FROM jobs") == [(10,)]
    assert query(store, "SELECT count(*) FROM jobs WHERE spec LIKE '%training.steps=10' || char(10) || '%'") == [(2,)]
    words = ("linear", "ntk", "dynamic", "yarn")
    by_weights = {word: losses(store, f"positions.rope_scaling={word}") for word in words}
    assert all(len(of) == 12 for of in by_weights.values()) and len(set(map(str, by_weights.values()))) == 4, by_weights

    # The same from one job for each, which trains as if there were no scaling and knows the length of its own training.
    grid = ["--set", f"positions.rope_scaling=none,{','.join(words)}", "--set", "positions.rope_factor=3"]
    alone = run_cli(home, "run", "/dev/stdin", "--store", store, "--set", "name=alone", *grid, *SMALL, stdin=ALONE)
    assert alone.code == 0, alone
    assert query(store, "SELECT count(*) FROM jobs") == [(18,)], "without scaling it is the job that was there"
    for word in words:
        assert sorted(losses(store, f"positions.rope_scaling={word}")) == sorted(by_weights[word] * 2), word
    table = run_cli(home, "results", "alone", "--store", store, "--rows", "positions.rope_scaling", "--columns", "length", "--metric", "loss",
                    "--aggregate", "mean", "-o", "json").json()
    assert sorted(row["key"] for row in table["rows"]) == sorted(("none", *words)), table
    # In training, too, it is another model.
    always = run_cli(home, "run", "/dev/stdin", "--store", store, "--set", "name=always", "--set", "positions.rope_scaling=linear",
                     "--set", "positions.rope_factor=3", "--set", "positions.rope_scaling_at=always", *SMALL, stdin=ALONE)
    assert always.code == 0, always
    of_always = losses(store, "positions.rope_scaling_at=always")
    assert len(of_always) == 12 and not set(of_always) & set(by_weights["linear"]), of_always


@needs_worker
def test_another_base_is_another_model(home):
    store = home.path / "s.db"
    ran = run_cli(home, "run", "/dev/stdin", "--store", store, "--set", "model.rope_theta=100,10000", "--set", 'encoding=rope,rope:randomized', *SMALL, stdin=ALONE)
    assert ran.code == 0, ran
    assert query(store, "SELECT count(*), sum(state = 'succeeded') FROM jobs") == [(8, 8)]
    differs = query(store, "SELECT count(DISTINCT m.value) FROM jobs AS j JOIN measurements AS m ON m.job = j.num WHERE m.metric = 'loss' AND m.length = 0 "
                           "GROUP BY j.randomized, j.seed")
    assert differs == [(2,)] * 4, differs


def test_what_is_refused(home):
    plan = lambda *sets: run_cli(home, "plan", "quickstart", *(word for one in sets for word in ("--set", one)))
    randomized = plan("encoding=rope:randomized", "positions.rope_scaling=linear", "positions.rope_factor=4")
    assert randomized.code == 2 and "'linear' is for consecutive positions, and those of rope:randomized are drawn" in randomized.err, randomized
    alone = plan("encoding=rope", "positions.rope_factor=4")
    assert alone.code == 2 and "positions.rope_factor: 4 does not go with positions.rope_scaling 'none'" in alone.err, alone
    word = plan("encoding=rope", "positions.rope_scaling=pi", "positions.rope_factor=4")
    assert word.code == 2 and "positions.rope_scaling: unknown word 'pi'" in word.err, word
    none = plan("encoding=alibi,none", "positions.rope_scaling=yarn", "positions.rope_factor=4")
    assert none.code == 2 and "no encoding here has one" in none.err, none
    meant = plan("encoding=rope", "positions.rope_type=linear")
    assert meant.code == 2 and "did you mean 'positions.rope_scaling'" in meant.err, meant
