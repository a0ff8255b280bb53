-- Views only: the tables of the NoPE paper have views as the others have, and so has what most of its figures are drawn from. Their rows are systems, and
-- which system a job belongs to is known from its place in the sweep alone. And the views of the other tables no longer read the jobs of sweeps that are
-- not asked for: Table B.1's those of sweeps of another name, and those of Tables 1, 2 and 3 jobs of other kinds.

-- One line per sweep that has jobs: they are of one experiment kind.
CREATE VIEW sweep_kinds AS
SELECT s.num AS sweep, (SELECT j.experiment FROM sweep_jobs AS sj JOIN jobs AS j ON j.num = sj.job WHERE sj.sweep = s.num AND sj.role = 'member'
                        ORDER BY sj.position LIMIT 1) AS experiment
FROM sweeps AS s;

DROP VIEW table_b1;
DROP VIEW cross_entropies;

-- Table B.1, as before. That it is grouped by the name too lets a name that is asked for choose the sweeps.
CREATE VIEW table_b1 AS
SELECT s.name AS sweep, j.task, j.encoding, j.randomized, max(m.value) AS score, count(*) AS jobs,
       sum(j.state = 'succeeded') AS succeeded, sum(j.diverged) AS diverged, substr(s.id, 1, 8) AS sweep_id
FROM sweeps AS s
JOIN sweep_jobs AS sj ON sj.sweep = s.num AND sj.role = 'member'
JOIN jobs AS j ON j.num = sj.job
LEFT JOIN measurements AS m ON m.job = j.num AND m.metric = 'accuracy' AND m.length = 0 AND m.slice = ''
WHERE j.experiment = 'algorithmic'
GROUP BY s.num, s.name, j.task, j.encoding, j.randomized;

-- One line per job of a sweep of language or image models, and per length at which any of the sweep was measured (none yet: one line without): its
-- cross-entropy there. `part`: a job that was 'trained' from scratch, 'tuned' from weights of another, or is such another one ('pretrained').
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

-- One line per system of a sweep: its jobs are the members at the positions from `first` on and before `past`. Systems stand by name, each with a job for
-- every combination of its axes, or of the sweep's where it has none of its own; their lists are in the sweep's text. A sweep without systems has no line.
-- The text is split at its lines by making an array of JSON of it. It holds words, names and numbers, so a backslash stands only before a dot of a name;
-- both are '/' meanwhile, which is in no name.
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

-- One line per member of a sweep with systems: the job, and its system.
CREATE VIEW system_jobs AS
SELECT y.sweep, y.experiment, y.system, sj.job
FROM sweep_systems AS y
CROSS JOIN sweep_jobs AS sj ON sj.sweep = y.sweep AND sj.role = 'member' AND sj.position >= y.first AND sj.position < y.past;

-- Table 1 of the NoPE paper: for each sweep of LLaMA models, system and length the perplexity, the mean over learning rates and seeds. A line for each length
-- at which any of the sweep was measured (none yet: one line without), as in the views of the other tables. `data`: the corpus that was tested on.
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

-- Table 2: LongBench's scores in the same way, from 0 to 1, for each task that any of the sweep was asked, and their mean as 'all'.
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

-- Figures have what is measured alone, as systems differ in the lengths and positions that they are asked; `measured`: the jobs that a mean is over.

-- Figures 6 and 8: the share of passkeys, from 0 to 1, that a system retrieves by length and depth; `depth` NULL: the mean over depths.
CREATE VIEW nope_passkeys AS
SELECT s.name AS sweep, t.system, m.length, CAST(nullif(substr(m.slice, 7), '') AS REAL) AS depth, avg(m.value) AS score, count(*) AS measured,
       substr(s.id, 1, 8) AS sweep_id
FROM system_jobs AS t
CROSS JOIN sweeps AS s ON s.num = t.sweep
CROSS JOIN measurements AS m ON m.job = t.job AND m.metric = 'passkey_accuracy' AND m.length > 0
WHERE t.experiment = 'llama' AND (m.slice = '' OR m.slice GLOB 'depth=*')
GROUP BY t.sweep, t.system, m.length, m.slice;

-- Figures 1, 2, 4 and 7, by bins of positions, which end at `position`: of the model as it is (`attention_scale` NULL) the loss, the entropy of attention
-- over all heads, both in nats, and which of the scales that were tried is best there; and a line with the loss for each of these scales.
CREATE VIEW nope_positions AS
SELECT s.name AS sweep, t.system, m.length AS position, CAST(nullif(substr(m.slice, 17), '') AS REAL) AS attention_scale,
       avg(iif(m.metric = 'position_loss', m.value, NULL)) AS loss, avg(iif(m.metric = 'attention_entropy', m.value, NULL)) AS entropy,
       avg(iif(m.metric = 'best_attention_scale', m.value, NULL)) AS best_attention_scale, count(DISTINCT m.job) AS measured, substr(s.id, 1, 8) AS sweep_id
FROM system_jobs AS t
CROSS JOIN sweeps AS s ON s.num = t.sweep
CROSS JOIN measurements AS m ON m.job = t.job AND m.metric IN ('position_loss', 'attention_entropy', 'best_attention_scale') AND m.length > 0
WHERE t.experiment = 'llama' AND (m.slice = '' OR m.slice GLOB 'attention_scale=*')
GROUP BY t.sweep, t.system, m.length, m.slice;

-- Figure 5: the scale of each head (NULL: 1, as all of them are then), and its entropy in the last bin, which ends at `position`.
CREATE VIEW nope_heads AS
SELECT s.name AS sweep, t.system, CAST(substr(m.slice, 7) AS INTEGER) AS layer, CAST(substr(m.slice, instr(m.slice, ',head=') + 6) AS INTEGER) AS head,
       avg(iif(m.metric = 'head_scale', m.value, NULL)) AS scale, avg(iif(m.metric = 'attention_entropy', m.value, NULL)) AS entropy,
       max(nullif(m.length, 0)) AS position, count(DISTINCT m.job) AS measured, substr(s.id, 1, 8) AS sweep_id
FROM system_jobs AS t
CROSS JOIN sweeps AS s ON s.num = t.sweep
CROSS JOIN measurements AS m ON m.job = t.job AND m.metric IN ('head_scale', 'attention_entropy')
WHERE t.experiment = 'llama' AND m.slice GLOB 'layer=*,head=*'
GROUP BY t.sweep, t.system, m.slice;
