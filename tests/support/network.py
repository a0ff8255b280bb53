"""A machine of its own for a worker: a network namespace with one cable, which can be pulled, and be made slow.

    scheduler on 127.0.0.1 <- forwarder on the cable's near end <=cable=> namespace: forwarder on its 127.0.0.1 <- worker

Scheduler and worker see addresses of this machine alone; what lies between them is a real link. Needs root and CAP_NET_ADMIN.
"""
import functools
import os
import subprocess
import sys

from harness import BIN, ROOT, Process, until
from proxy import Proxy


def _run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")


@functools.cache
def why_not():
    """Why there can be no namespaces here; empty: there can."""
    try:
        with Cable():
            return ""
    except OSError as error:
        return str(error)


class Cable:
    """A namespace and a cable to it."""

    _made = 0

    def __init__(self):
        Cable._made += 1
        self._name = f"lr{os.getpid()}x{Cable._made}"  # A link's name has at most 15 letters.
        net = f"10.213.{(os.getpid() + Cable._made) % 250 + 1}"
        self.near, self.far = f"{net}.1", f"{net}.2"

    def __enter__(self):
        try:
            _run("ip", "netns", "add", self._name)
            _run("ip", "link", "add", self._name, "type", "veth", "peer", "name", "cable", "netns", self._name)
            _run("ip", "address", "add", f"{self.near}/30", "dev", self._name)
            _run("ip", "link", "set", self._name, "up")
            for arguments in (("address", "add", f"{self.far}/30", "dev", "cable"), ("link", "set", "cable", "up"),
                              ("link", "set", "lo", "up")):
                _run("ip", "-n", self._name, *arguments)
        except OSError:
            self.__exit__()
            raise
        return self

    def link_local(self):
        """The near end's IPv6 address with its interface, "fe80::1%cable"; empty where there is no IPv6."""
        shown = subprocess.run(["ip", "-6", "-o", "address", "show", "dev", self._name, "scope", "link"], capture_output=True, text=True).stdout
        return f"{shown.split()[3].partition('/')[0]}%{self._name}" if shown else ""

    def __exit__(self, *_):
        subprocess.run(["ip", "link", "del", self._name], capture_output=True)
        subprocess.run(["ip", "netns", "del", self._name], capture_output=True)

    def pull(self):
        _run("ip", "link", "set", self._name, "down")

    def plug(self):
        _run("ip", "link", "set", self._name, "up")

    def limit(self, rate):
        """At most so much each way ("256kbit"), with a queue of half a second."""
        _run("tc", "qdisc", "replace", "dev", self._name, "root", "tbf", "rate", rate, "burst", "4kb", "latency", "500ms")
        _run("ip", "netns", "exec", self._name, "tc", "qdisc", "replace", "dev", "cable", "root", "tbf", "rate", rate, "burst", "4kb",
             "latency", "500ms")

    def inside(self, *command):
        """A command that runs in the namespace."""
        return ["ip", "netns", "exec", self._name, *command]


class RemoteWorker(Process):
    """A worker at the far end of a cable. `proxy` is the forwarder at its near end."""

    def __init__(self, home, cable, scheduler, *arguments, **harm):
        self.proxy = Proxy(scheduler.address, listen=f"{cable.near}:0", **harm)
        self._forwarder = Process(home, "forwarder", cable.inside(sys.executable, "-B", ROOT / "tests/support/proxy.py", self.proxy.address))
        address = self._forwarder.next_line().removeprefix("listening on ")
        self.worker_name = f"remote-{len(home.processes)}"
        super().__init__(home, self.worker_name, cable.inside(
            BIN / "longreach-worker", "run", "--scheduler", address, "--state", home.path / self.worker_name, "--name", self.worker_name,
            "--threads", "1", *arguments))

    def close(self):
        self.kill()
        self._forwarder.kill()
        self.proxy.close()


def came_back(worker, before=0):
    """How often a worker has said that its scheduler answers again, once that is more than `before`."""
    return until(lambda: max(0, worker.log().count("answers again") - before), "the worker hears its scheduler again")
