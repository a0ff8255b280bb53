"""S1: whoever has no good certificate gets nowhere, and the log says from where it was tried."""
import ssl
import warnings

import grpc
import pytest

from harness import PATIENCE_S, check_ledger, messages, run_cli, until
from security import Certificates, code_of, refusals, small_request, tls_handshake, tls_scheduler

# Python warns of old versions of TLS, which are the point here.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def submit(channel):
    with channel:
        return code_of(lambda: messages("api_grpc").LongreachStub(channel).SubmitSweep(small_request(), timeout=PATIENCE_S))


@pytest.mark.fault("S1", aim="8 of 8 kinds of strangers refused and logged with where they came from; no handler ran")
def test_strangers_get_nowhere(home, fault):
    ours, foreign = Certificates(home), Certificates(home, "foreign")
    ours.sign("expired", start="20200101000000Z", end="20210101000000Z")
    ours.sign("future", start="20980101000000Z")
    ours.sign("elsewhere", names="DNS:scheduler.example.org")
    scheduler, elsewhere = tls_scheduler(home, ours), tls_scheduler(home, ours, server="elsewhere", store="elsewhere.db")

    def old_tls():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(ssl.SSLError):
                tls_handshake(scheduler.address, ours, ssl.TLSVersion.TLSv1_1)
        return None, ""

    refused, unreached = (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED), (grpc.StatusCode.UNAVAILABLE,)
    connection = "connection from ipv"
    strangers = {
        "no certificate": (lambda: submit(ours.channel(scheduler.address)), refused, "no certificate and no token"),
        "foreign authority": (lambda: submit(ours.channel(scheduler.address, "client", foreign.folder)), unreached, "certificate verify failed"),
        "expired": (lambda: submit(ours.channel(scheduler.address, "expired")), unreached, "certificate verify failed"),
        "not yet valid": (lambda: submit(ours.channel(scheduler.address, "future")), unreached, "certificate verify failed"),
        "wrong name of the server": (lambda: submit(ours.channel(elsewhere.address, "client")), unreached, connection),
        "plaintext": (lambda: submit(grpc.insecure_channel(scheduler.address)), unreached, "wrong version number"),
        "TLS 1.1": (old_tls, (None,), "unsupported protocol"),
        "a worker as a client": (lambda: submit(ours.channel(scheduler.address, "worker")), refused,
                                 "certificate worker has the role worker, and this call is for client"),
    }
    rounds = fault.size(short=1, full=5, long=100)
    for _ in range(rounds):
        for name, (attempt, codes, words) in strangers.items():
            where = elsewhere if name == "wrong name of the server" else scheduler
            before = len(refusals(where))
            code, details = attempt()
            assert code in codes, f"{name}: {code} {details}"
            # A connection's end is told too, also for a call that was refused.
            until(lambda: any(words in line for line in refusals(where)[before:]), f"'{name}' is in the log")
            until(lambda: any(connection in line for line in refusals(where)[before:]), f"the log says from where '{name}' came")

    # The same things done right: so it was not for another reason that they failed.
    assert tls_handshake(scheduler.address, ours, ssl.TLSVersion.TLSv1_2) == "TLSv1.2"
    assert tls_handshake(scheduler.address, ours, ssl.TLSVersion.TLSv1_3) == "TLSv1.3"
    listed = run_cli(home, "sweeps", "-o", "json", *ours.flags("reader"), scheduler=scheduler)
    assert listed.code == 0 and listed.json()["sweeps"] == [], "no handler ran"
    code, details = submit(ours.channel(scheduler.address, "client"))
    assert code == grpc.StatusCode.OK, details
    for asked in (scheduler, elsewhere):
        assert asked.stop() == 0
        check_ledger(home, asked.store)
    fault.reached(f"{len(strangers)}/8 refused and logged with their address, {rounds} times; nothing was submitted")
