-- A store as version 16 of the schema wrote it: a sweep of four jobs, two done, two leased.
PRAGMA application_id = 1280467816;
PRAGMA user_version = 16;
BEGIN TRANSACTION;
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
CREATE TABLE attempt_jobs(
  attempt INTEGER NOT NULL REFERENCES attempts(id),
  member INTEGER NOT NULL,                  -- position along the pack axis
  job INTEGER NOT NULL REFERENCES jobs(num),
  dropped INTEGER NOT NULL DEFAULT 0 CHECK (dropped IN (0, 1)), from_attempt INTEGER REFERENCES attempts(id),
  PRIMARY KEY (attempt, member)
) STRICT, WITHOUT ROWID;
INSERT INTO "attempt_jobs" VALUES(1,0,1,0,NULL);
INSERT INTO "attempt_jobs" VALUES(1,1,2,0,NULL);
INSERT INTO "attempt_jobs" VALUES(2,0,3,0,NULL);
INSERT INTO "attempt_jobs" VALUES(2,1,4,0,NULL);
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
  step INTEGER NOT NULL DEFAULT 0, device_id TEXT NOT NULL DEFAULT '',          -- the last that it told of
  CHECK ((ended_at IS NULL) = (outcome IS NULL))
) STRICT;
INSERT INTO "attempts" VALUES(1,'e569cc1d-88cf-4c07-b276-ddb4f60825bd',1,1795269005355810,1795269005360958,'succeeded','','played','cpu','played',1,2,0,0,'machine 0b3c5d1e-27a8-4a52-9a6a-5a1f6f3c2d10 cpus 0-1');
INSERT INTO "attempts" VALUES(2,'e569cc1d-88cf-4c07-b276-ddb4f60825bd',1,1795269005364634,NULL,NULL,'','played','cpu','',1,2,0,0,'machine 0b3c5d1e-27a8-4a52-9a6a-5a1f6f3c2d10 cpus 0-1');
CREATE TABLE data_sets(
  name TEXT PRIMARY KEY,
  sha256 TEXT NOT NULL,
  bytes REAL NOT NULL,
  first_seen_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE given_up(
  sweep INTEGER NOT NULL REFERENCES sweeps(num),
  job INTEGER NOT NULL REFERENCES jobs(num),
  PRIMARY KEY (sweep, job)
) STRICT, WITHOUT ROWID;
CREATE TABLE identity(
  id TEXT NOT NULL                          -- 32 hexadecimal digits, drawn once; copies and backups have the same
, artifacts TEXT NOT NULL DEFAULT '') STRICT;
INSERT INTO identity VALUES('5e1f0c9a7b3d48e2a6c4d1f08b97e35a','');
CREATE TABLE job_inputs(
  job INTEGER NOT NULL REFERENCES jobs(num),
  name TEXT NOT NULL,
  source INTEGER NOT NULL REFERENCES jobs(num),
  artifact TEXT NOT NULL DEFAULT '',        -- a kind, or '' and
  metric TEXT NOT NULL DEFAULT '',          -- a metric's name
  PRIMARY KEY (job, name),
  CHECK ((artifact = '') <> (metric = ''))
) STRICT, WITHOUT ROWID;
CREATE TABLE "jobs"(
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
INSERT INTO "jobs" VALUES(1,'184c53f502599cca05cd52df38dcd9d5a964ac806bb9f9647f2611415456d441','algorithmic','even_pairs','none',0,0.0001,0,2000000,'succeeded',0,0,1,1,0,0,0,'',0,0,1,1,'longreach-job/1
encoding=none
experiment=algorithmic
learning_rate=0.0001
task=even_pairs
');
INSERT INTO "jobs" VALUES(2,'3b8ea5dcd10676a3a00fd4ef7e1d5f17dbd7fd3ea598715c618aeda8bbbf2737','algorithmic','even_pairs','none',0,0.0001,1,2000000,'succeeded',0,0,1,1,0,0,0,'',0,0,1,1,'longreach-job/1
encoding=none
experiment=algorithmic
learning_rate=0.0001
seed=1
task=even_pairs
');
INSERT INTO "jobs" VALUES(3,'3a6d399896d70d5854c31c633ec202bd548049e1821c2d6a5d6e8167dde45897','algorithmic','even_pairs','rope',0,0.0001,0,2000000,'leased',0,0,2,1,0,0,0,'',0,0,2,2,'longreach-job/1
encoding=rope
experiment=algorithmic
learning_rate=0.0001
task=even_pairs
');
INSERT INTO "jobs" VALUES(4,'efec8d8738a98dcf36f26b95b16e20bcaf5257365c3d444fee406f35bd9ab51f','algorithmic','even_pairs','rope',0,0.0001,1,2000000,'leased',0,0,2,1,0,0,0,'',0,0,2,2,'longreach-job/1
encoding=rope
experiment=algorithmic
learning_rate=0.0001
seed=1
task=even_pairs
');
CREATE TABLE measurements(
  job INTEGER NOT NULL REFERENCES jobs(num),
  metric TEXT NOT NULL,
  length INTEGER NOT NULL,
  slice TEXT NOT NULL,
  value REAL NOT NULL,
  PRIMARY KEY (job, metric, length, slice)
) STRICT, WITHOUT ROWID;
INSERT INTO "measurements" VALUES(1,'accuracy',0,'',0.75);
INSERT INTO "measurements" VALUES(1,'accuracy',7,'',0.75);
INSERT INTO "measurements" VALUES(1,'accuracy',8,'',0.75);
INSERT INTO "measurements" VALUES(2,'accuracy',0,'',0.75);
INSERT INTO "measurements" VALUES(2,'accuracy',7,'',0.75);
INSERT INTO "measurements" VALUES(2,'accuracy',8,'',0.75);
CREATE TABLE pack_keys(
  num INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE                  -- half of a SHA-256 of what such jobs have in common
) STRICT;
INSERT INTO "pack_keys" VALUES(1,'c7d282477c10f3511dad8fc90cb67784');
INSERT INTO "pack_keys" VALUES(2,'4b78b5ea05321cf33039fbdf1a8d0868');
CREATE TABLE progress(
  job INTEGER NOT NULL REFERENCES jobs(num),
  step INTEGER NOT NULL,
  loss REAL,                                -- NULL: not a number
  at INTEGER NOT NULL,
  PRIMARY KEY (job, step)
) STRICT, WITHOUT ROWID;
INSERT INTO "progress" VALUES(1,1,0.75,1795269005360958);
INSERT INTO "progress" VALUES(2,1,0.75,1795269005360958);
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
INSERT INTO "requirements" VALUES(1,'algorithmic','even_pairs',1,'none',1,1,'');
INSERT INTO "requirements" VALUES(2,'algorithmic','even_pairs',1,'rope',1,1,'');
CREATE TABLE sweep_jobs(
  sweep INTEGER NOT NULL REFERENCES sweeps(num),
  role TEXT NOT NULL CHECK (role IN ('member', 'prerequisite')),
  position INTEGER NOT NULL,                -- in order of expansion
  job INTEGER NOT NULL REFERENCES jobs(num),
  PRIMARY KEY (sweep, role, position)
) STRICT, WITHOUT ROWID;
INSERT INTO "sweep_jobs" VALUES(1,'member',0,1);
INSERT INTO "sweep_jobs" VALUES(1,'member',1,2);
INSERT INTO "sweep_jobs" VALUES(1,'member',2,3);
INSERT INTO "sweep_jobs" VALUES(1,'member',3,4);
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
, jobs_to_come INTEGER NOT NULL DEFAULT 0 CHECK (jobs_to_come >= 0), unsettled_from INTEGER CHECK (unsettled_from >= 0), table_spec TEXT NOT NULL DEFAULT '', expected_seconds REAL CHECK (expected_seconds > 0), expected_at INTEGER CHECK ((expected_at IS NULL) = (expected_seconds IS NULL))) STRICT;
INSERT INTO "sweeps" VALUES(1,'a2cf6b4ac48c8c6851f742de4a7638f8001a39cf3640a89e97d78ffe3f13953a','first',1795269005336902,1795269005336902,0,'live',0,0,2,2,0,0,0,'longreach-sweep/1
axes.encoding=none,rope
axes.learning_rate=0.0001
axes.seed=0,1
axes.task=even_pairs
experiment=algorithmic
name=first
',0,NULL,'{"rows":"encoding","columns":"seed","title":"First"}',NULL,NULL);
CREATE TABLE unused_files(sha256 TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
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
, device_id TEXT NOT NULL DEFAULT '') STRICT, WITHOUT ROWID;
INSERT INTO "workers" VALUES('e569cc1d-88cf-4c07-b276-ddb4f60825bd','played-e569cc1d',1,'{"name":"played-e569cc1d","build":"played","device":"cpu","threads":1,"pack_limit":2,"experiments":["algorithmic"],"tasks":[{"name":"even_pairs","revision":1}],"encodings":[{"name":"none","revision":1},{"name":"rope","revision":1}],"model_revision":1,"device_id":"machine 0b3c5d1e-27a8-4a52-9a6a-5a1f6f3c2d10 cpus 0-1"}','played','cpu',1,2,'active','','',1795269005355810,1795269005355810,'machine 0b3c5d1e-27a8-4a52-9a6a-5a1f6f3c2d10 cpus 0-1');
CREATE INDEX sweeps_by_name ON sweeps(name);
CREATE INDEX attempts_running ON attempts(worker, id) WHERE ended_at IS NULL;
CREATE UNIQUE INDEX sweep_jobs_by_job ON sweep_jobs(job, sweep);
CREATE INDEX job_inputs_by_source ON job_inputs(source);
CREATE UNIQUE INDEX attempt_jobs_by_job ON attempt_jobs(job, attempt);
CREATE INDEX artifacts_by_hash ON artifacts(sha256);
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
CREATE VIEW workers_view AS
SELECT name, state, reason, device, threads, pack_limit,
       strftime('%Y-%m-%dT%H:%M:%SZ', seen_at / 1000000, 'unixepoch') AS seen_at, build, id AS worker
FROM workers;
CREATE VIEW sweeps_view AS
SELECT substr(id, 1, 8) AS sweep, name, state, priority,
       jobs_waiting + jobs_queued + jobs_leased + jobs_succeeded + jobs_failed + jobs_cancelled + jobs_to_come AS jobs,
       jobs_waiting AS waiting, jobs_queued AS queued, jobs_leased AS leased, jobs_succeeded AS succeeded,
       jobs_failed AS failed, jobs_cancelled AS cancelled, jobs_diverged AS diverged, jobs_to_come AS to_come,
       strftime('%Y-%m-%dT%H:%M:%SZ', submitted_at / 1000000, 'unixepoch') AS submitted_at, id
FROM sweeps;
CREATE UNIQUE INDEX jobs_by_id ON jobs(substr(id, 1, 24));
CREATE INDEX jobs_ready ON jobs(requirement, priority DESC, num) WHERE state = 'queued' AND wanted = 1;
CREATE INDEX jobs_ready_together ON jobs(pack_key, checkpoint_step, split_group, priority DESC, num)
  WHERE state = 'queued' AND wanted = 1;
CREATE INDEX jobs_by_attempt ON jobs(attempt) WHERE attempt IS NOT NULL;
CREATE INDEX jobs_begun ON jobs(num) WHERE checkpoint_step > 0 AND state NOT IN ('leased', 'succeeded');
CREATE VIEW main_metrics(experiment, metric) AS
VALUES ('algorithmic', 'accuracy'), ('images', 'cross_entropy'), ('language', 'cross_entropy'), ('llama', 'perplexity'), ('noop', 'echo'),
       ('sequences', 'accuracy');
CREATE VIEW jobs_view AS
SELECT substr(j.id, 1, 8) AS job, j.experiment, j.task, j.encoding || iif(j.randomized, ':randomized', '') AS encoding, j.learning_rate,
       j.seed, j.state, j.diverged, k.metric, m.value AS score, c.value AS accuracy, j.failures, j.losses, j.failure, j.attempt,
       w.name AS worker, a.device, a.build, a.engine, strftime('%Y-%m-%dT%H:%M:%SZ', a.started_at / 1000000, 'unixepoch') AS started_at,
       strftime('%Y-%m-%dT%H:%M:%SZ', a.ended_at / 1000000, 'unixepoch') AS ended_at, j.id
FROM jobs AS j
LEFT JOIN main_metrics AS k ON k.experiment = j.experiment
LEFT JOIN measurements AS m ON m.job = j.num AND m.metric = k.metric AND m.length = 0 AND m.slice = ''
LEFT JOIN measurements AS c ON c.job = j.num AND c.metric = 'accuracy' AND c.length = 0 AND c.slice = ''
LEFT JOIN attempts AS a ON a.id = j.attempt
LEFT JOIN workers AS w ON w.id = a.worker;
CREATE VIEW table_1 AS
SELECT s.name AS sweep, j.task, j.encoding, j.randomized, c.length, min(c.value) AS score, count(*) AS jobs,
       sum(j.state = 'succeeded') AS succeeded, sum(j.diverged) AS diverged, substr(s.id, 1, 8) AS sweep_id
FROM cross_entropies AS c JOIN sweeps AS s ON s.num = c.sweep JOIN jobs AS j ON j.num = c.job
WHERE j.experiment = 'language' AND c.part = 'trained'
GROUP BY s.num, j.task, j.encoding, j.randomized, c.length;
CREATE VIEW table_2 AS
SELECT s.name AS sweep, j.task, iif(c.part = 'pretrained', c.part, j.encoding) AS encoding, j.randomized, c.length, min(c.value) AS score,
       count(*) AS jobs, sum(j.state = 'succeeded') AS succeeded, sum(j.diverged) AS diverged, substr(s.id, 1, 8) AS sweep_id
FROM cross_entropies AS c JOIN sweeps AS s ON s.num = c.sweep JOIN jobs AS j ON j.num = c.job
WHERE j.experiment = 'language' AND c.part <> 'trained'
GROUP BY s.num, j.task, iif(c.part = 'pretrained', c.part, j.encoding), j.randomized, c.length;
CREATE VIEW table_3 AS
SELECT s.name AS sweep, j.task, j.encoding, j.randomized, c.length, min(c.value) AS score, count(*) AS jobs,
       sum(j.state = 'succeeded') AS succeeded, sum(j.diverged) AS diverged, substr(s.id, 1, 8) AS sweep_id
FROM cross_entropies AS c JOIN sweeps AS s ON s.num = c.sweep JOIN jobs AS j ON j.num = c.job
WHERE j.experiment = 'images' AND c.part = 'trained'
GROUP BY s.num, j.task, j.encoding, j.randomized, c.length;
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
  WHERE num IN (SELECT sj.sweep FROM sweep_jobs AS sj WHERE sj.job = NEW.num AND sj.role = 'member'
    AND NOT EXISTS (SELECT 1 FROM given_up AS g WHERE g.sweep = sj.sweep AND g.job = sj.job));
END;
CREATE TRIGGER jobs_given_up_counted AFTER UPDATE OF state, diverged ON jobs
WHEN (OLD.state = 'succeeded') <> (NEW.state = 'succeeded') OR OLD.diverged <> NEW.diverged
BEGIN
  UPDATE sweeps SET
    jobs_succeeded = jobs_succeeded + (NEW.state = 'succeeded') - (OLD.state = 'succeeded'),
    jobs_cancelled = jobs_cancelled - (NEW.state = 'succeeded') + (OLD.state = 'succeeded'),
    jobs_diverged = jobs_diverged + NEW.diverged - OLD.diverged
  WHERE num IN (SELECT sj.sweep FROM sweep_jobs AS sj WHERE sj.job = NEW.num AND sj.role = 'member'
    AND EXISTS (SELECT 1 FROM given_up AS g WHERE g.sweep = sj.sweep AND g.job = sj.job));
END;
CREATE TRIGGER given_up_counted AFTER INSERT ON given_up
BEGIN
  UPDATE sweeps SET
    jobs_waiting = jobs_waiting - (j.state = 'waiting'),
    jobs_queued = jobs_queued - (j.state = 'queued'),
    jobs_leased = jobs_leased - (j.state = 'leased'),
    jobs_failed = jobs_failed - (j.state = 'failed'),
    jobs_cancelled = jobs_cancelled + (j.state NOT IN ('succeeded', 'cancelled'))
  FROM jobs AS j WHERE j.num = NEW.job AND sweeps.num = NEW.sweep
    AND EXISTS (SELECT 1 FROM sweep_jobs AS sj WHERE sj.sweep = NEW.sweep AND sj.job = NEW.job AND sj.role = 'member');
END;
CREATE TRIGGER wanted_again_counted AFTER DELETE ON given_up
BEGIN
  UPDATE sweeps SET
    jobs_waiting = jobs_waiting + (j.state = 'waiting'),
    jobs_queued = jobs_queued + (j.state = 'queued'),
    jobs_leased = jobs_leased + (j.state = 'leased'),
    jobs_failed = jobs_failed + (j.state = 'failed'),
    jobs_cancelled = jobs_cancelled - (j.state NOT IN ('succeeded', 'cancelled'))
  FROM jobs AS j WHERE j.num = OLD.job AND sweeps.num = OLD.sweep
    AND EXISTS (SELECT 1 FROM sweep_jobs AS sj WHERE sj.sweep = OLD.sweep AND sj.job = OLD.job AND sj.role = 'member');
END;
CREATE VIEW sweep_kinds AS
SELECT s.num AS sweep, (SELECT j.experiment FROM sweep_jobs AS sj JOIN jobs AS j ON j.num = sj.job WHERE sj.sweep = s.num AND sj.role = 'member'
                        ORDER BY sj.position LIMIT 1) AS experiment
FROM sweeps AS s;
CREATE VIEW table_b1 AS
SELECT s.name AS sweep, j.task, j.encoding, j.randomized, max(m.value) AS score, count(*) AS jobs,
       sum(j.state = 'succeeded') AS succeeded, sum(j.diverged) AS diverged, substr(s.id, 1, 8) AS sweep_id
FROM sweeps AS s
JOIN sweep_jobs AS sj ON sj.sweep = s.num AND sj.role = 'member'
JOIN jobs AS j ON j.num = sj.job
LEFT JOIN measurements AS m ON m.job = j.num AND m.metric = 'accuracy' AND m.length = 0 AND m.slice = ''
WHERE j.experiment = 'algorithmic'
GROUP BY s.num, s.name, j.task, j.encoding, j.randomized;
CREATE VIEW cross_entropies AS
WITH parts AS (
  SELECT sj.sweep, sj.job,
         iif(EXISTS (SELECT 1 FROM job_inputs AS i WHERE i.job = sj.job AND i.name = 'weights'), 'tuned', 'trained') AS part
  FROM sweep_kinds AS k CROSS JOIN sweep_jobs AS sj ON sj.sweep = k.sweep AND sj.role = 'member'
  WHERE k.experiment IN ('images', 'language')
  UNION ALL
  SELECT DISTINCT sj.sweep, i.source, 'pretrained'
  FROM sweep_kinds AS k
  CROSS JOIN sweep_jobs AS sj ON sj.sweep = k.sweep AND sj.role = 'member'
  CROSS JOIN job_inputs AS i ON i.job = sj.job AND i.name = 'weights'
  WHERE k.experiment IN ('images', 'language')
), lengths AS (
  SELECT DISTINCT sj.sweep, m.length
  FROM sweep_kinds AS k
  CROSS JOIN sweep_jobs AS sj ON sj.sweep = k.sweep AND sj.role = 'member'
  CROSS JOIN measurements AS m ON m.job = sj.job AND m.metric = 'cross_entropy' AND m.length > 0 AND m.slice = ''
  WHERE k.experiment IN ('images', 'language')
)
SELECT p.sweep, p.part, p.job, l.length, m.value
FROM parts AS p
LEFT JOIN lengths AS l ON l.sweep = p.sweep
LEFT JOIN measurements AS m ON m.job = p.job AND m.metric = 'cross_entropy' AND m.length = l.length AND m.slice = '';
CREATE VIEW sweep_systems AS
WITH texts AS MATERIALIZED (
  SELECT k.sweep, k.experiment, '["' || replace(replace(s.spec, char(92) || '.', '/'), char(10), '","') || '"]' AS lines
  FROM sweeps AS s JOIN sweep_kinds AS k ON k.sweep = s.num WHERE instr(s.spec, char(10) || 'systems.') > 0
), fields AS (
  SELECT sweep, experiment,
         CASE WHEN value GLOB 'axes.*' THEN ''
              WHEN value GLOB 'systems.*' THEN replace(substr(value, 9, ifnull(nullif(instr(value, '.with.'), 0), instr(value, '=')) - 9), '/', '.') END AS system,
         iif(value GLOB 'systems.*', substr(value, instr(value, '.with.') + 6), value) AS field
  FROM texts CROSS JOIN json_each(lines)
), sizes AS (
  SELECT sweep, experiment, system, substr(field, 1, instr(field, '=')) AS axis,
         (SELECT sum(iif(value GLOB '*..*', substr(value, instr(value, '..') + 2) - substr(value, 1, instr(value, '..') - 1) + 1, 1))
          FROM json_each('["' || replace(substr(field, instr(field, '=') + 1), ',', '","') || '"]')) AS size
  FROM fields WHERE system IS NOT NULL
), own AS (
  SELECT sweep, experiment, system, max(iif(axis = 'axes.task=', size, NULL)) AS tasks, max(iif(axis = 'axes.encoding=', size, NULL)) AS encodings,
         max(iif(axis = 'axes.learning_rate=', size, NULL)) AS learning_rates, max(iif(axis = 'axes.seed=', size, NULL)) AS seeds
  FROM sizes GROUP BY sweep, experiment, system
), jobs_of AS (
  SELECT sweep, experiment, system,
         ifnull(tasks, first_value(tasks) OVER whole) * ifnull(encodings, first_value(encodings) OVER whole)
           * ifnull(learning_rates, first_value(learning_rates) OVER whole) * ifnull(seeds, first_value(seeds) OVER whole) * (system <> '') AS jobs
  FROM own WINDOW whole AS (PARTITION BY sweep, experiment ORDER BY system)
), ends AS (
  SELECT sweep, experiment, system, jobs, sum(jobs) OVER (PARTITION BY sweep, experiment ORDER BY system) AS past FROM jobs_of
)
SELECT sweep, experiment, system, past - jobs AS first, past FROM ends WHERE system <> '';
CREATE VIEW system_jobs AS
SELECT y.sweep, y.experiment, y.system, sj.job
FROM sweep_systems AS y
CROSS JOIN sweep_jobs AS sj ON sj.sweep = y.sweep AND sj.role = 'member' AND sj.position >= y.first AND sj.position < y.past;
CREATE VIEW nope_table_1 AS
WITH lengths AS (
  SELECT DISTINCT sj.sweep, m.length
  FROM sweep_kinds AS k
  CROSS JOIN sweep_jobs AS sj ON sj.sweep = k.sweep AND sj.role = 'member'
  CROSS JOIN measurements AS m ON m.job = sj.job AND m.metric = 'perplexity' AND m.length > 0 AND m.slice = ''
  WHERE k.experiment = 'llama'
)
SELECT s.name AS sweep, max(substr(r.data, 1, instr(r.data || ' ', ' ') - 1)) AS data, t.system, l.length, avg(m.value) AS score, count(*) AS jobs,
       sum(j.state = 'succeeded') AS succeeded, sum(j.diverged) AS diverged, substr(s.id, 1, 8) AS sweep_id
FROM system_jobs AS t
CROSS JOIN sweeps AS s ON s.num = t.sweep
CROSS JOIN jobs AS j ON j.num = t.job
CROSS JOIN requirements AS r ON r.num = j.requirement
LEFT JOIN lengths AS l ON l.sweep = t.sweep
LEFT JOIN measurements AS m ON m.job = t.job AND m.metric = 'perplexity' AND m.length = l.length AND m.slice = ''
WHERE t.experiment = 'llama'
GROUP BY t.sweep, t.system, l.length;
CREATE VIEW nope_table_2 AS
WITH slices AS (
  SELECT DISTINCT sj.sweep, m.slice
  FROM sweep_kinds AS k
  CROSS JOIN sweep_jobs AS sj ON sj.sweep = k.sweep AND sj.role = 'member'
  CROSS JOIN measurements AS m ON m.job = sj.job AND m.metric = 'longbench' AND m.length = 0
  WHERE k.experiment = 'llama' AND (m.slice = '' OR m.slice GLOB 'longbench_task=*')
)
SELECT s.name AS sweep, t.system, iif(l.slice = '', 'all', substr(l.slice, 16)) AS longbench_task, avg(m.value) AS score, count(*) AS jobs,
       sum(j.state = 'succeeded') AS succeeded, sum(j.diverged) AS diverged, substr(s.id, 1, 8) AS sweep_id
FROM system_jobs AS t
CROSS JOIN sweeps AS s ON s.num = t.sweep
CROSS JOIN jobs AS j ON j.num = t.job
LEFT JOIN slices AS l ON l.sweep = t.sweep
LEFT JOIN measurements AS m ON m.job = t.job AND m.metric = 'longbench' AND m.length = 0 AND m.slice = l.slice
WHERE t.experiment = 'llama'
GROUP BY t.sweep, t.system, l.slice;
CREATE VIEW nope_passkeys AS
SELECT s.name AS sweep, t.system, m.length, CAST(nullif(substr(m.slice, 7), '') AS REAL) AS depth, avg(m.value) AS score, count(*) AS measured,
       substr(s.id, 1, 8) AS sweep_id
FROM system_jobs AS t
CROSS JOIN sweeps AS s ON s.num = t.sweep
CROSS JOIN measurements AS m ON m.job = t.job AND m.metric = 'passkey_accuracy' AND m.length > 0
WHERE t.experiment = 'llama' AND (m.slice = '' OR m.slice GLOB 'depth=*')
GROUP BY t.sweep, t.system, m.length, m.slice;
CREATE VIEW nope_positions AS
SELECT s.name AS sweep, t.system, m.length AS position, CAST(nullif(substr(m.slice, 17), '') AS REAL) AS attention_scale,
       avg(iif(m.metric = 'position_loss', m.value, NULL)) AS loss, avg(iif(m.metric = 'attention_entropy', m.value, NULL)) AS entropy,
       avg(iif(m.metric = 'best_attention_scale', m.value, NULL)) AS best_attention_scale, count(DISTINCT m.job) AS measured, substr(s.id, 1, 8) AS sweep_id
FROM system_jobs AS t
CROSS JOIN sweeps AS s ON s.num = t.sweep
CROSS JOIN measurements AS m ON m.job = t.job AND m.metric IN ('position_loss', 'attention_entropy', 'best_attention_scale') AND m.length > 0
WHERE t.experiment = 'llama' AND (m.slice = '' OR m.slice GLOB 'attention_scale=*')
GROUP BY t.sweep, t.system, m.length, m.slice;
CREATE VIEW nope_heads AS
SELECT s.name AS sweep, t.system, CAST(substr(m.slice, 7) AS INTEGER) AS layer, CAST(substr(m.slice, instr(m.slice, ',head=') + 6) AS INTEGER) AS head,
       avg(iif(m.metric = 'head_scale', m.value, NULL)) AS scale, avg(iif(m.metric = 'attention_entropy', m.value, NULL)) AS entropy,
       max(nullif(m.length, 0)) AS position, count(DISTINCT m.job) AS measured, substr(s.id, 1, 8) AS sweep_id
FROM system_jobs AS t
CROSS JOIN sweeps AS s ON s.num = t.sweep
CROSS JOIN measurements AS m ON m.job = t.job AND m.metric IN ('head_scale', 'attention_entropy')
WHERE t.experiment = 'llama' AND m.slice GLOB 'layer=*,head=*'
GROUP BY t.sweep, t.system, m.slice;
CREATE VIEW attempts_view AS
SELECT a.id AS attempt, w.name AS worker, a.outcome, a.detail, a.members, a.start_step, a.step,
       strftime('%Y-%m-%dT%H:%M:%SZ', a.started_at / 1000000, 'unixepoch') AS started_at,
       strftime('%Y-%m-%dT%H:%M:%SZ', a.ended_at / 1000000, 'unixepoch') AS ended_at,
       (a.ended_at - a.started_at) / 1000000.0 AS seconds, a.device, a.engine, a.threads, a.build,
       (SELECT group_concat(DISTINCT aj.from_attempt) FROM attempt_jobs AS aj WHERE aj.attempt = a.id) AS went_on_from
FROM attempts AS a JOIN workers AS w ON w.id = a.worker;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('attempts',2);
COMMIT;
