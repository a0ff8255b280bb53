"""Certificates, tokens, and schedulers that ask for them."""
import pathlib
import re
import socket
import ssl
import subprocess

import grpc

import harness

# What a refused caller leaves in the scheduler's log.
REFUSED = re.compile(r"^\S+ \S+ refused: (.*)$", re.MULTILINE)


class Certificates:
    """A folder of `longreach certs init`."""

    def __init__(self, home, name="certs", *arguments):
        self.home = home
        self.folder = home.path / name
        made = harness.run_cli(home, "certs", "init", self.folder, *arguments)
        assert made.code == 0, made

    def __getitem__(self, file):
        return self.folder / file

    def issue(self, name, role, *arguments):
        made = harness.run_cli(self.home, "certs", "issue", self.folder, name, "--role", role, *arguments)
        assert made.code == 0, made

    def flags(self, who):
        """How a program is told to call as `who`."""
        return ["--ca", self["ca.crt"], "--certificate", self[f"{who}.crt"], "--key", self[f"{who}.key"]]

    def server_flags(self, server="server"):
        return ["--certificate", self[f"{server}.crt"], "--key", self[f"{server}.key"], "--client-ca", self["ca.crt"]]

    def channel(self, address, who=None, folder=None):
        """A channel of Python's gRPC; `who` has a certificate here, or in another folder."""
        own = [None, None]
        if who is not None:
            own = [pathlib.Path(folder or self.folder, f"{who}.{part}").read_bytes() for part in ("key", "crt")]
        # Not shared with a channel of other credentials.
        return grpc.secure_channel(address, grpc.ssl_channel_credentials(self["ca.crt"].read_bytes(), *own),
                                   options=[("grpc.use_local_subchannel_pool", 1), ("grpc.enable_http_proxy", 0)])

    def sign(self, name, *, role="client", names=None, start=None, end=None):
        """A certificate that `longreach certs` does not make: of another time (YYYYMMDDHHMMSSZ), or with other names."""
        uri_or_names = names or f"URI:longreach:role:{role}"
        (self.folder / "openssl.cnf").write_text(
            f"[ca]\ndefault_ca=own\n[own]\ndatabase={self.folder}/index\nnew_certs_dir={self.folder}\ndefault_md=sha256\n"
            f"policy=any\nrand_serial=yes\nunique_subject=no\n[any]\ncommonName=supplied\n[leaf]\nsubjectAltName={uri_or_names}\n")
        (self.folder / "index").touch()
        key, request, made = (str(self[f"{name}.{part}"]) for part in ("key", "csr", "crt"))
        for command in (["ecparam", "-genkey", "-name", "prime256v1", "-noout", "-out", key],
                        ["req", "-new", "-key", key, "-subj", f"/CN={name}", "-out", request],
                        ["ca", "-batch", "-notext", "-config", str(self["openssl.cnf"]), "-extensions", "leaf",
                         "-cert", str(self["ca.crt"]), "-keyfile", str(self["ca.key"]), "-in", request, "-out", made,
                         "-startdate", start or "20200101000000Z", "-enddate", end or "20990101000000Z"]):
            done = subprocess.run(["openssl", *command], capture_output=True, text=True, cwd=self.folder)
            assert done.returncode == 0, done.stderr
        self[f"{name}.key"].chmod(0o600)


def tls_scheduler(home, certificates, *arguments, server="server", **others):
    return harness.Scheduler(home, *certificates.server_flags(server), *arguments, listen="localhost:0", **others)


def token(home, role, name, list_file):
    """A new token, whose hash is added to a list."""
    made = harness.run_cli(home, "certs", "token", "--role", role, "--name", name, "--add", list_file, "--quiet")
    assert made.code == 0, made
    return made.out.strip()


def bearer(text):
    return [("authorization", f"Bearer {text}")]


def refusals(scheduler):
    """What the scheduler's log says about those whom it refused."""
    return REFUSED.findall(scheduler.log())


def small_request():
    """To submit three jobs."""
    api, spec = harness.messages("api"), harness.messages("spec")
    return api.SubmitSweepRequest(spec=spec.SweepSpec(
        name="small", experiment="algorithmic",
        axes=spec.Axes(task=["even_pairs"], encoding=["rope"], learning_rate=[1e-3], seed=range(3)),
        training=spec.Training(steps=2, batch_size=4, lengths=[1, 2, 3]), evaluation=spec.Evaluation(lengths=[4, 5], examples=4)))


def code_of(call):
    """How a call ended."""
    try:
        call()
    except grpc.RpcError as error:
        return error.code(), error.details()
    return grpc.StatusCode.OK, ""


def tls_handshake(address, certificates, version, who="client"):
    """A bare TLS handshake of exactly that version, as a client that would use any cipher."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = context.maximum_version = version
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.set_alpn_protocols(["h2"])
    context.load_verify_locations(certificates["ca.crt"])
    context.load_cert_chain(certificates[f"{who}.crt"], certificates[f"{who}.key"])
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=harness.PATIENCE_S) as plain:
        with context.wrap_socket(plain, server_hostname="localhost") as wrapped:
            return wrapped.version()
