"""S4, the other side: whoever keeps to HTTP/2's rules is never cut, however much it sends, from wherever, whatever else goes on."""
import contextlib
import hashlib
import json
import socket
import subprocess
import threading

import grpc
import pytest

from harness import BIN, LONG_LEASES, PATIENCE_S, Scheduler, check_ledger, messages, until
from http2 import CONTINUATION, END_HEADERS, HEADERS, Connection, frame, literal, request_headers
from network import Cable, why_not
from played_worker import PlayedWorker
from proxy import Proxy
from security import Certificates, bearer, refusals, small_request, tls_scheduler, token

_MIB = 1 << 20
# Not shared with other channels, and no limit of its own.
_OPTIONS = [("grpc.use_local_subchannel_pool", 1), ("grpc.enable_http_proxy", 0), ("grpc.max_send_message_length", -1)]


def fresh(address):
    """A connection that nobody has used."""
    return grpc.insecure_channel(address, options=_OPTIONS)


def assert_not_cut(scheduler):
    assert not [line for line in refusals(scheduler) if ": cut, " in line], refusals(scheduler)


def first_messages(channel, metadata=None, count=3):
    """How calls with messages of almost 16 MiB end that are made at the same time."""
    stub = messages("api_grpc").LongreachStub(channel)
    large = messages("api").SubmitSweepRequest(spec=messages("spec").SweepSpec(name="x" * (15 * _MIB)))
    return [call.exception() for call in [stub.SubmitSweep.future(large, timeout=PATIENCE_S, metadata=metadata) for _ in range(count)]]


def assert_are_read(ends):
    """Each was answered, by what is wrong with its name."""
    assert [end.code() for end in ends] == [grpc.StatusCode.INVALID_ARGUMENT] * len(ends), [end.details()[:200] for end in ends]


def assert_first_messages_are_read(channel, metadata=None, count=3):
    assert_are_read(first_messages(channel, metadata, count))


@contextlib.contextmanager
def reached_by(way, home):
    """A scheduler that is reached this way: it, a connection to it, and what its callers show."""
    if way == "certificate":
        certificates = Certificates(home)
        certificates.issue("ann", "client")
        scheduler = tls_scheduler(home, certificates)
        with certificates.channel(scheduler.address, "ann") as channel:
            yield scheduler, channel, None
        return
    flags, metadata = [], None
    if way == "token":
        tokens = home.path / "tokens"
        tokens.touch(0o600)
        metadata = bearer(token(home, "client", "ann", tokens))
        flags = ["--tokens", tokens]
    scheduler = Scheduler(home, *flags, listen={"[::1]": "[::1]:0", "localhost": "localhost:0"}.get(way, "127.0.0.1:0"))
    with fresh(scheduler.address) as channel:
        yield scheduler, channel, metadata


@pytest.mark.parametrize("way", ["127.0.0.1", "[::1]", "localhost", "token", "certificate"])
@pytest.mark.fault("S4", aim="the largest first messages pass")
def test_first_messages_as_large_as_messages_may_be(home, fault, way):
    if way == "[::1]" and not _can_listen("::1"):
        pytest.skip("this machine has no IPv6")
    count = fault.size(short=3, full=40, long=100)
    with reached_by(way, home) as (scheduler, channel, metadata):
        assert_first_messages_are_read(channel, metadata, count)
        assert_not_cut(scheduler)
        assert scheduler.stop() == 0
    fault.reached(f"{way}: {count} first messages of 15 MiB at once over one connection: all answered")


class Flood:
    """Somebody else who never lets go: header blocks without end, and calls without end, each over connections of its own."""

    def __init__(self, address):
        self._address = address
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._headers, self._calls)]
        self.cut = 0

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _headers(self):
        piece = frame(CONTINUATION, 0, 1, literal("x", "y") * 1000) * 20
        while not self._ended.is_set():
            with Connection(self._address) as connection:
                connection.write(frame(HEADERS, 0, 1, request_headers()))
                while not self._ended.is_set() and connection.write(piece):
                    pass
                self.cut += connection.ended

    def _calls(self):
        while not self._ended.is_set():
            with Connection(self._address) as connection:
                for first in range(1, 1 << 20, 200):
                    burst = b"".join(frame(HEADERS, END_HEADERS, stream, request_headers()) for stream in range(first, first + 200, 2))
                    if self._ended.is_set() or not connection.write(burst):
                        break
                self.cut += connection.ended


@pytest.mark.fault("S4", aim="the largest first messages pass while somebody else floods, at the fifth try at the latest")
def test_first_messages_while_somebody_floods(home, fault):
    floods = fault.size(short=2, full=20, long=200)
    scheduler = Scheduler(home, listen="127.0.0.1:0")
    messages_sent, again = 0, 0
    with Flood(scheduler.address) as flood:
        while flood.cut < floods:
            for left in reversed(range(5)):
                with fresh(scheduler.address) as channel:
                    ends = first_messages(channel)
                # Where the flood has filled gRPC's memory (kMaxNetworkBytes), it ends others' connections too, saying so.
                if left == 0 or not any("Buffers full" in end.details() for end in ends):
                    break
                again += 1
            assert_are_read(ends)
            messages_sent += len(ends)
    assert scheduler.stop() == 0
    fault.reached(f"{messages_sent} first messages of 15 MiB while {flood.cut} connections of somebody else were cut: all answered, "
                  f"{again} times at another try")


def upload(worker, lease, channel, size, chunk):
    """The error of an upload that is the first call of its connection, or None."""
    v1 = messages("worker")
    piece = bytes(chunk)
    whole = hashlib.sha256()
    for at in range(0, size, chunk):
        whole.update(piece[:min(chunk, size - at)])
    header = v1.UploadHeader(attempt=lease.attempt, worker=worker.id, kind="weights", step=1, sha256=whole.hexdigest(), bytes=size,
                             jobs=[job.id for job in lease.jobs])

    def requests():
        yield v1.UploadRequest(header=header)
        for at in range(0, size, chunk):
            yield v1.UploadRequest(chunk=piece[:min(chunk, size - at)])

    try:
        messages("worker_grpc").ArtifactsStub(channel).Upload(requests(), timeout=PATIENCE_S)
    except grpc.RpcError as error:
        return error
    return None


@pytest.mark.fault("S4", aim="an upload of hundreds of MB passes as a connection's first call, over slow lines too")
def test_an_upload_as_the_first_call(home, fault):
    size = fault.size(short=100, full=500, long=4000) * _MIB
    scheduler = Scheduler(home, *LONG_LEASES, listen="127.0.0.1:0")
    scheduler.api().SubmitSweep(small_request(), timeout=PATIENCE_S)
    worker = PlayedWorker(scheduler, pack_limit=3)
    lease = worker.take()
    for chunk in (64 << 10, 15 * _MIB):
        with fresh(scheduler.address) as channel:
            assert upload(worker, lease, channel, size, chunk) is None
            worker.synchronize(held=[lease.attempt])
    with Proxy(scheduler.address, delay_s=0.1) as proxy, fresh(proxy.address) as channel:
        assert upload(worker, lease, channel, size // 4, 15 * _MIB) is None
    assert_not_cut(scheduler)
    assert scheduler.stop() == 0
    check_ledger(home, scheduler.store)
    fault.reached(f"2 x {size // _MIB} MiB, and {size // 4 // _MIB} MiB over a line with 0.2 s round trip: taken")


@pytest.mark.fault("S4", aim="uploads that are all refused at once do not end their connection")
def test_refused_uploads_leave_their_connection(home, fault):
    count = fault.size(short=20, full=100, long=500)
    scheduler = Scheduler(home, *LONG_LEASES, listen="127.0.0.1:0")
    scheduler.api().SubmitSweep(small_request(), timeout=PATIENCE_S)
    worker = PlayedWorker(scheduler, pack_limit=3)
    lease = worker.take()
    lease.attempt += 1000  # Nobody's.
    ends = []
    with fresh(scheduler.address) as channel:
        threads = [threading.Thread(target=lambda: ends.append(upload(worker, lease, channel, 64 * _MIB, 4 * _MIB))) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [end.code() for end in ends] == [grpc.StatusCode.ABORTED] * count, ends
        messages("api_grpc").LongreachStub(channel).GetInfo(messages("api").GetInfoRequest(), timeout=PATIENCE_S)
    assert_not_cut(scheduler)
    assert scheduler.stop() == 0
    fault.reached(f"{count} uploads refused at once over one connection, which stands")


@pytest.mark.fault("S4", aim="more calls at once than a connection takes are all answered, also those of callers who give up")
def test_more_calls_at_once_than_a_connection_takes(home, fault):
    calls = fault.size(short=3_000, full=20_000, long=200_000)
    scheduler = Scheduler(home, listen="127.0.0.1:0")
    request = messages("api").GetInfoRequest()
    with fresh(scheduler.address) as channel:
        stub = messages("api_grpc").LongreachStub(channel)
        for answer in [stub.GetInfo.future(request, timeout=PATIENCE_S) for _ in range(calls)]:
            answer.result()
    given_up = 0
    with fresh(scheduler.address) as channel:
        stub = messages("api_grpc").LongreachStub(channel)
        for patience_s in (0.02, 0.1, 0.3):
            ends = [call.exception() for call in [stub.GetInfo.future(request, timeout=patience_s) for _ in range(calls)]]
            codes = {end.code() for end in ends if end is not None}
            assert codes <= {grpc.StatusCode.DEADLINE_EXCEEDED}, codes
            given_up += sum(end is not None for end in ends)
        stub.GetInfo(request, timeout=PATIENCE_S)
    assert_not_cut(scheduler)
    assert scheduler.stop() == 0
    fault.reached(f"{calls:,} calls at once over one connection, all answered; {given_up:,} that gave up: 0 connections cut")


@pytest.mark.fault("S4", aim="a fleet behind one connection is not cut")
def test_a_fleet_over_one_connection(home, fault):
    workers = fault.size(short=1_000, full=5_000, long=9_000)
    scheduler = Scheduler(home, listen="127.0.0.1:0")
    fleet = subprocess.run([BIN / "fake-workers", "--scheduler", scheduler.address, "--workers", str(workers), "--connections", "shared",
                            "--seconds", str(fault.size(short=5, full=20, long=120))], capture_output=True, text=True, timeout=10 * PATIENCE_S)
    assert fleet.returncode == 0, fleet.stderr
    assert_not_cut(scheduler)
    assert scheduler.stop() == 0
    fault.reached(f"{workers:,} workers over one connection: {json.loads(fleet.stdout)}")


@pytest.mark.fault("S4", aim="large first messages over a link-local IPv6 address, whose peers have the name of an interface")
def test_a_link_local_address(home, fault):
    if why_not():
        pytest.skip(why_not())
    with Cable() as cable:
        address = cable.link_local()
        if not address:
            pytest.skip("the cable has no IPv6")
        until(lambda: _can_listen(address), "the address is free to use: the kernel has looked for another machine that has it")
        certificates = Certificates(home)
        certificates.issue("ann", "client")
        scheduler = Scheduler(home, *certificates.server_flags(), listen=f"[{address}]:0")
        own = [certificates[f"ann.{part}"].read_bytes() for part in ("key", "crt")]
        with grpc.secure_channel(scheduler.address, grpc.ssl_channel_credentials(certificates["ca.crt"].read_bytes(), *own),
                                 options=[*_OPTIONS, ("grpc.ssl_target_name_override", "localhost")]) as channel:
            assert_first_messages_are_read(channel)
        assert scheduler.stop() == 0
        assert not refusals(scheduler), "the connection was admitted"
    fault.reached(f"3 first messages of 15 MiB over {address}: all answered")


def _can_listen(address):
    with contextlib.suppress(OSError), socket.create_server(socket.getaddrinfo(address, 0)[0][4], family=socket.AF_INET6):
        return True
    return False
