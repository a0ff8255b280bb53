"""S7: a dashboard that a web page cannot abuse. There is none yet, and nothing that a browser could talk to."""
import socket

import pytest

import harness
from harness import Scheduler

REQUESTS = (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", b"GET /index.html HTTP/1.0\r\n\r\n", b"OPTIONS * HTTP/1.1\r\nHost: evil.example\r\n\r\n",
            b"POST /longreach.v1.Longreach/GetInfo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")


def answer(address, request):
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=harness.PATIENCE_S) as connection:
        connection.sendall(request)
        received = b""
        try:
            while chunk := connection.recv(4096):
                received += chunk
        except ConnectionError:
            pass
    return received


@pytest.mark.fault("S7", aim="header test over all pages of the dashboard")
def test_there_is_no_page_yet(home, fault):
    scheduler = Scheduler(home, listen="localhost:0")
    for request in REQUESTS:
        assert b"HTTP/1" not in answer(scheduler.address, request), request
    assert scheduler.is_running()
    fault.reached("not yet: there is none")
