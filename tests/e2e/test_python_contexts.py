"""The package of Python takes schedulers and credentials from the commands' config file, by the rules of the commands."""
import itertools
import json
import subprocess

import pytest

import harness
import security
from harness import Scheduler
from python_package import longreach

package = longreach()
choose = package.doors.choose

NAMES = ("SCHEDULER", "STORE", "CONTEXT", "CA", "CERTIFICATE", "KEY", "TOKEN", "TOKEN_FILE", "OUTPUT", "COLOR")
CONFIG = """# Where things are.
scheduler: near:7070
ca: '~/near''s.crt'   # Of the authority.
output: csv
token_file: all.token
context: lab

contexts:
  lab: {scheduler: lab.example.org:7071, token_file: "lab \\"b\\".token"}
  cluster:
    scheduler: head#1:7070
    ca: /etc/long reach/ca.crt
    certificate: me.crt
    key: me.key
  laptop:
    store: b1.db
  nothing: {token_file: ''}
"""


@pytest.fixture(autouse=True)
def nothing_is_set(home, monkeypatch):
    for name in NAMES:
        monkeypatch.delenv(f"LONGREACH_{name}", raising=False)
    for name in ("HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, home.environment()[name])


def write_config(home, text):
    folder = home.path / "config/longreach"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.yaml").write_text(text)
    return folder / "config.yaml"


def test_the_commands_choose_the_same(home, monkeypatch):
    """All combinations of a context, named in any place, with settings in the environment."""
    write_config(home, CONFIG)
    compared = 0
    for argument, variable, more in itertools.product((None, "lab", "cluster", "nothing"), (None, "cluster", "nothing"),
                                                      ({}, {"SCHEDULER": "there:7072"}, {"TOKEN_FILE": "t"}, {"TOKEN": "secret", "CA": "c.crt"})):
        variables = {f"LONGREACH_{name}": value for name, value in {**more, **({"CONTEXT": variable} if variable else {})}.items()}
        with monkeypatch.context() as within:
            for name, value in variables.items():
                within.setenv(name, value)
            ours = choose({}, argument)
        line = [harness.BIN / "longreach", "config", "show", "-o", "json", *(["--context", argument] if argument else [])]
        printed = subprocess.run(line, env={**home.environment(), **variables}, cwd=home.path, capture_output=True, text=True, timeout=harness.PATIENCE_S)
        assert printed.returncode == 0, printed
        theirs = {one["name"]: one["value"] for one in json.loads(printed.stdout)["settings"]}
        case = (argument, variables)
        assert ours.address == theirs["scheduler"], case
        for name in ("ca", "certificate", "key", "token_file"):
            said = getattr(ours, name) or ""
            assert (said.replace("~", str(home.path), 1) if said.startswith("~/") else said) == (theirs[name] or ""), (case, name)
        assert bool(ours.token) == (theirs["token"] == "set"), case
        compared += 1
    assert compared == 48


def test_an_argument_comes_first_and_a_context_that_is_one_before_the_environment(home, monkeypatch):
    write_config(home, CONFIG)
    assert choose({"scheduler": "here:1"}, "cluster").address == "here:1"
    assert choose({"scheduler": "here:1"}, "cluster").ca == "/etc/long reach/ca.crt"
    monkeypatch.setenv("LONGREACH_SCHEDULER", "there:2")
    assert choose({}).address == "there:2" and choose({}, "cluster").address == "head#1:7070"
    monkeypatch.setenv("LONGREACH_TOKEN", "secret")
    assert choose({}).token == "secret" and choose({}).token_file is None
    assert choose({}, "lab").token is None and choose({}, "lab").token_file == 'lab "b".token', "it was asked for"
    assert choose({}, token="mine").token == "mine"


def test_without_a_file_there_is_the_environment_and_the_default(home, monkeypatch):
    assert choose({}).address == "localhost:7070"
    with pytest.raises(package.Refused, match="context: there is no context 'lab'; they stand below 'contexts:' in .*config.yaml, which has none"):
        package.connect(context="lab")
    for name in ("HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name)
    with pytest.raises(package.Refused, match="neither XDG_CONFIG_HOME nor HOME says where"):
        package.connect(context="lab")


@pytest.mark.parametrize("arguments, said", [
    ({"context": "clutser"}, r"no context 'clutser' \(did you mean 'cluster'\?\); there are: lab, cluster, laptop, nothing"),
    ({"context": "laptop"}, r"config.yaml:\d+ \(context laptop\) names a store: open_store\('b1.db'\) opens it"),
    ({"context": "cluster", "key": ""}, "there is a certificate and no key"),
])
def test_a_context_that_is_of_no_use_here_is_refused(home, arguments, said):
    write_config(home, CONFIG)
    with pytest.raises(package.Refused, match=said):
        package.connect(**arguments)


@pytest.mark.parametrize("text, said", [
    ("shceduler: a\n", r":1: unknown setting 'shceduler' \(did you mean 'scheduler'\?\)"),
    ("scheduler: a\nscheduler: b\n", ":2: 'scheduler' is there twice"),
    ("scheduler:\n", ":1: expected one value"),
    ("scheduler: ~\n", ":1: expected one value"),
    ("scheduler: [a, b]\n", "is no plain text"),
    ("scheduler: &here a\n", "is no plain text"),
    ("scheduler: !!str a\n", "is no plain text"),
    ("scheduler: |\n  a\n", "is no plain text"),
    ("scheduler: 'a' b\n", "behind a value"),
    ("scheduler: 'a\n", "is no plain text"),
    ("scheduler: a: b\n", "is no plain text"),
    ("- scheduler\n", ":1: expected 'name: value'"),
    ("\tscheduler: a\n", ":1: expected 'name: value'"),
    ("  scheduler: a\n", "below no context"),
    ("contexts: {a: {scheduler: b}}\n", "write each on a line of its own"),
    ("contexts:\n  a: {scheduler: b,\n    ca: c}\n", "in one line"),
    ("contexts:\n  a: {scheduler: b} c\n", "where settings belong"),
    ("contexts:\n  a: b\n", "where settings belong"),
    ("contexts:\n  a:\n    ca: b\n   key: c\n", ":4: its indent"),
    ("contexts:\n  a:\n    context: b\n", "unknown setting 'context'.* [(]context a[)]"),
    ("contexts:\n  a:\n  a:\n", ":3: 'a' is there twice"),
    ("contexts:\ncontexts:\n", ":2: 'contexts' is there twice"),
    ("contexts:\n  -a:\n", ":2: expected 'name: value'"),
    ("contexts:\n  a b:\n", "expected 'name: value'"),
    ("scheduler: a\nstore: b\n", "exclude each other"),
])
def test_what_is_not_understood_is_refused_with_its_line(home, text, said):
    write_config(home, text)
    with pytest.raises(package.Refused, match=said):
        package.connect()


@pytest.mark.parametrize("text", ["", "# Nothing.\n\n", "---\nscheduler: localhost:7070\n", "contexts:\n", "contexts:\n  a:\n", "\ufeffscheduler: localhost:7070\r\n"])
def test_what_says_little_is_no_mistake(home, text):
    write_config(home, text)
    assert choose({}).address == "localhost:7070"


def test_contexts_lead_to_schedulers_with_what_they_are_shown(home):
    certificates, near = security.Certificates(home), Scheduler(home, store="near.db")
    far = security.tls_scheduler(home, certificates)
    write_config(home, f"""context: laptop
contexts:
  laptop: {{scheduler: "{near.address}"}}
  cluster:
    scheduler: {far.address}
    ca: {certificates["ca.crt"]}
    certificate: {certificates["client.crt"]}
    key: {certificates["client.key"]}
""")
    with package.connect() as client:
        assert client.address == near.address and client.sweeps().empty
    with package.connect(context="cluster") as client:
        assert client.address == far.address and client.sweeps().empty
