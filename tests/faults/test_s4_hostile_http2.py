"""S4: whatever bytes come to the port, the scheduler lives, keeps its memory bounded, and answers others meanwhile."""
import contextlib
import os
import pathlib
import socket
import ssl
import threading
import time

import grpc
import pytest

import http2
from harness import Scheduler, check_ledger, messages, until
from http2 import (CANCEL, CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, PING, RST_STREAM, SETTINGS, WINDOW_UPDATE,
                   Connection, frame, literal, message, request_headers)

_KEPT_KIB = 24 << 10  # What the scheduler keeps for its next calls (scheduler/service/memory.h).
_SCALE = {"short": 1, "full": 5, "long": 50}


def resident_kib(pid):
    """Resident memory now, and at its highest."""
    status = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line)
    return int(status["VmRSS"].split()[0]), int(status["VmHWM"].split()[0])


class Bystander(threading.Thread):
    """Someone else, who asks something simple again and again while the attack goes on."""

    def __init__(self, scheduler):
        super().__init__(daemon=True)
        self._stub = scheduler.api()
        self._ended = threading.Event()
        self.answers = 0
        self.failures = []
        self.longest_s = 0.0

    def run(self):
        while not self._ended.is_set():
            begun = time.monotonic()
            try:
                self._stub.GetInfo(messages("api").GetInfoRequest(), timeout=30)
                self.answers += 1
            except grpc.RpcError as error:
                self.failures.append(f"{error.code()}: {error.details()}")
            self.longest_s = max(self.longest_s, time.monotonic() - begun)
            self._ended.wait(0.01)

    def end(self):
        self._ended.set()
        self.join()


def header_of_2023_1428(address, scale):
    """CVE-2023-1428: an 'x: x' header with a raw, unterminated or misplaced value made gRPC abort."""
    blocks = [literal("te", "x" * 100), literal("grpc-timeout", "99999999999999999999n"), literal("grpc-encoding", b"\xff\xfe"),
              literal("content-type", "application/grpc" + "+" * 5000), literal(":path", "/again"), literal("host", b"\0" * 10),
              literal("grpc-status", "999999999999999999999"), literal("x-bin", "%%%not base64%%%"), literal("lb-token", "x"),
              literal("te", "trailers") * 50, literal("grpc-tags-bin", "AA"), literal("grpc-trace-bin", "AA=")]
    for block in blocks * scale:
        with Connection(address) as connection:
            connection.write(frame(HEADERS, END_HEADERS, 1, request_headers() + block) + frame(DATA, END_STREAM, 1, message()))
            connection.write(frame(HEADERS, END_HEADERS | END_STREAM, 3, block + request_headers()))


def rapid_reset(address, scale):
    """CVE-2023-44487: streams opened and reset at once."""
    for _ in range(2):
        with Connection(address) as connection:
            for first in range(1, 20_000 * scale, 200):
                burst = b"".join(frame(HEADERS, END_HEADERS, stream, request_headers()) +
                                 frame(RST_STREAM, 0, stream, CANCEL.to_bytes(4, "big")) for stream in range(first, first + 200, 2))
                if not connection.write(burst):
                    break


def many_headers(address, scale):
    """Header frames, each a stream that is never finished; 100,000 of them in the full form."""
    with Connection(address) as connection:
        for first in range(1, 40_000 * scale, 400):
            if not connection.write(b"".join(frame(HEADERS, END_HEADERS, stream, request_headers())
                                             for stream in range(first, first + 400, 2))):
                break


def continuation_flood(address, scale):
    """A header block that never ends."""
    for piece in (literal("a" * 100, "b" * 8000), b"", literal("x", "y") * 1000):
        with Connection(address) as connection:
            connection.write(frame(HEADERS, 0, 1, request_headers()))
            for _ in range(100 * scale):
                if not connection.write(frame(CONTINUATION, 0, 1, piece) * 20):
                    break


def table_bomb(address, scale):
    """One large header in HPACK's table, then thousands of references of a byte each."""
    big = b"\x40" + http2.integer(1, 7) + b"a" + http2.integer(4000, 7) + b"b" * 4000
    with Connection(address) as connection:
        for stream in range(1, 400 * scale, 2):
            if not connection.write(frame(HEADERS, END_HEADERS, stream, request_headers() + big + b"\xbe" * 10_000)):
                break


def slow_loris(address, scale):
    """Hundreds of connections that say a byte now and then and never finish."""
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(Connection(address, greet=False)) for _ in range(200 * scale)]
        for byte in range(24):
            for connection in connections:
                connection.write(http2.PREFACE[byte:byte + 1])
        for connection in connections:
            connection.write(frame(SETTINGS) + frame(HEADERS, 0, 1, request_headers()[:20]))
        for byte in request_headers()[20:24]:
            for connection in connections:
                connection.write(frame(CONTINUATION, 0, 1, bytes([byte])))


def large_messages(address, scale):
    """Messages over 4 MB and over 16 MB, whole, and ones that only claim to be."""
    for size in (5 << 20, 17 << 20, 80 << 20):
        with Connection(address) as connection:
            connection.write(frame(HEADERS, END_HEADERS, 1, request_headers()))
            connection.write(frame(DATA, 0, 1, message(b"", length=size)))
            piece = b"x" * 16384
            for _ in range(size // len(piece) // (4 if size > 20 << 20 else 1)):
                if not connection.write(frame(DATA, 0, 1, piece)):
                    break
    with Connection(address) as connection:
        connection.write(frame(HEADERS, END_HEADERS, 1, request_headers()) + frame(DATA, END_STREAM, 1, message(b"x", length=0xFFFFFFFF)))


def broken_frames(address, scale):
    """Frames that contradict the protocol or themselves."""
    frames = [frame(DATA, 0, 0, b"x"), frame(DATA, 0, 99, b"x"), frame(SETTINGS, 0, 0, b"x" * 5), frame(SETTINGS, 0, 1),
              frame(PING, 0, 0, b"short"), frame(WINDOW_UPDATE, 0, 0, bytes(4)), frame(WINDOW_UPDATE, 0, 0, b"\x7f\xff\xff\xff") * 2,
              frame(CONTINUATION, END_HEADERS, 1, b""), frame(HEADERS, END_HEADERS, 2, request_headers()), frame(0xEE, 0xFF, 7, b"?" * 99),
              frame(HEADERS, END_HEADERS, 1, b"\x3f\xff\xff\xff\xff\xff\xff\xff"), frame(HEADERS, END_HEADERS, 1, b"\xff\xff\xff\xff\xff\x7f"),
              frame(DATA, 0, 1, b"", length=0xFFFFFF), frame(HEADERS, 0x28, 1, b"\xff" + b"x" * 5),
              frame(SETTINGS, 0, 0, b"\0\4\xff\xff\xff\xff"), frame(SETTINGS, 0, 0, b"\0\5\0\0\0\1")]
    for broken in frames * scale:
        with Connection(address) as connection:
            connection.write(broken)
            connection.read_until_end(0.05)


def settings_and_ping_floods(address, scale):
    """Frames that each want an answer, from someone who reads none."""
    for flood in (frame(SETTINGS), frame(PING, 0, 0, b"longreac"), frame(SETTINGS, 0, 0, b"\0\4\0\0\0\0")):
        with Connection(address) as connection:
            for _ in range(100 * scale):
                if not connection.write(flood * 500):
                    break


def garbage(address, scale):
    """Random bytes, another protocol's, and half a greeting."""
    pieces = [os.urandom(65536), b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", http2.PREFACE[:10], http2.PREFACE + os.urandom(4096), b"\0" * 65536,
              b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + os.urandom(500)]
    for piece in pieces * scale:
        with Connection(address, greet=False) as connection:
            connection.write(piece)
            connection.read_until_end(0.05)


def tls_on_a_plain_port(address, scale):
    """A client that expects TLS."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    host, port = address.rsplit(":", 1)
    for _ in range(5 * scale):
        with socket.create_connection((host, int(port)), timeout=10) as plain, contextlib.suppress(OSError):
            context.wrap_socket(plain).close()


ATTACKS = [header_of_2023_1428, rapid_reset, many_headers, continuation_flood, table_bomb, slow_loris, large_messages, broken_frames,
           settings_and_ping_floods, garbage, tls_on_a_plain_port]


@pytest.mark.fault("S4", aim="0 deaths, other callers are answered meanwhile, resident memory < 2x (and 24 MiB) once the attackers are gone")
def test_hostile_http2(home, fault):
    scheduler = Scheduler(home, listen="127.0.0.1:0")
    info = messages("api").GetInfoRequest()
    for _ in range(200):
        scheduler.api().GetInfo(info, timeout=30)
    before, _ = resident_kib(scheduler.pid)
    told = []
    for attack in ATTACKS:
        bystander = Bystander(scheduler)
        bystander.start()
        begun = time.monotonic()
        attack(scheduler.address, _SCALE[fault.form])
        took = time.monotonic() - begun
        bystander.end()
        assert scheduler.is_running(), f"{attack.__name__} ended the scheduler: {scheduler.wait()}"
        assert bystander.answers > 0 and not bystander.failures, f"{attack.__name__}: {bystander.failures[:3]}"
        told.append((attack.__name__, took, bystander.longest_s, *resident_kib(scheduler.pid)))
    _, highest = resident_kib(scheduler.pid)
    gone = time.monotonic()
    # While a flood goes on, gRPC bounds only those who acknowledge its limits: a stream that is never finished takes about 12 KiB.
    now = until(lambda: (now := resident_kib(scheduler.pid)[0]) < 2 * before + _KEPT_KIB and now, "the memory is given back")
    took = time.monotonic() - gone
    scheduler.api().GetInfo(info, timeout=30)
    assert scheduler.stop() == 0
    check_ledger(home, scheduler.store)
    slowest = max(told, key=lambda row: row[2])
    fault.reached(f"{len(ATTACKS)} kinds of attack, 0 deaths, 0 calls of others failed; the longest took {slowest[2]:.2f} s ({slowest[0]})")
    fault.reached(f"resident memory {before / 1024:.0f} MiB before, {highest / 1024:.0f} MiB at its highest, {now / 1024:.0f} MiB "
                  f"{took:.0f} s after the last attack")
    assert highest < 2 << 20, told  # 2 GiB.
