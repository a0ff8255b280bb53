"""How many bytes of a program's heap are in use (tests/faults/memory)."""
import socket

import harness
from harness import BIN

LIBRARY = BIN / "live_heap.so"


class LiveHeap:
    """Of the process that is started within `with heap.here():`."""

    def __init__(self, home):
        self._socket = str(home.path / "heap.sock")

    def here(self):
        return harness.variables(LD_PRELOAD=LIBRARY, LIVE_HEAP=self._socket)

    def mib(self):
        with socket.socket(socket.AF_UNIX) as asked:
            asked.connect(self._socket)
            return int(asked.makefile().readline()) / 2**20
