-- A queued job carries its pack's key twice and its id twice. The key becomes a number, and of the id the index has the first 96 bits,
-- which tell jobs apart as well: 110 bytes a job. The table is written anew, as SQLite cannot take a UNIQUE away.
CREATE TABLE pack_keys(
  num INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE                  -- half of a SHA-256 of what such jobs have in common
) STRICT;
INSERT INTO pack_keys(key) SELECT pack_key FROM jobs GROUP BY pack_key ORDER BY min(num);

DROP VIEW jobs_view;
DROP VIEW table_b1;

CREATE TABLE new_jobs(
  num INTEGER PRIMARY KEY,                  -- also the order of submission
  id TEXT NOT NULL,                         -- SHA-256 of spec; unique by jobs_by_id
  experiment TEXT NOT NULL,
  task TEXT NOT NULL,
  encoding TEXT NOT NULL,
  randomized INTEGER NOT NULL CHECK (randomized IN (0, 1)),
  learning_rate REAL NOT NULL,
  seed INTEGER NOT NULL,
  steps INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('waiting', 'queued', 'leased', 'succeeded', 'failed', 'cancelled')),
  diverged INTEGER NOT NULL DEFAULT 0 CHECK (diverged IN (0, 1)),
  diverged_at INTEGER NOT NULL DEFAULT 0,
  attempt INTEGER REFERENCES attempts(id),  -- leased: who trains it; succeeded: whose result was accepted
  wanted INTEGER NOT NULL DEFAULT 0 CHECK (wanted IN (0, 1)),  -- a live sweep has it
  priority INTEGER NOT NULL DEFAULT 0,      -- the highest among those
  failures INTEGER NOT NULL DEFAULT 0,
  losses INTEGER NOT NULL DEFAULT 0,
  failure TEXT NOT NULL DEFAULT '',
  checkpoint_step INTEGER NOT NULL DEFAULT 0,
  split_group INTEGER NOT NULL DEFAULT 0,
  requirement INTEGER NOT NULL REFERENCES requirements(num),
  pack_key INTEGER NOT NULL REFERENCES pack_keys(num),  -- equal for jobs that can be trained together
  spec TEXT NOT NULL,                       -- canonical text
  CHECK ((state IN ('leased', 'succeeded')) = (attempt IS NOT NULL)),
  CHECK (diverged = 0 OR state = 'succeeded')
) STRICT;
INSERT INTO new_jobs
SELECT j.num, j.id, j.experiment, j.task, j.encoding, j.randomized, j.learning_rate, j.seed, j.steps, j.state, j.diverged, j.diverged_at,
       j.attempt, j.wanted, j.priority, j.failures, j.losses, j.failure, j.checkpoint_step, j.split_group, j.requirement, p.num, j.spec
FROM jobs AS j CROSS JOIN pack_keys AS p ON p.key = j.pack_key ORDER BY j.num;
DROP TABLE jobs;
ALTER TABLE new_jobs RENAME TO jobs;

-- Who looks for a job by its id asks for this as well, or all rows are read.
CREATE UNIQUE INDEX jobs_by_id ON jobs(substr(id, 1, 24));
-- Whose turn it is, per requirement; and who can go with it.
CREATE INDEX jobs_ready ON jobs(requirement, priority DESC, num) WHERE state = 'queued' AND wanted = 1;
CREATE INDEX jobs_ready_together ON jobs(pack_key, checkpoint_step, split_group, priority DESC, num)
  WHERE state = 'queued' AND wanted = 1;
CREATE INDEX jobs_by_attempt ON jobs(attempt) WHERE attempt IS NOT NULL;
-- Jobs that have been trained in part and do not run now: their steps count as done.
CREATE INDEX jobs_begun ON jobs(num) WHERE checkpoint_step > 0 AND state NOT IN ('leased', 'succeeded');

-- Counters follow the jobs, whoever changes them.
CREATE TRIGGER jobs_counted AFTER UPDATE OF state, diverged ON jobs
WHEN OLD.state <> NEW.state OR OLD.diverged <> NEW.diverged
BEGIN
  UPDATE sweeps SET
    jobs_waiting = jobs_waiting + (NEW.state = 'waiting') - (OLD.state = 'waiting'),
    jobs_queued = jobs_queued + (NEW.state = 'queued') - (OLD.state = 'queued'),
    jobs_leased = jobs_leased + (NEW.state = 'leased') - (OLD.state = 'leased'),
    jobs_succeeded = jobs_succeeded + (NEW.state = 'succeeded') - (OLD.state = 'succeeded'),
    jobs_failed = jobs_failed + (NEW.state = 'failed') - (OLD.state = 'failed'),
    jobs_cancelled = jobs_cancelled + (NEW.state = 'cancelled') - (OLD.state = 'cancelled'),
    jobs_diverged = jobs_diverged + NEW.diverged - OLD.diverged
  WHERE num IN (SELECT sweep FROM sweep_jobs WHERE job = NEW.num AND role = 'member');
END;

-- One line per job: its settings, where it is, its main score, and what made it (attempt, worker, device, build, times).
CREATE VIEW jobs_view AS
SELECT substr(j.id, 1, 8) AS job, j.task, j.encoding || iif(j.randomized, ':randomized', '') AS encoding, j.learning_rate,
       j.seed, j.state, j.diverged, m.value AS accuracy, j.failures, j.losses, j.failure, j.attempt, w.name AS worker,
       a.device, a.build, a.engine, strftime('%Y-%m-%dT%H:%M:%SZ', a.started_at / 1000000, 'unixepoch') AS started_at,
       strftime('%Y-%m-%dT%H:%M:%SZ', a.ended_at / 1000000, 'unixepoch') AS ended_at, j.id
FROM jobs AS j
LEFT JOIN measurements AS m ON m.job = j.num AND m.metric = 'accuracy' AND m.length = 0 AND m.slice = ''
LEFT JOIN attempts AS a ON a.id = j.attempt
LEFT JOIN workers AS w ON w.id = a.worker;

-- Table B.1: for each sweep, task and encoding the accuracy over all test lengths, the best of all seeds and learning rates.
CREATE VIEW table_b1 AS
SELECT s.name AS sweep, j.task, j.encoding, j.randomized, max(m.value) AS score, count(*) AS jobs,
       sum(j.state = 'succeeded') AS succeeded, sum(j.diverged) AS diverged, substr(s.id, 1, 8) AS sweep_id
FROM sweeps AS s
JOIN sweep_jobs AS sj ON sj.sweep = s.num AND sj.role = 'member'
JOIN jobs AS j ON j.num = sj.job
LEFT JOIN measurements AS m ON m.job = j.num AND m.metric = 'accuracy' AND m.length = 0 AND m.slice = ''
WHERE j.experiment = 'algorithmic'
GROUP BY s.num, j.task, j.encoding, j.randomized;
