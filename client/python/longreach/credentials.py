"""How a scheduler is reached, and what it is shown, of what settings.py has chosen."""
from __future__ import annotations

import dataclasses
import os
import ssl
import stat

import grpc

from longreach.errors import Error, error_of, refused

_DEFAULT_PORT = 7070
# As the scheduler has it: no message is larger, in either direction.
_MAX_MESSAGE_BYTES = 16 << 20
_MAX_FILE_BYTES = 1 << 20
_OPTIONS = [
    ("grpc.max_receive_message_length", _MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", _MAX_MESSAGE_BYTES),
    # A link that died without a word is noticed within 15 s, also by who only listens.
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.min_reconnect_backoff_ms", 5_000),
    ("grpc.max_reconnect_backoff_ms", 2_000),
    ("grpc.enable_http_proxy", 0),  # A proxy for the web is none for schedulers.
    ("grpc.use_local_subchannel_pool", 1),  # Connections are not shared with a channel that shows something else.
]


@dataclasses.dataclass(frozen=True)
class Credentials:
    """What the files hold: PEM, and the token. Empty: none."""
    ca: bytes = b""
    certificate: bytes = b""
    key: bytes = dataclasses.field(default=b"", repr=False)
    token: str = dataclasses.field(default="", repr=False)


def read_credentials(ca: str | None, certificate: str | None, key: str | None, token_file: str | None, token: str | None) -> Credentials:
    """Of these files. Refused: one that cannot be used, or one of two that go together."""
    if bool(certificate) != bool(key):
        there, lacks = ("certificate", "key") if certificate else ("key", "certificate")
        raise refused(f"there is a {there} and no {lacks}; they go together: give {lacks}, too")
    if certificate and not ca:
        raise refused(f"certificate {certificate}: there is no ca to know the scheduler by; give the file of its authority as ca")
    if token is None:
        token = _read(token_file, secret=True).decode("ascii", "replace") if token_file else ""
        if token_file and not token.strip():
            raise refused(f"{token_file}: there is no token in it")
    token = token.strip()
    if any(not "!" <= letter <= "~" for letter in token):
        raise refused(f"{token_file or 'the token'}: not one token, which has neither blanks nor letters beyond ASCII")
    shown = Credentials(_read(ca), _read(certificate), _read(key, secret=True), token)
    _check_that_tls_takes(shown, ca, certificate, key)
    return shown


def address_of(address: str) -> str:
    """HOST:PORT or unix:PATH, as gRPC takes it. Refused: it is neither."""
    if address.startswith("unix:") and len(address) > len("unix:"):
        return address
    host, colon, port = address.rpartition(":")
    if not address or any(letter in address for letter in " \t\r\n/") or (colon and not host):
        raise refused(f"'{address}' is not an address: write HOST:PORT or unix:PATH")
    if not colon or address.endswith("]"):  # [::1] has colons and no port.
        return f"{address}:{_DEFAULT_PORT}"
    if not (port.isascii() and port.isdigit() and 1 <= int(port) <= 65535):
        raise refused(f"'{address}' has no port from 1 to 65535: write HOST:PORT or unix:PATH")
    return address


def open_channel(address: str, shown: Credentials) -> grpc.Channel:
    """TLS where there is an authority, plain text within this machine. Refused: another machine and no authority. It does not connect yet."""
    if shown.ca and not address.startswith("unix:"):
        # No certificate of one's own is none, not an empty one.
        tls = grpc.ssl_channel_credentials(shown.ca, shown.key or None, shown.certificate or None)
        return grpc.secure_channel(address, tls, options=_OPTIONS)
    if not address.startswith(("unix:", "localhost:", "127.", "[::1]:")):
        raise error_of("FAILED_PRECONDITION", f"{address} is another machine, and connections to it are encrypted; give the file of its scheduler's "
                                              "authority as ca (or LONGREACH_CA), and certificate and key, or a token")
    return grpc.insecure_channel(address, options=_OPTIONS)


def metadata_of(shown: Credentials) -> tuple:
    """What goes with each call."""
    return (("authorization", f"Bearer {shown.token}"),) if shown.token else ()


def _read(path: str | None, secret: bool = False) -> bytes:
    """A small file; of an empty name nothing."""
    if not path:
        return b""
    path = os.path.expanduser(path)
    try:
        with open(path, "rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            _check_mode(path, mode, secret)
            data = file.read(_MAX_FILE_BYTES + 1)
    except OSError as error:
        raise _unusable(path, error.strerror) from None
    if len(data) > _MAX_FILE_BYTES:
        raise _unusable(path, "it has more than 1 MiB")
    return data


def _check_mode(path: str, mode: int, secret: bool) -> None:
    if not stat.S_ISREG(mode):
        raise _unusable(path, "it is no file")
    if os.name != "posix":
        return
    if secret and mode & stat.S_IRWXO:
        raise _unusable(path, f"it is a secret, and everybody on this machine may open it; chmod 600 {path}")
    if mode & stat.S_IWOTH:
        raise _unusable(path, f"everybody on this machine may write it, and so decide who is let in; chmod o-w {path}")


def _check_that_tls_takes(shown: Credentials, ca: str | None, certificate: str | None, key: str | None) -> None:
    """What gRPC could not use it would take for a scheduler that does not answer."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if shown.ca:
        try:
            tls.load_verify_locations(cadata=shown.ca.decode("ascii", "ignore"))  # Around certificates there may be any words.
        except (ssl.SSLError, ValueError) as error:
            raise _unusable(ca, f"it holds no certificate of an authority in PEM ({_why(error)})") from None
    if shown.key:
        try:
            tls.load_cert_chain(os.path.expanduser(certificate), os.path.expanduser(key), password="")  # Nobody is asked for one: gRPC takes no such key.
        except (ssl.SSLError, ValueError) as error:
            raise _unusable(key, f"it is not the key of {certificate}, or one of them is no PEM without a password ({_why(error)})") from None


def _why(error: Exception) -> str:
    return getattr(error, "reason", None) or str(error)


def _unusable(path: str, why: str | None) -> Error:
    return error_of("FAILED_PRECONDITION", f"cannot use {path}: {why}")
