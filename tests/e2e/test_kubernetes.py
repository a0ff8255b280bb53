"""deploy/kubernetes without a cluster: hire.sh with stand-ins for its programs, which say what there is and note what they are asked; and the real programs with the
arguments that the manifests have."""
import re
import shlex
import time

import pytest

import harness
from harness import BIN, ROOT, Process, query, run, run_cli
from security import Certificates

FOLDER = ROOT / "deploy/kubernetes"
HIRE, WORKER, SCHEDULER = FOLDER / "hire.sh", FOLDER / "worker.yaml", FOLDER / "scheduler.yaml"
COLUMNS = "id,name,state,device,threads,pack_limit,seen_at,running,reason"


def stand_in(home, program, script):
    file = home.path / "bin" / program
    file.write_text(f'#!/bin/sh\necho "{program} $*" >> "{home.path}/asked"\n{script}\n')
    file.chmod(0o755)


# What a cluster does with the ConfigMap, whose version and text `lock` has: of several that would change one version the first does, and who would make it a second
# time does not. `meanwhile` is what somebody else does once the ConfigMap was read, or the Jobs.
CLUSTER = """
version=$(cut -d" " -f1 "$HERE/lock" 2>/dev/null)
meanwhile() { if [ -e "$HERE/meanwhile-$1" ]; then mv "$HERE/meanwhile-$1" "$HERE/now"; . "$HERE/now"; fi; }
case "$1 $2" in
  "get configmap") cat "$HERE/lock" 2>/dev/null; meanwhile lock ;;
  "get jobs") cat "$HERE/jobs"; meanwhile jobs ;;
  *)
    text=$(cat)
    case "$text" in
      *ConfigMap*)
        seen=$(echo "$text" | sed -n 's/.*"resourceVersion": "\\([0-9]*\\)".*/\\1/p')
        [ "$1" != create ] || [ -z "$version" ] || { echo "Error from server (AlreadyExists)" >&2; exit 1; }
        [ "$1" != replace ] || [ "$version" = "$seen" ] || { echo "Error from server (Conflict)" >&2; exit 1; }
        echo "$((version + 1)) $(echo "$text" | sed 's/.*"until": "\\([0-9]*\\)".*/\\1/')" > "$HERE/lock"
        echo "$((version + 1))" ;;
      *) echo "$text" >> "$HERE/made" ;;
    esac ;;
esac
"""


def hire(home, *arguments, **there):
    return run(home, *hire_line(home, *arguments, **there))


def hire_line(home, *arguments, waiting="4", workers=(), jobs=(), **environment):
    """With the client on the PATH. Of `workers`, name, state and what it does; of `jobs`, name and what has become of it."""
    (home.path / "bin").mkdir(exist_ok=True)
    (home.path / "asked").write_text("")
    (home.path / "made").write_text("")
    (home.path / "workers.csv").write_text("\n".join([COLUMNS, *(f'1f3a,{name},{state},"AMD EPYC, AVX-512",1,16,now,{does},' for name, state, does in workers)]) + "\n")
    (home.path / "jobs").write_text("".join(f"{job}\n" for job in jobs))
    stand_in(home, "longreach", f'case "$*" in *--waiting*) echo "{waiting}" ;; *) cat "{home.path}/workers.csv" ;; esac')
    stand_in(home, "kubectl", f'HERE="{home.path}"\n{CLUSTER}')
    settings = {"PATH": f"{home.path / 'bin'}:/usr/bin:/bin", **environment}
    return ["env", *(f"{name}={value}" for name, value in settings.items()), HIRE, *arguments]


def held_until(home):
    """What the ConfigMap says, in seconds since 1970."""
    return int((home.path / "lock").read_text().split()[1])


def asked(home, program):
    return [line for line in (home.path / "asked").read_text().splitlines() if line.split()[0] == program]


def made(home):
    """The manifests that kubectl was given."""
    return [text.strip() for text in (home.path / "made").read_text().split("\n---\n") if text.strip()]


def copy(home, old, new):
    """A manifest of the user's own."""
    text = WORKER.read_text()
    assert old in text
    file = home.path / "mine.yaml"
    file.write_text(text.replace(old, new))
    return file


def test_a_job_is_made_for_each_pack_that_waits(home):
    hired = hire(home, "9", WORKER, "--namespace", "research")

    assert hired.code == 0 and hired.err == "", hired
    assert hired.out == "4 packs wait, 0 of 9 workers are there or on their way: 4 more\n"
    assert made(home) == [WORKER.read_text().strip()] * 4
    assert asked(home, "longreach") == ["longreach workers --waiting -o table"] * 2 + ["longreach workers -o csv"]
    look, take, get, create, give_back = asked(home, "kubectl")
    assert look.startswith("kubectl get configmap longreach-worker-hire --namespace research --ignore-not-found --output jsonpath=")
    assert take.startswith("kubectl create --namespace research --filename - --output jsonpath=")
    assert get.startswith("kubectl get jobs --namespace research --selector app=longreach-worker --output jsonpath=")
    assert create == "kubectl create --namespace research --filename - --output name"
    assert give_back.startswith("kubectl replace --namespace research --filename - --output jsonpath=")
    assert held_until(home) == 0


def test_a_worker_that_takes_several_packs_counts_for_so_many(home):
    mine = copy(home, "- --device=cpu\n", "- --device=cuda\n            - --packs=3  # Of nine jobs each.\n")
    assert ": 2 more" in hire(home, "9", mine).out
    assert made(home) == [mine.read_text().strip()] * 2


def test_those_that_are_on_their_way_are_counted_and_there_are_never_more_than_asked_for(home):
    # Of the second no worker has come yet; the third has left, and its worker, which is gone, counts no more.
    jobs = ["longreach-worker-a ", "longreach-worker-b ", "longreach-worker-c SuccessCriteriaMet Complete"]
    workers = [("longreach-worker-a", "active", "table-1"), ("longreach-worker-c", "gone", ""), ("other", "active", "")]
    for most, more in (("9", "3"), ("4", "2"), ("2", None)):
        hired = hire(home, most, WORKER, jobs=jobs, workers=workers)
        assert hired.code == 0 and hired.err == "", hired
        assert hired.out == (f"4 packs wait, 2 of {most} workers are there or on their way: {more} more\n" if more else "")
        assert len(made(home)) == int(more or 0)


def test_none_is_made_where_nothing_waits_or_one_that_is_there_has_nothing_to_do(home):
    assert hire(home, "9", WORKER, waiting="0").out == "" and asked(home, "kubectl") == []
    hired = hire(home, "9", WORKER, jobs=["longreach-worker-a "], workers=[("longreach-worker-a", "active", "")])
    assert hired.code == 0 and hired.out == "" and "the worker longreach-worker-a does nothing" in hired.err, hired
    assert made(home) == []
    # One that is gone, or gets no work, is none of those.
    for state in ("gone", "draining"):
        assert ": 4 more" in hire(home, "9", WORKER, jobs=["longreach-worker-a "], workers=[("longreach-worker-a", state, "")]).out, state


def test_one_that_comes_while_another_looks_makes_nothing(home):
    """The second looks when the first has seen that there are no Jobs, and has made none yet."""
    second = " ".join(shlex.quote(str(word)) for word in hire_line(home, "3", WORKER))
    (home.path / "meanwhile-jobs").write_text(f'{second} > "{home.path}/second" 2>&1 || echo "ended with $?" >> "{home.path}/second"\n')

    first = hire(home, "3", WORKER)

    assert first.code == 0 and first.out.endswith(": 3 more\n") and first.err == "", first
    assert len(made(home)) == 3
    said = (home.path / "second").read_text()
    assert "another hire.sh is looking, or was killed; it has the ConfigMap longreach-worker-hire for another " in said and "ended with" not in said, said
    assert ": 3 more" in hire(home, "3", WORKER).out, "nobody has it any more"


@pytest.mark.parametrize("before, other, said", [("7 0", "8 0", "(Conflict)"), ("", "1 0", "(AlreadyExists)")], ids=["the same version", "none yet"])
def test_of_two_that_have_seen_the_same_one_may_make_workers(home, before, other, said):
    if before:
        (home.path / "lock").write_text(before)
    (home.path / "meanwhile-lock").write_text(f'echo "{other}" > "{home.path}/lock"\n')

    late = hire(home, "3", WORKER)

    assert late.code == 2 and said in late.err and "cannot be taken" in late.err, late
    assert made(home) == [] and (home.path / "lock").read_text().strip() == other


def test_what_one_that_was_killed_has_left_holds_for_ten_minutes_at_most(home):
    now = int(time.time())
    (home.path / "lock").write_text(f"7 {now + 590}")
    assert hire(home, "3", WORKER).out == "" and made(home) == []
    (home.path / "lock").write_text(f"7 {now - 1}")
    (home.path / "meanwhile-jobs").write_text(f'cp "{home.path}/lock" "{home.path}/taken"\n')
    assert ": 3 more" in hire(home, "3", WORKER).out
    assert now + 600 <= int((home.path / "taken").read_text().split()[1]) <= int(time.time()) + 600
    assert held_until(home) == 0


def test_it_is_given_back_where_none_is_made(home):
    hired = hire(home, "9", WORKER, jobs=["longreach-worker-a "], workers=[("longreach-worker-a", "active", "")])
    assert hired.code == 0 and "does nothing" in hired.err, hired
    assert held_until(home) == 0


def test_both_scripts_count_what_is_missing_in_the_same_way():
    """Each is copied alone, so neither can have it from the other."""
    def counting(script):
        return re.search(r"^more=.*?^if \[ \"\$more\" -le 0 \]; then exit 0; fi$", script.read_text(), re.MULTILINE | re.DOTALL)[0]
    assert counting(HIRE) == counting(ROOT / "deploy/slurm/hire.sh")


def test_workers_that_cannot_start_are_not_made_for_ever(home):
    jobs = ["longreach-worker-a FailureTarget Failed", "longreach-worker-b Failed"]
    assert ": 1 more" in hire(home, "1", WORKER, jobs=jobs).out, "that happens"
    jobs.append("longreach-worker-c Failed")
    assert ": 4 more" in hire(home, "4", WORKER, jobs=jobs).out, "as many as may be there have not failed"
    hired = hire(home, "3", WORKER, jobs=jobs)
    assert hired.code == 0 and hired.out == "" and "'kubectl logs job/longreach-worker-c' says why" in hired.err, hired
    assert made(home) == []


def test_the_workers_of_another_scheduler_have_another_label(home):
    mine = copy(home, "app: longreach-worker", "app: theirs")
    refused = hire(home, "9", mine)
    assert refused.code == 2 and "does not have the label 'app: longreach-worker'" in refused.err, refused
    assert asked(home, "longreach") == []
    assert ": 4 more" in hire(home, "9", mine, LONGREACH_HIRE_NAME="theirs").out
    assert any("--selector app=theirs " in line for line in asked(home, "kubectl"))
    # A label may have letters that a ConfigMap's name may not.
    assert ": 4 more" in hire(home, "9", copy(home, "app: longreach-worker", "app: Their_own"), LONGREACH_HIRE_NAME="Their_own").out
    assert asked(home, "kubectl")[0].startswith("kubectl get configmap their-own-hire ")


@pytest.mark.parametrize("arguments, said", [([], "'' is no number"), (["0", WORKER], "'0' is no number"), (["4"], "'' cannot be read"), (["4", "nowhere"], "'nowhere' cannot be read")],
                         ids=["none", "zero", "no manifest", "another file"])
def test_what_is_no_number_of_workers_or_no_manifest_is_refused(home, arguments, said):
    refused = hire(home, *arguments)
    assert refused.code == 2 and said in refused.err, refused
    assert asked(home, "longreach") == []


def test_what_is_no_answer_makes_nothing(home):
    refused = hire(home, "4", WORKER, waiting="many")
    assert refused.code == 2 and "'many' is no number of packs" in refused.err, refused
    many = hire(home, "4", copy(home, "- --device=cpu\n", "- --packs=65\n"))
    assert many.code == 2 and "--packs 65" in many.err, many
    assert made(home) == []


def arguments_of(manifest, **replaced):
    """What the manifest's container is started with."""
    text = manifest.read_text()
    command = re.search(r"command: \[(.*)\]", text)[1].split(", ")
    arguments = re.findall(r"^ +- (--\S+)$", re.search(r"args:\n((?: +- --\S+\n)+)", text)[1], re.MULTILINE)
    assert len(arguments) > 3
    for old, new in replaced.items():
        old = {"certs": "/certs/", "store": "/store/", "state": "/state/", "listen": "0.0.0.0:7070", "scheduler": "longreach-scheduler:7070", "job": "$(JOB)"}[old]
        assert any(old in argument for argument in arguments), old
        arguments = [argument.replace(old, str(new)) for argument in arguments]
    return [BIN / command[0], *command[1:], *arguments]


@pytest.mark.parametrize("manifest", [WORKER, SCHEDULER], ids=["worker", "scheduler"])
def test_the_programs_get_no_variables_of_services_and_read_keys_that_are_not_everybodys(manifest):
    text = manifest.read_text()
    assert "enableServiceLinks: false" in text and "defaultMode: 0440" in text and "fsGroup: 970" in text
    # What a namespace at the level "restricted" asks of a pod.
    for line in ("runAsNonRoot: true", "seccompProfile:\n          type: RuntimeDefault\n", "allowPrivilegeEscalation: false", "capabilities:\n              drop: [ALL]\n"):
        assert text.count(line) == 1, line
    assert f"useradd --system --uid {re.search(r'runAsUser: (.*)', text)[1]} " in (ROOT / f"deploy/container/{manifest.stem}.Containerfile").read_text()


@harness.needs_worker
def test_the_manifests_start_a_scheduler_and_a_worker_that_leaves_when_there_is_no_work(home):
    certificates = Certificates(home)
    scheduler = Process(home, "scheduler", arguments_of(SCHEDULER, certs=f"{certificates.folder}/", store=f"{home.path}/", listen="localhost:0"))
    line = scheduler.next_line()
    assert line is not None and line.startswith("listening on "), f"{line}\n{scheduler.log()}"
    address = line.removeprefix("listening on ")
    client = ["--scheduler", address, *certificates.flags("client")]
    submitted = run_cli(home, "submit", "noop", "--set", "seed=0..9", *client)
    assert submitted.code == 0, submitted
    assert run_cli(home, "workers", "--waiting", *client).out.strip() != "0"

    worker = arguments_of(WORKER, certs=f"{certificates.folder}/", state=f"{home.path}/", scheduler=address, job="longreach-worker-a")
    started = Process(home, "worker", [*(argument for argument in worker if not str(argument).startswith("--leave-when-idle")), "--leave-when-idle=0"])

    assert started.wait() == 0, home.logs()
    store = home.path / "longreach.db"
    assert query(store, "SELECT DISTINCT state FROM jobs") == [("succeeded",)]
    assert query(store, "SELECT name FROM workers") == [("longreach-worker-a",)]
    assert scheduler.stop() == 0
    harness.check_ledger(home, store)
