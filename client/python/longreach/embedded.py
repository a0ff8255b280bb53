"""A scheduler of one's own: `longreach-scheduler` on a store, on a Unix socket that nobody else knows, which ends with this process."""
from __future__ import annotations

import os
import pathlib
import select
import shutil
import subprocess
import tempfile

from longreach.errors import Error, error_of

PROGRAM = "longreach-scheduler"
# Opening a store may migrate it and check its files.
_START_PATIENCE_S = 300
# The path of a Unix socket may have 107 bytes; macOS has it shorter.
_MAX_SOCKET_PATH = 103
_READY = "listening on "
_HELD = "held at "


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
    """Started on a store, and listening at `address`. Held: somebody else has the store. Refused: the program refused, in its words."""

    def __init__(self, store: str, copy: bool):
        program = find_program()
        self._folder = _folder_for_socket()
        arguments = ["--store", store, "--listen", f"unix:{self._folder}/scheduler.sock", "--until-stdin-closes"]
        if copy:
            arguments += ["--copy-to-read", "--copy-always"]
        self._said = tempfile.TemporaryFile()
        try:
            # In a session of its own: to interrupt a cell is no reason for it to end. The pipe is: it closes with this process, however that ends.
            self._process = subprocess.Popen([program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said, start_new_session=True)
        except OSError as error:
            self._forget()
            raise error_of("FAILED_PRECONDITION", f"cannot start {program}: {error.strerror}") from None
        try:
            line = self._first_line()
            if not line.startswith(_READY):
                self._process.stdin.close()
                self._end()
                raise self._refusal(line)
        except BaseException:
            self.close()
            raise
        self.address = line[len(_READY):].strip()

    def close(self) -> None:
        """Ends it: what it has answered is on disk."""
        if not self._process.stdin.closed:
            self._process.stdin.close()
        self._end()
        self._process.stdout.close()
        self._forget()

    def _first_line(self) -> str:
        ready, _, _ = select.select([self._process.stdout], [], [], _START_PATIENCE_S)
        return self._process.stdout.readline().decode(errors="replace") if ready else ""

    def _end(self) -> None:
        for patience_s, then in ((30, self._process.terminate), (10, self._process.kill), (10, None)):
            try:
                self._process.wait(patience_s)
                return
            except subprocess.TimeoutExpired:
                if then is not None:
                    then()

    def _refusal(self, line: str) -> Exception:
        refusal = error_of("FAILED_PRECONDITION", self._last_words())
        if line.startswith("held"):
            return Held(refusal, line[len(_HELD):].strip() if line.startswith(_HELD) else "")
        return refusal

    def _last_words(self) -> str:
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").split("\n")
        lines = [line for line in lines if line.strip()][-5:]
        for line in lines:
            if line.startswith("error: "):
                return line[len("error: "):]
        code = self._process.returncode
        how = "did not say in time that it listens" if code is None else f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        return f"{PROGRAM} {how}{'; the last that it said: ' + lines[-1] if lines else ' and said nothing'}"

    def _forget(self) -> None:
        self._said.close()
        shutil.rmtree(self._folder, ignore_errors=True)


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
