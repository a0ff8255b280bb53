"""The dashboard in a real Chromium: it shows what the commands print, and goes on doing so."""
import json
import pathlib
import random
import re
import sys

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

import harness
from browser import Dashboard, cells, chromium, open_page
from harness import run_cli, until
from test_plot import SWEEP

pytestmark = harness.needs_worker


@pytest.fixture(scope="module")
def home():
    with harness.Home() as home:
        for name in ("first", "second"):
            rate = "1e-3" if name == "first" else "2e-3"
            (home.path / f"{name}.yaml").write_text(SWEEP.replace("curves", name).replace("1e-3", rate).replace("steps: 2,", "steps: 12,"))
        ended = run_cli(home, "run", "./first.yaml", "--store", "it.db")
        assert ended.code == 0, ended
        yield home


@pytest.fixture(scope="module")
def browser():
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def dashboard(home):
    """For all tests: each has a page of its own, and to have Python make the script that draws figures takes seconds."""
    # The Python of these tests has what draws figures.
    started = Dashboard(home, "--store", "it.db", environment={"LONGREACH_PYTHON": sys.executable})
    yield started
    started.kill()


def command_of(page, panel):
    return page.get_by_role("region", name=panel, exact=True).locator(".command code").inner_text()


def answer(home, line):
    """What a command that the page names prints as JSON."""
    words = line.split()
    assert words[0] == "longreach"
    ended = run_cli(home, *words[1:], "-o", "json")
    assert ended.code == 0, ended
    return ended.json()


def children(pid):
    return pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def open_sweep(page, name):
    page.get_by_role("link", name=name, exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(name)


def test_it_shows_what_the_commands_print(home, browser, dashboard):
    with open_page(dashboard, browser) as page:
        expect(page).to_have_url(f"{dashboard.origin}/#/")  # Without the key.
        open_sweep(page, "first")
        expect(page.get_by_text("8 of 8 succeeded")).to_be_visible()
        expect(page.locator(".results tbody tr")).to_have_count(2)
        line = command_of(page, "Results")
        assert re.fullmatch(r"longreach results [0-9a-f]{8} --store \S+/it.db", line)
        # The store is opened by one at a time: as people do, the command is asked after somebody has looked.
        until(lambda: not children(dashboard.pid), "the store is given back")
        table = answer(home, line)
        expected = [[row["label"] + ("†" if row["mark"] else ""), *(f"{cell['measured']:.1f}" for cell in table["cells"][2 * at:2 * at + 2])] for at, row in enumerate(table["rows"])]
        shown = [row[1:] if row[0] in ("", "R", "DCF", "CS") else row for row in cells(page, "Results")]
        assert shown == expected

        # Another table, kept in the address.
        page.get_by_role("combobox", name="Rows").fill("seed")
        page.keyboard.press("Enter")
        page.get_by_role("combobox", name="Over the rest").select_option("mean")
        expect(page.locator(".results tbody th").first).to_have_text("seed 0")
        assert "rows=seed&aggregate=mean" in page.url
        line = command_of(page, "Results")
        assert "--rows seed" in line and "--aggregate mean" in line
        until(lambda: not children(dashboard.pid), "the store is given back")
        table = answer(home, line)
        width = len(table["columns"])
        assert width == 4, table  # Both tasks with both encodings.
        assert cells(page, "Results") == [[row["label"], *(f"{cell['measured']:.1f}" for cell in table["cells"][width * at:width * (at + 1)])] for at, row in enumerate(table["rows"])]
        page.reload()
        expect(page.locator(".results tbody th").first).to_have_text("seed 0")
        expect(page.get_by_role("combobox", name="Rows")).to_have_value("seed")

        # What a command refuses is said in its words.
        page.get_by_role("combobox", name="Rows").fill("tsak")
        page.keyboard.press("Enter")
        expect(page.get_by_text("--rows: unknown value 'tsak'")).to_be_visible()
        expect(page.get_by_text("did you mean 'task'?")).to_be_visible()
        page.get_by_role("combobox", name="Rows").fill("")
        page.keyboard.press("Enter")
        expect(page.locator(".results tbody tr")).to_have_count(2)


def test_figures_are_drawn_under_the_pages_own_policy(home, browser, dashboard):
    with open_page(dashboard, browser) as page:
        open_sweep(page, "first")
        figure = page.get_by_role("figure", name="Measurements", exact=True)
        expect(figure.get_by_text("Bucket Sort")).to_be_visible()
        expect(figure.get_by_text("accuracy (%)").first).to_be_visible()
        assert re.fullmatch(r"longreach plot [0-9a-f]{8} --file figure.svg --store \S+/it.db", command_of(page, "Figure"))
        expect(figure.get_by_text("chance", exact=True)).to_have_count(0)  # Each of the two tasks has its own.
        only = page.get_by_role("textbox", name="Only")
        only.fill("task=bucket_sort")
        page.keyboard.press("Enter")
        expect(figure.get_by_text("chance", exact=True)).to_have_count(1)
        only.fill("")
        page.keyboard.press("Enter")
        page.get_by_role("combobox", name="Of", exact=True).select_option("losses")
        losses = page.get_by_role("figure", name="Losses of training")
        expect(losses.get_by_text("step", exact=True).first).to_be_visible()
        assert "--x step" in command_of(page, "Figure")
        page.get_by_role("combobox", name="Of", exact=True).select_option("")
        page.get_by_role("combobox", name="Y").fill("seed")
        page.keyboard.press("Enter")
        expect(figure.get_by_text("seed", exact=True).first).to_be_visible()  # A heat map.
        expect(page.get_by_text("longreach plot").filter(has_text="--y seed")).to_be_visible()


def test_lines_are_drawn_at_the_best_value_of_an_axis(home, browser, dashboard):
    with open_page(dashboard, browser) as page:
        open_sweep(page, "first")
        figure = page.get_by_role("figure", name="Measurements", exact=True)
        chosen = figure.get_by_text("seed chosen for each line by its mean over all test lengths")
        expect(figure.get_by_text("Bucket Sort")).to_be_visible()
        expect(chosen).to_have_count(0)
        best = page.get_by_role("combobox", name="Best of")
        best.fill("seed")
        page.keyboard.press("Enter")
        expect(chosen).to_be_visible()
        assert re.fullmatch(r"longreach plot [0-9a-f]{8} --best-of seed --file figure.svg --store \S+/it.db", command_of(page, "Figure"))
        assert page.url.endswith("?best-of=seed")
        page.reload()
        expect(chosen).to_be_visible()
        expect(best).to_have_value("seed")
        best.fill("length")
        page.keyboard.press("Enter")
        expect(page.get_by_text("--best-of: unknown value 'length'")).to_be_visible()


def test_a_job_has_a_page(home, browser, dashboard):
    with open_page(dashboard, browser) as page:
        open_sweep(page, "first")
        page.get_by_role("combobox", name="State", exact=True).select_option("succeeded")
        jobs = page.get_by_role("region", name="Jobs table")
        expect(jobs.locator("tbody tr")).to_have_count(8)
        job = jobs.locator("tbody a").first.inner_text()
        jobs.locator("tbody a").first.click()
        expect(page.get_by_role("heading", level=1)).to_have_text(f"Job {job}")
        expect(page.get_by_text("It has its result, from attempt")).to_be_visible()
        expect(page.get_by_text("longreach-job/1")).to_be_visible()
        expect(page.get_by_role("figure", name="Losses of training")).to_be_visible()
        measured = {(row[0], row[1]): row[3] for row in cells(page, "Measurements")}
        until(lambda: not children(dashboard.pid), "the store is given back")
        known = answer(home, f"longreach job {job} --store it.db")
        assert measured == {(one["metric"], str(one["length"] or "all")): f"{one['value']:.6g}" for one in known["measurements"]}
        page.go_back()
        expect(page.get_by_role("heading", level=1)).to_have_text("first")
        page.get_by_role("link", name="Workers").click()
        expect(page.get_by_role("region", name="Workers table").locator("tbody tr")).to_have_count(1)


def test_a_run_finds_the_store_free_and_the_page_follows_it(home, browser, dashboard):
    with open_page(dashboard, browser) as page:
        expect(page.get_by_role("link", name="first", exact=True)).to_be_visible()
        until(lambda: not children(dashboard.pid), "the store is given back")
        run = harness.Process(home, "run", [harness.BIN / "longreach", "run", "./second.yaml", "--store", "it.db", "-o", "json"])
        expect(page.get_by_role("link", name="second", exact=True)).to_be_visible()
        open_sweep(page, "second")
        assert run.wait() == 0, run.log()
        # Nobody works there now: all of the page is brought up to date once more, and the store is free again.
        expect(page.get_by_text("8 of 8 succeeded", exact=True)).to_be_visible()
        expect(page.get_by_text("not measured")).to_have_count(0)
        expect(page.get_by_text("are not finished")).to_have_count(0)
        expect(page.get_by_role("status")).to_have_text("")
        until(lambda: not children(dashboard.pid), "the store is given back")
        assert run_cli(home, "store", "check", "--store", "it.db").code == 0


def test_commands_and_other_dashboards_take_turns_with_it(home, browser, dashboard):
    other = Dashboard(home, "--store", "it.db")
    with open_page(dashboard, browser) as page, open_page(other, browser) as their_page:
        for one in (page, their_page):
            open_sweep(one, "first")
            expect(one.get_by_text("priority 0")).to_be_visible()
        for priority in range(1, 4):
            # Also while somebody looks: the page is asked something at the same time.
            page.reload()
            changed = run_cli(home, "priority", "first", priority, "--store", "it.db")
            assert changed.code == 0, changed
            for one in (page, their_page):
                expect(one.get_by_text(f"priority {priority}")).to_be_visible()
        until(lambda: not children(dashboard.pid) and not children(other.pid), "both give the store back")
        for one in (page, their_page):
            expect(one.get_by_role("status")).to_have_text("")
    assert other.stop() == 128 + 15


def test_two_sweeps_are_compared(home, browser, dashboard):
    ended = run_cli(home, "run", "./second.yaml", "--store", "it.db")
    assert ended.code == 0, ended
    with open_page(dashboard, browser) as page:
        open_sweep(page, "first")
        other = page.get_by_role("combobox", name="Compare with")
        second = other.locator("option", has_text="second")
        expect(second).to_have_count(1)
        other.select_option(value=second.get_attribute("value"))
        expect(page.get_by_role("heading", level=1)).to_have_text(re.compile("Compare [0-9a-f]{8} with [0-9a-f]{8}"))
        expect(page.get_by_text("first and second: accuracy (%) over all test lengths, by pairs of jobs")).to_be_visible()
        expect(page.get_by_text("they differ in learning_rate")).to_be_visible()
        page.get_by_role("combobox", name="By").fill("task")
        page.keyboard.press("Enter")
        expect(page.get_by_role("columnheader", name="Encoding")).to_have_count(0)
        line = command_of(page, "Differences")
        assert re.fullmatch(r"longreach compare [0-9a-f]{8} [0-9a-f]{8} --by task --store \S+/it.db", line)
        until(lambda: not children(dashboard.pid), "the store is given back")
        printed = run_cli(home, *line.split()[1:])
        assert printed.code == 0, printed
        rows = [line.split() for line in printed.out.splitlines()[4:]]
        assert cells(page, "Differences") == rows and rows[-1][0] == "all"

        # What the command notes below its table.
        page.get_by_role("textbox", name="Only").fill("seed=0,1")
        page.keyboard.press("Enter")
        expect(page.get_by_role("region", name="Differences", exact=True).locator(".command code")).to_contain_text("--only")
        printed = run_cli(home, *command_of(page, "Differences").split()[1:])
        assert printed.code == 0, printed
        # The page may be asked something meanwhile: then the command says first that it waits.
        notes = [line for line in printed.err.splitlines() if line.startswith("note: ")]
        assert notes == ["note: only jobs with seed 0 or 1"], printed
        expect(page.get_by_text(notes[0], exact=True)).to_be_visible()

        # What the command refuses is said in its words.
        page.get_by_role("textbox", name="Length").fill("77")
        page.keyboard.press("Enter")
        expect(page.get_by_text("no job of the first has a partner in the second")).to_be_visible()
        page.get_by_role("combobox", name="Metric").fill("nonsense")
        page.keyboard.press("Enter")
        expect(page.get_by_text("--metric: unknown value 'nonsense'")).to_be_visible()


def test_jobs_of_one_sweep_are_compared(home, browser, dashboard):
    with open_page(dashboard, browser) as page:
        open_sweep(page, "first")
        page.get_by_role("combobox", name="Compare with").select_option(label="itself: two values of an axis")
        expect(page.get_by_role("heading", level=1)).to_have_text(re.compile("Compare within [0-9a-f]{8}"))
        expect(page.get_by_text("first, plain and randomized: accuracy (%) over all test lengths, by pairs of jobs")).to_be_visible()
        expect(page.get_by_text("they differ in randomized")).to_be_visible()
        between, first, second = (page.get_by_role("combobox", name=name, exact=True) for name in ("Between", "First", "Second"))
        # What the sweep has two values of: not its one learning rate.
        assert between.locator("option").all_inner_texts() == ["plain and randomized", "task", "encoding", "seed"]
        expect(first).to_have_count(0)
        assert re.fullmatch(r"longreach compare [0-9a-f]{8} --between randomized --store \S+/it.db", command_of(page, "Differences"))

        between.select_option("task")
        expect(page.get_by_text("first, bucket_sort and even_pairs: accuracy (%)")).to_be_visible()
        first.select_option("even_pairs")
        expect(page.get_by_text("first, even_pairs and bucket_sort: accuracy (%)")).to_be_visible()
        assert second.locator("option").all_inner_texts() == ["bucket_sort"]
        page.reload()
        expect(page.get_by_text("first, even_pairs and bucket_sort: accuracy (%)")).to_be_visible()
        line = command_of(page, "Differences")
        assert re.fullmatch(r"longreach compare [0-9a-f]{8} --between task=even_pairs,bucket_sort --store \S+/it.db", line)
        until(lambda: not children(dashboard.pid), "the store is given back")
        printed = run_cli(home, *line.split()[1:])
        assert printed.code == 0, printed
        assert cells(page, "Differences") == [line.split() for line in printed.out.splitlines()[4:]]

        # What was chosen of an axis is not asked of another one.
        between.select_option("seed")
        expect(page.get_by_text("first, seed 0 and 1: accuracy (%)")).to_be_visible()
        assert page.url.endswith("?between=seed")
        page.get_by_role("combobox", name="By", exact=True).fill("seed")
        page.keyboard.press("Enter")
        expect(page.get_by_text("--by seed: that is what --between compares")).to_be_visible()


def test_of_a_scheduler_it_is_live_and_finds_it_again(browser):
    with harness.Home() as home:
        scheduler = harness.Scheduler(home)
        assert run_cli(home, "submit", "noop", "--set", "seed=0", scheduler=scheduler).code == 0
        dashboard = Dashboard(home, "--scheduler", scheduler.address)
        with open_page(dashboard, browser) as page:
            expect(page.get_by_role("status")).to_have_text("live")
            open_sweep(page, "noop")
            expect(page.get_by_text("0 of 4 succeeded, 4 queued", exact=True)).to_be_visible()
            expect(page.get_by_text("nothing runs, for no worker is there")).to_be_visible()
            scheduler.kill()
            expect(page.get_by_text(f"no scheduler at {scheduler.address}").first).to_be_visible()
            scheduler = scheduler.again()
            expect(page.get_by_text("0 of 4 succeeded, 4 queued", exact=True)).to_be_visible()
            assert run_cli(home, "pause", "noop", scheduler=scheduler).code == 0
            expect(page.get_by_text(re.compile(rf"^the sweep is paused; 'longreach resume [0-9a-f]{{8}} --scheduler {scheduler.address}' lets it go on$"))).to_be_visible()
            assert run_cli(home, "resume", "noop", scheduler=scheduler).code == 0
            harness.Worker(home, scheduler)
            expect(page.get_by_text("4 of 4 succeeded", exact=True)).to_be_visible()
            assert dashboard.stop() == 128 + 15
            expect(page.get_by_text("the dashboard does not answer")).to_be_visible()


def test_what_a_page_of_a_store_suggests_finds_that_store(browser):
    with harness.Home() as home:
        store = home.path / "waits.db"
        assert run_cli(home, "submit", "noop", "--set", "seed=0", "--store", store).code == 0
        dashboard = Dashboard(home, "--store", store)
        with open_page(dashboard, browser) as page:
            open_sweep(page, "noop")
            expect(page.get_by_text("nobody works on this store now; 'longreach run' with the sweep's preset or file and this --store goes on with it")).to_be_visible()
            page.get_by_role("region", name="Jobs table").locator("tbody a").first.click()
            expect(page.get_by_text(f"start one with 'longreach run SPEC --store {store}'")).to_be_visible()
            hint = page.get_by_text("has handed in a log yet")
            expect(hint).to_contain_text(f"--store {store}'")
            expect(hint).not_to_contain_text("unix:")


def test_numbers_are_written_as_the_commands_write_them(browser, dashboard):
    random.seed(7)
    values = [random.uniform(-1, 1) * 10 ** random.randint(-8, 8) for _ in range(500)] + [number / 16 for number in range(2000)] + [0, 1, 1e6, 999999.5, 0.01, 0.0099999, 1e-4, 9.9999e-5, 100000, 1e20]
    with open_page(dashboard, browser) as page:
        written = page.evaluate("""async (values) => {
          const {fixed, general, measured, shortest} = await import("/format.js");
          return values.map((value) => [fixed(value, 1), fixed(value, 3), fixed(value, 4), general(value, 3), general(value, 6), measured(value, "%"), shortest(value)]);
        }""", values)
        durations = page.evaluate("""async (seconds) => seconds.map((await import("/format.js")).duration)""",
                                  [0, 45, 90, 99.4, 99.5, 720, 7000, 7170, 7200, 12000, 108000, 172799, 180000])
        rates = page.evaluate("""async (rates) => rates.map((await import("/format.js")).rate)""", [0, 0.05, 0.354, 9.994, 9.996, 12.34, 99.94, 99.96, 999.7, 1204])
        times_left = page.evaluate("""async (times) => times.map((await import("/format.js")).timeLeft)""", [
            {"seconds_left": low_to_high[1], "seconds_left_low": low_to_high[0], "seconds_left_high": low_to_high[2]}
            for low_to_high in [(8640, 10800, 14760), (715, 720, 725), (60, 60.4, 60.49), (None, 720, None), (None, None, None), (0, 0, 0)]] + [{"seconds_left": 720}])
        signed = page.evaluate("""async (texts) => texts.map((await import("/format.js")).withSign)""", ["1.5", "-1.5", "0.0", "-0.0", "0", "-0", "1e-05", "nan", "inf"])
    assert times_left == ["about 3 h 0 min left (2 h 24 min to 4 h 6 min)", "about 12 min left", "about 60 s left", "about 12 min left", "", "", "about 12 min left"]
    assert signed == ["+1.5", "-1.5", "0.0", "0.0", "0", "0", "+1e-05", "nan", "+inf"]
    for value, texts in zip(values, written, strict=True):
        percent = f"{value:.1f}".replace("-0.0", "0.0") if abs(value) < 0.05 else f"{value:.1f}"
        assert texts == [f"{value:.1f}", f"{value:.3f}", f"{value:.4f}", f"{value:.3g}", f"{value:.6g}", percent, repr(value).removesuffix(".0")], value
    assert durations == ["0 s", "45 s", "90 s", "99 s", "2 min", "12 min", "117 min", "2 h 0 min", "2 h 0 min", "3 h 20 min", "30 h 0 min", "2 d 0 h", "2 d 2 h"]
    assert rates == ["0.00", "0.05", "0.35", "9.99", "10.0", "12.3", "99.9", "100", "1,000", "1,204"]


def test_what_took_long_once_is_soon_asked_again(browser, dashboard):
    with open_page(dashboard, browser) as page:
        # Asked every two seconds, by a clock of its own, for answers that take so many milliseconds.
        asked = page.evaluate("""async (takes) => {
          const {Panel} = await import("/panel.js");
          const times = [];
          let now = 0;
          performance.now = () => now;
          const panel = new Panel({title: "one", question: () => ({name: "none", words: ["status"]}), draw: () => document.createElement("p"), answer: async () => {
            times.push(now);
            now += takes.shift();
            return "{}";
          }});
          for (let at = 0; takes.length > 0; at += 2000) {
            now = Math.max(now, at);
            await panel.refreshInTime();
          }
          delete performance.now;
          return times;
        }""", [10, 4000, 10, 3000, 3000, 10])
    assert asked == [0, 2000, 8000, 10000, 14000, 48000]


def test_a_long_name_makes_no_page_wider_than_its_window(browser):
    with harness.Home() as home:
        scheduler = harness.Scheduler(home)
        long = "n" * 64
        for name in ("noop", long):
            assert run_cli(home, "submit", "noop", "--set", "seed=0", "--set", f"name={name}", scheduler=scheduler).code == 0
        dashboard = Dashboard(home, "--scheduler", scheduler.address)
        with open_page(dashboard, browser, viewport={"width": 360, "height": 700}) as page:
            for name, other in (("noop", long), (long, "noop")):
                open_sweep(page, name)
                # The choice of another sweep to compare with names both.
                expect(page.get_by_role("option", name=re.compile(f"^{other} "))).to_be_attached()
                expect(page.get_by_text("0 of 4 succeeded, 4 queued", exact=True)).to_be_visible()
                assert page.evaluate("document.documentElement.scrollWidth") <= 360, name
                page.get_by_role("link", name="Sweeps").click()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_people_who_see_or_point_otherwise_can_use_it(home, browser, dashboard, scheme):
    with open_page(dashboard, browser, color_scheme=scheme, reduced_motion="reduce") as page:
        for address, ready in (("#/", "table"), ("#/workers", "table"), (None, ".results")):
            if address is None:
                page.goto(f"{dashboard.origin}/#/")
                open_sweep(page, "first")
            else:
                page.goto(f"{dashboard.origin}/{address}")
            page.locator(ready).first.wait_for()
            found = Axe().run(page, options={"resultTypes": ["violations"]})
            assert found.violations_count == 0, found.generate_report()
        # By keyboard alone.
        page.goto(f"{dashboard.origin}/#/")
        link = page.get_by_role("link", name="first", exact=True)
        link.focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text("first")


def test_what_it_says_when_it_cannot_begin(home):
    refused = run_cli(home, "dashboard", "--store", "nowhere.db", "--port", "0")
    assert refused.code == 4 and "there is no store 'nowhere.db'" in refused.err, refused
    printed = harness.Process(home, "dashboard", [harness.BIN / "longreach", "dashboard", "--port", "0", "--store", "it.db", "-o", "json"])
    document = json.loads(printed.next_line())
    assert document["schema"] == "longreach/v1" and document["url"].startswith(f"http://127.0.0.1:{document['port']:.0f}/#key=")
    printed.signal(2)
    assert printed.wait() == 130
