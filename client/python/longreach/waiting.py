"""A sweep, watched until it is finished, also by a scheduler that goes away and comes back."""
from __future__ import annotations

import time
from typing import Iterator

from longreach import protocol
from longreach.calls import AWAY, Calls, pause_s
from longreach.errors import Error, error_of

# How long each watch lasts before it is begun anew; then there is a moment for something else.
WATCH_S = 10.0
_LEAST_S = 1.0
# A scheduler that went away is waited for so long.
AWAY_PATIENCE_S = 600.0


def watched(calls: Calls, sweep: str, end: float | None) -> Iterator:
    """(update, True) for each message SweepUpdate, the last of which is finished. In between (None, whether the scheduler answers), at the latest after WATCH_S, or
    at `end`, a time of time.monotonic(). Unreachable: it was away for AWAY_PATIENCE_S."""
    request = protocol.message("GetSweepRequest")(sweep=sweep)
    lost_at, tries = None, 0
    while True:
        answered, failure = False, None
        left = WATCH_S if end is None else min(WATCH_S, end - time.monotonic())
        try:
            # Also without any time it is asked once.
            for update in calls.follow("WatchSweep", request, timeout=left if left > 0 else _LEAST_S):
                answered, lost_at, tries = True, None, 0
                yield update, True
                if update.finished:
                    return
        except Error as error:
            failure = error
        is_over = failure is not None and failure.code == "DEADLINE_EXCEEDED"
        if is_over and answered:
            yield None, True
            continue
        # Whoever answers says at once how the sweep is.
        if failure is not None and not is_over and failure.code not in AWAY:
            raise failure from None
        if failure is None:  # As something between us and the scheduler may do it.
            failure = error_of("UNAVAILABLE", f"the scheduler at {calls.address} ended the watch of a sweep before it was finished")
        now = time.monotonic()
        lost_at = now if lost_at is None else lost_at
        if now - lost_at >= AWAY_PATIENCE_S:
            raise failure from None
        tries += 1
        time.sleep(pause_s(tries) if end is None else max(0.0, min(pause_s(tries), end - now)))
        yield None, False
