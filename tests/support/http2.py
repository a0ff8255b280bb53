"""HTTP/2 by hand: frames exactly as they are told, sound or not, for tests of how the scheduler takes what no client would send."""
import select
import socket
import struct

from harness import PATIENCE_S

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, END_HEADERS, ACK = 0x1, 0x4, 0x1
CANCEL = 8
GET_INFO = "/longreach.v1.Longreach/GetInfo"


def frame(kind, flags=0, stream=0, payload=b"", length=None):
    """A frame; `length` is what it claims, if that is not the truth."""
    return struct.pack(">I", len(payload) if length is None else length)[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def integer(value, bits, first=0):
    """A number as HPACK writes it, behind the upper bits `first`."""
    most = (1 << bits) - 1
    if value < most:
        return bytes([first | value])
    out = bytes([first | most])
    value -= most
    while value >= 128:
        out += bytes([value % 128 + 128])
        value //= 128
    return out + bytes([value])


def literal(name, value):
    """A header without index, without Huffman."""
    name, value = (text.encode() if isinstance(text, str) else text for text in (name, value))
    return b"\0" + integer(len(name), 7) + name + integer(len(value), 7) + value


def request_headers(path=GET_INFO, *more):
    """The header block of a gRPC call; `more` are pairs behind it."""
    pairs = [(":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "localhost"),
             ("content-type", "application/grpc"), ("te", "trailers"), *more]
    return b"".join(literal(name, value) for name, value in pairs)


def message(payload=b"", length=None):
    """A gRPC message; `length` is what it claims, if that is not the truth."""
    return b"\0" + struct.pack(">I", len(payload) if length is None else length) + payload


class Connection:
    """A TCP connection on which anything can be written. What cannot be written any more, because the other side has hung up
    or takes no more, is no error: `write` says so."""

    def __init__(self, address, *, greet=True):
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=PATIENCE_S)
        self.received = b""
        self.ended = False
        if greet:
            self.write(PREFACE + frame(SETTINGS))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def write(self, data):
        """False when the other side has ended the connection. Reads meanwhile, so that nobody waits for anybody."""
        view = memoryview(data)
        self.socket.setblocking(False)
        while view and not self.ended:
            readable, writable, _ = select.select([self.socket], [self.socket], [], 10)
            if not readable and not writable:
                return False  # It takes no more: its right.
            if readable:
                self._take()
            if writable and not self.ended:
                try:
                    view = view[self.socket.send(view):]
                except BlockingIOError:
                    pass
                except OSError:
                    self.ended = True
        return not self.ended

    def _take(self):
        try:
            data = self.socket.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self.ended |= not data
        self.received = (self.received + data)[-(1 << 16):]

    def read_until_end(self, seconds):
        """Reads until the other side hangs up; False when it has not after so long."""
        self.socket.setblocking(False)
        while not self.ended:
            readable, _, _ = select.select([self.socket], [], [], seconds)
            if not readable:
                return False
            self._take()
        return True
