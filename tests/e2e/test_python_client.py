"""The package of Python with a scheduler that runs: what it gives is what the command line prints, and what it asks for happens."""
import io
import signal
import socket
import types

import grpc
import pandas
import pytest

import harness
import security
from harness import Worker, run_cli
from python_package import longreach

package = longreach()

# What old versions of pandas want, to read numbers as they were written, and new ones warn of.
EXACT = {"float_precision": "round_trip"} if int(pandas.__version__.split(".")[0]) < 3 else {}
NOOP = {"name": "none", "experiment": "noop", "axes": {"task": ["even_pairs", "parity_check"], "encoding": ["rope"], "learning_rate": [1e-3], "seed": range(4)}}
TINY = {
    "name": "tiny", "experiment": "algorithmic",
    "axes": {"task": ["even_pairs", "parity_check"], "encoding": ["rope", "rope:randomized"], "learning_rate": [1e-3], "seed": [0, 1]},
    "training": {"steps": 3, "batch_size": 4, "lengths": [1, 2, 3]}, "evaluation": {"lengths": [4, 5, 7], "examples": 4},
    "systems": [{"name": "flat", "with": {"model": {"layers": 1}}}, {"name": "deep", "with": {"model": {"layers": 2, "kerple_shared": False}}}],
    "table": {"rows": "system,task", "columns": "encoding", "aggregate": "mean", "title": "Tiny"},
}


@pytest.fixture
def client(scheduler):
    with package.connect(scheduler.address) as made:
        yield made


def as_csv(home, scheduler, *arguments):
    """What `results --jobs -o csv` prints, as a notebook without the package reads it."""
    printed = run_cli(home, "results", *arguments, "--jobs", "-o", "csv", scheduler=scheduler)
    assert printed.code == 0, printed
    return pandas.read_csv(io.StringIO(printed.out), **EXACT)


def assert_same(frame, other):
    """The same columns and values, though CSV does not know of types where a column is empty."""
    assert list(frame.columns) == list(other.columns) and len(frame) == len(other) > 0
    for name in frame.columns:
        ours = [None if pandas.isna(value) else value for value in frame[name]]
        theirs = [None if pandas.isna(value) else value for value in other[name]]
        assert ours == theirs, name


def test_values_and_tables_are_those_that_the_command_line_prints(home, scheduler, client):
    submitted = client.submit(TINY)
    assert submitted["created"] and submitted["jobs"] == 16 and submitted["name"] == "tiny"
    Worker(home, scheduler)
    seen = []
    done = client.wait("tiny", timeout=harness.PATIENCE_S, on_update=seen.append)
    assert (done["succeeded"], done["failed"]) == (16, 0) and seen[-1]["succeeded"] == 16 and seen[-1]["job_steps_total"] == 48
    assert {seen[-1][name] for name in ("seconds_left", "seconds_left_high", "stalled", "store_trouble")} == {None}

    values = client.measurements("tiny")
    assert list(values.columns[-1:]) == ["model.layers"] and values["length"].dtype == "Int64"
    assert_same(values, as_csv(home, scheduler, "tiny"))
    assert_same(client.measurements("tiny", lengths=[4, 5], only="task=even_pairs"), as_csv(home, scheduler, "tiny", "--only", "length=4..5", "--only", "task=even_pairs"))
    assert_same(client.measurements("tiny", lengths=7, slice=""), as_csv(home, scheduler, "tiny", "--length", "7"))
    losses = client.measurements("tiny", "training_loss")
    assert len(losses) == 48 and set(losses["slice"]) == {"step=1", "step=2", "step=3"}
    assert_same(losses, as_csv(home, scheduler, "tiny", "--metric", "training_loss"))

    table = client.table("tiny")
    printed = run_cli(home, "results", "tiny", "-o", "json", scheduler=scheduler).json()
    assert [",".join(key) for key in table.index] == [row["key"] for row in printed["rows"]] and table.index.names == ["system", "task"]
    assert list(table.columns) == [column["key"] for column in printed["columns"]] and table.columns.name == "encoding"
    assert list(table.to_numpy().ravel()) == [cell["measured"] for cell in printed["cells"]]
    assert table.attrs["title"] == "Tiny" and table.attrs["unit"] == "%" and table.attrs["metric"] == "accuracy"
    assert list(client.table("tiny", labels=True).columns) == [column["label"] for column in printed["columns"]]

    by_length = client.table("tiny", rows="model.layers", columns="length", aggregate="mean", only=["task=even_pairs"])
    assert list(by_length.index) == [1, 2] and list(by_length.columns) == [4, 5, 7]
    means = values[(values["task"] == "even_pairs") & (values["metric"] == "accuracy") & (values["length"] == 7)].groupby("model.layers")["value"].mean()
    assert list(by_length[7]) == pytest.approx(list(100 * means))
    by_both = client.table("tiny", rows=["task", "model.layers"], columns=["encoding"], aggregate="mean")
    assert by_both.index.names == ["task", "model.layers"] and by_both.equals(client.table("tiny", rows="task,model.layers", columns="encoding", aggregate="mean"))
    assert client.table("tiny", only=[]).equals(table), "nothing is asked for"
    beside = client.table("tiny", published="table_b1")
    assert list(beside.columns.get_level_values(0).unique()) == ["measured", "published"] and beside["measured"].equals(table)

    # What is asked for takes the place of what the sweep's own table says, by the rules of the command line.
    for asked, options in (({"metric": "loss"}, ["--metric", "loss"]), ({"aggregate": "max"}, ["--aggregate", "max"]), ({"length": 7}, ["--length", "7"]),
                           ({"only": "task=even_pairs"}, ["--only", "task=even_pairs"]), ({"only": ["seed=1"]}, ["--only", "seed=1"]),
                           ({"rows": "encoding", "columns": "system,task"}, ["--rows", "encoding", "--columns", "system,task"]),
                           ({"columns": "length"}, ["--columns", "length"]), ({"best_of": "seed"}, ["--best-of", "seed"]),
                           ({"rows": "step", "columns": "encoding"}, ["--rows", "step", "--columns", "encoding"])):
        asked_for = client.table("tiny", **asked)
        printed = run_cli(home, "results", "tiny", *options, "-o", "json", scheduler=scheduler).json()
        assert list(asked_for.to_numpy().ravel()) == [cell["measured"] for cell in printed["cells"]], asked
        assert list(client.table("tiny", labels=True, **asked).index) == [row["label"] for row in printed["rows"]], asked
        assert asked_for.attrs["metric"] == printed["metric"]
    assert client.table("tiny", only="task=even_pairs").attrs["title"] == "Tiny" and client.table("tiny", metric="loss").attrs["title"] != "Tiny"
    with pytest.raises(package.Refused, match="^rows and columns are both 'encoding', which the table of the sweep has as columns: give columns, too"):
        client.table("tiny", rows="encoding")

    jobs = client.jobs("tiny")
    assert list(jobs["job"]) == list(values["job"].unique()) and set(jobs["state"]) == {"succeeded"} and jobs["system"].nunique() == 2
    scores = values[(values["metric"] == "accuracy") & (values["length"] == 0)]
    assert list(jobs["score"]) == list(scores["value"])
    assert len(client.jobs("tiny", state="failed")) == 0 and client.jobs("tiny", state=["queued", "failed"])["score"].dtype == "float64"
    assert len(client.jobs("tiny", only="seed=1")) == 8
    assert client.call("GetJob", job=jobs["job"][0][:12]).job.task == jobs["task"][0]

    (worker,) = client.workers().itertuples()
    assert (worker.name, worker.state, worker.threads) == ("worker-0", "active", 1) and worker.seen_at.tzinfo is not None
    (sweep,) = client.sweeps().itertuples()
    assert (sweep.id, sweep.name, sweep.jobs, sweep.succeeded) == (submitted["id"], "tiny", 16, 16)


def test_pages_have_all_values_once(home, scheduler, client):
    client.submit({**NOOP, "axes": {**NOOP["axes"], "seed": range(1100)}})
    jobs = client.jobs("none")
    assert len(jobs) == jobs["job"].nunique() == 2200, "of pages of 1,000"
    assert list(jobs["seed"][:1100]) == list(range(1100)) and client.measurements("none").empty
    assert list(client.measurements("none").columns) == ["job", "system", "task", "encoding", "learning_rate", "seed", "diverged", "metric", "length", "slice", "value"]


def test_columns_have_their_types_where_there_is_no_row(client):
    """What is done with a column, as choosing by its texts, is done with that of a sweep that has just begun, too."""
    assert client.sweeps()["name"].str.startswith("none").sum() == 0 and client.workers()["device"].str.len().sum() == 0
    client.submit(NOOP)
    for empty in (client.jobs("none", state="failed"), client.measurements("none")):
        filled = client.jobs("none")
        assert empty.empty and all(empty[name].dtype == filled[name].dtype for name in empty.columns if name in filled.columns)
    for name in ("metric", "slice", "system"):
        assert client.measurements("none")[name].str.contains("=").sum() == 0


def test_a_system_that_is_called_by_a_number_has_a_name_all_the_same(client):
    systems = [{"name": str(layers), "with": {"model": {"layers": layers}}} for layers in (2, 10)]
    client.submit({**TINY, "systems": systems, "table": {}})
    table = client.table("tiny", rows="system,model.layers", columns="encoding")
    assert list(table.index) == [("2", 2), ("10", 10)] or list(table.index) == [("10", 10), ("2", 2)], table
    assert set(client.table("tiny", rows="system", columns="seed").index) == {"2", "10"} == set(client.jobs("tiny")["system"])


def test_a_job_that_diverged_is_a_row_without_a_value(home, scheduler, client):
    spec = {**TINY, "axes": {**TINY["axes"], "learning_rate": [1e30]}, "training": {**TINY["training"], "steps": 20}, "systems": TINY["systems"][:1]}
    client.submit(spec)
    Worker(home, scheduler)
    client.wait(timeout=harness.PATIENCE_S)
    values = client.measurements("tiny")
    gone = values[values["diverged"]]
    assert len(gone) > 0 and gone["value"].isna().all() and gone["length"].isna().all() and len(gone) == gone["job"].nunique()
    assert_same(values, as_csv(home, scheduler, "tiny"))


def test_a_sweep_is_planned_submitted_once_steered_and_waited_for(home, scheduler, client):
    plan = client.plan(NOOP)
    assert (plan["jobs"], plan["done"], plan["data_sets"]) == (8, 0, []) and plan["hours"] is None and client.sweeps().empty
    first = client.submit(NOOP, priority=3)
    assert first["created"] and first["priority"] == 3
    again = client.submit(NOOP)
    assert not again["created"] and again["id"] == first["id"] and again["priority"] == 3

    assert client.pause("none")["state"] == "paused"
    assert client.resume("none")["state"] == "live"
    only = client.cancel("none", only="seed=0")
    assert only["jobs_steered"] == 2 and only["cancelled"] == 2 and only["state"] == "live"
    assert client.retry("none", only=["seed=0", "task=even_pairs"])["jobs_steered"] == 1
    cancelled = client.cancel("none")
    assert (cancelled["state"], cancelled["cancelled"]) == ("cancelled", 8)
    with pytest.raises(package.Refused) as refused:
        client.resume("none")
    assert refused.value.code == "FAILED_PRECONDITION"
    client.submit(NOOP)
    for timeout in (0.5, 0):
        with pytest.raises(package.TimedOut, match="0 of 8 jobs are done"):
            client.wait("none", timeout=timeout)
    Worker(home, scheduler)
    assert client.wait("none", timeout=harness.PATIENCE_S)["succeeded"] == 8
    assert client.retry("none")["jobs_steered"] == 0
    assert client.wait("none", timeout=0)["succeeded"] == 8, "without any time it is asked once"


def test_the_time_is_never_up_before_a_sweep_that_is_done_already(home, scheduler, client, monkeypatch):
    client.submit(NOOP)

    def says_nothing(*_, **__):
        """As on a machine that is too busy to answer in that time."""
        raise package.errors.error_of("DEADLINE_EXCEEDED", "the time was up")
    with monkeypatch.context() as busy:
        busy.setattr(client._calls, "follow", says_nothing)
        with pytest.raises(package.TimedOut, match="0 of 8 jobs are done"):
            client.wait("none", timeout=0)
    Worker(home, scheduler)
    client.wait("none", timeout=harness.PATIENCE_S)
    monkeypatch.setattr(client._calls, "follow", says_nothing)
    assert client.wait("none", timeout=0)["succeeded"] == 8


def test_what_is_wrong_is_told_by_its_class_and_in_the_schedulers_words(client):
    with pytest.raises(package.NotFound) as found:
        client.jobs("nowhere")
    assert found.value.code == "NOT_FOUND" and str(found.value).startswith("there is no sweep 'nowhere'")
    assert found.value.__suppress_context__ and isinstance(found.value, package.Error)
    with pytest.raises(package.Refused, match="unknown task 'even_pears'"):
        client.submit({**NOOP, "axes": {**NOOP["axes"], "task": ["even_pears"]}})
    with pytest.raises(package.NotFound, match=r"no call 'GetJobs' \(did you mean 'GetJob'\?\)"):
        client.call("GetJobs")
    with pytest.raises(package.Refused, match=r"unknown field 'jobs' \(did you mean 'job'\?\)"):
        client.call("GetJob", jobs="1a2b")
    with pytest.raises(package.Refused):
        client.call("GetJob", job=7)
    client.submit(NOOP)
    for arguments, said in (({"rows": 3}, "^rows: 3 where a text belongs"), ({"length": "5"}, "^table.length: the text '5' where a number belongs"),
                            ({"metric": ["loss"]}, "^table.metric: a list where one value belongs"), ({"only": [3]}, "^only: 3 where a text belongs"),
                            ({"aggregate": "avg"}, "unknown aggregate 'avg'")):
        with pytest.raises(package.Refused, match=said):
            client.table("none", **arguments)
    with pytest.raises(package.Refused, match="^only: 3 where a text belongs"):
        client.jobs("none", only=3)
    with pytest.raises(package.Refused, match="names no published one"):
        client.table("none", published=True)
    with pytest.raises(package.Refused, match="holds other values"):
        client.table("none", rows="task", published=True)
    client.close()
    with pytest.raises(package.Refused, match="this client is closed"):
        client.sweeps()


def test_a_watch_that_ends_again_and_again_without_a_word_comes_to_an_end(monkeypatch):
    clock = types.SimpleNamespace(now=0.0, slept=0)

    def sleep(seconds):
        clock.now, clock.slept = clock.now + seconds, clock.slept + 1
        assert clock.now < 10 * package.waiting.AWAY_PATIENCE_S, "it goes on for ever"

    monkeypatch.setattr(package.waiting, "time", types.SimpleNamespace(monotonic=lambda: clock.now, sleep=sleep))
    calls = types.SimpleNamespace(address="there", follow=lambda *_, **__: iter(()))
    with pytest.raises(package.Unreachable, match="the scheduler at there ended the watch of a sweep before it was finished"):
        for update, is_there in package.waiting.watched(calls, "s", None):
            assert (update, is_there) == (None, False)
    assert clock.slept > 10


def test_a_scheduler_that_is_away_for_a_moment_is_asked_again(home, scheduler, client, monkeypatch):
    paused = []

    def start_it_again(seconds):
        paused.append(seconds)
        if len(paused) == 2:
            scheduler.again()
        real_sleep(seconds)  # gRPC itself tries to connect now and then only.
    real_sleep = package.calls.time.sleep
    monkeypatch.setattr(package.calls, "time", types.SimpleNamespace(sleep=start_it_again))
    client.submit(NOOP)
    scheduler.kill()
    assert len(client.jobs("none")) == 8
    assert len(paused) >= 2 and paused == sorted(set(paused)), "pauses that grow"


def test_one_that_does_not_come_back_is_unreachable_after_a_few_tries(home, scheduler, client, monkeypatch):
    paused = []
    monkeypatch.setattr(package.calls, "time", types.SimpleNamespace(sleep=paused.append))
    scheduler.kill()
    with pytest.raises(package.Unreachable) as gone:
        client.sweeps()
    assert gone.value.code == "UNAVAILABLE" and scheduler.address in str(gone.value) and len(paused) == package.calls.TRIES - 1
    with pytest.raises(package.Unreachable, match="open_store"):
        package.connect(scheduler.address)


def test_waiting_outlasts_a_scheduler_that_ends_and_comes_back(home, scheduler, client, monkeypatch):
    client.submit(NOOP)
    came_back = []

    def away(seconds):
        if not came_back:
            came_back.append(scheduler.again())
            Worker(home, came_back[0])
    real = package.waiting.time
    monkeypatch.setattr(package.waiting, "time", types.SimpleNamespace(monotonic=real.monotonic, sleep=away))
    stopped = []

    def stop(update):
        if not stopped:
            stopped.append(scheduler.stop())
    assert client.wait("none", timeout=harness.PATIENCE_S, on_update=stop)["succeeded"] == 8
    assert stopped == [0] and came_back


def test_waiting_outlasts_a_scheduler_that_stands_still(home, scheduler, client, monkeypatch):
    client.submit(NOOP)
    went_on = []

    def go_on(seconds):
        if not went_on:
            went_on.append(seconds)
            scheduler.signal(signal.SIGCONT)
            Worker(home, scheduler)
    real = package.waiting.time
    monkeypatch.setattr(package.waiting, "time", types.SimpleNamespace(monotonic=real.monotonic, sleep=go_on))
    monkeypatch.setattr(package.waiting, "WATCH_S", 0.5)

    def stand_still(update):
        if not went_on:
            scheduler.signal(signal.SIGSTOP)
    assert client.wait("none", timeout=harness.PATIENCE_S, on_update=stand_still)["succeeded"] == 8
    assert went_on


def test_what_goes_wrong_where_updates_are_told_is_the_callers(client):
    client.submit(NOOP)

    def fail(update):
        raise package.Unreachable("UNAVAILABLE", "something else")
    with pytest.raises(package.Unreachable, match="^something else$"):
        client.wait("none", on_update=fail)


def test_what_answers_is_known_where_it_is_no_scheduler():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"127.0.0.1:{listening.getsockname()[1]}"
        assert package.doors.what_answers(address, b"") == "something"
    assert package.doors.what_answers(address, b"") == "nothing"


def test_a_server_that_does_not_know_the_calls_is_told_of(home):
    import concurrent.futures
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(1))
    server.add_insecure_port(f"unix:{home.path}/old.sock")
    server.start()
    try:
        with pytest.raises(package.Error, match="does not know this call: it is of another version") as old:
            package.connect(f"unix:{home.path}/old.sock")
        assert old.value.code == "UNIMPLEMENTED"
    finally:
        server.stop(None).wait()


def test_certificates_and_tokens_are_shown(home, monkeypatch):
    certificates = security.Certificates(home)
    tokens = home.path / "tokens"
    reader = security.token(home, "reader", "bob", tokens)
    scheduler = security.tls_scheduler(home, certificates, "--tokens", tokens)
    files = {"ca": str(certificates["ca.crt"]), "certificate": str(certificates["client.crt"]), "key": str(certificates["client.key"])}
    with package.connect(scheduler.address, **files) as client:
        assert client.submit(NOOP)["created"]

    with package.connect(scheduler.address, ca=files["ca"], token=reader) as client:
        assert len(client.jobs("none")) == 8
        with pytest.raises(package.NotAllowed) as refused:
            client.cancel("none")
        assert refused.value.code == "PERMISSION_DENIED"
    with pytest.raises(package.NotAllowed) as refused:
        package.connect(scheduler.address, ca=files["ca"])
    assert refused.value.code == "UNAUTHENTICATED"

    others = security.Certificates(home, "others")
    with pytest.raises(package.Unreachable, match="that must be the file of that scheduler's authority"):
        package.connect(scheduler.address, ca=str(others["ca.crt"]))
    with pytest.raises(package.Unreachable, match="a scheduler with TLS wants ca"):
        package.connect(scheduler.address)
    answering = package.doors.what_answers
    assert answering(scheduler.address, others["ca.crt"].read_bytes()) == "another authority"
    assert {answering(scheduler.address, ca) for ca in (b"", b"no certificate", certificates["ca.crt"].read_bytes())} == {"something"}
    for wrong, said in (({"ca": files["key"]}, "client.key: it holds no certificate of an authority"),
                        ({"key": str(certificates["reader.key"])}, "reader.key: it is not the key of .*client.crt"),
                        ({"certificate": files["key"]}, "client.key: it is not the key of")):
        with pytest.raises(package.Refused, match=said):
            package.connect(scheduler.address, **{**files, **wrong})

    # From the environment, as the commands have it; an argument comes first.
    held = home.path / "bob.token"
    held.write_text(reader + "\n")
    held.chmod(0o600)
    for name, value in (("SCHEDULER", scheduler.address), ("CA", files["ca"]), ("TOKEN_FILE", str(held))):
        monkeypatch.setenv(f"LONGREACH_{name}", value)
    with package.connect() as client:
        assert client.address == scheduler.address and len(client.sweeps()) == 1
    monkeypatch.setenv("LONGREACH_TOKEN", "nobody")
    with pytest.raises(package.NotAllowed):
        package.connect()
    with package.connect(token_file=str(held)) as client:
        assert len(client.sweeps()) == 1
    held.chmod(0o644)
    with pytest.raises(package.Refused, match="it is a secret"):
        package.connect(token_file=str(held))


@pytest.mark.parametrize("arguments, variables, said", [
    ({"address": "head node:7070"}, {}, "'head node:7070' is not an address"),
    ({"address": "head:70700"}, {}, "has no port from 1 to 65535"),
    ({"address": "example.org"}, {}, "example.org:7070 is another machine, and connections to it are encrypted"),
    ({"token": "a", "token_file": "b"}, {}, "token and token_file exclude each other"),
    ({"certificate": "a.crt"}, {}, "there is a certificate and no key"),
    ({"certificate": "a.crt", "key": "a.key"}, {}, "there is no ca"),
    ({"ca": "/nowhere/ca.crt"}, {}, "cannot use /nowhere/ca.crt: No such file"),
    ({"token": "a b"}, {}, "not one token"),
    ({}, {"STORE": "b1.db"}, "LONGREACH_STORE names a store: open_store"),
    ({}, {"STORE": "b1.db", "SCHEDULER": "localhost"}, "exclude each other"),
    ({}, {"CONTEXT": "cluster"}, "LONGREACH_CONTEXT: there is no context 'cluster'"),
])
def test_what_cannot_be_used_is_refused_before_any_call(home, monkeypatch, arguments, variables, said):
    monkeypatch.setenv("XDG_CONFIG_HOME", home.environment()["XDG_CONFIG_HOME"])
    for name in ("SCHEDULER", "STORE", "CONTEXT", "CA", "CERTIFICATE", "KEY", "TOKEN", "TOKEN_FILE"):
        monkeypatch.delenv(f"LONGREACH_{name}", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(f"LONGREACH_{name}", value)
    with pytest.raises(package.Refused, match=said):
        package.connect(**arguments)
