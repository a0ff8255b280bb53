"""What goes wrong, as exceptions that somebody may catch."""
from __future__ import annotations


class Error(Exception):
    """What went wrong, in the scheduler's words where it said so. `code` is gRPC's name for it, as "DATA_LOSS" (docs/howto/api.md)."""

    def __init__(self, code: str, message: str):
        super().__init__(message)
        self.code = code

    def __reduce__(self):
        return type(self), (self.code, str(self))


class NotFound(Error):
    """There is no such sweep, job, worker, call or file."""


class NotAllowed(Error):
    """There are no credentials, or those of a role that may not do this."""


class Refused(Error):
    """What was asked for cannot be, and the text says what to change."""


class TimedOut(Error):
    """The time that was given was up first. The call may have been carried out, or still be."""


class Unreachable(Error):
    """The scheduler is not there, or went away, and did not come back in time. The call may have been carried out."""


_CLASSES = {
    "NOT_FOUND": NotFound,
    "UNAUTHENTICATED": NotAllowed,
    "PERMISSION_DENIED": NotAllowed,
    "INVALID_ARGUMENT": Refused,
    "FAILED_PRECONDITION": Refused,
    "ALREADY_EXISTS": Refused,
    "DEADLINE_EXCEEDED": TimedOut,
    "UNAVAILABLE": Unreachable,
    "CANCELLED": Unreachable,
}


def error_of(code: str, message: str) -> Error:
    """An error of the class that this code has."""
    return _CLASSES.get(code, Error)(code, message)


def refused(message: str) -> Refused:
    """What is refused here already, before any scheduler is asked."""
    return Refused("INVALID_ARGUMENT", message)
