"""S6: secrets stay in their own files, and all files stay their owner's."""
import os
import pathlib
import stat

import grpc
import pytest

import harness
from harness import messages, run_cli, until
from security import Certificates, bearer, code_of, refusals, small_request, tls_scheduler, token


@pytest.fixture
def careless():
    """A umask that opens every file to everybody."""
    before = os.umask(0)
    yield
    os.umask(before)


def command_lines(home):
    lines = []
    for process in home.processes:
        for pid in [process.pid, *children(process.pid)]:
            lines.append(pathlib.Path(f"/proc/{pid}/cmdline").read_bytes())
    return lines


def children(pid):
    own = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in own]


def key_bytes(path):
    """The middle of a key's base64, which is in no other text."""
    return path.read_text().split("\n")[1].encode()


@pytest.mark.fault("S6", aim="0 secrets in logs, command lines, store or state folders; 0 files open to others")
def test_secrets_stay_where_they_are(home, fault, careless):
    certificates, tokens = Certificates(home), home.path / "tokens"
    secrets = {name: token(home, role, name, tokens) for name, role in (("bob", "reader"), ("ann", "client"), ("gpu", "worker"))}
    own_files = {}
    for name, text in secrets.items():
        own_files[name] = home.path / f"{name}.token"
        harness.run(home, "sh", "-c", f"umask 077; cat > {own_files[name]}", stdin=text)
    wrong = "longreach_" + "5" * 64
    scheduler = tls_scheduler(home, certificates, "--tokens", tokens)

    # Calls of every kind: good, refused, and wrong ones; a worker that trains; a backup.
    with certificates.channel(scheduler.address) as channel:
        stub = messages("api_grpc").LongreachStub(channel)
        assert code_of(lambda: stub.SubmitSweep(small_request(), metadata=bearer(secrets["ann"])))[0] == grpc.StatusCode.OK
        assert code_of(lambda: stub.SubmitSweep(small_request(), metadata=bearer(secrets["bob"])))[0] == grpc.StatusCode.PERMISSION_DENIED
        assert code_of(lambda: stub.SubmitSweep(small_request(), metadata=bearer(wrong)))[0] == grpc.StatusCode.UNAUTHENTICATED
    if harness.HAS_WORKER:
        harness.Worker(home, scheduler, "--ca", certificates["ca.crt"], "--token-file", own_files["gpu"])
        assert run_cli(home, "wait", "small", "--ca", certificates["ca.crt"], "--token-file", own_files["bob"], scheduler=scheduler).code == 0
    backup = run_cli(home, "store", "backup", home.path / "backup.db", *certificates.flags("client"), scheduler=scheduler)
    assert backup.code == 0, backup
    until(lambda: len(refusals(scheduler)) >= 2, "both refusals are logged")
    lines = command_lines(home)
    listening = pathlib.Path(f"/proc/{scheduler.pid}/net/tcp").exists()  # The processes were alive when they were looked at.
    assert listening and all(lines) and len(lines) >= 1 + 2 * harness.HAS_WORKER

    hidden = [text.encode() for text in secrets.values()] + [wrong.encode()]
    hidden += [key_bytes(certificates[name]) for name in ("ca.key", "server.key", "client.key", "reader.key", "worker.key")]
    places = set(own_files.values()) | {certificates[f"{name}.key"] for name in ("ca", "server", "client", "reader", "worker")}
    files = [path for path in home.path.rglob("*") if path.is_file() and path not in places]
    texts = {str(path): path.read_bytes() for path in files}
    texts |= {f"command line {number}": line for number, line in enumerate(lines)}
    texts |= {f"output of {process.name}": "\n".join(process.lines).encode() for process in home.processes}
    assert [name for name, text in texts.items() for secret in hidden if secret in text] == []
    # That the search is not blind: a secret is found where it belongs.
    assert all(any(secret in path.read_bytes() for path in places) for secret in hidden if secret != wrong.encode())

    made = [path for path in home.path.rglob("*") if not path.name.endswith(".log")]  # Those are this test's own.
    own_mode = {path: stat.S_IMODE(path.stat().st_mode) for path in made}
    assert {str(path): oct(mode) for path, mode in own_mode.items() if mode & 0o077} == {}
    assert any(path.name == "store.db" for path in made) and any(path.name == "server.key" for path in made)
    assert scheduler.stop() == 0
    harness.check_ledger(home, scheduler.store)
    fault.reached(f"{len(hidden)} secrets in {len(texts)} places: 0 found; {len(made)} files and folders under umask 0: 0 open to others")


def test_a_socket_is_its_owners(home, careless):
    scheduler = harness.Scheduler(home)
    assert stat.S_IMODE(os.stat(scheduler.address.removeprefix("unix:")).st_mode) & 0o077 == 0


def test_a_secret_that_everybody_could_read_is_refused(home):
    certificates = Certificates(home)
    certificates["server.key"].chmod(0o644)
    refused = harness.run(home, harness.BIN / "longreach-scheduler", "--store", "x.db", "--listen", "localhost:0", *certificates.server_flags())
    assert refused.code == 1 and "chmod 600" in refused.err and len(refused.err.splitlines()) == 1, refused
    certificates["client.key"].chmod(0o604)
    refused = run_cli(home, "sweeps", *certificates.flags("client"))
    assert refused.code != 0 and "chmod 600" in refused.err, refused
