"""Programs of a benchmark: begun together, cut off at their limits."""
import os
import signal
import subprocess
import threading
import time

from gpu_device import Missing


class CutOff(Missing):
    """A program did not end within its time."""


def ended(process):
    """Ends what was started as a session of its own, with all that it started, if it still runs."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


class NotBegun(Missing):
    """Because another one of those that were to begin together could not."""


def begin_with(others, process, limit_s):
    """Lets a program that writes 'ready' and waits for a line go on when all of them are so far; if one never is, none does."""
    until = time.monotonic() + limit_s
    cut_off = threading.Timer(max(limit_s, 0), ended, [process])
    cut_off.start()
    ready = process.stdout.readline().strip() == "ready"
    cut_off.cancel()
    try:
        if not ready:
            others.abort()
        others.wait(max(until - time.monotonic(), 0))
    except threading.BrokenBarrierError:
        if ready:
            raise NotBegun("another one did not begin") from None


def finished(command, environment, limit_s, others=None):
    """(exit code or None when it was cut off, standard output, standard error, when it ended). `others`: a barrier for programs that begin
    together."""
    process = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=environment, start_new_session=True)
    until = time.monotonic() + limit_s
    try:
        if others is not None:
            begin_with(others, process, limit_s)
        out, error = process.communicate("\n", timeout=max(until - time.monotonic(), 0))
        return process.returncode, out, error, time.monotonic()
    except subprocess.TimeoutExpired:
        raise CutOff(f"cut off after {limit_s:.0f} s") from None
    finally:
        ended(process)


def last_words(text):
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    refusal = next((line for line in lines if line.startswith("error:")), None)
    return (refusal or " ".join(lines[-2:]))[:300]
