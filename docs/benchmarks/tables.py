#!/usr/bin/env python3
"""Runs every job of Tables 1, 2 and 3 at full model size and at the papers' own lengths, but on few tokens; then all of it again
while programs are interrupted and killed, and compares the bits.

    docs/benchmarks/tables.py FOLDER [--bin build/release/bin] [--steps 4]

The data comes in through the importers: a corpus of this machine's C++ headers, and PNG files that are drawn here. FOLDER keeps the
data, two stores with their artifacts (12 GB) and what the programs wrote. Started again it goes on where it was.
"""
import argparse
import contextlib
import json
import os
import pathlib
import random
import signal
import sqlite3
import struct
import subprocess
import sys
import time
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLES = {"table-1": ("headers", 54), "table-2": ("headers", 9), "table-3": ("drawings", 54)}
# What is done to a run of each table, in this order, when so many of its jobs are done.
HARM = {
    "table-1": [(6, "Ctrl-C"), (15, "kill -9 worker"), (24, "kill -9 scheduler"), (33, "kill -9 trainer"), (42, "kill -9 client")],
    "table-2": [(0, "kill -9 worker"), (3, "kill -9 scheduler"), (6, "Ctrl-C")],
    "table-3": [(3, "kill -9 scheduler"), (12, "Ctrl-C"), (21, "kill -9 client"), (30, "kill -9 worker"), (39, "kill -9 trainer")],
}
PATIENCE_S = 600


def png(file, rows):
    """A gray image of 8 bits; `rows` are bytes."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    header = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 0, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + row for row in rows))
    file.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b""))


def draw_images(folder):
    """Ten classes of stripes in as many directions, with noise."""
    noise = random.Random(1)
    for split, images in ("train", 40), ("val", 10):
        for kind in range(10):
            (folder / split / f"class-{kind}").mkdir(parents=True, exist_ok=True)
            for image in range(images):
                rows = [bytes(((x * (kind + 1) + y * (10 - kind)) * 3 + noise.randrange(64)) % 256 for x in range(64)) for y in range(64)]
                png(folder / split / f"class-{kind}" / f"{image}.png", rows)


class Bench:
    def __init__(self, options):
        self.bin = options.bin.resolve()
        self.folder = options.folder.resolve()
        self.data = self.folder / "data"
        few = {"training.steps": options.steps, "training.batch_size": 2, "evaluation.examples": 2}
        self.few = [word for path, value in few.items() for word in ("--set", f"{path}={value}")]
        (self.folder / "logs").mkdir(parents=True, exist_ok=True)

    def call(self, *arguments):
        ended = subprocess.run([self.bin / "longreach", *map(str, arguments)], capture_output=True, text=True, cwd=self.folder)
        if ended.returncode != 0:
            raise SystemExit(f"longreach {' '.join(map(str, arguments))}: {ended.stderr}")
        return ended.stdout

    def import_data(self):
        known = self.call("data", "list", "--data-folder", self.data)
        if "headers" not in known:
            headers = max(pathlib.Path("/usr/include/c++").iterdir())
            print(self.call("data", "import", "text", headers, "--name", "headers", "--data-folder", self.data), end="")
        if "drawings" not in known:
            draw_images(self.folder / "drawings")
            print(self.call("data", "import", "images", self.folder / "drawings", "--name", "drawings", "--data-folder", self.data), end="")

    def command(self, table, store):
        return [self.bin / "longreach", "run", table, "--store", store, "--data-folder", self.data, "--checkpoint-every-s", "1",
                "--set", f"data={TABLES[table][0]}", *self.few]

    def straight(self, table, store):
        began = time.monotonic()
        with (self.folder / "logs" / f"{table}.log").open("ab") as log:
            code = subprocess.run(self.command(table, store), stdout=log, stderr=log, cwd=self.folder).returncode
        if code != 0:
            raise SystemExit(f"{table} ended with exit code {code}: see {self.folder}/logs/{table}.log")
        return time.monotonic() - began

    def disturbed(self, table, store):
        """Until the table is done; what was done to it on the way."""
        harm = list(HARM[table])
        done_to_it = []
        deadline = time.monotonic() + 60 * PATIENCE_S
        while time.monotonic() < deadline:
            with (self.folder / "logs" / f"{table}-disturbed.log").open("ab") as log:
                run = subprocess.Popen(self.command(table, store), stdout=log, stderr=log, cwd=self.folder)
                while run.poll() is None:
                    if harm and self.training(store) and self.jobs_done(store, table) >= harm[0][0] and hurt(run, harm[0][1]):
                        done_to_it.append(harm.pop(0)[1])
                        if done_to_it[-1] != "kill -9 trainer":
                            break  # The run ends; over a trainer it does not.
                    time.sleep(0.05)
                code = run.wait()
            if code == 0:
                return done_to_it
            time.sleep(1)  # What was left alone sees its pipe close, and ends.
        raise SystemExit(f"{table} did not end")

    def query(self, store, sql, *parameters):
        if not store.exists():
            return []
        with contextlib.suppress(sqlite3.OperationalError), \
                contextlib.closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as connection:
            return connection.execute(sql, parameters).fetchall()
        return []  # The tables are not there yet.

    def jobs_done(self, store, table):
        rows = self.query(store, "SELECT jobs_succeeded FROM sweeps WHERE name = ?", table)
        return rows[0][0] if rows else 0

    def training(self, store):
        """A pack is under way, and has been for a while."""
        rows = self.query(store, "SELECT max(started_at) FROM attempts WHERE ended_at IS NULL")
        return bool(rows) and rows[0][0] is not None and time.time() - rows[0][0] / 1e6 > 1.5

    def cells(self, table, store):
        result = json.loads(self.call("results", table, "--store", store, "--published", "-o", "json"))
        columns = {entry["key"] for entry in result["columns"]}
        filled = [cell for cell in result["cells"] if "measured" in cell and cell["succeeded"] == cell["jobs"] == 3]
        return len(filled), len(result["rows"]) * len(columns)

    def outcome(self, store):
        """All that must not depend on what happened on the way, bit for bit."""
        def bits(value):
            return None if value is None else struct.pack(">d", value).hex()
        jobs = self.query(store, "SELECT id, state, diverged, diverged_at FROM jobs ORDER BY id")
        measured = self.query(store, "SELECT jobs.id, metric, length, slice, value FROM measurements JOIN jobs ON jobs.num = measurements.job "
                                     "ORDER BY jobs.id, metric, length, slice")
        losses = self.query(store, "SELECT jobs.id, step, loss FROM progress JOIN jobs ON jobs.num = progress.job ORDER BY jobs.id, step")
        return jobs, [(*row[:-1], bits(row[-1])) for row in measured], [(*row[:-1], bits(row[-1])) for row in losses]


def children(pid):
    """Processes that `pid` has started, with their names."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            name, rest = (entry / "stat").read_text().split("(", 1)[1].rsplit(")", 1)
            if int(rest.split()[1]) == pid:
                found[int(entry.name)] = name
    return found


def hurt(run, how):
    """Does it to the processes of a `longreach run`; False: there is nothing to do it to just now."""
    if how == "Ctrl-C":
        run.send_signal(signal.SIGINT)
        return True
    if how == "kill -9 client":
        run.kill()
        return True
    ours = children(run.pid)
    workers = [pid for pid, name in ours.items() if name.startswith("longreach-work")]
    targets = {
        "kill -9 scheduler": [pid for pid, name in ours.items() if name.startswith("longreach-sche")],
        "kill -9 worker": workers,
        "kill -9 trainer": [pid for worker in workers for pid in children(worker)],
    }[how]
    for pid in targets:
        os.kill(pid, signal.SIGKILL)
    return bool(targets)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin")
    parser.add_argument("--steps", type=int, default=4)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    bench = Bench(options)
    bench.import_data()

    straight, disturbed = bench.folder / "straight.db", bench.folder / "disturbed.db"
    total = 0
    for table in TABLES:
        seconds = bench.straight(table, straight)
        total += seconds
        filled, of = bench.cells(table, straight)
        print(f"{table}: {bench.jobs_done(straight, table)} of {TABLES[table][1]} jobs, {filled} of {of} cells, {seconds:.0f} s, "
              f"load {os.getloadavg()[0]:.1f}", flush=True)
    print(f"all three: {total:.0f} s", flush=True)

    for table in TABLES:
        began = time.monotonic()
        harm = bench.disturbed(table, disturbed)
        print(f"{table}, disturbed: {', '.join(harm)}; {time.monotonic() - began:.0f} s", flush=True)
    resumed = bench.query(disturbed, "SELECT count(*) FROM attempts WHERE start_step > 0")[0][0]
    print(f"attempts of the disturbed run: {dict(bench.query(disturbed, 'SELECT outcome, count(*) FROM attempts GROUP BY outcome'))}, "
          f"{resumed} of them from a checkpoint")
    same = True
    for what, one, other in zip(("jobs", "measurements", "points of loss curves"), bench.outcome(straight), bench.outcome(disturbed)):
        same &= one == other
        print(f"{what}: {len(one)} and {len(other)}, {'the same bits' if one == other else 'NOT THE SAME'}")
    for store in straight, disturbed:
        print(f"store check --artifacts {store.name}: {bench.call('store', 'check', '--artifacts', '--store', store).strip()}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
