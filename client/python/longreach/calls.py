"""Calls to one scheduler: deadlines, tries, and what their ends mean (docs/howto/api.md)."""
from __future__ import annotations

import time
from typing import Iterator

import grpc

from longreach import protocol
from longreach.errors import Error, error_of

# Every call may be repeated. The pauses between its tries are 0.2, 0.4, ... s: together 6.2 s.
TRIES = 6
FIRST_PAUSE_S = 0.2
LONGEST_PAUSE_S = 5.0
# Far above what a call takes; those that read or write all jobs of a large sweep take longer.
PATIENCE_S = 60.0
LONG_PATIENCE_S = 600.0
_LONG = {"SubmitSweep", "SteerSweep", "GetTable", "ListMeasurements", "ListAttempts", "CheckStore", "BackupStore", "MergeStore", "RepairStore"}
# The scheduler is away: also where it ended a call that nobody here has called off, as one that shuts down does.
AWAY = ("UNAVAILABLE", "CANCELLED")


def pause_s(attempt: int) -> float:
    """After the first, second, ... try that found no scheduler."""
    return min(FIRST_PAUSE_S * 2 ** min(attempt - 1, 20), LONGEST_PAUSE_S)


class Calls:
    """The calls of a channel. `metadata` goes with each: the token."""

    def __init__(self, channel: grpc.Channel, address: str, metadata: tuple = ()):
        self.address = address
        self._channel = channel
        self._metadata = metadata

    def once(self, name: str, request, timeout: float | None = None):
        """One try of one call; its answer."""
        method = protocol.method(name)
        call = self._channel.unary_unary(method.path, request_serializer=method.request.SerializeToString, response_deserializer=method.response.FromString)
        if timeout is None:
            timeout = LONG_PATIENCE_S if name in _LONG else PATIENCE_S
        try:
            return call(request, timeout=timeout, metadata=self._metadata)
        except grpc.RpcError as error:
            raise self._translated(error) from None
        except ValueError:  # What gRPC says of a channel that is closed.
            raise _closed() from None

    def ask(self, name: str, request, timeout: float | None = None, tries: int = TRIES):
        """The same, again while the scheduler is away. Unreachable: at the last try, too."""
        for attempt in range(1, tries + 1):
            try:
                return self.once(name, request, timeout)
            except Error as error:
                if error.code not in AWAY or attempt == tries:
                    raise
            time.sleep(pause_s(attempt))

    def follow(self, name: str, request, timeout: float | None = None) -> Iterator:
        """The answers of a call that streams them, until it ends. It is not made again by itself."""
        method = protocol.method(name)
        call = self._channel.unary_stream(method.path, request_serializer=method.request.SerializeToString, response_deserializer=method.response.FromString)
        try:
            stream = call(request, timeout=timeout, metadata=self._metadata)
        except ValueError:
            raise _closed() from None
        try:
            yield from stream
        except grpc.RpcError as error:
            raise self._translated(error) from None
        finally:
            stream.cancel()

    def close(self) -> None:
        self._channel.close()

    def _translated(self, error) -> Error:
        code, said = error.code().name, error.details() or ""
        if code in AWAY:
            said = f"no answer from a scheduler at {self.address}: {said}"
        elif code == "DEADLINE_EXCEEDED":
            said = f"the scheduler at {self.address} did not answer in time; the call may be repeated"
        elif code == "UNIMPLEMENTED":
            said = f"the scheduler at {self.address} does not know this call: it is of another version than this package, or no scheduler at all"
        return error_of(code, said)


def _closed() -> Error:
    return error_of("FAILED_PRECONDITION", "this client is closed; connect() or open_store() makes a new one")
