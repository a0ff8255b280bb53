"""The proxy of the network tests does what it says: otherwise those tests show nothing."""
import contextlib
import socket
import socketserver
import threading
import time

import pytest

from harness import PATIENCE_S
from proxy import Proxy


@pytest.fixture
def echo():
    """The address of a server that sends back what it gets."""
    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            with contextlib.suppress(OSError):
                while data := self.request.recv(65536):
                    self.request.sendall(data)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield "{}:{}".format(*server.server_address)
        server.shutdown()


def connect(proxy):
    host, port = proxy.address.split(":")
    connection = socket.create_connection((host, int(port)), timeout=PATIENCE_S)
    return connection


def asked(connection, text=b"hello"):
    """What comes back for `text`."""
    connection.sendall(text)
    got = b""
    while len(got) < len(text):
        piece = connection.recv(65536)
        if not piece:
            raise ConnectionResetError("ended")
        got += piece
    return got


def test_passes_everything_in_order(echo):
    with Proxy(echo) as proxy, connect(proxy) as connection:
        content = bytes(range(256)) * 400
        assert asked(connection, content) == content
        assert proxy.passed == {"up": len(content), "down": len(content)}


def test_delays_each_way_without_losing_order(echo):
    with Proxy(echo, delay_s=0.1) as proxy, connect(proxy) as connection:
        begun = time.monotonic()
        assert asked(connection, b"abc") == b"abc"
        assert time.monotonic() - begun >= 0.2


def test_a_slow_line_is_shared(echo):
    with Proxy(echo, bytes_per_s=50_000) as proxy, connect(proxy) as connection:
        begun = time.monotonic()
        asked(connection, b"x" * 10_000)
        assert time.monotonic() - begun >= 0.2


@pytest.mark.parametrize("direction", ["up", "down"])
def test_what_is_held_back_comes_after_the_healing(echo, direction):
    with Proxy(echo) as proxy, connect(proxy) as connection:
        asked(connection)
        before = proxy.passed[direction]
        proxy.hold(direction)
        connection.sendall(b"later")
        connection.settimeout(0.2)
        with pytest.raises(TimeoutError):
            connection.recv(100)
        assert proxy.passed[direction] == before
        proxy.heal()
        connection.settimeout(PATIENCE_S)
        assert connection.recv(100) == b"later"


def test_stranded_connections_stay_silent_and_new_ones_work(echo):
    with Proxy(echo) as proxy, connect(proxy) as old:
        asked(old)
        proxy.strand()
        old.sendall(b"lost")
        with connect(proxy) as new:
            assert asked(new) == b"hello"
        old.settimeout(0.2)
        with pytest.raises(TimeoutError):
            old.recv(100)


def test_a_cut_resets_and_refuses_until_it_is_healed(echo):
    with Proxy(echo) as proxy, connect(proxy) as connection:
        asked(connection)
        proxy.cut()
        with pytest.raises(ConnectionError):
            asked(connection)
        with pytest.raises(ConnectionError), connect(proxy) as refused:  # The reset may come before connect() is through.
            asked(refused)
        proxy.heal()
        with connect(proxy) as new:
            assert asked(new) == b"hello"


def test_resets_are_a_share_of_the_pieces_and_repeat_with_the_seed(echo):
    def resets(seed):
        ended = 0
        with Proxy(echo, reset_share=0.2, seed=seed) as proxy:
            for _ in range(50):
                with connect(proxy) as connection, contextlib.suppress(ConnectionError):
                    asked(connection)
                    continue
                ended += 1
            assert proxy.resets == ended
        return ended

    assert 5 <= resets(1) <= 35  # 1 - 0.8 * 0.8 of 50 are 18.
    assert resets(1) == resets(1)


def test_each_connection_is_reset_behind_so_many_bytes(echo):
    with Proxy(echo, reset_behind=1000) as proxy:
        for _ in range(2):
            with connect(proxy) as connection:
                asked(connection, b"x" * 999)
                with pytest.raises(ConnectionError):
                    asked(connection, b"x")
                    asked(connection)  # The one before may have passed.
        assert proxy.resets == 2
