"""How many bytes of a program's heap are in use (tests/faults/memory)."""
import contextlib
import os
import socket

from harness import BIN

LIBRARY = BIN / "live_heap.so"


class LiveHeap:
    """Of the process that is started within `with heap.here():`."""

    def __init__(self, home):
        self._socket = str(home.path / "heap.sock")

    @contextlib.contextmanager
    def here(self):
        before = dict(os.environ)
        os.environ.update(LD_PRELOAD=str(LIBRARY), LIVE_HEAP=self._socket)
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)

    def mib(self):
        with socket.socket(socket.AF_UNIX) as asked:
            asked.connect(self._socket)
            return int(asked.makefile().readline()) / 2**20
