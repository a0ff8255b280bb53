"""S7: a dashboard that no web page, no neighbour and no text in the store can abuse. A real Chromium shows it a store of hostile texts."""
import http.server
import re
import socket
import threading

import pytest

import harness
import hostile_texts
from browser import Dashboard, chromium, open_page
from harness import ROOT, Scheduler
from hostile_store import fill, hold

FIELDS = {"content-security-policy", "x-content-type-options", "x-frame-options", "cross-origin-resource-policy", "cross-origin-opener-policy", "referrer-policy"}
PAGES = sorted(f"/{path.name}" for path in (ROOT / "client/dashboard/page").glob("*.*") if path.name != "index.html")
QUESTIONS = ["/api/sweeps", "/api/workers", "/api/place", "/api/metrics", "/api/status?sweep=last", "/api/jobs?sweep=last", "/api/results?sweep=last", "/api/plot?sweep=last",
             "/api/job?job=aaaa", "/api/explain?job=aaaa", "/api/logs?job=aaaa", "/api/values?sweep=last", "/api/between?sweep=last"]
ON_A_GRPC_PORT = (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", b"GET /index.html HTTP/1.0\r\n\r\n", b"OPTIONS * HTTP/1.1\r\nHost: evil.example\r\n\r\n",
                  b"POST /longreach.v1.Longreach/GetInfo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")


def say(port, request):
    """What is answered to these bytes, to the end of the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=harness.PATIENCE_S) as connection:
        connection.sendall(request)
        received = b""
        try:
            while chunk := connection.recv(65536):
                received += chunk
        except ConnectionError:
            pass
    return received


def get(dashboard, target, method="GET", *, host=None, key=None, **more):
    """Status, fields of the header in lower case, and body."""
    fields = {"Host": host if host is not None else f"127.0.0.1:{dashboard.port}", "Authorization": key if key is not None else f"Bearer {dashboard.key}", **more, "Connection": "close"}
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items() if value != "")]
    head, _, body = say(dashboard.port, "\r\n".join([*lines, "", ""]).encode()).partition(b"\r\n\r\n")
    first, *rest = head.decode().split("\r\n")
    return int(first.split()[1]), {name.lower(): value for name, value in (line.split(": ", 1) for line in rest)}, body


@pytest.mark.fault("S7", aim="header test over all pages of the dashboard")
def test_every_answer_has_its_headers_and_strangers_get_none(home, fault):
    scheduler = Scheduler(home)
    dashboard = Dashboard(home, "--scheduler", scheduler.address)
    answers = 0
    for target in ["/", "/vega.js", "/nothing", "/%", *PAGES, *QUESTIONS, f"/api/sweeps?key={dashboard.key}"]:
        for key in (None, ""):
            for method in ("GET", "HEAD", "POST"):
                status, fields, body = get(dashboard, target, method, key=key)
                answers += 1
                assert FIELDS <= set(fields), (target, fields)
                policy = fields["content-security-policy"]
                assert "unsafe" not in policy and "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
                assert fields["x-content-type-options"] == "nosniff" and fields["cache-control"] == "no-store"
                assert "access-control-allow-origin" not in fields
                if method == "POST":
                    assert status == 405
                elif target == "/%":
                    assert status == 400
                elif target in PAGES or target == "/":
                    assert status == 200, target  # The page itself, which has nothing of the store.
                elif key == "" and target != "/vega.js":
                    assert status == 403, target
                assert method != "HEAD" or body == b""
    assert len(PAGES) == 17
    # No script and no style stands in a page itself, which the policy would refuse.
    index = get(dashboard, "/")[2].decode()
    assert not re.search(r"<script(?![^>]*src=)|<style| style=| on\w+=", index)

    refused = 0
    for target in QUESTIONS:
        for host in ("", "evil.example", f"evil.example:{dashboard.port}", "127.0.0.2", "127.0.0.1.evil.example", f"127.0.0.1:{dashboard.port}.evil.example"):
            refused += get(dashboard, target, host=host)[0] == 421
        for site in ("cross-site", "same-site"):
            refused += get(dashboard, target, **{"Sec-Fetch-Site": site})[0] == 403
        for key in ("", dashboard.key, "Bearer ", f"Bearer {dashboard.key}0", f"Bearer {dashboard.key[:-1]}", f"Bearer {dashboard.key.upper()}", f"Basic {dashboard.key}"):
            refused += get(dashboard, target, key=key)[0] == 403
    assert refused == len(QUESTIONS) * 15
    # What is printed to the one who started it goes nowhere else.
    assert dashboard.key not in dashboard.log() + scheduler.log() and dashboard.key not in index
    fault.reached(f"{answers} answers: each has its headers; {refused} requests of strangers refused")


@pytest.mark.fault("S7", aim="pages of others that use the browser which has the key get nothing")
def test_another_page_of_the_same_browser_gets_nothing(home, fault):
    scheduler = Scheduler(home)
    dashboard = Dashboard(home, "--scheduler", scheduler.address)

    received = []

    class Evil(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            received.append(self.path + str(self.headers))
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(f"""<!DOCTYPE html><title>evil</title><link rel="icon" href="data:,">
              <iframe src="{dashboard.origin}/"></iframe><img src="{dashboard.origin}/api/sweeps"><script src="{dashboard.origin}/main.js"></script>
              <link rel="stylesheet" href="{dashboard.origin}/style.css"><form method="post" action="{dashboard.origin}/api/sweeps"><button>go</button></form>""".encode())

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Evil)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with chromium() as browser, open_page(dashboard, browser) as own:
            own.get_by_text("no sweep was submitted yet").wait_for()
            assert own.context.cookies() == []  # They would go to every port of this machine.
            asked, statuses, read = [], [], []
            # The same machine under its own name is the same site; under another it is another.
            for name in ("127.0.0.1", "localhost"):
                page = own.context.new_page()
                page.on("request", lambda request: asked.append(request.url) if request.url.startswith(dashboard.origin) else None)
                page.on("response", lambda response: statuses.append((response.url.removeprefix(dashboard.origin), response.status)) if response.url.startswith(dashboard.origin) else None)
                page.goto(f"http://{name}:{server.server_port}/")
                read += page.evaluate("""async (origin) => {
                  const read = [];
                  await fetch("/here");
                  for (const path of ["/", "/api/sweeps", "/api/place"]) {
                    for (const mode of ["no-cors", "cors"]) {
                      await fetch(origin + path, {mode, credentials: "include"}).then((response) => response.text()).then((text) => read.push(text), () => {});
                    }
                  }
                  return read;
                }""", dashboard.origin)
                page.get_by_role("button").click()
                page.wait_for_url(f"{dashboard.origin}/**")
                page.close()
            # The browser itself ends most of them; what came through was refused, and nothing could be read.
            assert len(asked) >= 2 * 11, asked
            # The page itself may be asked for; framed it is not shown, and it has nothing of the store.
            assert {status for path, status in statuses if path != "/"} == {405}, statuses
            assert set(read) <= {""}, read
            # Nor does the browser hand the key to them.
            assert len(received) >= 2 * 2 and not any(dashboard.key in text for text in received), received
    finally:
        server.shutdown()
        server.server_close()
    fault.reached(f"{len(asked)} requests of other pages of a browser that has the key: {len(statuses)} answered, none with anything of the store; no key sent")


@pytest.mark.fault("S7", aim="hostile texts stay texts in a browser")
def test_hostile_texts_stay_texts_in_a_browser(home, fault):
    every = {"short": 9, "full": 1, "long": 1}[fault.form]
    texts = hostile_texts.ALL[::every]
    scheduler = Scheduler(home, "--lease-term-s", "600", "--renew-every-s", "60")
    jobs = fill(scheduler, texts)
    hold(scheduler, (hostile_texts.ESCAPES + hostile_texts.MARKUP)[:16:2])
    dashboard = Dashboard(home, "--scheduler", scheduler.address)
    sweeps = [sweep.id for sweep in scheduler.api().ListSweeps(harness.messages("api").ListSweepsRequest()).sweeps]
    looked = 0
    # A dialog, an error in the console, a request elsewhere: each fails at the end of open_page().
    with chromium() as browser, open_page(dashboard, browser) as page:
        for address in ["workers", *(f"sweep/{sweep}" for sweep in sweeps), *(f"compare/{sweeps[0]}/{sweep}" for sweep in sweeps[1:]), *(f"job/{job}" for job in jobs)]:
            page.evaluate("address => { location.hash = '#/' + address; }", address)
            page.wait_for_function("() => document.querySelectorAll('section').length > 0 && document.querySelector('.wait') === null")
            main = page.locator("main")
            assert main.locator("script, img, b, iframe, link, style, object").count() == 0, address
            assert all(href.startswith("#/") for href in main.locator("a").evaluate_all("links => links.map(link => link.getAttribute('href'))"))
            shown = main.inner_text()
            assert not re.search("[\0-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]", shown), address
            if address == "workers":
                for text in ("<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "\\x1b[2J\\x1b[H"):
                    assert text in shown or every > 1, text
            looked += 1
    fault.reached(f"{len(texts)} texts on {looked} pages: all inert")


def test_the_schedulers_port_speaks_to_no_browser(home):
    scheduler = Scheduler(home, listen="localhost:0")
    for request in ON_A_GRPC_PORT:
        assert b"HTTP/1" not in say(int(scheduler.address.rpartition(":")[2]), request), request
    assert scheduler.is_running()
