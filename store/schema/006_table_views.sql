-- Views only: a job's main score is that of its experiment kind, and Tables 1, 2 and 3 have views as Table B.1 has.
DROP VIEW jobs_view;

-- The metric that the score of a job is, over all lengths, by its experiment kind.
CREATE VIEW main_metrics(experiment, metric) AS
VALUES ('algorithmic', 'accuracy'), ('images', 'cross_entropy'), ('language', 'cross_entropy'), ('llama', 'perplexity'), ('noop', 'echo');

-- One line per job: its settings, where it is, its main score (of which metric; accuracy beside it, where there is one), and what made it
-- (attempt, worker, device, build, times).
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

-- One line per job of a sweep, and per length at which any of the sweep was measured (none yet: one line without): its cross-entropy there.
-- `part`: a job that was 'trained' from scratch, 'tuned' from weights of another, or is such another one ('pretrained').
CREATE VIEW cross_entropies AS
WITH parts AS (
  SELECT sj.sweep, sj.job,
         iif(EXISTS (SELECT 1 FROM job_inputs AS i WHERE i.job = sj.job AND i.name = 'weights'), 'tuned', 'trained') AS part
  FROM sweep_jobs AS sj WHERE sj.role = 'member'
  UNION ALL
  SELECT DISTINCT sj.sweep, i.source, 'pretrained'
  FROM sweep_jobs AS sj JOIN job_inputs AS i ON i.job = sj.job AND i.name = 'weights' WHERE sj.role = 'member'
), lengths AS (
  SELECT DISTINCT sj.sweep, m.length
  FROM sweep_jobs AS sj JOIN measurements AS m ON m.job = sj.job AND m.metric = 'cross_entropy' AND m.length > 0 AND m.slice = ''
  WHERE sj.role = 'member'
)
SELECT p.sweep, p.part, p.job, l.length, m.value
FROM parts AS p
LEFT JOIN lengths AS l ON l.sweep = p.sweep
LEFT JOIN measurements AS m ON m.job = p.job AND m.metric = 'cross_entropy' AND m.length = l.length AND m.slice = '';

-- Table 1: language models that were trained from scratch. For each sweep, encoding and length the cross-entropy of a sequence, the best of
-- all seeds and learning rates.
CREATE VIEW table_1 AS
SELECT s.name AS sweep, j.task, j.encoding, j.randomized, c.length, min(c.value) AS score, count(*) AS jobs,
       sum(j.state = 'succeeded') AS succeeded, sum(j.diverged) AS diverged, substr(s.id, 1, 8) AS sweep_id
FROM cross_entropies AS c JOIN sweeps AS s ON s.num = c.sweep JOIN jobs AS j ON j.num = c.job
WHERE j.experiment = 'language' AND c.part = 'trained'
GROUP BY s.num, j.task, j.encoding, j.randomized, c.length;

-- Table 2: the same of language models that went on from the weights of others, and as 'pretrained' of those others.
CREATE VIEW table_2 AS
SELECT s.name AS sweep, j.task, iif(c.part = 'pretrained', c.part, j.encoding) AS encoding, j.randomized, c.length, min(c.value) AS score,
       count(*) AS jobs, sum(j.state = 'succeeded') AS succeeded, sum(j.diverged) AS diverged, substr(s.id, 1, 8) AS sweep_id
FROM cross_entropies AS c JOIN sweeps AS s ON s.num = c.sweep JOIN jobs AS j ON j.num = c.job
WHERE j.experiment = 'language' AND c.part <> 'trained'
GROUP BY s.num, j.task, iif(c.part = 'pretrained', c.part, j.encoding), j.randomized, c.length;

-- Table 3: as Table 1, of images.
CREATE VIEW table_3 AS
SELECT s.name AS sweep, j.task, j.encoding, j.randomized, c.length, min(c.value) AS score, count(*) AS jobs,
       sum(j.state = 'succeeded') AS succeeded, sum(j.diverged) AS diverged, substr(s.id, 1, 8) AS sweep_id
FROM cross_entropies AS c JOIN sweeps AS s ON s.num = c.sweep JOIN jobs AS j ON j.num = c.job
WHERE j.experiment = 'images' AND c.part = 'trained'
GROUP BY s.num, j.task, j.encoding, j.randomized, c.length;
