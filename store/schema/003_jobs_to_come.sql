-- The jobs of a large sweep come in slices, each in a transaction of its own: how many of its members are not here yet. A scheduler
-- that finds such a sweep when it starts goes on with it.
ALTER TABLE sweeps ADD COLUMN jobs_to_come INTEGER NOT NULL DEFAULT 0 CHECK (jobs_to_come >= 0);

-- One line per sweep.
DROP VIEW sweeps_view;
CREATE VIEW sweeps_view AS
SELECT substr(id, 1, 8) AS sweep, name, state, priority,
       jobs_waiting + jobs_queued + jobs_leased + jobs_succeeded + jobs_failed + jobs_cancelled + jobs_to_come AS jobs,
       jobs_waiting AS waiting, jobs_queued AS queued, jobs_leased AS leased, jobs_succeeded AS succeeded,
       jobs_failed AS failed, jobs_cancelled AS cancelled, jobs_diverged AS diverged, jobs_to_come AS to_come,
       strftime('%Y-%m-%dT%H:%M:%SZ', submitted_at / 1000000, 'unixepoch') AS submitted_at, id
FROM sweeps;
