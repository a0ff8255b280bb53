"""deploy/slurm/worker.sbatch under a real Slurm of one node, which is this machine: slurmctld and slurmd as the test's own processes.

Slurm is Debian's (deploy/slurm_packages.txt). It works for the test's user alone and checks nobody's identity, so it needs neither
root nor munge, and takes no notice of a Slurm that this machine may belong to.
"""
import contextlib
import os
import shutil
import socket
import subprocess

import pytest

import harness
from harness import ROOT, Process, Scheduler, query, run, run_cli, until
from test_interruptions import submit, training, wait_for_the_end

SCRIPT = ROOT / "deploy/slurm/worker.sbatch"
HIRE = ROOT / "deploy/slurm/hire.sh"
# Nothing is interrupted, and the node has one core.
FEW_UPDATES = ("--set", "training.steps=200")
PATH = f"{os.environ['PATH']}:/usr/sbin:/sbin"
MISSING = [name for name in ("slurmctld", "slurmd", "sbatch") if shutil.which(name, path=PATH) is None]
pytestmark = [harness.needs_worker,
              pytest.mark.skipif(bool(MISSING), reason=f"no Slurm here ({', '.join(MISSING)}): deploy/slurm_packages.txt names Debian's packages")]

CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/none
CredType=cred/none
StateSaveLocation={folder}/slurmctld
SlurmdSpoolDir={folder}/slurmd
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
MpiDefault=none
SwitchType=switch/none
SchedulerType=sched/builtin
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
GresTypes=gpu
ReturnToService=2
MailProg=/bin/true
NodeName={host} NodeAddr=127.0.0.1 CPUs=1 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
"""


def free_ports(number):
    """Ports that nobody has just now, each another."""
    with contextlib.ExitStack() as probes:
        found = []
        for _ in range(number):
            probe = probes.enter_context(socket.socket())
            probe.bind(("127.0.0.1", 0))
            found.append(probe.getsockname()[1])
        return found


class Slurm:
    """A cluster of this machine alone. All of its jobs end with it."""

    def __init__(self, home):
        self.home = home
        self.user = subprocess.run(["id", "-un"], check=True, capture_output=True, text=True).stdout.strip()
        # Slurm is told its ports beforehand, and somebody else may take one until it does.
        starts = (self._start(number) for number in range(5))
        assert any(starts), f"others took its ports\n{self.logs()}"

    def _start(self, number):
        """False: somebody else has one of its ports."""
        self.folder = self.home.path / f"slurm-{number}"
        for part in ("slurmctld", "slurmd"):
            (self.folder / part).mkdir(parents=True)
        self.conf = self.folder / "slurm.conf"
        self.conf.write_text(CONFIGURATION.format(host=socket.gethostname().partition(".")[0], ports=free_ports(2), user=self.user, folder=self.folder))
        daemons = [Process(self.home, daemon, ["env", f"SLURM_CONF={self.conf}", f"PATH={PATH}", daemon, "-D", "-f", self.conf])
                   for daemon in ("slurmctld", "slurmd")]
        until(lambda: self.ask("sinfo", "-h", "-o", "%t", check=False).strip() == "idle" or not all(daemon.is_running() for daemon in daemons),
              lambda: f"the node is there\n{self.logs()}")
        if all(daemon.is_running() for daemon in daemons):
            return True
        assert "Address already in use" in self.logs(), self.logs()
        for daemon in daemons:
            daemon.kill()
        return False

    def ask(self, *command, check=True, **environment):
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=self.home.path, timeout=harness.PATIENCE_S,
                              env={**self.home.environment(), "SLURM_CONF": str(self.conf), "PATH": PATH, **environment})
        if check and done.returncode != 0:
            raise AssertionError(f"{command}: {done.stdout}{done.stderr}\n{self.logs()}")
        return done.stdout

    # Workers that compute on this machine's processor.
    OPTIONS = ["--gres=none", "--cpus-per-task=1", "--mem=0"]

    def settings(self, scheduler):
        return {"LONGREACH_SCHEDULER": scheduler.address, "LONGREACH_WORKER": str(harness.BIN / "longreach-worker"), "LONGREACH_WORKER_DEVICE": "cpu",
                "LONGREACH_WORKER_STATE": str(self.home.path)}

    def submit(self, scheduler, *options, **environment):
        """Gives the number of the array."""
        return self.ask("sbatch", "--parsable", *self.OPTIONS, *options, SCRIPT, **self.settings(scheduler), **environment).strip()

    def hire(self, scheduler, most, *options, **environment):
        """What hire.sh says."""
        with harness.variables(SLURM_CONF=self.conf, PATH=PATH):
            settings = [f"{name}={value}" for name, value in {**self.settings(scheduler), **environment}.items()]
            hired = run(self.home, "env", f"LONGREACH_CLIENT={harness.BIN / 'longreach'}", *settings, HIRE, most, *self.OPTIONS, *options)
        assert hired.code == 0, hired
        return hired

    def tasks(self):
        return len(self.ask("squeue", "-h", "-r").splitlines())

    def endings(self, job):
        """State and exit code of each task, once all have ended; before, nothing."""
        words = [dict(word.split("=", 1) for word in line.split() if "=" in word) for line in self.ask("scontrol", "-o", "show", "job", job).splitlines()]
        states = [(task["JobState"], task["ExitCode"]) for task in words]
        return None if {state for state, _ in states} & {"PENDING", "CONFIGURING", "RUNNING", "COMPLETING"} else states

    def wait(self, job):
        return until(lambda: self.endings(job), lambda: f"array {job} has ended\n{self.logs()}")

    def logs(self):
        files = [*self.folder.glob("*.log"), *self.home.path.glob("longreach-worker-*.log")]
        return "\n".join(f"--- {file.name}\n{file.read_text(errors='replace')[-4000:]}" for file in files)

    def close(self):
        """Jobs are not the daemons' children, and would outlive them."""
        self.ask("scancel", "--full", "--signal=KILL", "--state=RUNNING", "--user", str(os.getuid()), check=False)
        self.ask("scancel", "--user", str(os.getuid()), check=False)
        until(lambda: not self.ask("squeue", "-h", check=False).strip(), "no job is left")


@pytest.fixture
def slurm(home):
    cluster = Slurm(home)
    yield cluster
    cluster.close()


def test_an_array_of_workers_ends_when_there_is_no_work(home, slurm):
    scheduler = Scheduler(home, *harness.FREQUENT_CALLS)  # A worker without work leaves at the answer to one.
    submit(home, scheduler, *FEW_UPDATES)

    job = slurm.submit(scheduler, "--array=0-1", LONGREACH_WORKER_IDLE_S="0")

    wait_for_the_end(home, scheduler)
    assert slurm.wait(job) == [("COMPLETED", "0:0")] * 2, slurm.logs()
    # Each task was a worker of its own.
    assert query(scheduler.store, "SELECT count(DISTINCT id) FROM workers") == [(2,)]
    assert query(scheduler.store, "SELECT DISTINCT outcome FROM attempts") == [("succeeded",)]
    assert scheduler.stop() == 0
    harness.check_ledger(home, scheduler.store)


def test_work_is_given_back_at_the_signal_that_comes_before_the_time_limit(home, slurm):
    scheduler = Scheduler(home, *harness.FREQUENT_CALLS)
    submit(home, scheduler, "--set", "training.steps=200000")  # None ends before it is seen to be trained, and the signal has come.
    job = slurm.submit(scheduler, "--array=0")
    until(lambda: training(scheduler), lambda: f"the worker trains\n{slurm.logs()}")

    # What --signal=B:TERM@300 has Slurm do, without waiting for the limit.
    slurm.ask("scancel", "--batch", "--signal=TERM", f"{job}_0")

    assert slurm.wait(job) == [("COMPLETED", "0:0")], slurm.logs()
    assert query(scheduler.store, "SELECT count(*) FROM attempts WHERE outcome = 'given_back'") == [(1,)]
    assert query(scheduler.store, "SELECT max(checkpoint_step) > 0 FROM jobs") == [(1,)]
    assert run_cli(home, "cancel", "last", scheduler=scheduler).code == 0


def test_workers_are_hired_while_jobs_wait_for_them(home, slurm):
    scheduler = Scheduler(home, *harness.FREQUENT_CALLS)
    assert slurm.hire(scheduler, 9).out == "", "nothing waits"
    submit(home, scheduler, *FEW_UPDATES)  # Four packs.

    assert "4 packs wait, 0 of 1 workers are there or on their way: 1 more" in slurm.hire(scheduler, 1, "--hold").out
    assert "4 packs wait, 1 of 9 workers are there or on their way: 3 more" in slurm.hire(scheduler, 9, "--hold").out
    assert slurm.tasks() == 4
    assert slurm.hire(scheduler, 9).out == "", "so many are on their way"
    slurm.ask("scancel", "--user", str(os.getuid()))
    until(lambda: slurm.tasks() == 0, "none is left")

    # Each takes two.
    assert "0 of 9 workers are there or on their way: 2 more" in slurm.hire(scheduler, 9, "--", "--packs", "2", LONGREACH_WORKER_IDLE_S="0").out

    wait_for_the_end(home, scheduler)
    until(lambda: slurm.tasks() == 0, lambda: f"the workers leave\n{slurm.logs()}")
    assert query(scheduler.store, "SELECT count(DISTINCT id) FROM workers WHERE id IN (SELECT worker FROM attempts)")[0][0] >= 1
    assert slurm.hire(scheduler, 9).out == "", "nothing waits"
    assert scheduler.stop() == 0
    harness.check_ledger(home, scheduler.store)


def test_none_is_hired_where_those_that_are_there_cannot_do_what_waits(home, slurm):
    scheduler = Scheduler(home)
    submitted = run_cli(home, "submit", "table-1", "--set", "data=nowhere", "--set", "encoding=none", "--set", "seed=0", scheduler=scheduler)
    assert submitted.code == 0, submitted
    assert "0 of 9 workers are there or on their way" in slurm.hire(scheduler, 9).out
    until(lambda: "active" in run_cli(home, "workers", scheduler=scheduler).out, lambda: f"one is there\n{slurm.logs()}")
    tasks = slurm.tasks()

    hired = slurm.hire(scheduler, 9)

    assert hired.out == "" and "does nothing: such workers cannot train them, and none is submitted" in hired.err, hired
    assert slurm.tasks() == tasks
