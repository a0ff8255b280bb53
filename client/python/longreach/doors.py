"""The two ways in: a scheduler that runs, or a store on this machine."""
from __future__ import annotations

import os
import pathlib
import time

from longreach import protocol
from longreach.answering import ANOTHER_AUTHORITY, NOTHING, SOMETHING, what_answers
from longreach.calls import Calls
from longreach.client import Client
from longreach.credentials import Credentials, address_of, metadata_of, open_channel, read_credentials
from longreach.embedded import EmbeddedScheduler, Held, check_store, own_scheduler
from longreach.errors import Error, TimedOut, Unreachable, error_of
from longreach.settings import choose

# Whether a scheduler is there at all is known soon.
_CONNECT_TRIES = 3
_CONNECT_PATIENCE_S = 10.0
# Who has a store for a moment only, has it no longer than this.
_HELD_PATIENCE_S = 60.0
_HELD_PAUSE_S = 0.2


def connect(address: str | None = None, *, context: str | None = None, ca: str | None = None, certificate: str | None = None, key: str | None = None,
            token_file: str | None = None, token: str | None = None) -> Client:
    """A client of the scheduler at HOST:PORT or unix:PATH, which is asked at once whether it is there.

    What is left out is taken as the commands take it: from LONGREACH_SCHEDULER, LONGREACH_CA, LONGREACH_CERTIFICATE, LONGREACH_KEY, LONGREACH_TOKEN_FILE and
    LONGREACH_TOKEN, else from the context of the commands' config file that holds there, else from the rest of that file; the address is localhost:7070 then. context:
    the name of another one of its contexts, which comes before the environment. `ca`, `certificate`, `key` and `token_file` are paths.

    Unreachable: no scheduler is there. NotAllowed: it does not admit these credentials. Refused: what is given cannot be used.
    """
    chosen = choose({"scheduler": address, "ca": ca, "certificate": certificate, "key": key, "token_file": token_file}, context, token)
    shown = read_credentials(chosen.ca, chosen.certificate, chosen.key, chosen.token_file, chosen.token)
    return _client(address_of(chosen.address), shown)


def open_store(path: str | os.PathLike, *, create: bool = False, copy: bool = False) -> Client:
    """A client of a store's file on this machine, by a `longreach-scheduler` of its own, which ends with close() or with this process. Opened again meanwhile, as by
    a cell that is run again, it is the same scheduler, which ends with the last of its clients.

    The program is the one in LONGREACH_BIN, else on the PATH. Where another command of this machine has the store open, as 'longreach run' has, its scheduler is
    asked; one that has it for a moment only is waited for, a minute long. create: makes a store where there is none. copy: works on a copy of the file, which is
    neither changed nor held, and gone at the end.

    NotFound: there is no such store, or no such program. Refused: the store cannot be opened, in the program's words.
    """
    path = pathlib.Path(path).expanduser().absolute()
    if not create:
        check_store(path)
    end = time.monotonic() + _HELD_PATIENCE_S
    while True:
        try:
            scheduler = EmbeddedScheduler(str(path), copy)
        except Held as held:
            # A socket is that of another command here; a scheduler for other machines may ask for more than this one was told.
            is_late = time.monotonic() > end
            if held.address.startswith("unix:"):
                try:
                    return _client(held.address, Credentials(), own_scheduler(held.address))
                except Unreachable:  # It has ended just now, and the store is free.
                    if is_late:
                        raise
            elif held.address or is_late:
                raise held.refusal from None
            time.sleep(_HELD_PAUSE_S)
            continue
        try:
            return _client(scheduler.address, Credentials(), scheduler)
        except BaseException:
            scheduler.close()
            raise


def _client(address: str, shown: Credentials, scheduler: EmbeddedScheduler | None = None) -> Client:
    calls = Calls(open_channel(address, shown), address, metadata_of(shown))
    try:
        calls.ask("GetInfo", protocol.message("GetInfoRequest")(), timeout=_CONNECT_PATIENCE_S, tries=_CONNECT_TRIES)
    except TimedOut:
        calls.close()
        raise error_of("UNAVAILABLE", f"no answer from a scheduler at {address} within {_CONNECT_PATIENCE_S:.0f} s") from None
    except Unreachable as error:
        calls.close()
        raise error_of(error.code, f"{error}\n  {_what_to_do(str(error), address, shown.ca)}") from None
    except Error:
        calls.close()
        raise
    return Client(calls, scheduler)


def _what_to_do(said: str, address: str, ca: bytes) -> str:
    """By what gRPC has said of a connection that was not made, and by what is there."""
    answers = what_answers(address, ca) if "failed to connect" in said and not address.startswith("unix:") else NOTHING
    if "CERTIFICATE_VERIFY_FAILED" in said or answers == ANOTHER_AUTHORITY:
        return "what answers there has no certificate of the authority in ca: that must be the file of that scheduler's authority"
    if "closed" in said or "reset" in said or answers == SOMETHING:
        return "something takes connections there and ends them: a scheduler with TLS wants ca, and refuses a certificate that is of no authority of its own"
    return "'longreach-scheduler' starts one; connect('HOST:PORT') or LONGREACH_SCHEDULER names another, open_store(FILE) opens a store on this machine"
