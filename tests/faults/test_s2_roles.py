"""S2: every call admits the roles that its description names and no other, whatever its caller shows."""
import grpc
import pytest

from harness import PATIENCE_S, Scheduler, check_ledger, messages
from security import Certificates, bearer, tls_scheduler, token

# Who may call what: read by people before a release, and compared with what the programs say. A new call needs a line.
CLIENT, READER, WORKER = {"client"}, {"client", "reader"}, {"worker"}
EVERYBODY = CLIENT | READER | WORKER
ADMITTED = {
    "/longreach.v1.Longreach/SubmitSweep": CLIENT,
    "/longreach.v1.Longreach/ListSweeps": READER,
    "/longreach.v1.Longreach/GetSweep": READER,
    "/longreach.v1.Longreach/WatchSweep": READER,
    "/longreach.v1.Longreach/ListJobs": READER,
    "/longreach.v1.Longreach/GetJob": READER,
    "/longreach.v1.Longreach/ExplainJob": READER,
    "/longreach.v1.Longreach/GetLog": READER,
    "/longreach.v1.Longreach/FollowLog": READER,
    "/longreach.v1.Longreach/ListWorkers": READER,
    "/longreach.v1.Longreach/ListDataSets": READER,
    "/longreach.v1.Longreach/GetTable": READER,
    "/longreach.v1.Longreach/ListMeasurements": READER,
    "/longreach.v1.Longreach/ListAttempts": READER,
    "/longreach.v1.Longreach/SteerSweep": CLIENT,
    "/longreach.v1.Longreach/SteerWorker": CLIENT,
    "/longreach.v1.Longreach/BackupStore": CLIENT,
    "/longreach.v1.Longreach/CheckStore": READER,
    "/longreach.v1.Longreach/MergeStore": CLIENT,
    "/longreach.v1.Longreach/RepairStore": CLIENT,
    "/longreach.v1.Longreach/GetInfo": READER,
    "/longreach.v1.Worker/Synchronize": WORKER,
    "/longreach.v1.Artifacts/Upload": WORKER,
    "/longreach.v1.Artifacts/FindUpload": WORKER,
    "/longreach.v1.Artifacts/Download": READER | WORKER,
}
# What gRPC brings along.
OTHERS = {
    "/grpc.health.v1.Health/Check": EVERYBODY,
    "/grpc.health.v1.Health/Watch": EVERYBODY,
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": READER,
    "/longreach.v1.Longreach/NoSuchCall": set(),
    "/longreach.v1.NoSuchService/GetInfo": set(),
}
ROLES = ("client", "reader", "worker")


def methods():
    files = [messages("api").DESCRIPTOR, messages("worker").DESCRIPTOR, messages("spec").DESCRIPTOR, messages("trainer_pipe").DESCRIPTOR]
    return [method for file in files for service in file.services_by_name.values() for method in service.methods]


def outcome(channel, path, metadata):
    """Calls with one empty message, which no call takes for more than a refusal or a look."""
    call = channel.stream_stream(path)(iter([b""]), metadata=metadata, timeout=PATIENCE_S)
    try:
        for _ in call:
            call.cancel()  # It was answered; a watch would go on.
            return grpc.StatusCode.OK
    except grpc.RpcError as error:
        return error.code()
    return call.code()


def test_every_call_is_in_the_table_with_a_role():
    """Fails when a call is added without a line above, or without a role."""
    paths = {f"/{method.containing_service.full_name}/{method.name}" for method in methods()}
    assert paths == set(ADMITTED)
    role = messages("options").role
    assert [method.full_name for method in methods() if method.GetOptions().Extensions[role] == 0] == []


@pytest.mark.fault("S2", aim="all calls x {client, reader, worker, none}, with certificates and with tokens: default deny")
def test_roles_by_certificate_and_by_token(home, fault):
    certificates, tokens = Certificates(home), home.path / "tokens"
    secrets = {role: token(home, role, f"a-{role}", tokens) for role in ROLES}
    scheduler = tls_scheduler(home, certificates, "--tokens", tokens)
    near = Scheduler(home, "--tokens", tokens, store="near.db")  # In plaintext, within this machine.
    cells = 0
    for kind in ("certificate", "token over TLS", "token over a socket"):
        for role in (*ROLES, None):
            metadata = bearer(secrets[role]) if role and kind != "certificate" else None
            if kind == "token over a socket":
                channel = grpc.insecure_channel(near.address)
            else:
                channel = certificates.channel(scheduler.address, role if kind == "certificate" else None)
            with channel:
                for path, admitted in {**ADMITTED, **OTHERS}.items():
                    code = outcome(channel, path, metadata)
                    cells += 1
                    what = f"{path} as {role} by {kind}: {code}"
                    if role is None:
                        assert code == grpc.StatusCode.UNAUTHENTICATED, what
                    elif not admitted:
                        assert code == grpc.StatusCode.UNIMPLEMENTED, what
                    elif role in admitted:
                        assert code not in (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED,
                                            grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED), what
                    else:
                        assert code == grpc.StatusCode.PERMISSION_DENIED, what

    # A token wins over a certificate, and a wrong one is not made good by it.
    with certificates.channel(scheduler.address, "client") as channel:
        assert outcome(channel, "/longreach.v1.Longreach/SubmitSweep", bearer(secrets["reader"])) == grpc.StatusCode.PERMISSION_DENIED
        assert outcome(channel, "/longreach.v1.Longreach/GetInfo", bearer("longreach_0")) == grpc.StatusCode.UNAUTHENTICATED
    for asked in (scheduler, near):
        assert asked.stop() == 0
        check_ledger(home, asked.store)
    fault.reached(f"{len(ADMITTED)} calls and {len(OTHERS)} others, {cells} cells: as the table says")
