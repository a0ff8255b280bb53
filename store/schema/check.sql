-- The ledger checks: what must hold in a store at every moment. Each query lists violations, one line of text each; none of
-- them returns a row for a sound store. `longreach store check` runs these and SQLite's own integrity_check and
-- foreign_key_check, and looks at the artifact files. By hand:  sqlite3 -readonly longreach.db < check.sql

-- check: a succeeded job has exactly one accepted result
SELECT 'job ' || substr(id, 1, 8) || ' has succeeded and has no measurements'
FROM jobs WHERE state = 'succeeded' AND diverged = 0 AND NOT EXISTS (SELECT 1 FROM measurements WHERE job = num)
ORDER BY num;

-- check: no other job has a result
SELECT 'job ' || substr(id, 1, 8) || ' is ' || iif(diverged, 'diverged', state) || ' and has measurements'
FROM jobs WHERE (state <> 'succeeded' OR diverged = 1) AND EXISTS (SELECT 1 FROM measurements WHERE job = num)
ORDER BY num;

-- check: measurements are finite numbers
SELECT 'job ' || substr(j.id, 1, 8) || ' has ' || m.metric || ' = ' || m.value || ' at length ' || m.length
FROM measurements AS m JOIN jobs AS j ON j.num = m.job WHERE abs(m.value) > 1.7976931348623157e308
ORDER BY j.num, m.metric, m.length;

-- check: an accepted result belongs to an attempt that had the job and ended well
SELECT 'job ' || substr(j.id, 1, 8) || ' has the result of attempt ' || j.attempt || ', which '
       || iif(a.outcome IS NOT 'succeeded', 'ended ' || ifnull(a.outcome, 'never'), 'did not have it')
FROM jobs AS j LEFT JOIN attempts AS a ON a.id = j.attempt
LEFT JOIN attempt_jobs AS aj ON aj.job = j.num AND aj.attempt = j.attempt AND aj.dropped = 0
WHERE j.state = 'succeeded' AND (a.outcome IS NOT 'succeeded' OR aj.attempt IS NULL)
ORDER BY j.num;

-- check: a leased job names a running attempt that has it
SELECT 'job ' || substr(j.id, 1, 8) || ' is leased to attempt ' || j.attempt || ', which '
       || iif(a.ended_at IS NOT NULL, 'has ended', 'does not have it')
FROM jobs AS j LEFT JOIN attempts AS a ON a.id = j.attempt
LEFT JOIN attempt_jobs AS aj ON aj.job = j.num AND aj.attempt = j.attempt AND aj.dropped = 0
WHERE j.state = 'leased' AND (a.id IS NULL OR a.ended_at IS NOT NULL OR aj.attempt IS NULL)
ORDER BY j.num;

-- check: the members of a running attempt are leased to it
SELECT 'attempt ' || a.id || ' runs with job ' || substr(j.id, 1, 8) || ', which is ' || j.state
       || iif(j.state = 'leased', ' to attempt ' || j.attempt, '')
FROM attempts AS a JOIN attempt_jobs AS aj ON aj.attempt = a.id AND aj.dropped = 0 JOIN jobs AS j ON j.num = aj.job
WHERE a.ended_at IS NULL AND (j.state <> 'leased' OR j.attempt <> a.id)
ORDER BY a.id, aj.member;

-- check: a running attempt has a member
SELECT 'attempt ' || id || ' runs without any member'
FROM attempts WHERE ended_at IS NULL AND NOT EXISTS (SELECT 1 FROM attempt_jobs WHERE attempt = id AND dropped = 0)
ORDER BY id;

-- check: the counters of a sweep are those of its jobs
SELECT 'sweep ' || substr(id, 1, 8) || ' counts ' || kept || ' (waiting, queued, leased, succeeded, failed, cancelled, diverged),'
       || ' its jobs say ' || counted
FROM (
  SELECT s.num, s.id,
         s.jobs_waiting || ', ' || s.jobs_queued || ', ' || s.jobs_leased || ', ' || s.jobs_succeeded || ', ' || s.jobs_failed
           || ', ' || s.jobs_cancelled || ', ' || s.jobs_diverged AS kept,
         count(j.state) FILTER (WHERE j.state = 'waiting') || ', ' || count(j.state) FILTER (WHERE j.state = 'queued') || ', '
           || count(j.state) FILTER (WHERE j.state = 'leased') || ', ' || count(j.state) FILTER (WHERE j.state = 'succeeded')
           || ', ' || count(j.state) FILTER (WHERE j.state = 'failed') || ', '
           || count(j.state) FILTER (WHERE j.state = 'cancelled') || ', ' || count(j.state) FILTER (WHERE j.diverged) AS counted
  FROM sweeps AS s LEFT JOIN sweep_jobs AS sj ON sj.sweep = s.num AND sj.role = 'member' LEFT JOIN jobs AS j ON j.num = sj.job
  GROUP BY s.num)
WHERE kept <> counted
ORDER BY num;

-- check: a job is wanted while a live sweep has it, with the highest priority among those
SELECT 'job ' || substr(j.id, 1, 8) || ' has wanted = ' || j.wanted || ' and priority ' || j.priority
       || ', its live sweeps say ' || (w.live > 0) || ' and ' || w.priority
FROM jobs AS j JOIN (
  SELECT q.num, count(s.num) AS live, ifnull(max(s.priority), 0) AS priority
  FROM jobs AS q LEFT JOIN sweep_jobs AS sj ON sj.job = q.num LEFT JOIN sweeps AS s ON s.num = sj.sweep AND s.state = 'live'
  WHERE q.state <> 'succeeded' GROUP BY q.num) AS w ON w.num = j.num
WHERE j.wanted <> (w.live > 0) OR j.priority <> w.priority
ORDER BY j.num;

-- check: what is wanted is not cancelled
SELECT 'job ' || substr(id, 1, 8) || ' is cancelled, but a live sweep wants it'
FROM jobs WHERE state = 'cancelled' AND wanted = 1 ORDER BY num;

-- check: a job waits exactly while an input is not there
SELECT 'job ' || substr(j.id, 1, 8) || ' is ' || j.state || ', but ' || iif(j.state = 'waiting', 'all', 'not all')
       || ' of its inputs are there'
FROM jobs AS j
WHERE j.state IN ('waiting', 'queued', 'leased') AND (j.state = 'waiting') <> EXISTS (
  SELECT 1 FROM job_inputs AS i JOIN jobs AS s ON s.num = i.source WHERE i.job = j.num AND s.state <> 'succeeded')
ORDER BY j.num;

-- check: a wanted job does not wait for a job that will never succeed
SELECT 'job ' || substr(j.id, 1, 8) || ' waits for job ' || substr(s.id, 1, 8) || ', which is ' || s.state
FROM jobs AS j JOIN job_inputs AS i ON i.job = j.num JOIN jobs AS s ON s.num = i.source
WHERE j.state = 'waiting' AND j.wanted = 1 AND s.state IN ('failed', 'cancelled')
ORDER BY j.num, i.name;

-- check: a failed job says why
SELECT 'job ' || substr(id, 1, 8) || ' has failed and does not say why'
FROM jobs WHERE state = 'failed' AND failure = '' ORDER BY num;

-- check: the step of the newest checkpoint is that of its rows
SELECT 'job ' || substr(j.id, 1, 8) || ' says its checkpoint is of step ' || j.checkpoint_step || ', its rows say ' || c.step
FROM jobs AS j JOIN (
  SELECT q.num, ifnull(max(a.step), 0) AS step
  FROM jobs AS q LEFT JOIN artifacts AS a ON a.job = q.num AND a.kind = 'checkpoint' GROUP BY q.num) AS c ON c.num = j.num
WHERE j.checkpoint_step <> c.step
ORDER BY j.num;

-- check: a loss curve has at most 1000 points
SELECT 'job ' || substr(j.id, 1, 8) || ' has ' || count(*) || ' points in its loss curve'
FROM progress AS p JOIN jobs AS j ON j.num = p.job GROUP BY j.num HAVING count(*) > 1000 ORDER BY j.num;
