"""Figures of `nope-small` from a store's measurements: loss and attention entropy against position, and the best scale.

    longreach run nope-small --store nope.db
    python3 docs/results/nope_small.py nope.db docs/results/nope-small.svg

Reads the store with sqlite3 and writes SVG by itself; the same numbers make the same bytes.
"""
import html
import math
import sqlite3
import sys

TRAINED = 128
WIDTH, HEIGHT, LEFT, GAP = 300, 220, 46, 40
COLORS = ["#4269d0", "#d1495b", "#3a9d5d", "#b07d1a", "#8250a0", "#1b9aaa"]
LOSS = ["rope", "rope-yarn", "yarn-tuned-512", "nope", "nope-scale-best-256", "nope-heads-512"]
ENTROPY = ["rope", "nope", "nope-scale-1.5", "nope-heads-512"]


def jobs_of_systems(db):
    """The job of each system. Positions of members follow the names of systems; nope-small has one job in each."""
    (sweep, spec), = db.execute("SELECT num, spec FROM sweeps WHERE name = 'nope-small' ORDER BY asked_at DESC LIMIT 1")
    names = sorted({line.split(".with.")[0].removeprefix("systems.").replace("\\", "") for line in spec.splitlines()
                    if line.startswith("systems.")})
    jobs = [job for (job,) in db.execute("SELECT job FROM sweep_jobs WHERE sweep = ? AND role = 'member' ORDER BY position", (sweep,))]
    if len(jobs) != len(names):
        raise SystemExit(f"{len(names)} systems and {len(jobs)} jobs: is this nope-small with one learning rate and seed?")
    return dict(zip(names, jobs))


def curve(db, job, metric):
    return db.execute("SELECT length, value FROM measurements WHERE job = ? AND metric = ? AND slice = '' AND length > 0 ORDER BY length",
                      (job, metric)).fetchall()


def ticks(low, high):
    step = 10 ** math.floor(math.log10(high - low))
    step = step / 2 if (high - low) / step < 3 else step
    first = math.ceil(low / step)
    return [round(i * step, 6) for i in range(first, int(high / step) + 1)]


def panel(at, title, unit, curves, fit=None):
    """One plot: curves by name, over the bins' ends."""
    values = [y for points in curves.values() for _, y in points] + [y for _, y in fit or []]
    low, high = min(values), max(values)
    low, high = low - 0.05 * (high - low), high + 0.05 * (high - low)
    end = max(x for points in curves.values() for x, _ in points)
    place = lambda x, y: (at + LEFT + x / end * (WIDTH - LEFT), 30 + (high - y) / (high - low) * (HEIGHT - 30))
    line = lambda points: " ".join("{:.1f},{:.1f}".format(*place(x, y)) for x, y in points)
    out = [f'<text x="{at + LEFT}" y="16" font-weight="bold">{html.escape(title)} ({html.escape(unit)})</text>']
    for y in ticks(low, high):
        x0, y0 = place(0, y)
        out.append(f'<path d="M{x0:.1f},{y0:.1f}h{WIDTH - LEFT}" stroke="#e4e4e4"/><text x="{x0 - 5:.1f}" y="{y0 + 4:.1f}" text-anchor="end">{y:g}</text>')
    for x in (TRAINED, end // 4, end // 2, end):
        out.append(f'<text x="{place(x, low)[0]:.1f}" y="{HEIGHT + 15}" text-anchor="middle">{x}</text>')
    out.append(f'<path d="M{place(TRAINED, 0)[0]:.1f},30V{HEIGHT}" stroke="#999" stroke-dasharray="3 3"/>')
    if fit:
        out.append(f'<polyline points="{line(fit)}" fill="none" stroke="#999"/>')
    for i, (name, points) in enumerate(curves.items()):
        out.append(f'<polyline points="{line(points)}" fill="none" stroke="{COLORS[i]}" stroke-width="1.6"/>')
        out.append(f'<text x="{at + LEFT}" y="{HEIGHT + 48 + 14 * i}" fill="{COLORS[i]}">{html.escape(name)}</text>')
    out.append(f'<text x="{at + WIDTH}" y="{HEIGHT + 30}" text-anchor="end">position</text>')
    return "\n".join(out)


def main():
    store, file = sys.argv[1:]
    db = sqlite3.connect(f"file:{store}?mode=ro", uri=True)
    jobs = jobs_of_systems(db)
    search = jobs["nope-scale-search"]
    one = lambda metric: db.execute("SELECT value FROM measurements WHERE job = ? AND metric = ? AND length = 0", (search, metric)).fetchone()
    best = curve(db, search, "best_attention_scale")
    fit = [(x, one("scale_growth")[0] * math.log(x / TRAINED) + 1) for x, _ in best if x >= TRAINED]
    parts = [panel(0, "Loss", "nats", {name: curve(db, jobs[name], "position_loss") for name in LOSS}),
             panel(WIDTH + GAP, "Attention entropy", "nats", {name: curve(db, jobs[name], "attention_entropy") for name in ENTROPY}),
             panel(2 * (WIDTH + GAP), "Best scale for all heads", "factor", {"nope, least loss": best}, fit)]
    width, height = 3 * WIDTH + 2 * GAP + 10, HEIGHT + 130
    with open(file, "w", encoding="utf-8") as svg:
        svg.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">\n'
                  f'<rect width="{width}" height="{height}" fill="white"/>\n' + "\n".join(parts) + "\n</svg>\n")
    print("growth of the best scale: a = {:.4f}, R^2 = {:.4f}".format(*one("scale_growth"), *one("scale_growth_r2")))


if __name__ == "__main__":
    main()
