"""What answers at an address that no connection of gRPC's could be made to. gRPC tells of the last address of a host alone, and most have two: that nothing listens at
one of them hides what was wrong at the other."""
from __future__ import annotations

import socket
import ssl

NOTHING, SOMETHING, ANOTHER_AUTHORITY = "nothing", "something", "another authority"
_PATIENCE_S = 3.0


def what_answers(address: str, ca: bytes) -> str:
    """At HOST:PORT: NOTHING; SOMETHING that takes connections; or, by the authority `ca` (PEM; empty: none is asked for), one whose certificate is not of it."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE_S) as connection:
            return _who_is_it(connection, ca) if ca else SOMETHING
    except OSError:
        return NOTHING


def _who_is_it(connection: socket.socket, ca: bytes) -> str:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False  # Of another name it is still of the authority.
    try:
        context.load_verify_locations(cadata=ca.decode("ascii"))
        context.wrap_socket(connection).close()
    except ssl.SSLCertVerificationError:
        return ANOTHER_AUTHORITY
    except (OSError, ValueError):  # It speaks no TLS, or ca is no certificate.
        pass
    return SOMETHING
