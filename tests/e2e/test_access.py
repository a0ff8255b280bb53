"""Who gets in: certificates, tokens and roles, with the real programs and with Python's gRPC."""
import datetime
import hashlib
import json
import os
import re
import shutil
import socket
import subprocess

import grpc
import pytest

import harness
from harness import BIN, Scheduler, Worker, messages, run, run_cli, until
from security import Certificates, bearer, code_of, refusals, small_request, tls_scheduler, token
from shifted_clock import Clock, hurried, needs_shifted_clock


def start(home, *arguments):
    """A scheduler that is expected to refuse."""
    return run(home, BIN / "longreach-scheduler", "--store", home.path / "refused.db", *arguments)


def wait_for_small(home, scheduler, *flags):
    waited = run_cli(home, "wait", "small", *flags, scheduler=scheduler)
    assert waited.code == 0, f"{waited}\n{home.logs()}"


@harness.needs_worker
def test_a_sweep_runs_over_mutual_tls(home):
    certificates = Certificates(home)
    scheduler = tls_scheduler(home, certificates)
    with certificates.channel(scheduler.address, "client") as channel:
        stub = messages("api_grpc").LongreachStub(channel)
        assert stub.SubmitSweep(small_request()).created
    Worker(home, scheduler, *certificates.flags("worker"))
    wait_for_small(home, scheduler, *certificates.flags("reader"))
    jobs = run_cli(home, "jobs", "small", "-o", "json", *certificates.flags("reader"), scheduler=scheduler).json()["jobs"]
    assert [job["state"] for job in jobs] == ["succeeded"] * 3
    assert refusals(scheduler) == []
    assert scheduler.stop() == 0
    harness.check_ledger(home, scheduler.store)


@harness.needs_worker
def test_a_sweep_runs_with_tokens_over_tls(home):
    certificates, tokens = Certificates(home), home.path / "tokens"
    secret = token(home, "client", "ann", tokens)
    for role in ("worker", "reader"):
        made = run_cli(home, "certs", "token", "--role", role, "--name", f"a-{role}", "--add", tokens, "--out", home.path / f"{role}.token")
        assert made.code == 0 and made.out == "", made
    scheduler = harness.Scheduler(home, "--certificate", certificates["server.crt"], "--key", certificates["server.key"], "--tokens", tokens,
                                  listen="localhost:0")
    with certificates.channel(scheduler.address) as channel:
        stub = messages("api_grpc").LongreachStub(channel)
        assert stub.SubmitSweep(small_request(), metadata=bearer(secret)).created
    Worker(home, scheduler, "--ca", certificates["ca.crt"], "--token-file", home.path / "worker.token")
    wait_for_small(home, scheduler, "--ca", certificates["ca.crt"], "--token-file", home.path / "reader.token")
    refused = run_cli(home, "cancel", "small", "--ca", certificates["ca.crt"], "--token-file", home.path / "reader.token", scheduler=scheduler)
    assert refused.code == 5 and "has the role reader, and this call is for client; call with a certificate or a token of such a role" in refused.err, refused


def test_tokens_are_asked_for_within_this_machine_too(home):
    tokens = home.path / "tokens"
    secret = token(home, "reader", "bob", tokens)
    for listen in ("localhost:0", "127.0.0.1:0", f"unix:{home.path}/t.sock"):
        scheduler = Scheduler(home, "--tokens", tokens, listen=listen, store=f"{len(home.processes)}.db")
        refused = run_cli(home, "sweeps", scheduler=scheduler)
        assert refused.code == 5 and "no certificate and no token" in refused.err, refused
        environment = {**home.environment(), "LONGREACH_TOKEN": secret}
        listed = subprocess.run([BIN / "longreach", "sweeps", "--scheduler", scheduler.address], env=environment, cwd=home.path,
                                capture_output=True, text=True, timeout=harness.PATIENCE_S)
        assert listed.returncode == 0, listed
        assert secret not in scheduler.log()


def test_a_token_is_given_and_taken_away_without_a_restart(home):
    tokens = home.path / "tokens"
    token(home, "reader", "ann", tokens)
    scheduler = Scheduler(home, "--tokens", tokens)
    stub, request = scheduler.api(), messages("api").ListSweepsRequest()

    late = token(home, "reader", "late", tokens)
    until(lambda: code_of(lambda: stub.ListSweeps(request, metadata=bearer(late)))[0] == grpc.StatusCode.OK, "the new token is known")
    tokens.write_text("this is no list\n")

    def wrong_list_is_logged():
        # Looked for when somebody shows a token; those of before still hold.
        assert code_of(lambda: stub.ListSweeps(request, metadata=bearer(late)))[0] == grpc.StatusCode.OK
        return any("a change of the tokens" in line for line in refusals(scheduler))

    until(wrong_list_is_logged, "the wrong list is logged")
    tokens.write_text("# nobody\n")
    until(lambda: code_of(lambda: stub.ListSweeps(request, metadata=bearer(late)))[0] == grpc.StatusCode.UNAUTHENTICATED, "it is taken away")


def test_a_renewed_certificate_is_taken_up_without_a_restart(home):
    certificates = Certificates(home)
    with hurried(home, "scheduler"):
        scheduler = tls_scheduler(home, certificates)
    host, _, port = scheduler.address.rpartition(":")

    def shown():
        # Asked for at each new connection. One that a busy machine is slow to make is ended by the scheduler, and shows nothing.
        return until(lambda: re.search("BEGIN CERT.*END CERT", run(home, "openssl", "s_client", "-connect", f"{host}:{port}", "-CAfile", certificates["ca.crt"]).out, re.DOTALL),
                     "a certificate is shown")[0]

    before = shown()
    elsewhere = shutil.copytree(certificates.folder, home.path / "elsewhere")
    assert run_cli(home, "certs", "issue", elsewhere, "server", "--role", "server", "--renew").code == 0
    shutil.copy(elsewhere / "server.crt", certificates["server.crt"])
    until(lambda: "the key belongs to another certificate; those of before still serve" in scheduler.log(), "one without its key is logged")
    assert shown() == before, "and locks nobody out"
    shutil.copy(elsewhere / "server.key", certificates["server.key"])
    until(lambda: shown() != before, "the new certificate is shown")
    assert scheduler.log().count("taken up without a restart: certificate ") == 1 and "server.crt (good until " in scheduler.log(), scheduler.log()
    assert run_cli(home, "sweeps", *certificates.flags("reader"), scheduler=scheduler).code == 0


def is_there(home, scheduler, *flags):
    until(lambda: run_cli(home, "workers", "-q", *flags, scheduler=scheduler).out, "the worker is there")


def submit_small(home, scheduler, certificates):
    with certificates.channel(scheduler.address, "client") as channel:
        assert messages("api_grpc").LongreachStub(channel).SubmitSweep(small_request()).created
    wait_for_small(home, scheduler, *certificates.flags("reader"))


@harness.needs_worker
def test_a_worker_takes_up_a_renewed_certificate_without_a_restart(home):
    certificates = Certificates(home)
    certificates.issue("gpu-b", "worker")
    scheduler = tls_scheduler(home, certificates, *harness.FREQUENT_CALLS)
    with hurried(home, "worker"):
        worker = Worker(home, scheduler, *certificates.flags("worker"))
    is_there(home, scheduler, *certificates.flags("reader"))

    shutil.copy(certificates["reader.key"], certificates["worker.key"])
    until(lambda: "the key belongs to another certificate; what it had before is shown until that is mended" in worker.log(), "a key without its certificate is told")
    assert refusals(scheduler) == [], "and changes nothing"
    # Whose certificate it shows the scheduler says of one that it does not admit.
    shutil.copy(certificates["reader.crt"], certificates["worker.crt"])
    until(lambda: any("/Synchronize: certificate reader has the role reader, and this call is for worker" in line for line in refusals(scheduler)),
          "calls show what lies there")
    for part in ("key", "crt"):
        shutil.copy(certificates[f"gpu-b.{part}"], certificates[f"worker.{part}"])
    until(lambda: "answers again" in worker.log(), "a good one is admitted again")

    submit_small(home, scheduler, certificates)
    assert worker.is_running() and worker.log().count("taken up without a restart: certificate ") == 2, worker.log()


@harness.needs_worker
def test_a_worker_goes_on_under_a_new_authority_without_a_restart(home):
    certificates, anew = Certificates(home), Certificates(home, "anew")
    scheduler = tls_scheduler(home, certificates, *harness.FREQUENT_CALLS)
    with hurried(home, "worker"):
        worker = Worker(home, scheduler, *certificates.flags("worker"))
    is_there(home, scheduler, *certificates.flags("reader"))

    assert scheduler.stop() == 0
    for file in anew.folder.iterdir():
        shutil.copy(file, certificates[file.name])
    scheduler = scheduler.again()
    until(lambda: "answers again" in worker.log(), "both know each other by the new authority")

    submit_small(home, scheduler, certificates)
    assert worker.is_running() and "ca.crt" in worker.log().split("taken up without a restart: ", 1)[1], worker.log()


@harness.needs_worker
def test_a_worker_shows_a_replaced_token_with_its_next_calls(home):
    tokens, own, mine = home.path / "tokens", home.path / "own.token", home.path / "client.token"
    first, reader, second, client = [token(home, role, name, tokens) for role, name in (("worker", "one"), ("reader", "bob"), ("worker", "two"), ("client", "ann"))]
    for path in (own, mine):
        path.touch(mode=0o600)
    own.write_text(first)
    mine.write_text(client)
    scheduler = Scheduler(home, "--tokens", tokens, *harness.FREQUENT_CALLS)
    with hurried(home, "worker"):
        worker = Worker(home, scheduler, "--token-file", own)
    is_there(home, scheduler, "--token-file", mine)

    own.write_text(reader)
    until(lambda: any("/Synchronize: token bob has the role reader, and this call is for worker" in line for line in refusals(scheduler)), "calls show what lies there")
    own.write_text(second)
    until(lambda: "answers again" in worker.log(), "a good one is admitted again")

    assert scheduler.api().SubmitSweep(small_request(), metadata=bearer(client)).created
    wait_for_small(home, scheduler, "--token-file", mine)
    assert worker.is_running() and not any(secret in worker.log() for secret in (first, reader, second)), worker.log()


def test_the_log_says_that_the_schedulers_certificate_expires_soon(home):
    certificates = Certificates(home)
    end = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=3)
    certificates.sign("short", names="DNS:localhost,IP:127.0.0.1", end=end.strftime("%Y%m%d%H%M%SZ"))
    with hurried(home, "scheduler"):
        scheduler = tls_scheduler(home, certificates, server="short")
    until(lambda: f"short.crt expires on {end:%Y-%m-%d}; make a new one with 'longreach certs issue' before" in scheduler.log(), "its end is told")
    assert "ca.crt expires" not in scheduler.log()


@harness.needs_worker
@needs_shifted_clock
def test_a_worker_whose_certificate_has_expired_says_so(home):
    certificates = Certificates(home)
    scheduler = tls_scheduler(home, certificates, *harness.FREQUENT_CALLS)
    with (clock := Clock(home, "worker", rate=5.0)).here():
        worker = Worker(home, scheduler, *certificates.flags("worker"))
    is_there(home, scheduler, *certificates.flags("reader"))
    clock.set(wall_s=366 * 86400)
    # Over a connection that is there its certificate is not looked at again.
    scheduler.kill()
    until(lambda: "no answer from the scheduler" in worker.log(), "the worker misses its scheduler")
    assert re.search(r"worker\.crt expired on \d{4}-\d\d-\d\d; make a new one with 'longreach certs issue', which this worker takes up by itself; trying again", worker.log()), worker.log()
    for name in ("server", "worker"):
        certificates.issue(name, name, "--renew", "--days", "800")
    scheduler.again()
    until(lambda: "answers again" in worker.log(), "it goes on with the new certificate")


@pytest.mark.parametrize("arguments, words", [
    (["--listen", "0.0.0.0:0"], ["longreach certs init", "--certificate", "--client-ca", "localhost"]),
    (["--listen", "[::]:0"], ["longreach certs init"]),
    (["--listen", "localhost:0", "--certificate", "certs/server.crt"], ["--key"]),
    (["--listen", "localhost:0", "--certificate", "certs/server.crt", "--key", "certs/server.key"], ["--client-ca", "--tokens"]),
    (["--listen", "unix:x.sock", "--certificate", "certs/server.crt", "--key", "certs/server.key", "--client-ca", "certs/ca.crt"], ["Unix socket"]),
    (["--listen", "localhost:0", "--certificate", "certs/server.crt", "--key", "certs/client.key", "--client-ca", "certs/ca.crt"],
     ["belongs to another certificate", "client.key"]),
    (["--listen", "localhost:0", "--certificate", "certs/none.crt", "--key", "certs/server.key", "--client-ca", "certs/ca.crt"], ["none.crt"]),
    (["--listen", "localhost:0", "--tokens", "certs/ca.crt"], ["ca.crt:1:", "ROLE NAME SHA256"]),
])
def test_a_scheduler_that_would_be_open_or_dumb_does_not_start(home, arguments, words):
    Certificates(home)
    refused = start(home, *arguments)
    assert refused.code == 1 and len(refused.err.splitlines()) == 1, refused
    for word in words:
        assert word in refused.err
    assert not (home.path / "refused.db").exists(), "nothing was written"


def test_the_config_file_and_the_environment_name_the_files(home):
    certificates = Certificates(home)
    scheduler = tls_scheduler(home, certificates)
    folder = home.path / "config/longreach"
    folder.mkdir(parents=True)
    (home.path / "own").symlink_to(certificates.folder)
    (folder / "config.yaml").write_text(f"scheduler: {scheduler.address}\nca: ~/own/ca.crt\ncertificate: ~/own/client.crt\nkey: ~/own/client.key\n")
    listed = run_cli(home, "sweeps")
    assert listed.code == 0, listed
    environment = {**home.environment(), "LONGREACH_CERTIFICATE": str(certificates["worker.crt"]), "LONGREACH_KEY": str(certificates["worker.key"])}
    as_worker = subprocess.run([BIN / "longreach", "sweeps"], env=environment, cwd=home.path, capture_output=True, text=True,
                               timeout=harness.PATIENCE_S)
    assert as_worker.returncode == 5 and "role worker" in as_worker.stderr, as_worker


def test_config_show_says_what_holds_and_who_says_so(home):
    """Nobody listens anywhere, and no store is made: it asks no one."""
    def shown(*flags, **variables):
        done = subprocess.run([BIN / "longreach", "config", "show", "-o", "json", *flags], env={**home.environment(), **variables}, cwd=home.path,
                              capture_output=True, text=True, timeout=harness.PATIENCE_S)
        assert done.returncode == 0, done
        said = json.loads(done.stdout)
        assert said["schema"] == "longreach/v1"
        return said["config_file"], {one["name"]: (one["value"], one["source"], one["passed_over"]) for one in said["settings"]}, done.stdout

    config = home.path / "config/longreach/config.yaml"
    found, settings, _ = shown()
    assert found == {"path": str(config), "exists": False, "read": False}
    assert settings["scheduler"] == ("localhost:7070", "default", []) and settings["store"] == (None, "default", [])
    config.parent.mkdir(parents=True)
    config.write_text("# mine\nscheduler: head\nca: ~/own/ca.crt\n")
    found, settings, _ = shown()
    assert found == {"path": str(config), "exists": True, "read": True}
    assert settings["scheduler"] == ("head:7070", f"{config}:2:12", []) and settings["ca"] == (f"{home.path}/own/ca.crt", f"{config}:3:5", [])
    _, settings, _ = shown(LONGREACH_SCHEDULER="other:1")
    assert settings["scheduler"] == ("other:1", "LONGREACH_SCHEDULER", [f"{config}:2:12"])
    _, settings, _ = shown("--scheduler", "third:2", LONGREACH_SCHEDULER="other:1")
    assert settings["scheduler"] == ("third:2", "--scheduler", ["LONGREACH_SCHEDULER", f"{config}:2:12"])
    _, settings, text = shown("--store", "b1.db", LONGREACH_SCHEDULER="other:1", LONGREACH_TOKEN="longreach_5ec2e7")
    assert settings["store"] == ("b1.db", "--store", []) and settings["scheduler"] == (None, "--store", ["LONGREACH_SCHEDULER", f"{config}:2:12"])
    assert settings["token"] == ("set", "LONGREACH_TOKEN", []) and "5ec2e7" not in text
    assert not (home.path / "b1.db").exists()
    config.write_text("shceduler: head\n")
    wrong, elsewhere = run_cli(home, "config", "show"), run_cli(home, "list", "tasks")
    assert wrong.code == 2 and "config.yaml:1:1: unknown setting 'shceduler'" in wrong.err and wrong.err == elsewhere.err, wrong


def test_a_scheduler_of_ones_own_asks_for_nothing(home):
    """What is set for other schedulers does not get between a client and the one it starts itself."""
    certificates = Certificates(home)
    token(home, "reader", "bob", home.path / "tokens")
    names = {"CA": "ca.crt", "CERTIFICATE": "client.crt", "KEY": "client.key", "SERVER_CERTIFICATE": "server.crt", "SERVER_KEY": "server.key",
             "CLIENT_CA": "ca.crt"}
    environment = {**home.environment(), "LONGREACH_TOKENS": str(home.path / "tokens"), "LONGREACH_TOKEN": "longreach_0",
                   **{f"LONGREACH_{name}": str(certificates[file]) for name, file in names.items()}}
    planned = subprocess.run([BIN / "longreach", "plan", "quickstart", "-o", "json"], env=environment, cwd=home.path, capture_output=True,
                             text=True, timeout=harness.PATIENCE_S)
    assert planned.returncode == 0 and json.loads(planned.stdout)["jobs"] > 0, planned


def test_errors_of_tls_say_what_to_look_at(home):
    certificates, foreign = Certificates(home), Certificates(home, "foreign")
    scheduler = tls_scheduler(home, certificates)
    wrong = run_cli(home, "sweeps", *foreign.flags("client"), scheduler=scheduler)
    assert wrong.code == 3 and "no TLS with a scheduler at" in wrong.err and "--ca" in wrong.err, wrong
    plain = run_cli(home, "sweeps", scheduler=scheduler)
    assert plain.code == 3 and "--ca FILE" in plain.err, plain
    far = run_cli(home, "sweeps", "--scheduler", "scheduler.example.org:7070")
    assert far.code != 0 and "LONGREACH_CA" in far.err, far
    if harness.HAS_WORKER:
        far = run(home, BIN / "longreach-worker", "run", "--scheduler", "scheduler.example.org:7070", "--state", home.path / "w")
        assert far.code == 1 and "LONGREACH_CA" in far.err, far


def test_certs_overwrite_nothing(home):
    certificates = Certificates(home)
    before = {path: path.read_bytes() for path in certificates.folder.iterdir()}
    assert run_cli(home, "certs", "init", certificates.folder).code == 1
    assert run_cli(home, "certs", "issue", certificates.folder, "client", "--role", "client").code == 1
    assert run_cli(home, "certs", "issue", certificates.folder, "../client", "--role", "client").code == 2
    assert run_cli(home, "certs", "issue", certificates.folder, "ca", "--role", "client", "--renew").code == 2
    bad = run_cli(home, "certs", "issue", certificates.folder, "x", "--role", "server", "--host", "a,URI:longreach:role:client")
    assert bad.code == 2, bad
    assert {path: path.read_bytes() for path in certificates.folder.iterdir()} == before
    certificates.issue("client", "client", "--renew", "--days", "30")
    assert certificates["client.key"].read_bytes() != before[certificates["client.key"]]
    shown = run_cli(home, "certs", "show", certificates["client.crt"], "-o", "json").json()["certificates"]
    assert [(one["name"], one["role"]) for one in shown] == [("client", "client")]


def test_certs_issue_says_which_file_is_missing_where_and_what_to_do(home):
    certificates = Certificates(home)
    (home.path / "empty").mkdir()

    def refused(folder, cwd=home.path):
        done = subprocess.run([BIN / "longreach", "certs", "issue", folder, "gpu", "--role", "worker"], env=home.environment(), cwd=cwd, capture_output=True,
                              text=True, timeout=harness.PATIENCE_S)
        assert done.returncode == 4 and done.stdout == "", done
        return done.stderr

    assert f"no folder {home.path}/nowhere," in refused("nowhere") and "'longreach certs init nowhere'" in refused("nowhere")
    assert f"no ca.crt and no ca.key in {home.path}/empty," in refused("empty") and "'longreach certs init empty'" in refused("empty")
    assert refused(".", cwd=home.path / "empty").startswith(f"error: there is no ca.crt and no ca.key in {home.path}/empty,")
    certificates["ca.key"].rename(home.path / "ca.key")
    assert f"there is no ca.key in {certificates.folder}," in refused(certificates.folder) and "put it back there" in refused(certificates.folder)
    (home.path / "ca.key").rename(certificates["ca.key"])
    certificates["ca.crt"].unlink()
    assert f"there is no ca.crt in {certificates.folder}," in refused(certificates.folder) and "--client-ca" in refused(certificates.folder)
    assert not (certificates.folder / "gpu.key").exists() and not (home.path / "nowhere").exists()


def test_a_renewed_certificate_keeps_its_role_and_hosts(home):
    made = run_cli(home, "certs", "init", "c", "--host", "scheduler.example.org", "--host", "fd00::1")
    assert "LONGREACH_SCHEDULER=scheduler.example.org:7070 " in made.err, made
    hosts = lambda: run_cli(home, "certs", "show", "c/server.crt", "-o", "json").json()["certificates"][0]["hosts"]
    before = hosts()
    assert "scheduler.example.org" in before
    assert run_cli(home, "certs", "issue", "c", "server", "--role", "server", "--renew").code == 0
    assert hosts() == before
    other = run_cli(home, "certs", "issue", "c", "server", "--role", "worker", "--renew")
    assert other.code == 2 and "'server' has the role server" in other.err, other
    assert run_cli(home, "certs", "issue", "c", "server", "--role", "server", "--host", "new.example.org", "--renew").code == 0
    assert "new.example.org" in hosts() and "scheduler.example.org" not in hosts()
    host = run_cli(home, "certs", "issue", "c", "gpu", "--role", "worker", "--host", "gpu.example.org")
    assert host.code == 2 and "--host" in host.err, host
    shown = run_cli(home, "certs", "init", "d", "--host", "fd00::1")
    assert "LONGREACH_SCHEDULER=[fd00::1]:7070 " in shown.err, shown


def test_certs_that_are_refused_leave_nothing_in_the_next_try_s_way(home):
    refused = run_cli(home, "certs", "init", "c", "--host", "good.example", "--host", "bad host")
    assert refused.code == 2 and "'bad host' is no host's name or address" in refused.err, refused
    made = run_cli(home, "certs", "init", "c", "--host", "good.example")
    assert made.code == 0, made
    refused = run_cli(home, "certs", "token", "--role", "worker", "--name", "w", "--add", "nosuch/tokens", "--out", "w.token")
    assert refused.code == 1, refused
    made = run_cli(home, "certs", "token", "--role", "worker", "--name", "w", "--add", "tokens", "--out", "w.token")
    assert made.code == 0, made


def test_uploads_beyond_the_limit_are_refused_with_the_option(home):
    """The limit is looked at before a byte is taken."""
    scheduler = Scheduler(home, "--max-artifact-bytes", "1K")
    stub = scheduler.api()
    stub.SubmitSweep(small_request())
    worker = messages("worker")
    abilities = worker.Abilities(
        name="w", build="b", device="cpu", threads=1, memory_bytes=1e9, pack_limit=9, experiments=["algorithmic"],
        tasks=[worker.Ability(name="even_pairs", revision=1)], encodings=[worker.Ability(name="rope", revision=1)], model_revision=1)
    answer = scheduler.workers().Synchronize(worker.SynchronizeRequest(
        protocol=1, worker="11111111-2222-4333-8444-555555555555", incarnation=1, sequence=1, abilities=abilities, free_slots=1))
    lease = answer.leases[0]
    header = worker.UploadHeader(attempt=lease.attempt, worker="11111111-2222-4333-8444-555555555555", kind="checkpoint", step=1,
                                 sha256="0" * 64, bytes=2000, jobs=[job.id for job in lease.jobs])
    artifacts = messages("worker_grpc").ArtifactsStub(scheduler.channel)
    code, details = code_of(lambda: artifacts.Upload(iter([worker.UploadRequest(header=header)])))
    assert code == grpc.StatusCode.RESOURCE_EXHAUSTED and "--max-artifact-bytes" in details, details
    # What a finished job hands in is taken: its checkpoints go with that.
    data = b"w" * 2000
    header.kind, header.sha256 = "weights", hashlib.sha256(data).hexdigest()
    artifacts.Upload(iter([worker.UploadRequest(header=header), worker.UploadRequest(chunk=data)]))


def test_a_schedulers_options_may_come_from_a_file_and_a_typo_there_is_an_error(home):
    certificates = Certificates(home)
    config = home.path / "scheduler.toml"
    config.write_text(f'certificate = "{certificates["server.crt"]}"\nkey = "{certificates["server.key"]}"\nclient-ca = "{certificates["ca.crt"]}"\n')
    scheduler = Scheduler(home, "--config", config, listen="localhost:0")
    assert run_cli(home, "sweeps", *certificates.flags("reader"), scheduler=scheduler).code == 0
    config.write_text('certifikate = "x"\n')
    refused = start(home, "--listen", "localhost:0", "--config", config)
    assert refused.code == 2 and "certifikate" in refused.err, refused


def stays(channel):
    """The channel, once its connection has had an answer: one that has said nothing yet is ended after 15 s."""
    messages("api_grpc").LongreachStub(channel).ListSweeps(messages("api").ListSweepsRequest(), timeout=harness.PATIENCE_S)
    return channel


def test_connections_have_a_limit_and_leave_room_again(home):
    certificates = Certificates(home)
    flags = " ".join(map(str, certificates.server_flags()))
    # Of 556 descriptors, 256 are kept for other use, and each connection takes two.
    scheduler = harness.Process(home, "scheduler", ["bash", "-c", f"ulimit -n 556; exec {BIN}/longreach-scheduler --store {home.path}/l.db "
                                                                  f"--listen 127.0.0.1:0 {flags}"])
    scheduler.address = scheduler.next_line().removeprefix("listening on ")
    host, _, port = scheduler.address.rpartition(":")
    taken = [stays(certificates.channel(scheduler.address, "reader")) for _ in range(150)]
    with socket.create_connection((host, int(port)), timeout=harness.PATIENCE_S) as late:
        assert late.makefile("rb").read() == b"\x15\x03\x01\x00\x02\x02\x50", "TLS's alert internal_error, and the end"
    until(lambda: any("there are 150 already" in line and "ulimit -n" in line for line in refusals(scheduler)), "the refusal is logged")
    told = run_cli(home, "sweeps", *certificates.flags("reader"), scheduler=scheduler)
    assert told.code == 3 and f"the scheduler at {scheduler.address} takes no more connections" in told.err and "no scheduler" not in told.err, told
    for connection in taken:
        connection.close()

    def answers():
        with certificates.channel(scheduler.address, "reader") as channel:
            return code_of(lambda: messages("api_grpc").LongreachStub(channel).ListSweeps(messages("api").ListSweepsRequest(), timeout=harness.PATIENCE_S))[0]

    until(lambda: answers() == grpc.StatusCode.OK, "there is room again")


@pytest.mark.parametrize("kind", ["unix", "tcp"])
def test_one_connection_too_many_is_told_so_and_the_scheduler_goes_on(home, kind):
    listen = f"unix:{home.path}/full.sock" if kind == "unix" else "127.0.0.1:0"
    # Of 64 descriptors half are for connections, and each takes two.
    scheduler = harness.Process(home, "scheduler", ["bash", "-c", f"ulimit -n 64; exec {BIN}/longreach-scheduler --store {home.path}/l.db --listen {listen}"])
    scheduler.address = scheduler.next_line().removeprefix("listening on ")

    def connect():
        if kind == "unix":
            one = socket.socket(socket.AF_UNIX)
            one.settimeout(harness.PATIENCE_S)
            one.connect(listen.removeprefix("unix:"))
            return one
        host, _, port = scheduler.address.rpartition(":")
        return socket.create_connection((host, int(port)), timeout=harness.PATIENCE_S)

    def turned_away():
        with connect() as late:
            said = late.makefile("rb").read().decode()
        assert said.startswith("HTTP/1.1 503 ") and "this longreach-scheduler has 16 connections, and takes no more" in said, said

    def open_files():
        return len(os.listdir(f"/proc/{scheduler.pid}/fd"))

    taken = [stays(grpc.insecure_channel(scheduler.address, options=[("grpc.use_local_subchannel_pool", 1), ("grpc.enable_http_proxy", 0)])) for _ in range(16)]
    for _ in range(8):
        turned_away()
    when_full = open_files()
    for _ in range(40):  # More than it has descriptors.
        turned_away()
    until(lambda: open_files() <= when_full, "of those who were turned away no more is left than of a few")
    told = run_cli(home, "sweeps", scheduler=scheduler)
    assert told.code == 3 and f"the scheduler at {scheduler.address} has 16 connections, and takes no more" in told.err, told
    assert "ulimit -n" in told.err and "no scheduler" not in told.err, told
    assert any("there are 16 already, and no more are taken" in line for line in refusals(scheduler))
    if harness.HAS_WORKER:
        worker = Worker(home, scheduler)
        until(lambda: "has as many connections as it takes" in worker.log(), "the worker's log says it too")
    for connection in taken:
        connection.close()
    until(lambda: run_cli(home, "sweeps", scheduler=scheduler).code == 0, "there is room again")
