"""Completion as shells do it themselves: a line is typed on a terminal, with a tab behind it, and what the shell has made of the line is read."""
import os
import pty
import select
import shutil
import signal

import pytest

from harness import BIN, PATIENCE_S, Home, run_cli

# Ctrl-T has what was typed reported: after a key that other keys begin with, as Ctrl-X, bash and zsh wait half a second for the next one.
SHELLS = {
    "bash": (["-i"], ".bashrc", """PS1=READY
source {home}/longreach.bash
report() {{ printf '%s\\n' "$READLINE_LINE" > {home}/line; exit; }}
bind -x '"\\C-t": report'
"""),
    # Without the settings of the machine. The first line of the script, #compdef, counts where it is found in a folder of functions.
    "zsh": (["-o", "no_global_rcs", "-i"], ".zshrc", """fpath=({home}/functions $fpath)
autoload -Uz compinit && compinit -u -d {kept}/functions.dump
PROMPT=
report() {{ print -r -- "$BUFFER" > {home}/line; exit }}
zle -N report
bindkey '^T' report
zle-line-init() {{ print -n READY }}
zle -N zle-line-init
"""),
    "fish": (["-i"], "config/fish/config.fish", r"""set -g fish_autosuggestion_enabled 0
function fish_greeting; end
function fish_prompt; echo -n READY; end
function report; commandline > {home}/line; exit; end
bind \ct report
"""),
}
SCRIPTS = {"bash": "longreach.bash", "zsh": "functions/_longreach", "fish": "config/fish/completions/longreach.fish"}


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture(scope="module")
def kept():
    """A folder for what zsh finds out about the machine's functions, which takes half a second of a processor: once for all tests."""
    with Home() as own:
        yield own.path


@pytest.fixture(params=SHELLS)
def shell(request, home, kept):
    """A shell that has the script, in a home with a configuration and a store."""
    if shutil.which(request.param) is None:
        pytest.skip(f"there is no {request.param}; deploy/test_packages.txt names Debian's package")
    _, file, settings = SHELLS[request.param]
    write(home.path / file, settings.format(home=home.path, kept=kept))
    script = run_cli(home, "completion", request.param)
    assert script.code == 0, script
    write(home.path / SCRIPTS[request.param], script.out)
    write(home.path / "config/longreach/config.yaml", "contexts:\n  laptop: {store: ~/my.db}\n")
    return request.param


def completed(home, shell, line):
    """The line after a tab at its end."""
    program = shutil.which(shell)
    environment = {**home.environment(), "PATH": f"{BIN}:/usr/bin:/bin", "TERM": "dumb", "LANG": "C.UTF-8", "ZDOTDIR": str(home.path)}
    (home.path / "line").unlink(missing_ok=True)
    process, terminal = pty.fork()
    if process == 0:
        try:
            os.chdir(home.path)
            os.execve(program, [shell, *SHELLS[shell][0]], environment)
        finally:
            os._exit(127)
    said, typed = b"", False
    try:
        while select.select([terminal], [], [], PATIENCE_S)[0]:
            try:
                more = os.read(terminal, 4096)
            except OSError:  # The shell has ended: so a terminal says it.
                break
            if not more:
                break
            said += more
            if not typed and b"READY" in said:
                os.write(terminal, f"{line}\t\x14".encode())
                typed = True
    finally:
        os.close(terminal)
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
    assert (home.path / "line").exists(), said.decode(errors="replace")
    return (home.path / "line").read_text().removesuffix("\n")


@pytest.fixture(scope="module")
def trained():
    """A store with jobs of two tasks, made once for all shells."""
    with Home() as own:
        made = run_cli(own, "run", "noop", "--set", "task=even_pairs,parity_check", "--set", "seed=0", "--store", own.path / "trained.db")
        assert made.code == 0, made
        yield own.path / "trained.db"


def test_a_shell_completes_commands_options_and_their_values(home, shell):
    for typed, line in (("longreach resul", "longreach results "),
                        ("longreach results --pub", "longreach results --published "),
                        ("longreach results last --aggregate med", "longreach results last --aggregate median "),
                        ("longreach results last --aggregate=med", "longreach results last --aggregate=median "),
                        ("longreach sweeps -o j", "longreach sweeps -o json "),
                        ("longreach sweeps --context=l", "longreach sweeps --context=laptop "),
                        ("longreach run table-b", "longreach run table-b1 "),
                        ("A=1 longreach resul", "A=1 longreach results "),
                        ("true; longreach resul", "true; longreach results "),
                        ("longreach bogus ", "longreach bogus ")):
        assert completed(home, shell, typed) == line


def test_a_word_that_goes_on_gets_no_blank(home, shell):
    for typed, line in (("longreach run quickstart --set training.st", "longreach run quickstart --set training.steps="),
                        ("longreach run quickstart --set=training.st", "longreach run quickstart --set=training.steps="),
                        ("longreach run quickstart --set encoding=rope:", "longreach run quickstart --set encoding=rope:randomized "),
                        ("longreach run quickstart --set encoding=rope,log_kerple:", "longreach run quickstart --set encoding=rope,log_kerple:randomized "),
                        ("longreach jobs last --state queued,wai", "longreach jobs last --state queued,waiting ")):
        assert completed(home, shell, typed) == line


def test_a_shell_completes_names_of_files_in_a_word_of_their_own_or_behind_an_option(home, shell):
    (home.path / "folder of mine").mkdir()
    for typed, line in (("longreach sweeps --store fol", r"longreach sweeps --store folder\ of\ mine/"),
                        ("longreach sweeps --store=fol", r"longreach sweeps --store=folder\ of\ mine/"),
                        ("longreach sweeps --store ~/fol", r"longreach sweeps --store ~/folder\ of\ mine/"),
                        # Bash has the quotes end before the '/', after which a name goes on as well.
                        ("longreach sweeps --store 'fol", "longreach sweeps --store 'folder of mine" + ("'/" if shell == "bash" else "/")),
                        ("longreach run ./fol", r"longreach run ./folder\ of\ mine/")):
        assert completed(home, shell, typed) == line


def test_a_shell_completes_what_is_in_the_store_of_the_line(home, shell, trained):
    # Its name is one word only with a backslash or in quotes.
    shutil.copy(trained, home.path / "my store.db")
    (home.path / "my.db").symlink_to("my store.db")
    job = run_cli(home, "jobs", "last", "-o", "json", "--store", home.path / "my store.db").json()["jobs"][0]["id"]
    for typed, line in ((r"longreach results --store my\ store.db n", r"longreach results --store my\ store.db noop "),
                        ("longreach results --store 'my store.db' n", "longreach results --store 'my store.db' noop "),
                        ("longreach results --context laptop n", "longreach results --context laptop noop "),
                        ("longreach results --context laptop 'n", "longreach results --context laptop 'noop' "),
                        (f"longreach job --context laptop {job[:9]}", f"longreach job --context laptop {job[:12]} "),
                        ("longreach jobs last --context laptop --only tas", "longreach jobs last --context laptop --only task="),
                        ("longreach jobs last --context laptop --only task=p", "longreach jobs last --context laptop --only task=parity_check "),
                        ("longreach jobs last --context laptop --only=task=even_pairs,p", "longreach jobs last --context laptop --only=task=even_pairs,parity_check ")):
        assert completed(home, shell, typed) == line
