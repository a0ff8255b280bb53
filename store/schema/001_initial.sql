-- The first schema. Times are microseconds since 1970, UTC; the views at the end show them as ISO 8601.
-- `num` is a row's number in this file, for references between tables; `id` is what it is called everywhere.

-- What users submitted. The counters are of the sweep's members and are kept by the triggers below.
CREATE TABLE sweeps(
  num INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,                  -- SHA-256 of spec
  name TEXT NOT NULL,
  submitted_at INTEGER NOT NULL,
  asked_at INTEGER NOT NULL,                -- when it was last submitted (again)
  priority INTEGER NOT NULL DEFAULT 0,      -- higher runs first
  state TEXT NOT NULL DEFAULT 'live' CHECK (state IN ('live', 'paused', 'cancelled')),
  jobs_waiting INTEGER NOT NULL DEFAULT 0,
  jobs_queued INTEGER NOT NULL DEFAULT 0,
  jobs_leased INTEGER NOT NULL DEFAULT 0,
  jobs_succeeded INTEGER NOT NULL DEFAULT 0,
  jobs_failed INTEGER NOT NULL DEFAULT 0,
  jobs_cancelled INTEGER NOT NULL DEFAULT 0,
  jobs_diverged INTEGER NOT NULL DEFAULT 0, -- of the succeeded
  spec TEXT NOT NULL                        -- canonical text
) STRICT;
CREATE INDEX sweeps_by_name ON sweeps(name);

-- What jobs ask of a worker. Many jobs share one, so that finding work needs one look per kind of work.
CREATE TABLE requirements(
  num INTEGER PRIMARY KEY,
  experiment TEXT NOT NULL,
  task TEXT NOT NULL,
  task_revision INTEGER NOT NULL,
  encoding TEXT NOT NULL,
  encoding_revision INTEGER NOT NULL,
  model_revision INTEGER NOT NULL,
  data TEXT NOT NULL,                       -- name of a data set; '': none
  UNIQUE (experiment, task, task_revision, encoding, encoding_revision, model_revision, data)
) STRICT;

CREATE TABLE workers(
  id TEXT PRIMARY KEY,                      -- UUID
  name TEXT NOT NULL,
  incarnation INTEGER NOT NULL,
  abilities TEXT NOT NULL,                  -- JSON
  build TEXT NOT NULL,
  device TEXT NOT NULL,
  threads INTEGER NOT NULL,
  pack_limit INTEGER NOT NULL,
  state TEXT NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'draining', 'put_aside')),
  reason TEXT NOT NULL DEFAULT '',
  recent_failures TEXT NOT NULL DEFAULT '',
  first_seen_at INTEGER NOT NULL,
  seen_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Each execution of a pack, for ever. AUTOINCREMENT: an id is never used again, it is the fencing token.
CREATE TABLE attempts(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  worker TEXT NOT NULL REFERENCES workers(id),
  incarnation INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at INTEGER,                         -- NULL: it runs
  outcome TEXT CHECK (outcome IN ('succeeded', 'failed', 'given_back', 'lost', 'dropped')),
  detail TEXT NOT NULL DEFAULT '',
  build TEXT NOT NULL,
  device TEXT NOT NULL,
  engine TEXT NOT NULL DEFAULT '',
  threads INTEGER NOT NULL,
  members INTEGER NOT NULL,
  start_step INTEGER NOT NULL DEFAULT 0,
  step INTEGER NOT NULL DEFAULT 0,          -- the last that it told of
  CHECK ((ended_at IS NULL) = (outcome IS NULL))
) STRICT;
CREATE INDEX attempts_running ON attempts(worker, id) WHERE ended_at IS NULL;

CREATE TABLE jobs(
  num INTEGER PRIMARY KEY,                  -- also the order of submission
  id TEXT NOT NULL UNIQUE,                  -- SHA-256 of spec
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
  pack_key TEXT NOT NULL,                   -- equal for jobs that can be trained together
  spec TEXT NOT NULL,                       -- canonical text
  CHECK ((state IN ('leased', 'succeeded')) = (attempt IS NOT NULL)),
  CHECK (diverged = 0 OR state = 'succeeded')
) STRICT;
-- Whose turn it is, per requirement; and who can go with it.
CREATE INDEX jobs_ready ON jobs(requirement, priority DESC, num) WHERE state = 'queued' AND wanted = 1;
CREATE INDEX jobs_ready_together ON jobs(pack_key, checkpoint_step, split_group, priority DESC, num)
  WHERE state = 'queued' AND wanted = 1;
CREATE INDEX jobs_by_attempt ON jobs(attempt) WHERE attempt IS NOT NULL;
-- Jobs that have been trained in part and do not run now: their steps count as done.
CREATE INDEX jobs_begun ON jobs(num) WHERE checkpoint_step > 0 AND state NOT IN ('leased', 'succeeded');

CREATE TABLE sweep_jobs(
  sweep INTEGER NOT NULL REFERENCES sweeps(num),
  role TEXT NOT NULL CHECK (role IN ('member', 'prerequisite')),
  position INTEGER NOT NULL,                -- in order of expansion
  job INTEGER NOT NULL REFERENCES jobs(num),
  PRIMARY KEY (sweep, role, position)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX sweep_jobs_by_job ON sweep_jobs(job, sweep);

CREATE TABLE job_inputs(
  job INTEGER NOT NULL REFERENCES jobs(num),
  name TEXT NOT NULL,
  source INTEGER NOT NULL REFERENCES jobs(num),
  artifact TEXT NOT NULL DEFAULT '',        -- a kind, or '' and
  metric TEXT NOT NULL DEFAULT '',          -- a metric's name
  PRIMARY KEY (job, name),
  CHECK ((artifact = '') <> (metric = ''))
) STRICT, WITHOUT ROWID;
CREATE INDEX job_inputs_by_source ON job_inputs(source);

CREATE TABLE attempt_jobs(
  attempt INTEGER NOT NULL REFERENCES attempts(id),
  member INTEGER NOT NULL,                  -- position along the pack axis
  job INTEGER NOT NULL REFERENCES jobs(num),
  dropped INTEGER NOT NULL DEFAULT 0 CHECK (dropped IN (0, 1)),
  PRIMARY KEY (attempt, member)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX attempt_jobs_by_job ON attempt_jobs(job, attempt);

-- Results: written once, with the job's success. Length 0: over all lengths.
CREATE TABLE measurements(
  job INTEGER NOT NULL REFERENCES jobs(num),
  metric TEXT NOT NULL,
  length INTEGER NOT NULL,
  slice TEXT NOT NULL,
  value REAL NOT NULL,
  PRIMARY KEY (job, metric, length, slice)
) STRICT, WITHOUT ROWID;

-- Loss curves: at most 1,000 rows a job.
CREATE TABLE progress(
  job INTEGER NOT NULL REFERENCES jobs(num),
  step INTEGER NOT NULL,
  loss REAL,                                -- NULL: not a number
  at INTEGER NOT NULL,
  PRIMARY KEY (job, step)
) STRICT, WITHOUT ROWID;

CREATE TABLE artifacts(
  job INTEGER NOT NULL REFERENCES jobs(num),
  kind TEXT NOT NULL CHECK (kind IN ('checkpoint', 'weights', 'log', 'series', 'figure')),
  step INTEGER NOT NULL,
  attempt INTEGER NOT NULL REFERENCES attempts(id),
  member INTEGER NOT NULL,                  -- position along the file's member axis
  sha256 TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (job, kind, step, attempt)
) STRICT, WITHOUT ROWID;
CREATE INDEX artifacts_by_hash ON artifacts(sha256);
-- Files that no row names any more, to be removed.
CREATE TABLE unused_files(sha256 TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;

CREATE TABLE data_sets(
  name TEXT PRIMARY KEY,
  sha256 TEXT NOT NULL,
  bytes REAL NOT NULL,
  first_seen_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

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

CREATE TRIGGER sweep_jobs_counted AFTER INSERT ON sweep_jobs WHEN NEW.role = 'member'
BEGIN
  UPDATE sweeps SET
    jobs_waiting = jobs_waiting + (j.state = 'waiting'),
    jobs_queued = jobs_queued + (j.state = 'queued'),
    jobs_leased = jobs_leased + (j.state = 'leased'),
    jobs_succeeded = jobs_succeeded + (j.state = 'succeeded'),
    jobs_failed = jobs_failed + (j.state = 'failed'),
    jobs_cancelled = jobs_cancelled + (j.state = 'cancelled'),
    jobs_diverged = jobs_diverged + j.diverged
  FROM (SELECT state, diverged FROM jobs WHERE num = NEW.job) AS j
  WHERE sweeps.num = NEW.sweep;
END;

CREATE TRIGGER artifacts_named AFTER INSERT ON artifacts
BEGIN
  DELETE FROM unused_files WHERE sha256 = NEW.sha256;
END;

CREATE TRIGGER artifacts_renamed AFTER UPDATE OF sha256 ON artifacts WHEN OLD.sha256 <> NEW.sha256
BEGIN
  DELETE FROM unused_files WHERE sha256 = NEW.sha256;
  INSERT OR IGNORE INTO unused_files(sha256)
    SELECT OLD.sha256 WHERE NOT EXISTS (SELECT 1 FROM artifacts WHERE sha256 = OLD.sha256);
END;

CREATE TRIGGER artifacts_removed AFTER DELETE ON artifacts
BEGIN
  INSERT OR IGNORE INTO unused_files(sha256)
    SELECT OLD.sha256 WHERE NOT EXISTS (SELECT 1 FROM artifacts WHERE sha256 = OLD.sha256);
END;

-- For people, with the sqlite3 shell.

-- One line per sweep.
CREATE VIEW sweeps_view AS
SELECT substr(id, 1, 8) AS sweep, name, state, priority,
       jobs_waiting + jobs_queued + jobs_leased + jobs_succeeded + jobs_failed + jobs_cancelled AS jobs,
       jobs_waiting AS waiting, jobs_queued AS queued, jobs_leased AS leased, jobs_succeeded AS succeeded,
       jobs_failed AS failed, jobs_cancelled AS cancelled, jobs_diverged AS diverged,
       strftime('%Y-%m-%dT%H:%M:%SZ', submitted_at / 1000000, 'unixepoch') AS submitted_at, id
FROM sweeps;

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

-- One line per attempt.
CREATE VIEW attempts_view AS
SELECT a.id AS attempt, w.name AS worker, a.outcome, a.detail, a.members, a.start_step, a.step,
       strftime('%Y-%m-%dT%H:%M:%SZ', a.started_at / 1000000, 'unixepoch') AS started_at,
       strftime('%Y-%m-%dT%H:%M:%SZ', a.ended_at / 1000000, 'unixepoch') AS ended_at,
       (a.ended_at - a.started_at) / 1000000.0 AS seconds, a.device, a.engine, a.threads, a.build
FROM attempts AS a JOIN workers AS w ON w.id = a.worker;

-- One line per worker.
CREATE VIEW workers_view AS
SELECT name, state, reason, device, threads, pack_limit,
       strftime('%Y-%m-%dT%H:%M:%SZ', seen_at / 1000000, 'unixepoch') AS seen_at, build, id AS worker
FROM workers;

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
