"""A GPU as NVIDIA's own tools show it: what it is, how it does under load, and several processes on it at once. Only asks; changes no setting."""
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

PATIENCE_S = 30
# As nvidia-smi --help-query-gpu names them, with what the figures call them.
FACTS = {"name": "name", "driver_version": "driver", "memory.total": "memory_mib", "clocks.max.sm": "sm_mhz_limit", "power.limit": "watts_limit",
         "compute_mode": "compute_mode", "mig.mode.current": "mig"}
STATE = {"clocks.sm": "sm_mhz", "power.draw": "watts", "temperature.gpu": "celsius", "utilization.gpu": "utilization", "memory.used": "memory_mib"}
# What the driver itself says of the first device, by cuDeviceGetAttribute(): nvidia-smi does not tell of these.
ASK_DRIVER = """
import ctypes, json
cuda = ctypes.CDLL("libcuda.so.1")
name, value = ctypes.create_string_buffer(200), ctypes.c_int()
assert cuda.cuInit(0) == 0 and cuda.cuDeviceGetName(name, 200, 0) == 0
facts = {"name": name.value.decode()}
for attribute, what in {16: "multiprocessors", 38: "l2_bytes", 75: "capability_major", 76: "capability_minor"}.items():
    facts[what] = value.value if cuda.cuDeviceGetAttribute(ctypes.byref(value), attribute, 0) == 0 else None
print(json.dumps(facts))
"""


class Missing(Exception):
    """What cannot be measured here, and why."""


def environment():
    """In which CUDA counts GPUs as nvidia-smi does, and programs see one."""
    return {**os.environ, "CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": first_device()}


def first_device():
    return os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]


def query(fields):
    """What nvidia-smi says of the GPU, in the order of the fields; None where it cannot say."""
    try:
        done = subprocess.run(["nvidia-smi", "-i", first_device(), f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"],
                              capture_output=True, text=True, timeout=PATIENCE_S)
    except FileNotFoundError:
        raise Missing("nvidia-smi is not there") from None
    except subprocess.TimeoutExpired:
        raise Missing(f"nvidia-smi says nothing for {PATIENCE_S} s") from None
    if done.returncode != 0:
        raise Missing(f"nvidia-smi ended with {done.returncode}: {(done.stdout + done.stderr).strip()}")
    values = [value.strip() for value in done.stdout.strip().split("\n")[0].split(",")]
    return [None if value.startswith("[") else value for value in values]


def number(text):
    try:
        return float(text)
    except (TypeError, ValueError):
        return None


def facts():
    """Of the GPU and its driver. Missing where neither the driver nor nvidia-smi knows of one."""
    known = {}
    asked = subprocess.run([sys.executable, "-c", ASK_DRIVER], capture_output=True, text=True, timeout=PATIENCE_S, env=environment())
    if asked.returncode == 0:
        known.update(json.loads(asked.stdout))
    for field, name in FACTS.items():
        try:
            known[name], = query([field])  # One by one: an older nvidia-smi refuses the whole question for one word that it does not know.
        except Missing:
            if "name" not in known:
                raise
    return known


class Monitor:
    """Asks once a second, in a thread of its own, how the GPU does."""

    def __init__(self, watching=True):
        self.samples = []
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.watch if watching else lambda: None, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()

    def watch(self):
        while not self.stop.is_set():
            try:
                self.samples.append((time.monotonic(), [number(value) for value in query(STATE)]))
            except Missing:
                return
            self.stop.wait(1)

    def since(self, began):
        """Of the samples under load: clock in the median and at least, the largest of the rest. Nothing where there are none."""
        samples = [dict(zip(STATE.values(), values)) for at, values in self.samples if at >= began]
        busy = [sample for sample in samples if sample.get("utilization") is None or sample["utilization"] >= 50]
        summary = {}
        for name in STATE.values():
            values = [sample[name] for sample in busy if sample.get(name) is not None]
            if values:
                summary[name] = statistics.median(values) if name == "sm_mhz" else max(values)
                if name == "sm_mhz":
                    summary["sm_mhz_least"] = min(values)
        return summary


class Mps:
    """NVIDIA's MPS, which lets processes compute on one GPU at the same time, with a control process of our own: nobody else's programs find
    it, and it ends with the block.

        with Mps() as mps: subprocess.run(.., env=mps.environment); assert mps.served()
    """

    TOOL = "nvidia-cuda-mps-control"

    def __enter__(self):
        if shutil.which(self.TOOL) is None:
            raise Missing(f"{self.TOOL} is not there")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="lr-mps-"))  # A short path: the name of a Unix socket has at most 107 bytes.
        control = {**environment(), "CUDA_MPS_PIPE_DIRECTORY": str(self.folder / "pipe"), "CUDA_MPS_LOG_DIRECTORY": str(self.folder / "log")}
        # The control process hides other GPUs from its programs, which count anew what it leaves them.
        self.control, self.environment = control, {**control, "CUDA_VISIBLE_DEVICES": "0"}
        for name in ("pipe", "log"):
            (self.folder / name).mkdir()
        started = self.run([self.TOOL, "-d"])
        if started.returncode != 0:
            self.close()
            raise Missing(f"{self.TOOL} -d ended with {started.returncode}: {started.stderr.strip()}")
        return self

    def __exit__(self, *_):
        self.close()

    def run(self, command, words=""):
        # Not by pipes: what it leaves running would hold them open.
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as error:
            try:
                code = subprocess.run(command, stdin=None if words else subprocess.DEVNULL, input=words or None, stdout=out, stderr=error, text=True,
                                      env=self.control, timeout=PATIENCE_S).returncode
            except subprocess.TimeoutExpired:
                code = -1
            out.seek(0), error.seek(0)
            return subprocess.CompletedProcess(command, code, out.read(), error.read())

    def served(self):
        """Whether a program found it: without a server programs compute all the same, one at a time."""
        log = self.folder / "log/server.log"
        return bool(self.run([self.TOOL], "get_server_list\n").stdout.strip()) or (log.exists() and log.stat().st_size > 0)

    def close(self):
        self.run([self.TOOL], "quit\n")
        try:
            os.kill(int((self.folder / "pipe/nvidia-cuda-mps-control.pid").read_text()), signal.SIGTERM)
        except (OSError, ValueError):
            pass  # It has ended, as it was told, and taken the file along.
        shutil.rmtree(self.folder, ignore_errors=True)
