"""A scheduler of one's own: `longreach-scheduler` on a store, on a Unix socket that nobody else knows, which ends with this process."""
from __future__ import annotations

import os
import pathlib
import selectors
import shutil
import subprocess
import tempfile
import time
import weakref

from longreach.errors import Error, error_of

PROGRAM = "longreach-scheduler"
# Opening a store may migrate it and check its files.
_START_PATIENCE_S = 300
# The path of a Unix socket may have 107 bytes; macOS has it shorter.
_MAX_SOCKET_PATH = 103
_READY = "listening on "
_HELD = "held at "
_PROGRESS = b"progress: "
# Those of this process, by address.
_OWN: weakref.WeakValueDictionary = weakref.WeakValueDictionary()


class Held(Exception):
    """Somebody else has the store open: for a moment, or at an address."""

    def __init__(self, refusal: Error, address: str):
        super().__init__(str(refusal))
        self.refusal = refusal
        self.address = address  # Empty: it has not said where, or is soon gone.


def find_program() -> str:
    """In LONGREACH_BIN, else on the PATH. NotFound: in neither."""
    folder = os.environ.get("LONGREACH_BIN")
    found = shutil.which(PROGRAM, path=folder) if folder else shutil.which(PROGRAM)
    if found is None:
        where = f"in LONGREACH_BIN ({folder})" if folder else "on the PATH, nor is LONGREACH_BIN set to the folder of the programs"
        raise error_of("NOT_FOUND", f"there is no {PROGRAM} {where}. A store is opened by that program, which is not part of this package: install Longreach "
                                    "(Debian, or another Linux), or connect() to a scheduler on another machine")
    return os.path.abspath(found)


class EmbeddedScheduler:
    """Started on a store, and listening at `address`. Held: somebody else has the store. Refused: the program refused, in its words.

    It ends with the last of its clients: one that opens a store of its own process again, as a cell does that is run again, shares the scheduler of the first.
    """

    def __init__(self, store: str, copy: bool):
        program = find_program()
        folder = _folder_for_socket()
        arguments = ["--store", store, "--listen", f"unix:{folder}/scheduler.sock", "--until-stdin-closes"]
        if copy:
            arguments += ["--copy-to-read", "--copy-always"]
        self._clients: weakref.WeakSet = weakref.WeakSet()
        self._said = tempfile.TemporaryFile()
        try:
            self._process = _start([program, *arguments], self._said)
        except OSError as error:
            _forget(self._said, folder)
            raise error_of("FAILED_PRECONDITION", f"cannot start {program}: {error.strerror}") from None
        # Also where nobody has closed the last client.
        self._end = weakref.finalize(self, _end, self._process, self._said, folder, os.getpid())
        try:
            line = self._first_word()
            if line is None or not line.startswith(_READY):
                _stop(self._process)
                raise self._refusal(line)
        except BaseException:
            self._end()
            raise
        self.address = line[len(_READY):].strip()
        _OWN[self.address] = self

    def join(self, client) -> None:
        """This one needs it, too."""
        self._clients.add(client)

    def leave(self, client) -> None:
        """Ends it where this one was the last."""
        self._clients.discard(client)
        if not self._clients:
            self.close()

    def close(self) -> None:
        """Ends it: what it has answered is on disk."""
        self._end()

    def _first_word(self) -> str | None:
        """The first line that it says, but for what it does until then (a copy that it makes). Empty: it has ended without a word; None: it takes too long."""
        end, said = time.monotonic() + _START_PATIENCE_S, b""
        with selectors.DefaultSelector() as ready:
            ready.register(self._process.stdout, selectors.EVENT_READ)
            while ready.select(max(0.0, end - time.monotonic())):
                more = os.read(self._process.stdout.fileno(), 1 << 16)
                *lines, said = (said + more).split(b"\n")
                words = [line for line in lines if not line.startswith(_PROGRESS)]
                if words or not more:
                    return [*words, said][0].decode(errors="replace")
        return None

    def _refusal(self, line: str | None) -> Exception:
        refusal = error_of("FAILED_PRECONDITION", self._last_words(line is None))
        if line is not None and line.startswith("held"):
            return Held(refusal, line[len(_HELD):].strip() if line.startswith(_HELD) else "")
        return refusal

    def _last_words(self, is_late: bool) -> str:
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").split("\n")
        lines = [line for line in lines if line.strip()][-5:]
        for line in lines:
            if line.startswith("error: "):
                return line[len("error: "):]
        code = self._process.returncode
        how = (f"did not say within {_START_PATIENCE_S} s that it listens" if is_late or code is None else
               f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}")
        return f"{PROGRAM} {how}{'; the last that it said: ' + lines[-1] if lines else ' and said nothing'}"


def _start(command: list, said) -> subprocess.Popen:
    """In a session of its own: to interrupt a cell is no reason for it to end. The pipe is: it closes with this process, however that ends.

    By posix_spawn, which subprocess takes where it has neither to make that session nor to close files, which are not inherited unless somebody wants it. A fork would
    run what gRPC has for forks, on by default in old versions of it and on request in others: that waits for threads of gRPC's, and may wait for ever where another
    client of this process is in a call."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": said}
    setsid = shutil.which("setsid")
    if setsid is None:  # No Linux, or one without util-linux.
        return subprocess.Popen(command, start_new_session=True, **pipes)
    return subprocess.Popen([setsid, *command], close_fds=False, **pipes)


def own_scheduler(address: str) -> EmbeddedScheduler | None:
    """The one of this process that listens there."""
    return _OWN.get(address)


def _stop(process: subprocess.Popen) -> None:
    if not process.stdin.closed:
        process.stdin.close()
    for patience_s, then in ((30, process.terminate), (10, process.kill), (10, None)):
        try:
            process.wait(patience_s)
            return
        except subprocess.TimeoutExpired:
            if then is not None:
                then()


def _end(process: subprocess.Popen, said, folder: str, owner: int) -> None:
    """Not by a copy of the process that started it, as multiprocessing makes them: its own ends are no reason."""
    if os.getpid() != owner:
        return
    _stop(process)
    process.stdout.close()
    _forget(said, folder)


def _forget(said, folder: str) -> None:
    said.close()
    shutil.rmtree(folder, ignore_errors=True)


def _folder_for_socket() -> str:
    for parent in (os.environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir(), "/tmp"):
        if not parent or len(os.fsencode(parent)) + len("/longreach-12345678/scheduler.sock") > _MAX_SOCKET_PATH:
            continue
        try:
            return tempfile.mkdtemp(prefix="longreach-", dir=parent)
        except OSError:
            continue
    raise error_of("FAILED_PRECONDITION", "no folder for a socket could be made in XDG_RUNTIME_DIR, TMPDIR or /tmp; set TMPDIR to a folder that can be "
                                          "written to, with a short path")


def check_store(path: pathlib.Path) -> None:
    """NotFound: there is none, and none is made by looking for it. Refused: it is empty, or cannot be looked at."""
    try:
        size = path.stat().st_size if path.is_file() else None
        exists = path.exists()
    except OSError as error:
        raise error_of("FAILED_PRECONDITION", f"cannot look at the store '{path}': {error.strerror}") from None
    if not exists:
        raise error_of("NOT_FOUND", f"there is no store '{path}'; open_store(..., create=True) makes one, as 'longreach run' does")
    if size == 0:
        raise error_of("FAILED_PRECONDITION", f"'{path}' is empty, and no store; name another file")
