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
from harness import PATIENCE_S, Scheduler, check_ledger, messages, until
from http2 import (CANCEL, CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, PING, RST_STREAM, SETTINGS, WINDOW_UPDATE,
                   Connection, frame, literal, message, request_headers)
from security import bearer, refusals, token

_KEPT_KIB = 24 << 10  # What the scheduler keeps for its next calls (scheduler/service/memory.h).
_LEFT_KIB = (10 + os.cpu_count()) << 10  # Of that at most, when nobody calls: threads, of which there are more on more processors, keep up to 1 MiB each.
_SCALE = {"short": 1, "full": 5, "long": 50}


def resident_kib(pid):
    """Resident memory now, and at its highest."""
    status = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line)
    return int(status["VmRSS"].split()[0]), int(status["VmHWM"].split()[0])


def sockets(pid):
    """How many it has open, so many connections and the ones that it listens with."""
    count = 0
    for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            count += os.readlink(entry).startswith("socket:")
    return count


class Bystander(threading.Thread):
    """Someone else, who asks something simple again and again while the attack goes on."""

    def __init__(self, scheduler, metadata):
        super().__init__(daemon=True)
        self._stub = scheduler.api()
        self._metadata = metadata
        self._ended = threading.Event()
        self.answers = 0
        self.failures = []
        self.longest_s = 0.0

    def run(self):
        # At least once, also beside an attack that is over before this thread is given a turn.
        while True:
            begun = time.monotonic()
            try:
                self._stub.GetInfo(messages("api").GetInfoRequest(), timeout=PATIENCE_S, metadata=self._metadata)
                self.answers += 1
            except grpc.RpcError as error:
                self.failures.append(f"{error.code()}: {error.details()}")
            self.longest_s = max(self.longest_s, time.monotonic() - begun)
            if self._ended.wait(0.01):
                return

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
            for _ in range(400 * scale):  # In the short form, too, more than a connection may send without getting on.
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
        with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as plain, contextlib.suppress(OSError):
            context.wrap_socket(plain).close()


ATTACKS = [header_of_2023_1428, rapid_reset, many_headers, continuation_flood, table_bomb, slow_loris, large_messages, broken_frames,
           settings_and_ping_floods, garbage, tls_on_a_plain_port]


# One call's worth of header fields, 21 MiB, is what a connection may send without getting on; gRPC makes up to 50 bytes of each when it ends.
_HIGHEST_KIB = 3 << 19


class Gate:
    """Who a scheduler lets in: everybody of its machine, or who shows a token."""

    def __init__(self, home, asks):
        self.flags, self.metadata = [], None
        if asks:
            tokens = home.path / "tokens"
            tokens.touch(0o600)
            self.flags = ["--tokens", tokens]
            self.metadata = bearer(token(home, "reader", "bystander", tokens))


@pytest.mark.parametrize("gate", ["open", "tokens"])
@pytest.mark.fault("S4", aim=f"0 deaths, other callers are answered meanwhile, memory below {_HIGHEST_KIB >> 10} MiB in each attack and "
                             f"< 2x (and 24 MiB) after it, at most {_LEFT_KIB >> 10} MiB more in the end")
def test_hostile_http2(home, fault, gate):
    admission = Gate(home, gate == "tokens")
    scheduler = Scheduler(home, *admission.flags, listen="127.0.0.1:0")
    for _ in range(200):
        scheduler.api().GetInfo(messages("api").GetInfoRequest(), timeout=PATIENCE_S, metadata=admission.metadata)
    before = resident_kib(scheduler.pid)[0]
    told = []
    for attack in ATTACKS:
        name = attack.__name__
        # From here on the highest is that of this attack.
        pathlib.Path(f"/proc/{scheduler.pid}/clear_refs").write_text("5")
        connections = sockets(scheduler.pid)
        bystander = Bystander(scheduler, admission.metadata)
        bystander.start()
        attack(scheduler.address, _SCALE[fault.form])
        bystander.end()
        assert scheduler.is_running(), f"{name} ended the scheduler: {scheduler.wait()}"
        assert bystander.answers > 0 and not bystander.failures, f"{name}: {bystander.failures[:3]}"
        gone = time.monotonic()
        # What was sent is read, and answered, when the sender has long gone; one more may be the bystander's.
        until(lambda: sockets(scheduler.pid) <= connections + 1, f"the connections of {name} have ended")
        after = until(lambda: (now := resident_kib(scheduler.pid)[0]) < 2 * before + _KEPT_KIB and now,
                      lambda: f"the memory is given back after {name}: {before} KiB before, now and at its highest {resident_kib(scheduler.pid)}; "
                              f"after the ones before it {[(row[0], row[3]) for row in told]}")
        told.append((name, bystander.longest_s, resident_kib(scheduler.pid)[1], after, time.monotonic() - gone))
        # How far gRPC gets before the next look is a matter of the machine's load: beside other tests it is told and not judged.
        assert told[-1][2] < _HIGHEST_KIB or fault.form == "short", told
    # What no trim gives back would add up over the weeks that a scheduler runs.
    left = until(lambda: (now := resident_kib(scheduler.pid)[0]) < before + _LEFT_KIB and now,
                 lambda: f"nearly all memory is given back in the end: {before} KiB before, now {resident_kib(scheduler.pid)[0]}")
    cut = [line for line in refusals(scheduler) if ": cut, " in line]
    assert cut, "a flood of calls is cut"
    scheduler.api().GetInfo(messages("api").GetInfoRequest(), timeout=PATIENCE_S, metadata=admission.metadata)
    assert scheduler.stop() == 0
    check_ledger(home, scheduler.store)
    slowest, highest, longest = (max(told, key=lambda row, of=of: row[of]) for of in (1, 2, 4))
    fault.reached(f"{len(ATTACKS)} kinds of attack, 0 deaths, 0 calls of others failed; the longest took {slowest[1]:.2f} s ({slowest[0]})")
    fault.reached(f"resident memory {before / 1024:.0f} MiB before, {highest[2] / 1024:.0f} MiB at its highest ({highest[0]}), at most "
                  f"{max(row[3] for row in told) / 1024:.0f} MiB after {longest[4]:.1f} s ({longest[0]}), "
                  f"{left / 1024:.0f} MiB in the end; {len(cut)} connections cut")
    fault.reached("highest of each, MiB: " + ", ".join(f"{row[0]} {row[2] / 1024:.0f}" for row in told))
