"""The dashboard as its user meets it: the real program, and a real Chromium in front of it.

    dashboard = Dashboard(home, "--store", store)
    with open_page(dashboard) as page:
        page.get_by_role("link", name="table-b1").click()

What a page may not do fails the test at its end: an error in its console, a refusal by its own policy, a request to anywhere else.
"""
import contextlib
import os
import shutil
import urllib.parse

from playwright.sync_api import expect, sync_playwright

import harness

# Of five seconds a busy machine needs more.
expect.set_options(timeout=1000 * harness.PATIENCE_S)


class Dashboard(harness.Process):
    """`longreach dashboard` on a free port, which prints its address."""

    def __init__(self, home, *arguments, environment=None):
        before = [f"{name}={value}" for name, value in (environment or {}).items()]
        super().__init__(home, "dashboard", ["env", *before, harness.BIN / "longreach", "dashboard", "--port", "0", *arguments])
        self.url = self.next_line()
        if self.url is None:
            raise AssertionError(f"the dashboard did not start: exit code {self.wait()}\n{self.log()}")
        self.origin, _, self.key = self.url.partition("/#key=")
        self.port = urllib.parse.urlsplit(self.url).port


@contextlib.contextmanager
def chromium():
    program = shutil.which("chromium")
    if program is None:
        raise AssertionError("no chromium in PATH: run deploy/setup.sh --tests")
    with sync_playwright() as play:
        # Its sandbox needs a user who is not root.
        browser = play.chromium.launch(executable_path=program, args=["--no-sandbox"] if os.getuid() == 0 else [])
        try:
            yield browser
        finally:
            browser.close()


@contextlib.contextmanager
def open_page(dashboard, browser, **options):
    """A page of a browser that has nothing yet, at the address that was printed."""
    context = browser.new_context(**options)
    context.set_default_timeout(1000 * harness.PATIENCE_S)
    page = context.new_page()
    wrong = []
    page.on("console", lambda message: wrong.append(f"{message.text} {message.location.get('url')}") if message.type in ("error", "warning") and not refused_question(message) else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: (wrong.append(f"dialog {dialog.message}"), dialog.dismiss()))
    page.on("request", lambda request: None if request.url.startswith((dashboard.origin + "/", "data:")) else wrong.append(f"asked for {request.url}"))
    try:
        page.goto(dashboard.url)
        page.wait_for_url(f"{dashboard.origin}/#/")
        yield page
        if wrong:
            raise AssertionError(f"the page did what it may not: {wrong}")
    finally:
        context.close()


def refused_question(message):
    """Chromium notes each answer with the status of an error in the console, and each request that nobody answers; the page shows both."""
    noted = ("Failed to load resource: the server responded with a status of ", "Failed to load resource: net::ERR_CONNECTION_REFUSED")
    return message.text.startswith(noted) and "/api/" in message.location.get("url", "")


def cells(page, table):
    """The texts of a table's body, row by row."""
    rows = page.get_by_role("region", name=f"{table} table", exact=True).locator("tbody tr")
    return [[cell.strip() for cell in row.locator("th, td").all_inner_texts()] for row in rows.all()]
