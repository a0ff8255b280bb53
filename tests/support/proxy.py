"""A TCP proxy that does to connections what networks do.

    with Proxy(scheduler.address, delay_s=0.3, reset_share=0.05) as proxy:
        worker = Worker(home, proxy)          # anything with an `address`
        proxy.hold()                          # not a byte passes, no connection ends: one-way or both ways
        proxy.heal()                          # what was held back is delivered
        proxy.strand()                        # the connections of now stay silent for ever; new ones work
        proxy.cut(); proxy.heal()             # all connections reset, new ones refused

"up" is towards the scheduler, "down" away from it. A choice that is left to chance is drawn from `seed`.
"""
import argparse
import asyncio
import contextlib
import random
import socket
import struct
import sys
import threading

DIRECTIONS = ("up", "down")
_PIECE = 64 << 10
_PIECES_IN_FLIGHT = 64


class Proxy:
    """Listens on an address of its own, and passes on to `target` ("host:port" or "unix:PATH")."""

    def __init__(self, target, *, listen="127.0.0.1:0", delay_s=0.0, bytes_per_s=None, reset_share=0.0, reset_behind=None, seed=1):
        self._target = target
        self.delay_s = delay_s                # Of each piece, each way; may be changed while running, as may the next three.
        self.bytes_per_s = bytes_per_s        # Of all connections together, each way.
        self.reset_share = reset_share        # Of the pieces (at most 64 KiB each): its connection ends with a reset instead.
        self.reset_behind = reset_behind      # Bytes upwards: a connection that has carried as many is reset.
        self.connections = 0                  # Accepted so far.
        self.resets = 0
        self.passed = dict.fromkeys(DIRECTIONS, 0)  # Bytes.
        self._chance = random.Random(seed)
        self._links = set()
        self._held = set()
        self._is_cut = False
        self._free_at = dict.fromkeys(DIRECTIONS, 0.0)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        host, port = listen.rsplit(":", 1)
        self._server = self._do(asyncio.start_server(self._accept, host, int(port)))
        self.address = "{}:{}".format(*self._server.sockets[0].getsockname()[:2])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if not self._thread.is_alive():
            return
        self._do(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def hold(self, *directions):
        """From now on nothing passes in these directions (default: both), and no connection ends: a half-open link."""
        self._do(self._hold(directions or DIRECTIONS))

    def strand(self):
        """The connections of now pass nothing any more, ever; new ones do. As when a firewall forgets them."""
        self._do(self._strand())

    def cut(self):
        """All connections are reset, and new ones as soon as they come."""
        self._do(self._cut())

    def heal(self):
        """The end of hold() and cut(). What was held back passes now."""
        self._do(self._heal())

    def reset_one(self):
        """Resets one connection, whichever; gives how many there were."""
        return self._do(self._reset_one())

    def open_connections(self):
        return self._do(self._count())

    def given_up(self, direction):
        """Connections of now whose sender in this direction has hung up, which the other side has not been told yet."""
        return self._do(self._count(direction))

    def _do(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(120)

    async def _accept(self, reader, writer):
        if self._is_cut:
            _reset(writer)
            return
        self.connections += 1
        link = _Link(self, reader, writer)
        self._links.add(link)
        try:
            await link.run()
        except asyncio.CancelledError:
            pass  # By _end(); the streams' own callback would print it as an error.
        finally:
            self._links.discard(link)

    async def _connect(self):
        if self._target.startswith("unix:"):
            return await asyncio.open_unix_connection(self._target.removeprefix("unix:"))
        host, port = self._target.rsplit(":", 1)
        return await asyncio.open_connection(host, int(port))

    async def _hold(self, directions):
        assert set(directions) <= set(DIRECTIONS), directions
        self._held.update(directions)
        for link in self._links:
            link.obey()

    async def _strand(self):
        for link in self._links:
            link.stranded = True
            link.obey()

    async def _cut(self):
        self._is_cut = True
        for link in list(self._links):
            link.reset()

    async def _heal(self):
        self._is_cut = False
        self._held.clear()
        for link in self._links:
            link.obey()

    async def _reset_one(self):
        links = sorted(self._links, key=id)
        if links:
            self._chance.choice(links).reset()
        return len(links)

    async def _count(self, direction=None):
        return sum(direction is None or direction in link.hung_up for link in self._links)

    async def _end(self):
        self._server.close()
        for link in list(self._links):
            link.reset()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _line_free(self, direction, size):
        """Waits until the line has carried a piece of this size."""
        if not self.bytes_per_s:
            return
        now = self._loop.time()
        self._free_at[direction] = max(self._free_at[direction], now) + size / self.bytes_per_s
        await asyncio.sleep(self._free_at[direction] - now)


class _Link:
    """One connection: two streams, and a gate in each direction."""

    def __init__(self, proxy, reader, writer):
        self._proxy = proxy
        self._near = (reader, writer)
        self._far = None
        self._gates = {direction: asyncio.Event() for direction in DIRECTIONS}
        self.stranded = False
        self._carried = dict.fromkeys(DIRECTIONS, 0)  # Bytes.
        self.hung_up = set()  # Directions whose sender sends no more.
        self.obey()

    def obey(self):
        for direction, gate in self._gates.items():
            if self.stranded or direction in self._proxy._held:
                gate.clear()
            else:
                gate.set()

    def reset(self):
        self._proxy.resets += 1
        for stream in filter(None, (self._near, self._far)):
            _reset(stream[1])

    async def run(self):
        try:
            await self._gates["up"].wait()  # Not even a connection is made while nothing passes.
            self._far = await self._proxy._connect()
            ways = {asyncio.ensure_future(way) for way in (self._carry("up", self._near[0], self._far[1]),
                                                           self._carry("down", self._far[0], self._near[1]))}
            try:
                # An error of either way ends both; the end of one way is passed on, and the other goes on.
                await asyncio.gather(*ways)
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)
        except (OSError, _Ended):
            pass
        finally:
            for stream in filter(None, (self._near, self._far)):
                _reset(stream[1])

    async def _carry(self, direction, reader, writer):
        pieces = asyncio.Queue(_PIECES_IN_FLIGHT)
        taking = asyncio.ensure_future(self._take(direction, reader, pieces))
        try:
            while True:
                due, piece = await pieces.get()
                await asyncio.sleep(due + self._proxy.delay_s - self._proxy._loop.time())
                await self._proxy._line_free(direction, len(piece))
                await self._gates[direction].wait()
                if piece and self._proxy._chance.random() < self._proxy.reset_share:
                    self._proxy.resets += 1
                    raise _Ended
                if not piece:
                    if writer.can_write_eof():
                        writer.write_eof()
                    return
                # Counted first: whoever has the bytes may look at the count.
                self._proxy.passed[direction] += len(piece)
                writer.write(piece)
                await writer.drain()
                self._carried[direction] += len(piece)
                if direction == "up" and self._proxy.reset_behind and self._carried[direction] >= self._proxy.reset_behind:
                    self._proxy.resets += 1
                    raise _Ended
        finally:
            taking.cancel()

    async def _take(self, direction, reader, pieces):
        while True:
            try:
                piece = await reader.read(_PIECE)
            except OSError:
                piece = b""
            if not piece:
                self.hung_up.add(direction)
            await pieces.put((self._proxy._loop.time(), piece))
            if not piece:
                return


class _Ended(Exception):
    """The connection was reset on purpose."""


def _reset(writer):
    """Ends a connection with a reset, whatever is under way."""
    with contextlib.suppress(OSError, AttributeError):
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def main():
    """A plain forwarder as a process of its own, for another network namespace; ends with its standard input."""
    parser = argparse.ArgumentParser()
    parser.add_argument("target")
    with Proxy(parser.parse_args().target) as proxy:
        print("listening on", proxy.address, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
