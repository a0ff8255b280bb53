"""Names for several schedulers and stores in the client's config file."""
import json
import re
import subprocess
from pathlib import Path

import harness
from harness import BIN, Scheduler, run_cli
from security import Certificates, tls_scheduler


def client(home, *arguments, **variables):
    return harness.Finished(subprocess.run([BIN / "longreach", *map(str, arguments)], env={**home.environment(), **variables}, cwd=home.path,
                                           capture_output=True, text=True, timeout=harness.PATIENCE_S))


def write_config(home, text):
    folder = home.path / "config/longreach"
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(text)
    return folder / "config.yaml"


def names_of_sweeps(ended):
    assert ended.code == 0, ended
    return [sweep["name"] for sweep in ended.json()["sweeps"]]


def test_a_name_stands_for_a_scheduler_with_what_it_is_shown(home):
    """Of two schedulers one speaks TLS: credentials of one would be wrong for the other."""
    certificates = Certificates(home)
    cluster, laptop = tls_scheduler(home, certificates), Scheduler(home, store="near.db")
    write_config(home, f"""context: laptop
contexts:
  laptop:
    scheduler: {laptop.address}
  cluster:
    scheduler: {cluster.address}
    ca: {certificates["ca.crt"]}
    certificate: {certificates["client.crt"]}
    key: {certificates["client.key"]}
""")
    for context, name in (("cluster", "far"), ("laptop", "near")):
        submitted = client(home, "submit", "noop", "--set", f"name={name}", "--set", "seed=0", "--context", context)
        assert submitted.code == 0, submitted
    assert names_of_sweeps(client(home, "sweeps", "-o", "json")) == ["near"], "the file's own"
    assert names_of_sweeps(client(home, "sweeps", "-o", "json", LONGREACH_CONTEXT="cluster")) == ["far"]
    assert names_of_sweeps(client(home, "sweeps", "-o", "json", "--context", "laptop", LONGREACH_CONTEXT="cluster")) == ["near"]
    assert names_of_sweeps(client(home, "sweeps", "-o", "json", "--context", "cluster", LONGREACH_SCHEDULER=laptop.address)) == ["far"]
    assert names_of_sweeps(client(home, "sweeps", "-o", "json", LONGREACH_CONTEXT="cluster", LONGREACH_SCHEDULER=laptop.address)) == ["near"], "one variable beside the other"


def test_config_show_says_of_which_context_a_value_is(home):
    config = write_config(home, "contexts:\n  laptop: {store: b1.db}\n  cluster:\n    scheduler: head\n    token_file: cluster.token\n")
    shown = client(home, "config", "show", "-o", "json", "--context", "cluster", LONGREACH_TOKEN="longreach_5ec2e7")
    assert shown.code == 0 and "5ec2e7" not in shown.out, shown
    said = json.loads(shown.out)
    settings = {one["name"]: (one["value"], one["source"], one["passed_over"]) for one in said["settings"]}
    assert said["contexts"] == ["laptop", "cluster"]
    assert settings["context"] == ("cluster", "--context", [])
    assert settings["scheduler"] == ("head:7070", f"{config}:4:16 (context cluster)", [])
    assert settings["token_file"] == ("cluster.token", f"{config}:5:17 (context cluster)", [])
    assert settings["token"] == (None, f"{config}:5:17 (context cluster)", ["LONGREACH_TOKEN"])


def test_the_file_of_the_page_is_read_as_the_page_says(home):
    page = (Path(__file__).resolve().parents[2] / "docs/OPERATIONS.md").read_text()
    write_config(home, re.search(r"```yaml\n(.*?)```", page, re.DOTALL).group(1))

    def values(*flags):
        shown = client(home, "config", "show", "-o", "json", *flags)
        assert shown.code == 0, shown
        return {one["name"]: one["value"] for one in shown.json()["settings"]}

    own, cluster = values(), values("--context", "cluster")
    assert own["context"] == "laptop" and own["store"] == f"{home.path}/b1.db" and own["ca"] is None
    assert cluster["scheduler"] == "scheduler.example.org:7070" and cluster["key"] == f"{home.path}/certs/client.key" and cluster["store"] is None
    assert own["output"] == cluster["output"] == "json", "the flag's"


def test_a_context_that_is_not_there_is_refused_with_those_that_are(home):
    write_config(home, "contexts:\n  laptop: {store: b1.db}\n  cluster: {scheduler: head}\n")
    refused = run_cli(home, "sweeps", "--context", "clutser")
    assert refused.code == 2 and "--context: there is no context 'clutser'" in refused.err, refused
    assert "did you mean 'cluster'?" in refused.err and "laptop, cluster" in refused.err, refused
    assert not (home.path / "b1.db").exists()


def suggested(text):
    """The commands of a text, as somebody copies them."""
    return re.findall(r"'(longreach [^']*)'", text)


def typed(home, command):
    """In a shell, by somebody whose programs are on the PATH."""
    environment = {**home.environment(), "PATH": f"{BIN}:/usr/bin:/bin"}
    return harness.Finished(subprocess.run(["sh", "-c", command], env=environment, cwd=home.path, capture_output=True, text=True, timeout=harness.PATIENCE_S))


def test_a_command_that_is_suggested_names_the_context_or_the_place_and_works_when_typed(home):
    certificates = Certificates(home)
    cluster = tls_scheduler(home, certificates)
    files = {name: home.path / "my files" / name for name in ("ca.crt", "client.crt", "client.key")}
    files["ca.crt"].parent.mkdir()
    for name, file in files.items():
        file.write_bytes(Path(certificates[name]).read_bytes())
        file.chmod(0o600)
    credentials = {"ca": files["ca.crt"], "certificate": files["client.crt"], "key": files["client.key"]}
    write_config(home, f"""context: laptop
contexts:
  laptop:
    store: mine.db
  cluster:
    scheduler: {cluster.address}
""" + "".join(f"    {name}: {file}\n" for name, file in credentials.items()))
    by_flags = ["--scheduler", cluster.address, *(word for name, file in credentials.items() for word in (f"--{name}", file))]
    by_context, by_store = ["--context", "cluster"], ["--store", "my files/b 1.db"]
    created = client(home, "run", "noop", "--set", "name=local", "--set", "seed=1", *by_store)
    assert created.code == 0, created
    for seed, (place, first) in enumerate(((by_context, "one"), (by_flags, "two"), (by_store, "three")), start=2):
        # Other jobs than the others have, which would be wanted by a sweep that is not paused.
        submitted = client(home, "submit", "noop", "--set", f"name={first}", "--set", f"seed={seed}", *place)
        paused = client(home, "pause", first, *place)
        assert submitted.code == 0 and paused.code == 0, (submitted, paused)
        jobs = client(home, "jobs", first, "-o", "json", *place)
        assert jobs.code == 0, jobs
        why = client(home, "explain", jobs.json()["jobs"][0]["id"], *place)
        commands = suggested(why.out)
        assert [command.split()[1] for command in commands] == ["resume"], why
        for command in commands:
            assert ("--context" in command) == (place is by_context), command
            assert ("--scheduler" in command) == (place is by_flags), command
            again = typed(home, command)
            assert again.code == 0, (command, again)


def completed_by_bash(home, *words):
    """What bash puts in the place of the last of these words, into which it has cut a line: it cuts at '=', which is a word of its own."""
    line = " ".join(words).replace(" = ", "=").replace(" =", "=")
    script = ('source <(longreach completion bash); COMP_LINE=$1; COMP_POINT=${#COMP_LINE}; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
              '_longreach; printf "%s\\n" "${COMPREPLY[@]}"')
    environment = {**home.environment(), "PATH": f"{BIN}:/usr/bin:/bin"}
    ended = harness.Finished(subprocess.run(["bash", "-c", script, "bash", line, *words], env=environment, cwd=home.path, capture_output=True, text=True,
                                            timeout=harness.PATIENCE_S))
    assert ended.code == 0 and ended.err == "", ended
    return ended.out.split()


def test_bash_completes_the_value_of_an_option_in_one_word_with_it(home):
    write_config(home, "contexts:\n  laptop: {store: b1.db}\n  cluster: {scheduler: head}\n")
    made = client(home, "run", "noop", "--set", "task=even_pairs,parity_check", "--set", "seed=0", "--store", "b1.db")
    assert made.code == 0, made
    line = ["longreach", "results", "last", "--context", "laptop", "--only"]
    assert completed_by_bash(home, "longreach", "sweeps", "--context", "=", "l") == ["laptop"]
    assert completed_by_bash(home, *line, "=", "task", "=") == ["even_pairs", "parity_check"]
    assert completed_by_bash(home, *line, "=", "task", "=", "p") == ["parity_check"]
    assert completed_by_bash(home, "longreach", "results", "last", "--context", "=", "laptop", "--only", "task", "=", "p") == ["parity_check"], "as in two words"
    assert sorted(completed_by_bash(home, "longreach", "sweeps", "--store", "=", "b1")) == sorted(path.name for path in home.path.glob("b1*"))
    (home.path / "my b1.db").symlink_to("b1.db")
    assert completed_by_bash(home, "longreach", "results", "--store", r"my\ b1.db", "no") == ["noop"]
